"""Sets of array elements: boxes, what is left of one when others are taken away, and a mask where they are many."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import starmap

import numpy as np

from polytune.runtime.devices.device import Box

__all__ = ["ElementSet", "contains", "is_empty", "overlap", "remainder", "whole"]


def whole(shape: tuple[int, ...]) -> Box:
    """The box of all elements of an array."""
    return tuple((0, extent, 1) for extent in shape)


def is_empty(box: Box) -> bool:
    """Return whether a box has no elements."""
    return any(stop <= start for start, stop, _ in box)


def overlap(first: Box, second: Box) -> bool:
    """Return whether two boxes may have an element in common; exact where no steps are involved."""
    return all(a[0] < b[1] and b[0] < a[1] for a, b in zip(first, second, strict=True))


def contains(outer: Box, inner: Box) -> bool:
    """Return whether every element of a box that is not empty is one of another."""
    return all(starmap(_contains_axis, zip(outer, inner, strict=True)))


def _contains_axis(outer: tuple[int, int, int], inner: tuple[int, int, int]) -> bool:
    if inner[0] < outer[0] or inner[1] > outer[1]:
        return False
    single = inner[1] - inner[0] <= inner[2]
    return (inner[0] - outer[0]) % outer[2] == 0 and (single or inner[2] % outer[2] == 0)


def remainder(box: Box, taken: Iterable[Box]) -> list[Box]:
    """Disjoint boxes that hold all elements of a box but those of others.

    Of a box with steps only a box that contains it takes anything away.
    """
    rest = [box]
    for other in taken:
        rest = [piece for part in rest for piece in _without(part, other)]
    return rest


def _without(box: Box, other: Box) -> list[Box]:
    if is_empty(other) or not overlap(box, other):
        return [box]
    if contains(other, box):
        return []
    if any(axis[2] != 1 for axis in (*box, *other)):
        return [box]
    pieces, middle = [], list(box)
    for axis, ((start, stop, _), (low, high, _)) in enumerate(zip(box, other, strict=True)):
        if start < low:
            pieces.append((*middle[:axis], (start, low, 1), *middle[axis + 1 :]))
        if high < stop:
            pieces.append((*middle[:axis], (high, stop, 1), *middle[axis + 1 :]))
        middle[axis] = (max(start, low), min(stop, high), 1)
    return pieces


MANY_BOXES = 32
"""The number of boxes from which on a mask over the whole array takes their place: each is then added at the price of
its elements, however many there have been before."""


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
        """Return whether any element of boxes is in the set; where boxes have steps, maybe yes where the answer is
        no."""
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
