"""Uploads and downloads through page-locked memory, the same for every kind of device.

An upload is packed into staging memory at once and copied from there; a download is copied into staging memory, and put
in place when the stream is synchronized.  So a program never waits for a copy that it has only enqueued.  Boxes are cut
into pieces, so that the copy engine works on one while the next is being packed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable

import numpy as np

from polytune.records import dataclass
from polytune.runtime.devices.device import Box, Device, DeviceBuffer, Event, Stream
from polytune.runtime.devices.staging import Staging, StagingPool, copy
from polytune.runtime.devices.transfers import Rectangle, check_box, pieces, rectangles, view

__all__ = ["StagedDevice", "StagedStream"]

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
