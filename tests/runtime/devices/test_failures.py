"""A driver that fails: each failure arrives as its own error, and costs no more than it must."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polytune.errors import DeviceCompilationError, DeviceLostError, DeviceMemoryError, LaunchError
from tests.runtime.devices.kernels import ADD, compiled, run, whole

ROOT = Path(__file__).parents[3]

OUTSIDE = "PT_KERNEL(8, 1, 1) outside(PT_GLOBAL f64 *a) { a[PT_THREAD_X + PT_BLOCK_X * 8] = 1; }\n"


def add(device, kernel):
    a, b = np.arange(8.0), np.zeros(8)
    run(device, kernel, (1, 1, 1), (8, 1, 1), [np.int64(8), np.float64(1), a, b])
    return b.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_memory_that_runs_out_later(stand_in, cuda):
    stand_in.set(allocations_left=1)
    with cuda.allocate(8), pytest.raises(DeviceMemoryError, match="cuda:0"):
        cuda.allocate(8)
    stand_in.set(allocations_left=-1)
    assert add(cuda, compiled(cuda, ADD, "add"))


def test_launch_that_needs_too_much(stand_in, cuda):
    kernel = compiled(cuda, ADD, "add")
    stand_in.set(launches_left=1)
    assert add(cuda, kernel)
    with pytest.raises(LaunchError, match="too many resources"):
        add(cuda, kernel)
    stand_in.set(launches_left=-1)
    assert add(cuda, kernel)


def test_module_that_cannot_be_loaded(stand_in, cuda):
    stand_in.set(modules_fail=1)
    with pytest.raises(DeviceCompilationError, match="cannot load add"):
        compiled(cuda, ADD, "add")
    stand_in.set(modules_fail=0)
    assert add(cuda, compiled(cuda, ADD, "add"))


def test_device_that_is_lost_stays_lost(stand_in, cuda):
    kernel = compiled(cuda, ADD, "add")
    stream = cuda.stream()
    with cuda.allocate(64) as buffer:
        stand_in.set(calls_left=0)
        array = np.zeros(8)
        with pytest.raises(DeviceLostError, match="taken away"):
            cuda.upload(stream, buffer, array, whole(array))
        assert cuda.lost
        stand_in.reset()
        with pytest.raises(DeviceLostError, match="stopped answering"):
            add(cuda, kernel)


@pytest.mark.parametrize("calls", range(1, 60, 4))
def test_device_that_is_lost_at_any_call(stand_in, cuda, calls):
    """Whichever call it is, the error is this one, and arrays of the host hold what was there or what is right."""
    kernel = compiled(cuda, ADD, "add")
    a, b = np.arange(8.0), np.zeros(8)
    stand_in.set(calls_left=calls)
    try:
        run(cuda, kernel, (1, 1, 1), (8, 1, 1), [np.int64(8), np.float64(1), a, b])
    except DeviceLostError:
        assert cuda.lost
    else:
        assert b.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert a.tolist() == list(range(8))
    assert b.tolist() in ([0] * 8, [1, 2, 3, 4, 5, 6, 7, 8])


def test_kernel_that_leaves_its_buffers(stand_in, cuda):
    """As with a GPU, the error comes when the stream is synchronized, and the context is gone."""
    kernel = compiled(cuda, OUTSIDE, "outside")
    stream = cuda.stream()
    with cuda.allocate(64) as buffer:
        cuda.launch(stream, kernel, (1, 1, 1), (8, 1, 1), [buffer])
        stream.synchronize()
        assert not stand_in.fault()
        cuda.launch(stream, kernel, (2, 1, 1), (8, 1, 1), [buffer])
        with pytest.raises(DeviceLostError, match=r"outside all buffers.*block \(1, 0, 0\)"):
            stream.synchronize()


def test_stream_that_failed_forgets_its_downloads(stand_in, cuda):
    kernel = compiled(cuda, OUTSIDE, "outside")
    stream, back = cuda.stream(), np.zeros(8)
    buffer = cuda.allocate(64)
    cuda.launch(stream, kernel, (2, 1, 1), (8, 1, 1), [buffer])
    cuda.download(stream, back, buffer, whole(back))
    with pytest.raises(DeviceLostError):
        stream.synchronize()
    assert not back.any()
    assert not stream._pending


@pytest.mark.parametrize("pops_fail", [0, 1])
@pytest.mark.parametrize("in_thread", [False, True])
def test_process_ends_well_after_a_device_was_lost(stand_in, pops_fail, in_thread):
    """pycuda ends the whole process if one of its contexts is still current at its exit."""
    program = f"""
import threading
from polytune.errors import DeviceLostError
from tests.device_stand_in.load import load
stand_in = load()
device = stand_in.device()
buffer, stream = device.allocate(100), device.stream()
event = device.record(stream)
stand_in.set(calls_left=0, pops_fail={pops_fail})
def use():
    try:
        device.memory_free()
    except DeviceLostError as error:
        print("lost")
if {in_thread}:
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
use()
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert set(ran.stdout.split()) == {"lost"}


def test_process_ends_quietly_without_close(stand_in):
    program = """
import numpy as np
from tests.device_stand_in.load import load
device = load().device()
buffer, stream, array = device.allocate(80), device.stream(), np.zeros(10)
device.upload(stream, buffer, array, ((0, 10, 1),))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_memory_that_outlives_its_device_leaves_the_context_in_use_alone(stand_in):
    """The garbage collector may free it at any moment."""
    closed, used = stand_in.device(), stand_in.device()
    buffer = closed.allocate(64)
    closed.close()
    with used._context("work on"):
        del buffer
        gc.collect()
    assert not used.lost
    used.allocate(64)
    used.close()
