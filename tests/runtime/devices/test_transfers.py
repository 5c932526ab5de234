"""Boxes go to a device and come back, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polytune.errors import DeviceError
from polytune.runtime.devices import staged
from polytune.runtime.devices.transfers import box_shape, pieces, rectangles, view

DTYPES = ("int32", "int64", "float32", "float64")


@st.composite
def boxes(draw, shape):
    """Any box of an array, also an empty one."""
    box = []
    for extent in shape:
        start = draw(st.integers(0, extent - 1))
        stop = draw(st.one_of(st.integers(start + 1, extent), st.just(extent), st.just(start)))
        box.append((start, stop, draw(st.sampled_from((1, 1, 2, 3)))))
    return tuple(box)


@st.composite
def arrays(draw):
    """An array with any strides in the middle of a larger one, both."""
    rank = draw(st.integers(1, 4))
    shape = [draw(st.integers(1, 5)) for _ in range(rank)]
    padding = [draw(st.integers(0, 2)) for _ in range(rank)]
    steps = [draw(st.sampled_from((1, 1, 2, -1, -2))) for _ in range(rank)]
    extents = [extent * abs(step) + 2 * pad for extent, step, pad in zip(shape, steps, padding, strict=True)]
    around = np.arange(np.prod(extents), dtype=draw(st.sampled_from(DTYPES))).reshape(extents)
    inside = []
    for extent, step, pad in zip(shape, steps, padding, strict=True):
        part = slice(pad, pad + extent * abs(step), abs(step))
        inside.append(part)
    array = around[tuple(inside)][tuple(slice(None, None, 1 if step > 0 else -1) for step in steps)]
    array = array.transpose(draw(st.permutations(range(rank))))
    return around, array


@st.composite
def cases(draw):
    around, array = draw(arrays())
    return around, array, draw(boxes(array.shape)), draw(st.sampled_from((8, 64, 1 << 20)))


def whole(array):
    return tuple((0, extent, 1) for extent in array.shape)


def image(device, array):
    """A dense buffer that holds an array."""
    buffer, stream = device.allocate(array.nbytes), device.stream()
    device.upload(stream, buffer, np.ascontiguousarray(array), whole(array))
    stream.synchronize()
    return buffer


def contents(device, buffer, like):
    stream, host = device.stream(), np.empty(like.shape, like.dtype)
    device.download(stream, host, buffer, whole(host))
    stream.synchronize()
    return host


on_each = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@on_each
@given(case=cases())
def test_upload_writes_the_box_alone(device, case):
    around, array, box, piece = case
    poison = np.full(array.shape, -7, array.dtype)
    expected = poison.copy()
    view(expected, box)[...] = view(array, box)
    with pytest.MonkeyPatch.context() as patch, image(device, poison) as buffer:
        patch.setattr(staged, "_PIECE", piece)
        stream = device.stream()
        device.upload(stream, buffer, array, box)
        around[...] = -9  # the host may be changed at once
        stream.synchronize()
        np.testing.assert_array_equal(contents(device, buffer, array), expected)


@on_each
@given(case=cases())
def test_download_writes_the_box_alone(device, case):
    around, array, box, piece = case
    on_device = -1 - np.arange(array.size, dtype=array.dtype).reshape(array.shape)
    with pytest.MonkeyPatch.context() as patch, image(device, on_device) as buffer:
        patch.setattr(staged, "_PIECE", piece)
        stream = device.stream()
        device.download(stream, array, buffer, box)
        stream.synchronize()
    # By value: each element that lies around the array, or in it but outside the box, is what it was.
    expected = np.arange(around.size, dtype=around.dtype).reshape(around.shape)
    offset = (array.__array_interface__["data"][0] - around.__array_interface__["data"][0]) // around.itemsize
    strides = np.array(array.strides) // array.itemsize
    for index in np.ndindex(box_shape(box)):
        place = [start + number * step for (start, _, step), number in zip(box, index, strict=True)]
        expected.ravel()[offset + int(strides @ place)] = on_device[tuple(place)]
    np.testing.assert_array_equal(around, expected)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_rectangles_are_the_box(data):
    """Copied with plain slices, the rectangles give what indexing gives, and keep the rules of copy engines."""
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    box = data.draw(boxes(shape))
    itemsize = data.draw(st.sampled_from((4, 8)))
    largest = data.draw(st.sampled_from((32, 2**31 - 1)))
    array = np.arange(np.prod(shape) * itemsize, dtype=np.int32).reshape(*shape, itemsize)
    on_device, packed = array.ravel(), np.full(np.prod(box_shape(box), dtype=int) * itemsize, -1, np.int32)
    for part in rectangles(shape, itemsize, box, largest):
        assert part.rows == 1 or part.width <= min(part.host_pitch, part.device_pitch)
        assert part.rows == 1 or max(part.host_pitch, part.device_pitch) <= largest
        for pitch, slice_size in ((part.host_pitch, part.host_slice), (part.device_pitch, part.device_slice)):
            assert slice_size % pitch == 0
            assert slice_size >= part.rows * pitch
        for group in range(part.slices):
            for row in range(part.rows):
                place = part.host_offset + group * part.host_slice + row * part.host_pitch
                origin = part.device_offset + group * part.device_slice + row * part.device_pitch
                packed[place : place + part.width] = on_device[origin : origin + part.width]
    np.testing.assert_array_equal(packed, view(array, (*box, (0, itemsize, 1))).ravel())


@pytest.mark.parametrize(
    ("shape", "box"),
    [
        ((4, 5, 6), ((1, 4, 1), (1, 4, 1), (2, 5, 1))),  # one rectangle
        ((3, 4, 5, 6), ((0, 2, 1), (1, 4, 1), (1, 4, 1), (2, 5, 1))),  # several
        ((3, 5, 4), ((0, 3, 1), (1, 5, 2), (0, 3, 1))),  # groups that begin between two rows
        ((3, 5, 4), ((0, 3, 1), (0, 5, 3), (0, 3, 1))),  # groups that overlap
        ((3, 6, 4), ((0, 3, 2), (0, 6, 3), (0, 3, 1))),
        ((4, 5, 6), ((0, 4, 2), (0, 5, 2), (0, 6, 2))),  # runs of one element
    ],
)
@pytest.mark.parametrize("layout", [lambda a: a, lambda a: a[::-1, ::-1], np.asfortranarray])
def test_boxes_of_many_axes(device, shape, box, layout):
    array = layout(np.arange(float(np.prod(shape))).reshape(shape))
    expected = np.full(shape, -7.0)
    view(expected, box)[...] = view(array, box)
    with image(device, np.full(shape, -7.0)) as buffer:
        stream = device.stream()
        device.upload(stream, buffer, array, box)
        stream.synchronize()
        np.testing.assert_array_equal(contents(device, buffer, array), expected)
        array[...] = 9.0
        device.download(stream, array, buffer, box)
        stream.synchronize()
    np.testing.assert_array_equal(array, np.where(expected == -7.0, 9.0, expected))


def test_box_of_three_axes_is_one_rectangle():
    (only,) = rectangles((10, 20, 30), 8, ((2, 7, 1), (3, 9, 1), (4, 29, 1)))
    assert (only.width, only.rows, only.slices) == (25 * 8, 6, 5)


def test_whole_array_is_one_run():
    (only,) = rectangles((10, 20, 30), 8, ((0, 10, 1), (0, 20, 1), (0, 30, 1)))
    assert (only.width, only.rows, only.slices) == (10 * 20 * 30 * 8, 1, 1)


@settings(deadline=None)
@given(data=st.data())
def test_pieces_are_small_and_cover_the_box_once(data):
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    box = data.draw(boxes(shape))
    limit = data.draw(st.integers(1, 200))
    covered = np.zeros(shape, int)
    for piece in pieces(box, 8, limit):
        count = np.prod(box_shape(piece))
        assert 0 < count * 8 <= max(limit, 8)
        view(covered, piece)[...] += 1
    expected = np.zeros(shape, int)
    view(expected, box)[...] = 1
    np.testing.assert_array_equal(covered, expected)


def test_large_array_goes_through_staging_that_is_used_again(device, monkeypatch):
    """More than may be in flight: earlier pieces are finished on the way."""
    monkeypatch.setattr(staged, "_PIECE", 1 << 18)
    monkeypatch.setattr(staged, "_IN_FLIGHT", 1 << 20)
    rng = np.random.default_rng(1)
    array = rng.random((1000, 700))
    back = np.zeros((700, 1000)).T
    with device.allocate(array.nbytes) as buffer:
        stream = device.stream()
        device.upload(stream, buffer, array, whole(array))
        device.download(stream, back, buffer, whole(array))
        assert stream._in_flight <= (1 << 20) + (1 << 18)
        stream.synchronize()
    np.testing.assert_array_equal(back, array)


def test_download_arrives_when_the_stream_is_synchronized(cuda):
    array, back = np.arange(10.0), np.zeros(10)
    with image(cuda, array) as buffer:
        stream = cuda.stream()
        cuda.download(stream, back, buffer, whole(array))
        assert not back.any()
        stream.synchronize()
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    "box",
    [((0, 5, 1),), ((0, 5, 1), (0, 7, 1)), ((-1, 5, 1), (0, 6, 1)), ((0, 5, 1), (4, 3, 1)), ((0, 5, 0), (0, 6, 1))],
)
def test_box_that_is_none_of_the_array_is_refused(device, box):
    with device.allocate(240) as buffer, pytest.raises(DeviceError, match=r"no box of an array of shape \(5, 6\)"):
        device.upload(device.stream(), buffer, np.zeros((5, 6)), box)


def test_buffer_that_is_too_small_is_refused(device):
    with device.allocate(239) as buffer, pytest.raises(DeviceError, match="240 bytes does not fit"):
        device.download(device.stream(), np.zeros((5, 6)), buffer, ((0, 5, 1), (0, 6, 1)))
