"""Boxes of array elements: which hold others, and what is left of one when others are taken away."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import starmap

from polytune.runtime.devices.device import Box

__all__ = ["contains", "is_empty", "overlap", "remainder", "whole"]


def whole(shape: tuple[int, ...]) -> Box:
    """The box of all elements of an array."""
    return tuple((0, extent, 1) for extent in shape)


def is_empty(box: Box) -> bool:
    """Whether a box has no elements."""
    return any(stop <= start for start, stop, _ in box)


def overlap(first: Box, second: Box) -> bool:
    """Whether two boxes may have an element in common; exact where no steps are involved."""
    return all(a[0] < b[1] and b[0] < a[1] for a, b in zip(first, second, strict=True))


def contains(outer: Box, inner: Box) -> bool:
    """Whether every element of a box that is not empty is one of another."""
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
