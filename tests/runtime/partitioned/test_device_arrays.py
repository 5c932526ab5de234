"""Arrays of other libraries in the memory of a CUDA device, through pycuda on the stand-in for one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, DeviceError, DeviceLostError, DeviceWarning, LaunchError
from polytune.history.store import HistoryStore
from polytune.runtime.partitioned.boxes import whole
from tests.device_stand_in.build import CannotBuildError
from tests.device_stand_in.load import load


def smooth(x, y):
    for i in range(x.shape[0]):
        y[i] = 2.0 * y[i] + x[i]


def scan(x, y):
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i]


@pytest.fixture
def device():
    try:
        stand_in = load()
    except CannotBuildError as error:
        pytest.skip(str(error))
    with stand_in.offered() as offered:
        yield offered


@pytest.fixture
def kernel(device, tmp_path):
    return kernel_of(smooth, tmp_path)


def kernel_of(function, tmp_path):
    made = polytune.Kernel(function)
    made._store = HistoryStore(tmp_path / "history.sqlite")
    return made


class ForeignArray:
    """What another library calls an array: memory on the device that the library owns."""

    def __init__(self, device, values, **changes):
        self._device, self._shape, self._dtype = device, values.shape, values.dtype
        self._buffer = device.allocate(max(8, values.nbytes))
        stream = device.stream()
        device.upload(stream, self._buffer, values, whole(values.shape))
        stream.synchronize()
        self.device = SimpleNamespace(id=0)
        self._changes = changes

    @property
    def __cuda_array_interface__(self):
        interface = {
            "shape": self._shape,
            "typestr": self._dtype.str,
            "data": (self._buffer.address, False),
            "strides": None,
            "stream": 1,
            "version": 3,
        }
        return interface | self._changes

    def get(self):
        values, stream = np.empty(self._shape, self._dtype), self._device.stream()
        self._device.download(stream, values, self._buffer, whole(self._shape))
        stream.synchronize()
        return values


X, Y = np.arange(100.0), np.ones(100)
RESULT = 2.0 * Y + X


def test_call_reads_and_writes_where_the_arrays_are(kernel, device):
    x, y = ForeignArray(device, X), ForeignArray(device, Y)
    kernel(x, y)
    np.testing.assert_array_equal(y.get(), RESULT)
    (case,) = kernel.tuners
    assert case.places == (("x", "cuda:0"), ("y", "cuda:0"))
    assert dict(kernel.tuners[case].space.default())["platform_0"] == "cuda:0"
    (share,) = kernel.shared[case][1].shares
    assert (share.uploaded, share.downloaded) == (0, 0)


@pytest.mark.parametrize("there", ["x", "y"])
def test_host_arrays_beside_them_are_moved(kernel, device, there):
    x, y = X.copy(), Y.copy()
    given = {"x": x, "y": y}
    given[there] = ForeignArray(device, given[there])
    kernel(**given)
    result = given["y"].get() if there == "y" else y
    np.testing.assert_array_equal(result, RESULT)


def test_any_configuration_gives_the_result(kernel, device):
    space = kernel.space(X, Y)
    for choices in (
        {"version": "source"},
        {"version": "partitioned", "split": 1, "ratio_0": 0.3, "platform_0": "cpu", "platform_1": "cuda:0"},
    ):
        x, y = ForeignArray(device, X), ForeignArray(device, Y)
        kernel.run(space.configuration(**choices), x, y)
        np.testing.assert_array_equal(y.get(), RESULT)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strides": (16,)}, r"dense in C order.*\(16,\)"),
        ({"mask": object()}, "mask"),
        ({"typestr": "<f16"}, "cannot be used"),
        ({"typestr": ">f8"}, "cannot be used"),
        ({"data": None}, "read-only"),
        ({"shape": (50,)}, "goes past the end"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_written(kernel, device, changes, message):
    x, y = ForeignArray(device, X), ForeignArray(device, Y, **changes)
    if "data" in changes:
        y._changes["data"] = (y._buffer.address, True)
    with pytest.raises(ArgumentError, match=f"'y'.*{message}"):
        kernel(x, y)
    np.testing.assert_array_equal(ForeignArray.get(y) if "shape" not in changes else Y, Y)


def test_overlapping_device_arrays_are_refused(kernel, device):
    x = ForeignArray(device, X)
    address = x._buffer.address
    with pytest.raises(ArgumentError, match="'y' and 'x' overlap in the memory of cuda:0"):
        kernel(x, ForeignArray(device, Y, data=(address + 80, False)))
    beside = ForeignArray(device, np.concatenate([X, Y]))
    first = ForeignArray(device, X, data=(beside._buffer.address, False))
    kernel(first, ForeignArray(device, Y, data=(beside._buffer.address + X.nbytes, False)))
    np.testing.assert_array_equal(beside.get()[100:], RESULT)


def test_array_of_the_host_that_could_be_elsewhere_is_refused(kernel):
    class Tensor:
        @property
        def __cuda_array_interface__(self):
            raise AttributeError("not a CUDA tensor")

    with pytest.raises(ArgumentError, match=r"'x'.*not in the memory of a CUDA device.*numpy.asarray\(x\)"):
        kernel(Tensor(), Y)


def test_device_that_is_not_there_is_said(kernel, device):
    x = ForeignArray(device, X)
    x.device = SimpleNamespace(index=5)
    with pytest.raises(ArgumentError, match=r"'x' lies on the CUDA device 5.*there is no device 'cuda:5'"):
        kernel(x, Y.copy())


def test_kernel_without_device_version_is_said(device, tmp_path):
    with pytest.raises(ArgumentError, match=r"'x' of scan lies on cuda:0.*nothing of it is parallel"):
        kernel_of(scan, tmp_path)(ForeignArray(device, X), Y.copy())


@pytest.mark.parametrize(
    ("stream", "version", "waits"), [(None, 3, 0), (1, 3, 0), (2, 3, 1), (1 << 40, 3, 1), (1, 2, 1)]
)
def test_work_of_other_streams_is_waited_for(kernel, device, monkeypatch, stream, version, waits):
    waited = []
    monkeypatch.setattr(device, "wait_for_others", lambda: waited.append(1))
    kernel(X, ForeignArray(device, Y, stream=stream, version=version))
    assert len(waited) == waits


def test_refused_launch_is_served_by_the_processor(kernel, device, monkeypatch):
    x, y = ForeignArray(device, X), ForeignArray(device, Y)

    def refuse(*_):
        raise LaunchError("no launch today")

    with monkeypatch.context() as patch, pytest.warns(DeviceWarning, match="no launch today"):
        patch.setattr(device, "launch", refuse)
        kernel(x, y)
    np.testing.assert_array_equal(y.get(), RESULT)


def test_failure_before_anything_was_done_is_served_by_the_processor(kernel, device, monkeypatch):
    x, y = ForeignArray(device, X), ForeignArray(device, Y)
    stream, calls = device.stream, []

    def fails_once():
        calls.append(1)
        if len(calls) == 1:
            raise DeviceError("no stream left")
        return stream()

    with monkeypatch.context() as patch, pytest.warns(DeviceWarning, match="no stream left"):
        patch.setattr(device, "stream", fails_once)
        kernel(x, y)
    np.testing.assert_array_equal(y.get(), RESULT)


def test_lost_device_is_said(kernel, device, stand_in_loss):
    x, y = ForeignArray(device, X), ForeignArray(device, Y)
    kernel(x, y)
    stand_in_loss()
    with pytest.raises(DeviceLostError, match="must be made anew"):
        kernel(x, y)
    with pytest.raises(ArgumentError, match="lies on the CUDA device 0, which cannot be used"):
        kernel(x, y)


@pytest.fixture
def stand_in_loss():
    """Loses the device a few calls later."""
    return lambda: load().set(calls_left=4)
