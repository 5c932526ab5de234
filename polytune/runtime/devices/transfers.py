"""Copies of boxes between packed memory of the host and the image of an array on a device, as rectangles.

Both sides walk through the bytes of a box with strides of their own.  Axes that both can walk as one are merged; then
the innermost three make one rectangle, which the copy engines of devices move in one command, and what is left are
loops over rectangles.  All of this is arithmetic: nothing is copied here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from polytune.errors import DeviceError
from polytune.records import dataclass
from polytune.runtime.devices.device import Box, DeviceBuffer

__all__ = ["Rectangle", "box_shape", "check_box", "pieces", "rectangles", "view"]


@dataclass(frozen=True)
class Rectangle:
    """``slices * rows`` runs of ``width`` bytes each.

    Attributes:
        host_offset: bytes from the beginning of the packed box on the host.
        device_offset: bytes from the beginning of the device's array.
        width, rows, slices: the extents, in bytes, runs, and groups of runs.
        host_pitch, device_pitch: bytes from one run to the next, at least ``width``.
        host_slice, device_slice: bytes from one group to the next, a multiple of the pitch, at least ``rows`` of it.
    """

    host_offset: int
    device_offset: int
    width: int
    rows: int
    slices: int
    host_pitch: int
    device_pitch: int
    host_slice: int
    device_slice: int


@dataclass(frozen=True)
class _StridedAxis:
    """``count`` steps of so many bytes on either side."""

    count: int
    host: int
    device: int


def box_shape(box: Box) -> tuple[int, ...]:
    """Return how many elements a box has along each axis."""
    return tuple(len(range(*axis)) for axis in box)


def view(host: np.ndarray, box: Box) -> np.ndarray:
    """The elements of a box, in place."""
    return host[tuple(slice(*axis) for axis in box)]


def check_box(host: np.ndarray, buffer: DeviceBuffer, box: Box) -> None:
    """Refuse what would touch memory outside the array or its image.

    Args:
        host: the array, of any strides.
        buffer: its image, dense in C order.
        box: per axis (start, stop, step).

    Raises:
        DeviceError: the box is not one of this array, or the buffer is too small for it or has been freed.
    """
    buffer.require()
    inside = len(box) == host.ndim and all(
        0 <= start <= stop <= extent and step >= 1 for (start, stop, step), extent in zip(box, host.shape, strict=False)
    )
    if not inside:
        raise DeviceError(f"no box of an array of shape {host.shape}: {box}")
    if buffer.nbytes < host.size * host.itemsize:
        raise DeviceError(
            f"an array of {host.size * host.itemsize} bytes does not fit into a buffer of {buffer.nbytes} bytes"
        )


def _packed_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides, in bytes, of a dense array in C order."""
    strides, stride = [], itemsize
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return tuple(reversed(strides))


def pieces(box: Box, itemsize: int, limit: int) -> Iterator[Box]:
    """Boxes of at most ``limit`` bytes each, or of one element, that together are the box, in C order.

    Args:
        box: per axis (start, stop, step).
        itemsize: the bytes of an element.
        limit: the bytes that a box may have at most.
    """
    shape = box_shape(box)
    if 0 in shape:
        return
    size = itemsize * math.prod(shape)
    axis = next((axis for axis, count in enumerate(shape) if count > 1), None)
    if size <= limit or axis is None:
        yield box
        return
    start, stop, step = box[axis]
    # As many steps of this axis as fit; if not even one does, one, cut further along the next axis.
    length = max(1, limit * shape[axis] // size) * step
    for first in range(start, stop, length):
        part = (first, min(first + length, stop), step)
        yield from pieces((*box[:axis], part, *box[axis + 1 :]), itemsize, limit)


def rectangles(shape: Sequence[int], itemsize: int, box: Box, largest_pitch: int = 2**31 - 1) -> Iterator[Rectangle]:
    """The rectangles that together are a box.

    Args:
        shape: the array's shape; the device holds all of it, dense in C order, and the host a dense copy of the box.
        itemsize: bytes of an element.
        box: the elements to copy.
        largest_pitch: the largest distance between two runs that the device's copy engine takes, in bytes.
    """
    counts = box_shape(box)
    if 0 in counts:
        return
    host_strides, device_strides = _packed_strides(counts, itemsize), _packed_strides(shape, itemsize)
    start = sum(axis[0] * stride for axis, stride in zip(box, device_strides, strict=True))
    axes = [
        _StridedAxis(count, host, stride * step)
        for count, host, stride, (_, _, step) in zip(counts, host_strides, device_strides, box, strict=True)
    ]
    axes = _merged([*axes, _StridedAxis(itemsize, 1, 1)])
    width = axes.pop().count
    rows = _StridedAxis(1, width, width)
    if axes and max(axes[-1].host, axes[-1].device) <= largest_pitch:
        rows = axes.pop()
    slices = _StridedAxis(1, rows.host * rows.count, rows.device * rows.count)
    # With steps, the next group on the device may begin between two rows of this one; on the packed side it never does.
    if axes and axes[-1].device % rows.device == 0:
        slices = axes.pop()
    for steps in itertools.product(*(range(axis.count) for axis in axes)):
        yield Rectangle(
            host_offset=sum(step * axis.host for step, axis in zip(steps, axes, strict=True)),
            device_offset=start + sum(step * axis.device for step, axis in zip(steps, axes, strict=True)),
            width=width,
            rows=rows.count,
            slices=slices.count,
            host_pitch=rows.host,
            device_pitch=rows.device,
            host_slice=slices.host,
            device_slice=slices.device,
        )


def _merged(axes: list[_StridedAxis]) -> list[_StridedAxis]:
    """Fewer axes that walk the same bytes in the same order; the innermost, of bytes, stays the last."""
    merged = [axes[-1]]
    for axis in reversed(axes[:-1]):
        inner = merged[0]
        if axis.count == 1:
            continue
        if axis.host == inner.host * inner.count and axis.device == inner.device * inner.count:
            merged[0] = _StridedAxis(axis.count * inner.count, inner.host, inner.device)
        else:
            merged.insert(0, axis)
    return merged
