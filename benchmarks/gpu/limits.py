"""The limits of a device, measured by kernels written for nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from polytune.runtime.devices.backends import PRELUDES
from polytune.runtime.devices.device import Device, DeviceBuffer, LoadedKernel, Stream

THREADS = 256
"""Threads of a block."""

COPY = """
PT_KERNEL(256, 1, 1) copy(PT_GLOBAL const f64 *PT_RESTRICT source, PT_GLOBAL f64 *PT_RESTRICT target, i64 count)
{
    const i64 stride = (i64)PT_GRID_X * 256;
    for (i64 i = (i64)PT_BLOCK_X * 256 + PT_THREAD_X; i < count; i += stride) target[i] = source[i];
}
"""

CHAINS = 8
"""Independent chains of operations of a thread: enough to hide the latency of one."""

MULTIPLY_ADD = """
PT_KERNEL(256, 1, 1) multiply_add(PT_GLOBAL TYPE *PT_RESTRICT target, TYPE factor, i64 rounds)
{
    TYPE x[CHAINS];
    PT_UNROLL
    for (int k = 0; k < CHAINS; k++) x[k] = (TYPE)(PT_THREAD_X + k);
    for (i64 round = 0; round < rounds; round++) {
        PT_UNROLL
        for (int k = 0; k < CHAINS; k++) x[k] = x[k] * factor + factor;
    }
    TYPE sum = 0;
    PT_UNROLL
    for (int k = 0; k < CHAINS; k++) sum += x[k];
    target[(i64)PT_BLOCK_X * 256 + PT_THREAD_X] = sum;
}
"""


@dataclass(frozen=True)
class DeviceLimits:
    """The measurements of a device.

    Attributes:
        copy: bytes read and written per second by a copy within the device's memory.
        flops: floating-point operations per second by dtype, a multiplication with an addition counted as two; without
            tensor cores.
    """

    copy: float
    flops: dict[str, float]


def measure_limits(device: Device, *, copied: int, rounds: int) -> DeviceLimits:
    """Measure a device.

    Args:
        device: which.
        copied: bytes of the array that is copied; much more than the caches hold.
        rounds: multiplications and additions of each chain.

    Raises:
        DeviceError: the device failed.
    """
    stream = device.stream()
    dtypes = [np.float32, *([np.float64] if device.limits.float64 else [])]
    return DeviceLimits(
        _copy_rate(device, stream, copied),
        {np.dtype(dtype).name: _operation_rate(device, stream, np.dtype(dtype), rounds) for dtype in dtypes},
    )


def _copy_rate(device: Device, stream: Stream, copied: int) -> float:
    kernel = device.compile(PRELUDES[device.dialect] + COPY, "copy")
    count = copied // 8
    host = np.zeros(count)
    with device.allocate(copied) as source, device.allocate(copied) as target:
        device.upload(stream, source, host, ((0, count, 1),))
        grid = (min(-(-count // THREADS), 64 * device.limits.multiprocessors), 1, 1)
        seconds = best_seconds(device, stream, lambda: _launch(device, stream, kernel, grid, (source, target, count)))
    return 2 * 8 * count / seconds


def _operation_rate(device: Device, stream: Stream, dtype: np.dtype, rounds: int) -> float:
    name = {"float32": "f32", "float64": "f64"}[dtype.name]
    text = MULTIPLY_ADD.replace("TYPE", name).replace("CHAINS", str(CHAINS))
    kernel = device.compile(PRELUDES[device.dialect] + text, "multiply_add", contract=True)
    blocks = 16 * device.limits.multiprocessors
    with device.allocate(blocks * THREADS * dtype.itemsize) as target:
        arguments = (target, dtype.type(0.5), rounds)
        seconds = best_seconds(device, stream, lambda: _launch(device, stream, kernel, (blocks, 1, 1), arguments))
    return 2 * CHAINS * rounds * blocks * THREADS / seconds


def _launch(
    device: Device,
    stream: Stream,
    kernel: LoadedKernel,
    grid: tuple[int, int, int],
    arguments: Sequence[DeviceBuffer | np.generic | int],
) -> None:
    typed = [np.int64(value) if isinstance(value, int) else value for value in arguments]
    device.launch(stream, kernel, grid, (THREADS, 1, 1), typed)


def best_seconds(
    device: Device, stream: Stream, enqueue: Callable[[], None], *, repeats: int = 5, least: float = 5e-3
) -> float:
    """The seconds that enqueued work takes on the device: the least of several measurements, each of so many
    repetitions that the clock and the launches do not matter.

    Args:
        device: where it runs.
        stream: what it is enqueued in.
        enqueue: enqueues it once.
        repeats: how many measurements are made.
        least: the seconds of one measurement, at least.
    """
    once = _timed(device, stream, enqueue, 1)  # also warms up
    once = min(once, _timed(device, stream, enqueue, 1))
    count = max(1, min(1000, round(least / max(once, 1e-7))))
    return min(_timed(device, stream, enqueue, count) for _ in range(repeats)) / count


def _timed(device: Device, stream: Stream, enqueue: Callable[[], None], count: int) -> float:
    first = device.record(stream)
    for _ in range(count):
        enqueue()
    last = device.record(stream)
    stream.synchronize()
    return device.seconds(first, last)
