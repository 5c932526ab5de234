"""What every device does: compile, launch, time, refuse; from any thread."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from polytune.errors import CompilationError, DeviceCompilationError, DeviceError, DeviceMemoryError, LaunchError
from polytune.runtime.devices.opencl import reason_if_unusable
from tests.runtime.devices.kernels import ADD, compiled, run, whole


def test_kernel_runs(device):
    a, b = np.arange(21.0), np.zeros(21)
    run(device, compiled(device, ADD, "add"), (3, 1, 1), (8, 1, 1), [np.int64(21), np.float64(0.5), a, b])
    np.testing.assert_array_equal(b, a + 0.5)


def test_threads_blocks_and_barriers(device):
    """A block of three extents transposes itself through shared memory."""
    text = """
PT_KERNEL(4, 2, 3) places(PT_GLOBAL i32 *to)
{
    PT_SHARED i32 seen[3][2][4];
    const i32 block = (PT_BLOCK_Z * PT_GRID_Y + PT_BLOCK_Y) * PT_GRID_X + PT_BLOCK_X;
    seen[PT_THREAD_Z][PT_THREAD_Y][PT_THREAD_X] = 100 * block + PT_THREAD_X + 4 * PT_THREAD_Y + 8 * PT_THREAD_Z;
    PT_BARRIER();
    const i32 mine = (PT_THREAD_Z * 2 + PT_THREAD_Y) * 4 + PT_THREAD_X;
    to[24 * block + mine] = seen[2 - PT_THREAD_Z][1 - PT_THREAD_Y][3 - PT_THREAD_X];
}
"""
    to = np.zeros((30, 24), np.int32)
    run(device, compiled(device, text, "places"), (5, 2, 3), (4, 2, 3), [to])
    np.testing.assert_array_equal(to, 100 * np.arange(30)[:, None] + np.arange(24)[::-1])


def test_arguments_of_every_type_arrive(device):
    """Between 32-bit arguments, 64-bit ones begin at their own alignment."""
    text = """
PT_KERNEL(1, 1, 1) gather(i32 a, f64 b, f32 c, i64 d, i32 e, PT_GLOBAL f64 *to)
{ to[0] = a; to[1] = b; to[2] = c; to[3] = (f64)d; to[4] = e; }
"""
    to = np.zeros(5)
    numbers = [np.int32(-3), np.float64(0.1), np.float32(2.5), np.int64(-(2**40)), np.int32(7)]
    run(device, compiled(device, text, "gather"), (1, 1, 1), (1, 1, 1), [*numbers, to])
    assert to.tolist() == [-3, 0.1, 2.5, -(2.0**40), 7]


def test_streams_wait_for_each_other(device):
    """What a slow kernel of one stream writes, another downloads only after it."""
    text = """
PT_KERNEL(1, 1, 1) slow(i64 n, PT_GLOBAL i64 *state)
{
    i64 value = state[0];
    for (i64 i = 0; i < n; i++) value = pt_add_i64(pt_multiply_i64(value, 6364136223846793005), 1442695040888963407);
    state[0] = value;
}
"""
    kernel = compiled(device, text, "slow")
    first, second = device.stream(), device.stream()
    before, after = np.ones(1, np.int64), np.ones(1, np.int64)
    with device.allocate(8) as buffer:
        device.upload(first, buffer, before, whole(before))
        begin = device.record(first)
        device.launch(first, kernel, (1, 1, 1), (1, 1, 1), [np.int64(5_000_000), buffer])
        end = device.record(first)
        device.wait(second, end)
        device.download(second, after, buffer, whole(after))
        second.synchronize()
        assert after[0] != 1
        assert 1e-3 < device.seconds(begin, end) < 600


def test_events_are_used_again(cuda):
    stream = cuda.stream()
    raw = cuda.record(stream).handle.raw
    assert cuda.record(stream).handle.raw is raw


def test_kernel_tells_its_needs(device):
    text = """
PT_KERNEL(16, 1, 1) swap(PT_GLOBAL f64 *a)
{
    PT_SHARED f64 s[50];
    s[PT_THREAD_X] = a[PT_THREAD_X];
    PT_BARRIER();
    a[PT_THREAD_X] = s[15 - PT_THREAD_X];
}
"""
    kernel = compiled(device, text, "swap")
    assert kernel.name == "swap"
    assert kernel.shared_memory >= 400 or device.dialect == "opencl"  # PoCL reports static shared memory after a launch
    assert kernel.threads_limit >= 16


def test_source_that_does_not_compile(device):
    with pytest.raises(DeviceCompilationError, match=r"undeclared|not declared|use of undefined|identifier") as raised:
        compiled(device, "PT_KERNEL(1, 1, 1) wrong(PT_GLOBAL f64 *a) { a[0] = nowhere; }\n", "wrong")
    assert "nowhere" in str(raised.value)
    assert isinstance(raised.value, CompilationError)


def test_kernel_that_is_not_in_the_source(device):
    with pytest.raises(DeviceCompilationError):
        compiled(device, ADD, "subtract")


def test_block_of_another_shape_is_refused(device):
    kernel = compiled(device, ADD, "add")
    with device.allocate(128) as a, pytest.raises(LaunchError, match="add with"):
        device.launch(device.stream(), kernel, (1, 1, 1), (16, 1, 1), [np.int64(8), np.float64(2), a, a])


def test_wrong_arguments_are_refused(device):
    kernel = compiled(device, ADD, "add")
    with device.allocate(64) as a, pytest.raises(LaunchError, match="add"):
        device.launch(device.stream(), kernel, (1, 1, 1), (8, 1, 1), [np.int64(8), np.float64(2), a])


def test_device_goes_on_after_a_refusal(device):
    test_wrong_arguments_are_refused(device)
    test_kernel_runs(device)


def test_more_memory_than_there_is(device):
    with pytest.raises(DeviceMemoryError, match=device.identity):
        device.allocate(1 << 50)


def test_memory_is_counted_and_freed_once(device):
    before = device.memory_free()
    buffer = device.allocate(1 << 20)
    assert device.memory_free() <= before - (1 << 20)
    buffer.free()
    buffer.free()
    assert device.memory_free() == before


def test_memory_that_nobody_refers_to_is_freed(device):
    before = device.memory_free()
    buffer = device.allocate(1 << 20)
    assert buffer.nbytes == 1 << 20
    del buffer
    assert device.memory_free() == before


def test_freed_memory_is_not_used(device):
    """A null pointer would end the process."""
    kernel, stream = compiled(device, ADD, "add"), device.stream()
    buffer = device.allocate(64)
    buffer.free()
    with pytest.raises(DeviceError, match="after it has been freed"):
        device.launch(stream, kernel, (1, 1, 1), (8, 1, 1), [np.int64(8), np.float64(2), buffer, buffer])
    with pytest.raises(DeviceError, match="after it has been freed"):
        device.upload(stream, buffer, np.zeros(8), ((0, 8, 1),))


def test_empty_buffer(device):
    with device.allocate(0) as buffer:
        array = np.zeros((0, 3))
        device.upload(device.stream(), buffer, array, whole(array))
        assert buffer.nbytes == 0


def test_limits_are_told(device):
    limits = device.limits
    assert limits.threads_per_block >= 256
    assert limits.shared_memory >= 16 * 1024
    assert min(limits.block_shape) >= 1
    assert limits.memory >= device.memory_free() > 0
    assert limits.float64
    assert device.description in device.key or device.identity.startswith("opencl")


def test_any_thread_may_use_a_device(device):
    """Four threads at once, with streams and events that are dropped in them."""
    kernel = compiled(device, ADD, "add")
    wrong = []

    def work(number):
        for _ in range(5):
            a, b = np.full(40, float(number)), np.zeros(40)
            run(device, kernel, (5, 1, 1), (8, 1, 1), [np.int64(40), np.float64(1), a, b])
            if not (b == number + 1).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_of_others_is_used_and_never_freed(cuda):
    kernel = compiled(cuda, ADD, "add")
    a, back = np.arange(8.0), np.zeros(8)
    with cuda.allocate(64) as owned:
        foreign = cuda.wrap(owned.address, 64)
        stream = cuda.stream()
        cuda.upload(stream, foreign, a, whole(a))
        cuda.launch(stream, kernel, (1, 1, 1), (8, 1, 1), [np.int64(8), np.float64(2), foreign, foreign])
        foreign.free()
        cuda.download(stream, back, owned, whole(back))
        stream.synchronize()
    np.testing.assert_array_equal(back, a + 2)


def test_opencl_memory_has_no_address(opencl):
    with pytest.raises(DeviceError, match="OpenCL"):
        opencl.wrap(4096, 64)


def raw_device(**attributes):
    """As much of PoCL's device as is looked at before it is used."""
    usual = {
        "platform": SimpleNamespace(name="Portable Computing Language"),
        "version": "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-znver3",
        "available": True,
        "compiler_available": True,
        "max_work_group_size": 4096,
        "max_work_item_sizes": [4096, 4096, 4096],
    }
    return SimpleNamespace(**{**usual, **attributes})


def test_device_in_use_is_usable(opencl):
    assert reason_if_unusable(opencl._raw) is None


def test_device_that_lacks_its_linker_is_not_used(monkeypatch):
    """PoCL would end this process."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert reason_if_unusable(raw_device()) is None
    monkeypatch.setattr("shutil.which", lambda name: None)
    reason, remedy = reason_if_unusable(raw_device())
    assert "ld" in reason
    assert "binutils" in remedy
    assert reason_if_unusable(raw_device(platform=SimpleNamespace(name="Another"))) is None


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"version": "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic "}, "older than the processor"),
        ({"max_work_group_size": 16}, "may not have 32 threads"),
        ({"max_work_item_sizes": [1, 1024, 1024]}, "may not have 32 threads"),
        ({"available": False}, "not available"),
    ],
)
def test_device_that_compiles_or_runs_nothing_is_not_used(monkeypatch, attributes, reason):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    found, remedy = reason_if_unusable(raw_device(**attributes))
    assert reason in found
    assert remedy


def test_generic_processor_of_another_kind_is_used(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert reason_if_unusable(raw_device(version="OpenCL 3.0 PoCL HSTR: pthread-aarch64-linux-gnu-generic")) is None
