"""Boxes of arrays and the chunks that they lie in."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, product
from math import prod

__all__ = [
    "Chunks",
    "Range",
    "Ranges",
    "Strided",
    "borders_of",
    "hull",
    "is_exact",
    "meet",
    "merged",
    "overlapping",
    "size_of",
    "slices",
    "spans",
    "strided_in",
    "strided_slices",
    "without_strides",
]

Range = tuple[int, int]
"""Subscripts along an axis: from the first to before the second."""

Ranges = tuple[Range, ...]
"""A box without strides: a range for each axis."""

Strided = tuple[tuple[int, int, int], ...]
"""A box with strides: per axis its range, and the distance of its elements."""

Chunks = tuple[tuple[int, ...], ...]
"""The extents of the chunks along each axis, as Dask has them."""


def size_of(box: Ranges) -> int:
    """The number of elements of a box."""
    return prod(stop - start for start, stop in box)


def hull(boxes: Iterable[Ranges]) -> Ranges:
    """The least box that holds others, of which there is at least one."""
    return tuple(
        (min(starts), max(stops)) for starts, stops in (zip(*axis, strict=True) for axis in zip(*boxes, strict=True))
    )


def meet(first: Ranges, second: Ranges) -> Ranges | None:
    """The box that two boxes have in common; None where there is none."""
    common = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(first, second, strict=True))
    return common if all(start < stop for start, stop in common) else None


def slices(box: Ranges, origin: Sequence[int]) -> tuple[slice, ...]:
    """The slices that select a box from an array whose first element has given subscripts."""
    return tuple(slice(start - first, stop - first) for (start, stop), first in zip(box, origin, strict=True))


def borders_of(extents: Sequence[int]) -> tuple[int, ...]:
    """The subscripts at which chunks of an axis begin, and at last where the axis ends."""
    return tuple(accumulate(extents, initial=0))


def spans(chunks: Chunks) -> Iterator[tuple[tuple[int, ...], Ranges]]:
    """Every chunk of an array: its place in the grid, and its box."""
    borders = [borders_of(extents) for extents in chunks]
    for index in product(*(range(len(extents)) for extents in chunks)):
        yield index, tuple((axis[k], axis[k + 1]) for axis, k in zip(borders, index, strict=True))


def overlapping(box: Ranges, chunks: Chunks) -> Iterator[tuple[tuple[int, ...], Ranges]]:
    """The chunks that a box lies in: the place of each in the grid, and its box."""
    borders = [borders_of(extents) for extents in chunks]
    places = [
        range(max(bisect_right(axis, start) - 1, 0), min(bisect_left(axis, stop), len(axis) - 1))
        for axis, (start, stop) in zip(borders, box, strict=True)
    ]
    for index in product(*places):
        yield index, tuple((axis[k], axis[k + 1]) for axis, k in zip(borders, index, strict=True))


def is_exact(boxes: Sequence[Strided], whole: Ranges) -> bool:
    """Return whether one of the boxes is all of a box, without holes."""
    return any(
        tuple((start, stop) for start, stop, _ in box) == whole and all(step == 1 for *_, step in box) for box in boxes
    )


def merged(boxes: Sequence[Ranges]) -> list[Ranges]:
    """The boxes without those that lie in another one; one hull for those that are most of it."""
    together = hull(boxes)
    kept: list[Ranges] = []
    for box in dict.fromkeys(boxes):
        if not any(other != box and meet(box, other) == box for other in boxes):
            kept.append(box)
    if len(kept) > 1 and sum(map(size_of, kept)) >= size_of(together):
        return [together]
    return kept


def without_strides(box: Ranges) -> Strided:
    """A box as ranges with strides of one."""
    return tuple((start, stop, 1) for start, stop in box)


def strided_in(box: Strided, inside: Ranges) -> Strided | None:
    """The elements of a box with strides that lie in another box; None where there are none."""
    found = []
    for (start, stop, step), (low, high) in zip(box, inside, strict=True):
        first = start if start >= low else start + -(-(low - start) // step) * step
        last = min(stop, high)
        if first >= last:
            return None
        found.append((first, last, step))
    return tuple(found)


def strided_slices(box: Strided, origin: Sequence[int]) -> tuple[slice, ...]:
    """The slices that select a box with strides from an array whose first element has given subscripts."""
    return tuple(
        slice(start - first, stop - first, step) for (start, stop, step), first in zip(box, origin, strict=True)
    )
