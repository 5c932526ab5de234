"""Exact sets of elements of an array: some boxes, or a mask where they become many."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from polytune.runtime.devices.device import Box
from polytune.runtime.partitioned.boxes import contains, overlap

__all__ = ["ElementSet"]

MANY_BOXES = 32
"""From how many boxes on a mask over the whole array takes their place: each is then added at the price of its
elements, however many there have been before."""


class ElementSet:
    """A set of elements of an array of a given shape."""

    def __init__(self, shape: tuple[int, ...]):
        self._shape = shape
        self._boxes: list[Box] = []
        self._mask: np.ndarray | None = None

    def __bool__(self) -> bool:
        return bool(self._boxes) or self._mask is not None

    def add(self, box: Box) -> None:
        """Put the elements of a box into the set; the box has some."""
        if self._mask is not None:
            self._mask[_slices(box)] = True
            return
        if any(contains(held, box) for held in self._boxes):
            return
        self._boxes = [held for held in self._boxes if not contains(box, held)]
        self._boxes.append(box)
        if len(self._boxes) > MANY_BOXES:
            self._mask = np.zeros(self._shape, bool)
            for held in self._boxes:
                self._mask[_slices(held)] = True
            self._boxes = []

    def meets(self, boxes: Iterable[Box]) -> bool:
        """Whether any element of boxes is in the set; where boxes have steps, maybe yes where the answer is no."""
        if self._mask is not None:
            return any(bool(self._mask[_slices(box)].any()) for box in boxes)
        return any(overlap(box, held) for box in boxes for held in self._boxes)

    @property
    def boxes(self) -> list[Box]:
        """Boxes that together hold exactly the set's elements."""
        return list(self._boxes) if self._mask is None else _boxes_of(self._mask)

    def clear(self) -> None:
        """Take out all elements."""
        self._boxes, self._mask = [], None


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(*axis) for axis in box)


def _boxes_of(mask: np.ndarray) -> list[Box]:
    """The runs of a mask along its last axis, those that are alike in neighbouring rows as one box."""
    length = mask.shape[-1]
    rows = mask.reshape(-1, length).astype(np.int8)
    steps = np.diff(rows, axis=1, prepend=0, append=0)
    row_of, starts = np.nonzero(steps == 1)
    stops = np.nonzero(steps == -1)[1]
    found: list[Box] = []
    outer = mask.shape[:-1]
    growing: dict[tuple[int, int], tuple[int, int]] = {}  # by run: the first row, and the row that would continue it
    for row, start, stop in zip(row_of.tolist(), starts.tolist(), stops.tolist(), strict=True):
        begun = growing.get((start, stop))
        continues = begun is not None and begun[1] == row and (not outer or row % outer[-1] != 0)
        if begun is not None and not continues:
            found.append(_box(begun[0], begun[1], start, stop, outer))
        growing[start, stop] = (begun[0] if begun is not None and continues else row, row + 1)
    for (start, stop), (first, after) in growing.items():
        found.append(_box(first, after, start, stop, outer))
    return found


def _box(first: int, after: int, start: int, stop: int, outer: tuple[int, ...]) -> Box:
    """Rows from ``first`` to before ``after``, which differ in the last outer axis alone, as a box."""
    if not outer:
        return ((start, stop, 1),)
    index = [int(position) for position in np.unravel_index(first, outer)]
    axes = [(position, position + 1, 1) for position in index[:-1]]
    return (*axes, (index[-1], index[-1] + after - first, 1), (start, stop, 1))
