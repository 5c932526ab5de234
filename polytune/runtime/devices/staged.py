"""Uploads and downloads through page-locked memory, the same for every kind of device.

An upload is packed into staging memory at once and copied from there; a download is copied into staging memory, and put
in place when the stream is synchronized.  So a program never waits for a copy that it has only enqueued.  Boxes are cut
into pieces, so that the copy engine works on one while the next is being packed.

Staging memory is page-locked, so that a device reads it while the program runs; the host fills it by several threads.
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from polytune.records import dataclass
from polytune.runtime.devices.device import Box, Device, DeviceBuffer, Event, Stream
from polytune.runtime.devices.transfers import Rectangle, check_box, pieces, rectangles, view
from polytune.runtime.teams.threads import maximum_threads

__all__ = ["StagedDevice", "StagedStream", "Staging", "copy"]

_PIECE = 1 << 23
_IN_FLIGHT = 1 << 28


@dataclass(frozen=True)
class _Pending:
    """Staging memory that a copy uses until an event, and the part of the host's array that it is for, if any."""

    event: Event
    staging: Staging
    target: np.ndarray | None


class StagedStream(Stream):
    """A stream and the staging memory that its copies still need."""

    def __init__(self, device: StagedDevice):
        self.device = device
        self._pending: deque[_Pending] = deque()
        self._in_flight = 0

    def synchronize(self) -> None:
        # Pieces are put in place one after the other, while the later ones are still on their way.
        try:
            while self._pending:
                self._finish_oldest()
            self._finish()
        except BaseException:
            self._pending.clear()
            self._in_flight = 0
            raise

    def hold(self, staging: Staging, target: np.ndarray | None) -> None:
        """Keep staging memory until all work enqueued so far is done, then put it in place if it has a target."""
        self._pending.append(_Pending(self.device.record(self), staging, target))
        self._in_flight += staging.bytes.nbytes

    def make_room(self) -> None:
        """Get back staging memory that is no longer used, and wait for some if very much of it is in use."""
        while self._pending and (self._in_flight > _IN_FLIGHT or self.device.has_passed(self._pending[0].event)):
            self._finish_oldest()

    def _finish_oldest(self) -> None:
        pending = self._pending[0]
        self.device.wait_for(pending.event)
        if pending.target is not None:
            copy(pending.target, pending.staging.packed(pending.target.shape, pending.target.dtype))
        self._pending.popleft()
        self._in_flight -= pending.staging.bytes.nbytes
        self.device.staging.give(pending.staging)

    @abstractmethod
    def _finish(self) -> None:
        """Wait until the device has done all work of this stream, and raise what has gone wrong."""


class StagedDevice(Device):
    """A device that copies rectangles between its memory and page-locked memory of the host."""

    largest_pitch: int = 2**31 - 1

    def __init__(self) -> None:
        self.staging = StagingPool(self._allocate_staging)

    def upload(self, stream: Stream, buffer: DeviceBuffer, host: np.ndarray, box: Box) -> None:
        assert isinstance(stream, StagedStream)
        check_box(host, buffer, box)
        for piece in pieces(box, host.itemsize, _PIECE):
            stream.make_room()
            source = view(host, piece)
            staging = self.staging.take(source.nbytes)
            copy(staging.packed(source.shape, host.dtype), source)
            self._copy_in(stream, buffer, staging, rectangles(host.shape, host.itemsize, piece, self.largest_pitch))
            stream.hold(staging, None)

    def download(self, stream: Stream, host: np.ndarray, buffer: DeviceBuffer, box: Box) -> None:
        assert isinstance(stream, StagedStream)
        check_box(host, buffer, box)
        for piece in pieces(box, host.itemsize, _PIECE):
            stream.make_room()
            target = view(host, piece)
            staging = self.staging.take(target.nbytes)
            self._copy_out(stream, staging, buffer, rectangles(host.shape, host.itemsize, piece, self.largest_pitch))
            stream.hold(staging, target)

    @abstractmethod
    def has_passed(self, event: Event) -> bool:
        """Return whether all the work before an event is done."""

    @abstractmethod
    def wait_for(self, event: Event) -> None:
        """Wait until all the work before an event is done."""

    @abstractmethod
    def _allocate_staging(self, nbytes: int) -> Staging:
        """Page-locked memory."""

    @abstractmethod
    def _copy_in(self, stream: Stream, buffer: DeviceBuffer, staging: Staging, parts: Iterable[Rectangle]) -> None:
        """Enqueue copies from staging memory to the device."""

    @abstractmethod
    def _copy_out(self, stream: Stream, staging: Staging, buffer: DeviceBuffer, parts: Iterable[Rectangle]) -> None:
        """Enqueue copies from the device to staging memory."""


_SMALLEST = 1 << 12
_KEPT = 1 << 28


@dataclass(frozen=True)
class Staging:
    """A piece of page-locked memory.

    Attributes:
        bytes: all of it, an array of uint8.
        handle: what keeps it alive, in the backend's terms.
    """

    bytes: np.ndarray
    handle: object

    def packed(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Its beginning as a dense array of a shape and dtype, in C order."""
        return self.bytes[: math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)


class StagingPool:
    """Page-locked memory of one device, used again and again, because locking pages is slow.  Safe to use from several
    threads."""

    def __init__(self, allocate: Callable[[int], Staging]):
        """
        Args:
            allocate: makes a piece of a given number of bytes.
        """
        self._allocate = allocate
        self._idle: dict[int, list[Staging]] = {}
        self._kept = 0
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> Staging:
        """A piece of at least so many bytes, which nobody else has.

        Raises:
            DeviceMemoryError: the system has no more memory that it can lock.
        """
        size = max(_SMALLEST, 1 << (nbytes - 1).bit_length())
        with self._lock:
            idle = self._idle.get(size)
            if idle:
                self._kept -= size
                return idle.pop()
        return self._allocate(size)

    def give(self, staging: Staging) -> None:
        """Take back a piece that no copy uses any longer."""
        size = staging.bytes.nbytes
        with self._lock:
            if self._kept + size <= _KEPT:
                self._idle.setdefault(size, []).append(staging)
                self._kept += size

    def clear(self) -> None:
        """Let go of all pieces that are not in use."""
        with self._lock:
            self._idle.clear()
            self._kept = 0


_WORTH_SHARING = 1 << 21
_MOST_THREADS = 4
"""One thread reaches a fraction of the memory's bandwidth; a few reach most of it."""


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Copy all elements between arrays of one shape and dtype, with any strides."""
    threads = min(_MOST_THREADS, maximum_threads())
    if source.nbytes < _WORTH_SHARING or threads == 1:
        np.copyto(target, source)
        return
    axis = int(np.argmax(source.shape))
    bounds = [source.shape[axis] * part // threads for part in range(threads + 1)]
    parts = [(slice(None),) * axis + (slice(*pair),) for pair in itertools.pairwise(bounds)]
    # NumPy lets other threads run while it copies.
    list(_pool().map(lambda part: np.copyto(target[part], source[part]), parts))


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="polytune-copy")
