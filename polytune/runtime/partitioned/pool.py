"""Device memory kept for the next call: allocating it takes longer than many a kernel runs."""

from __future__ import annotations

import threading

from polytune.errors import DeviceMemoryError
from polytune.runtime.devices.device import Buffer, Device

__all__ = ["BufferPool"]


class BufferPool:
    """Buffers of one device, by size; several threads may take and give."""

    def __init__(self, device: Device):
        self._device = device
        self._free: dict[int, list[Buffer]] = {}
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> Buffer:
        """A buffer of a size, with arbitrary contents.

        Raises:
            DeviceMemoryError: there is no room for it, even with all that is kept given back.
        """
        with self._lock:
            kept = self._free.get(nbytes)
            if kept:
                return kept.pop()
        try:
            return self._device.allocate(nbytes)
        except DeviceMemoryError:
            self.clear()
            return self._device.allocate(nbytes)

    def give(self, buffer: Buffer) -> None:
        """Keep a buffer that nobody uses any more."""
        with self._lock:
            self._free.setdefault(buffer.nbytes, []).append(buffer)

    def clear(self) -> None:
        """Give everything that is kept back to the device."""
        with self._lock:
            buffers = [buffer for kept in self._free.values() for buffer in kept]
            self._free = {}
        for buffer in buffers:
            buffer.free()
