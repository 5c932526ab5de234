"""Memory kept for the next call, on devices and beside them: getting it takes longer than many a kernel runs."""

from __future__ import annotations

import functools
import math
import threading

import numpy as np

from polytune.errors import DeviceMemoryError
from polytune.runtime.devices.device import Device, DeviceBuffer

__all__ = ["BufferPool", "ShadowPool", "pool_of", "shadows"]

_KEPT_SHADOWS = 1 << 30


class BufferPool:
    """Buffers of one device, by size; several threads may take and give."""

    def __init__(self, device: Device):
        self._device = device
        self._free: dict[int, list[DeviceBuffer]] = {}
        self._kept = 0
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> DeviceBuffer:
        """A buffer of a size, with arbitrary contents.

        Raises:
            DeviceMemoryError: there is no room for it, even with all that is kept given back.
        """
        with self._lock:
            idle = self._free.get(nbytes)
            if idle:
                self._kept -= nbytes
                return idle.pop()
        try:
            return self._device.allocate(nbytes)
        except DeviceMemoryError:
            self.clear()
            return self._device.allocate(nbytes)

    def give(self, buffer: DeviceBuffer) -> None:
        """Keep a buffer that nobody uses any more; other programs may need the device, so no more than half of its
        memory is kept."""
        if self._kept + buffer.nbytes > self._device.limits.memory // 2:
            self.clear()
        with self._lock:
            self._free.setdefault(buffer.nbytes, []).append(buffer)
            self._kept += buffer.nbytes

    def clear(self) -> None:
        """Give everything that is kept back to the device."""
        with self._lock:
            buffers = [buffer for idle in self._free.values() for buffer in idle]
            self._free, self._kept = {}, 0
        for buffer in buffers:
            buffer.free()


class ShadowPool:
    """Host memory where downloads arrive before they are known to be complete; several threads may take and give.

    Memory that is new from the system is slow when it is first written.
    """

    def __init__(self) -> None:
        self._free: dict[int, list[np.ndarray]] = {}
        self._kept = 0
        self._lock = threading.Lock()

    def take(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array with arbitrary contents, dense in C order."""
        nbytes = math.prod(shape) * dtype.itemsize
        with self._lock:
            idle = self._free.get(nbytes)
            if idle:
                self._kept -= nbytes
                return idle.pop().view(dtype).reshape(shape)
        return np.empty(nbytes, np.uint8).view(dtype).reshape(shape)

    def give(self, shadow: np.ndarray) -> None:
        """Keep an array that nobody uses any more."""
        with self._lock:
            if self._kept + shadow.nbytes <= _KEPT_SHADOWS:
                self._free.setdefault(shadow.nbytes, []).append(shadow.reshape(-1).view(np.uint8))
                self._kept += shadow.nbytes


@functools.cache
def pool_of(device: Device) -> BufferPool:
    """The memory that all kernels of this process share on a device."""
    return BufferPool(device)


@functools.cache
def shadows() -> ShadowPool:
    """The memory for downloads that all calls of this process share."""
    return ShadowPool()
