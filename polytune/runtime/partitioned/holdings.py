"""The elements of arrays that a device holds, and which of them the host lacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import numpy as np

from polytune.records import dataclass
from polytune.runtime.devices.device import Box, Device, DeviceBuffer, Stream
from polytune.runtime.devices.staged import copy
from polytune.runtime.devices.transfers import box_shape, view
from polytune.runtime.partitioned.boxes import ElementSet, contains, is_empty, overlap, remainder
from polytune.runtime.partitioned.pool import BufferPool, shadows

__all__ = ["Holding", "Holdings"]

MANY_BOXES = 64
"""The number of boxes from which on the parts that a device holds are forgotten rather than kept in detail: they are
then moved again."""


@dataclass
class Holding:
    """One array on one device.

    Attributes:
        buffer: its memory, dense in C order.
        host: the array.
        valid: boxes whose elements on the device are the newest there are.
        dirty: the elements that are newest on the device alone.
        kept: whether it outlives the call, so that neither its memory nor what the host lacks goes back at its end.
        shadow: where downloads arrive before they are known to be complete.
    """

    buffer: DeviceBuffer
    host: np.ndarray
    valid: list[Box] = field(default_factory=list)
    kept: bool = False
    shadow: np.ndarray | None = None
    dirty: ElementSet = field(init=False)

    def __post_init__(self) -> None:
        self.dirty = ElementSet(self.host.shape)

    def missing(self, box: Box) -> list[Box]:
        """The parts of a box that have to be uploaded before the device may read it."""
        # Mostly it is the same box as before.
        if box in self.valid or any(contains(held, box) for held in self.valid):
            return []
        return remainder(box, self.valid)

    def add_valid(self, box: Box) -> None:
        """Note that the device now holds a box."""
        if box in self.valid or any(contains(held, box) for held in self.valid):
            return
        self.valid = [held for held in self.valid if not contains(box, held)]
        if len(self.valid) < MANY_BOXES:
            self.valid.append(box)

    def add_dirty(self, box: Box) -> None:
        """Note that the device alone now holds the newest elements of a box."""
        self.add_valid(box)
        self.dirty.add(box)

    def invalidate(self, box: Box) -> None:
        """Note that the host has new elements in a box."""
        # Where steps are involved the remainder may still overlap: then it is forgotten as a whole.
        pieces = [piece for held in self.valid for piece in remainder(held, [box])]
        self.valid = [piece for piece in pieces if not overlap(piece, box)]

    def forget(self) -> None:
        """Discard what the device has."""
        self.valid = []
        self.dirty.clear()


class Holdings:
    """The arrays on one device.

    Args:
        device, stream: the attributes.
        pool: where the memory for them is from.

    Attributes:
        device: the device.
        stream: where all that happens to them is enqueued.
        uploaded, downloaded: bytes moved so far.
    """

    def __init__(self, device: Device, stream: Stream, pool: BufferPool):
        self.device, self.stream, self._pool = device, stream, pool
        self.uploaded = self.downloaded = 0
        self._arrays: dict[str, Holding] = {}

    def array(self, name: str, host: np.ndarray) -> Holding:
        """The holding of an array, with memory of its own.

        Raises:
            DeviceMemoryError: there is not enough memory on the device.
        """
        found = self._arrays.get(name)
        if found is None:
            found = self._arrays[name] = Holding(self._pool.take(max(host.nbytes, 8)), host)
        return found

    def adopt(self, name: str, holding: Holding) -> None:
        """Use a holding that outlives the call."""
        self._arrays[name] = holding

    def upload(self, name: str, host: np.ndarray, boxes: Iterable[Box]) -> None:
        """Have the device hold boxes of an array.

        Args:
            name: the array's.
            host: the array itself, of any strides.
            boxes: per axis (start, stop, step); what the device holds already is not copied.
        """
        holding = self.array(name, host)
        for box in boxes:
            if is_empty(box):
                continue
            for piece in holding.missing(box):
                self.device.upload(self.stream, holding.buffer, host, piece)
                self.uploaded += _size(host, piece)
            holding.add_valid(box)

    def wrote(self, name: str, boxes: Iterable[Box]) -> None:
        """Note that a kernel writes boxes of an array."""
        holding = self._arrays[name]
        for box in boxes:
            if not is_empty(box):
                holding.add_dirty(box)

    def host_wrote(self, name: str, boxes: Iterable[Box]) -> None:
        """Note that the host has new elements in boxes of an array, none of which it lacked."""
        holding = self._arrays.get(name)
        if holding is not None:
            for box in boxes:
                if not is_empty(box):
                    holding.invalidate(box)

    def is_needed(self, name: str, boxes: Iterable[Box]) -> bool:
        """Return whether the host lacks any element of boxes of an array."""
        holding = self._arrays.get(name)
        if holding is None or not holding.dirty:
            return False
        return holding.dirty.meets(boxes)

    def clashes(self, name: str, boxes: Iterable[Box]) -> list[Box]:
        """The boxes whose upload would overwrite elements that the host lacks: where steps are involved, or there are
        many boxes, what is missing of a box is not told apart from what is there."""
        holding = self._arrays.get(name)
        if holding is None or not holding.dirty:
            return []
        missing = [piece for box in boxes if not is_empty(box) for piece in holding.missing(box)]
        return [piece for piece in missing if holding.dirty.meets([piece])]

    @property
    def is_dirty(self) -> bool:
        """Return whether the host lacks any element."""
        return any(holding.dirty for holding in self._arrays.values())

    @property
    def leaving(self) -> list[str]:
        """The arrays that do not outlive the call and of which the host lacks elements."""
        return [name for name, holding in self._arrays.items() if holding.dirty and not holding.kept]

    def fetch(self, names: Iterable[str]) -> None:
        """Enqueue the downloads of what the host lacks of some arrays, into their shadows."""
        for name in names:
            holding = self._arrays[name]
            if holding.shadow is None:
                holding.shadow = shadows().take(holding.host.shape, holding.host.dtype)
            for box in holding.dirty.boxes:
                self.device.download(self.stream, holding.shadow, holding.buffer, box)
                self.downloaded += _size(holding.host, box)

    def commit(self, names: Iterable[str]) -> None:
        """Put what was downloaded into the arrays, after the stream has been synchronized."""
        for name in names:
            holding = self._arrays[name]
            assert holding.shadow is not None
            for box in holding.dirty.boxes:
                copy(view(holding.host, box), view(holding.shadow, box))
            shadows().give(holding.shadow)
            holding.shadow = None
            holding.dirty.clear()

    @property
    def dirty(self) -> list[str]:
        """The arrays of which the host lacks elements."""
        return [name for name, holding in self._arrays.items() if holding.dirty]

    def drop(self, name: str) -> None:
        """Forget an array of which the host lacks nothing, and give its memory back."""
        self._pool.give(self._arrays.pop(name).buffer)

    def dirty_boxes(self, name: str) -> list[Box]:
        """Return what the host lacks of an array."""
        return self._arrays[name].dirty.boxes

    def buffer(self, name: str) -> DeviceBuffer:
        """The memory of an array."""
        return self._arrays[name].buffer

    def release(self) -> None:
        """Give the memory back to the pool, but for holdings that outlive the call."""
        for holding in self._arrays.values():
            holding.shadow = None
            if not holding.kept:
                self._pool.give(holding.buffer)
        self._arrays = {}


def _size(host: np.ndarray, box: Box) -> int:
    size = host.itemsize
    for count in box_shape(box):
        size *= count
    return size
