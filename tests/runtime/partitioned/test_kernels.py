"""Kernels that are called, on a real device that fails when it is told to: the processor itself, through PoCL."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import polytune
from polytune.errors import DeviceLostError, DeviceMemoryError, DeviceWarning, LaunchError
from polytune.history.store import HistoryStore
from polytune.runtime.devices import backends, discovery
from polytune.runtime.devices.backends import Listing
from polytune.runtime.devices.device import Device
from tests.warned import saying

ON_DEVICE = {"version": "partitioned", "split": 0, "platform_0": "opencl:0"}


def smooth(n: int, x, y):
    for i in range(n):
        y[i] = 2.0 * y[i] + x[i]


@pytest.fixture
def device(monkeypatch) -> Iterator[Device]:
    """A device of its own for each test: one that is lost stays lost."""
    listing = backends.listed("opencl")
    usable = [found for found in listing.found if not found.reason]
    if not usable:
        pytest.skip(listing.obstacle)
    none = Listing("CUDA", (), "not looked for", "")
    only = Listing("OpenCL", tuple(usable[:1]))
    monkeypatch.setattr(backends, "listed", lambda kind: only if kind == "opencl" else none)
    monkeypatch.setattr(discovery, "_opened", discovery._Open())
    monkeypatch.setenv("POLYTUNE_DEVICES", "opencl")
    return discovery.device(usable[0].identity)


@pytest.fixture
def kernel(device, tmp_path):
    made = polytune.Kernel(smooth)
    made._store = HistoryStore(tmp_path / "history.sqlite")
    return made


@pytest.fixture
def arguments():
    return 100, np.arange(100.0), np.ones(100)


def configurations(kernel, arguments, **choices):
    return kernel.space(*arguments).configuration(**{**ON_DEVICE, **choices})


def failing(device, monkeypatch, name, error, *, lost=False, from_call=1):
    """Have a method of a device fail from some call on."""
    method, calls = getattr(device, name), []

    @functools.wraps(method)
    def fails(*arguments, **keywords):
        calls.append(name)
        if len(calls) >= from_call:
            device.lost = lost
            raise error(f"{name} failed on {device.identity}")
        return method(*arguments, **keywords)

    monkeypatch.setattr(device, name, fails)
    return calls


def expected(arguments, calls=1):
    _, x, y = arguments
    result = y.copy()
    for _ in range(calls):
        result = 2.0 * result + x
    return result


def choosing(kernel, arguments, monkeypatch, wanted):
    """The kernel's tuner, which chooses one configuration unless it has failed."""
    tuner = kernel.tuner(*arguments)
    choose = tuner.choose
    monkeypatch.setattr(tuner, "choose", lambda *ready: choose(*ready) if wanted in tuner._search.failures else wanted)
    return tuner


def test_search_begins_with_the_device_alone_and_with_splits(kernel, arguments, device):
    """Splits are tried however slow the device is on its own."""
    generated = kernel.generated(*arguments)
    shared = [start for start in generated.first_choices.starts if start["version"] == "partitioned"]
    assert [start["platform_0"] for start in shared if start["split"] == 0] == [device.identity]
    splits = [start for start in shared if start["split"] == 1]
    assert len({start["ratio_0"] for start in splits}) == len(splits) >= 2
    for start in splits:
        assert (start["platform_0"], start["platform_1"]) == ("cpu", device.identity)
        assert generated.space.contains(start)


@pytest.mark.parametrize(
    ("method", "error"), [("launch", LaunchError), ("allocate", DeviceMemoryError), ("upload", DeviceMemoryError)]
)
def test_configuration_that_fails_is_not_tried_again(kernel, arguments, device, monkeypatch, method, error):
    wanted = configurations(kernel, arguments)
    result = expected(arguments, 3)
    tuner = choosing(kernel, arguments, monkeypatch, wanted)
    failing(device, monkeypatch, method, error)
    with pytest.warns(DeviceWarning, match=f"smooth: {method} failed on opencl:0") as caught:
        for _ in range(3):
            kernel(*arguments)
    np.testing.assert_array_equal(arguments[2], result)
    assert len(saying(caught, DeviceWarning, f"{method} failed on opencl:0")) == 1
    assert f"{method} failed" in tuner._search.failures[wanted]


def test_kernel_that_does_not_fit_is_not_tried_again(kernel, arguments, device, monkeypatch):
    wanted = configurations(kernel, arguments, block_0=128)
    # As if the compiled kernel needed so many registers: what the device says of itself is known to the space.
    monkeypatch.setattr(device, "limits", replace(device.limits, threads_per_block=64))
    result = expected(arguments, 2)
    tuner = choosing(kernel, arguments, monkeypatch, wanted)
    with pytest.warns(DeviceWarning, match="a block of 128 threads, where this kernel may have 64") as caught:
        for _ in range(2):
            kernel(*arguments)
    np.testing.assert_array_equal(arguments[2], result)
    assert len(saying(caught, DeviceWarning, "a block of 128 threads")) == 1
    assert wanted in tuner._search.failures


@pytest.mark.parametrize("from_call", [1, 2])
@pytest.mark.parametrize("method", ["launch", "upload", "download", "stream"])
def test_lost_device_leaves_every_choice(kernel, arguments, device, monkeypatch, method, from_call):
    wanted = configurations(kernel, arguments)
    result = expected(arguments, 4)
    before = choosing(kernel, arguments, monkeypatch, wanted)
    failing(device, monkeypatch, method, DeviceLostError, lost=True, from_call=from_call)
    with pytest.warns(DeviceWarning, match="the device is not used again") as caught:
        for _ in range(4):
            kernel(*arguments)
    np.testing.assert_array_equal(arguments[2], result)
    assert len(saying(caught, DeviceWarning, "the device is not used again")) == 1
    after = kernel.tuner(*arguments)
    assert "partitioned" in before.space.parameters[0].values
    assert "partitioned" not in after.space.parameters[0].values
    assert not before._search.failures, "the device may be back when the next process starts"


def test_device_lost_elsewhere_is_noticed_before_anything_is_written(kernel, arguments, device, monkeypatch):
    wanted = configurations(kernel, arguments)
    choosing(kernel, arguments, monkeypatch, wanted)
    result = expected(arguments, 2)
    kernel(*arguments)
    device.lost = True
    with pytest.warns(DeviceWarning, match="stopped answering"):
        kernel(*arguments)
    np.testing.assert_array_equal(arguments[2], result)


def test_lost_device_is_told_once_by_many_threads(kernel, device, monkeypatch):
    calls = [(100, np.arange(100.0), np.ones(100)) for _ in range(24)]
    wanted = configurations(kernel, calls[0])
    choosing(kernel, calls[0], monkeypatch, wanted)
    failing(device, monkeypatch, "launch", DeviceLostError, lost=True, from_call=5)
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(4) as threads:
        warnings.simplefilter("always")
        list(threads.map(lambda arguments: kernel(*arguments), calls))
    for _, x, y in calls:
        np.testing.assert_array_equal(y, 2.0 + x)
    assert len(saying(caught, DeviceWarning, "")) == 1


def test_missing_driver_is_told_once_and_costs_nothing(monkeypatch, tmp_path, arguments):
    none = Listing("CUDA", (), "the driver finds no device", "install the driver")
    monkeypatch.setattr(backends, "listed", lambda kind: none)
    monkeypatch.setattr(discovery, "_opened", discovery._Open())
    monkeypatch.setenv("POLYTUNE_DEVICES", "cuda")
    kernel = polytune.Kernel(smooth)
    kernel._store = HistoryStore(tmp_path / "history.sqlite")
    result = expected(arguments, 2)
    with pytest.warns(DeviceWarning, match="the driver finds no device") as caught:
        for _ in range(2):
            with polytune.resident(*arguments[1:]):
                kernel(*arguments)
    np.testing.assert_array_equal(arguments[2], result)
    assert len(saying(caught, DeviceWarning, "the driver finds no device")) == 1
    assert "partitioned" not in kernel.space(*arguments).parameters[0].values


def test_tuner_of_residents_is_another_one(kernel, arguments, device):
    configuration = configurations(kernel, arguments)
    result = expected(arguments, 3)
    with polytune.resident(*arguments[1:]):
        for _ in range(2):
            kernel(*arguments)
        kernel.run(configuration, *arguments)
    np.testing.assert_array_equal(arguments[2], result)
    (case,) = kernel.tuners
    assert case.places == (("x", "opencl:0"), ("y", "opencl:0"))


def test_moving_residents_is_not_measured(kernel, arguments, device, monkeypatch):
    """A configuration's first call after another one has to move what the other one left elsewhere."""
    with polytune.resident(*arguments[1:]):
        wanted = configurations(kernel, arguments)
        tuner = choosing(kernel, arguments, monkeypatch, wanted)
        for calls in range(3):
            told = tuner.statistics()
            assert (told.calls, told.disturbed_calls) == (calls, min(calls, 1))
            assert told.explored == (calls > 1)
            kernel(*arguments)


def test_what_had_to_move_is_measured_next(kernel, arguments, device, monkeypatch):
    """Whatever the tuner would choose: a trial between other calls would have to move everything each time."""
    with polytune.resident(*arguments[1:]):
        there = configurations(kernel, arguments)
        here = kernel.space(*arguments).configuration(version="source")
        tuner, reported = kernel.tuner(*arguments), []
        turns = itertools.cycle([there, here])
        monkeypatch.setattr(tuner, "choose", lambda *_: next(turns))

        def report(configuration, *_, disturbed, goes_on, **__):
            assert goes_on <= disturbed
            reported.append((configuration, goes_on))

        monkeypatch.setattr(tuner, "report", report)
        for _ in range(6):
            kernel(*arguments)
    assert reported == [(each, moves) for each in (there, here, there) for moves in (True, False)]


@pytest.mark.parametrize("resident", ["x", "y"])
def test_processor_and_device_take_turns_on_residents(kernel, device, resident):
    x, y = np.arange(100.0), np.ones(100)
    arguments = 100, x, y
    here = kernel.space(*arguments).configuration(version="source")
    there = configurations(kernel, arguments)
    result = expected(arguments, 5)
    with polytune.resident({"x": x, "y": y}[resident]):
        for configuration in (there, here, here, there, there):
            kernel.run(configuration, *arguments)
    np.testing.assert_array_equal(y, result)


def test_part_of_a_resident_is_seen_as_it_is(kernel, device):
    n, x, y = 100, np.arange(100.0), np.ones(100)
    configuration = configurations(kernel, (n, x, y))
    result = expected((n, x, y))
    result[:50] = 2.0 * result[:50] + x[:50]
    result = 2.0 * result + x
    with polytune.resident(x, y):
        kernel.run(configuration, n, x, y)
        kernel.run(configuration, 50, x[:50], y[:50])
        kernel.run(configuration, n, x, y)
    np.testing.assert_array_equal(y, result)


def test_explanation_tells_who_did_what(kernel, arguments, device, monkeypatch):
    wanted = configurations(kernel, arguments, split=1, ratio_0=0.25, platform_1="cpu")
    choosing(kernel, arguments, monkeypatch, wanted)
    kernel(*arguments)
    text = kernel.explain()
    assert "  partitioned: shared by the CPU and opencl:0\n" in text
    assert "last shared run" in text and "ratio_0=0.25" in text
    assert "partition 0 on opencl:0" in text and "0.0004 MB there, 0.0002 MB back" in text
    assert "partition 1 on cpu" in text and "cpu waited" in text


def test_explanation_tells_of_runs_in_configurations_that_are_given(kernel, arguments, device):
    wanted = configurations(kernel, arguments, split=1, ratio_0=0.25, platform_1="cpu")
    kernel.run(kernel.space(*arguments).configuration(version="source"), *arguments)
    assert "shared run" not in kernel.explain()
    kernel.run(wanted, *arguments)
    text = kernel.explain()
    assert "  partitioned: shared by the CPU and opencl:0\n" in text
    assert "\nruns for n=100:\n  last shared run" in text and "ratio_0=0.25" in text
    assert "partition 0 on opencl:0" in text and "partition 1 on cpu" in text
    kernel(*arguments)
    text = kernel.explain()
    assert "runs for" not in text and "tuning for n=100" in text and "last shared run" in text


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def test_matrices_of_500_elements_never_see_a_device(device, tmp_path, monkeypatch):
    monkeypatch.delenv("POLYTUNE_RHO")  # the rules apply, with the thresholds of this machine
    monkeypatch.delenv("POLYTUNE_ALPHA")
    kernel = polytune.Kernel(product)
    kernel._store = HistoryStore(tmp_path / "history.sqlite")
    arguments = np.zeros((20, 25)), np.ones((20, 30)), np.ones((30, 25))
    tuner = kernel.tuner(*arguments)
    assert tuner.refused["version"].keys() == {"partitioned", "library"}
    for _ in range(50):
        kernel(*arguments)
    # All calls take less than compiling another version would: one version serves them, with any numbers.
    assert len({configuration["version"] for configuration, _ in tuner.ranking()}) == 1
    assert (arguments[0] == 50 * 30).all()
    assert "rejected: version = partitioned: Min-Compute" in kernel.explain()
