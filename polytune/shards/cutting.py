"""Cuts of the band of a region, so that shards begin and end where chunks of its arrays do.

Any cut is right: coincident members of a band may be cut anywhere.  Which of them follow which axes of which arrays is
found by asking for the boxes of one iteration here and there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from math import prod

from polytune.records import dataclass
from polytune.runtime.partitioned.pieces import Limits
from polytune.shards.boxes import Chunks, borders_of
from polytune.shards.regions import Regions

__all__ = ["Cut", "MemberAxis", "cut_region", "written_axes"]


@dataclass(frozen=True)
class Cut:
    """The shards of one execution of a region.

    Attributes:
        borders: per member of the band with limits, where its pieces begin, and where the last one ends.
        follows: per member the array and the axis whose chunks it is cut by; None where it is not cut.
        reductions: the arrays, each with its operator, that shards add up in copies of their own.
    """

    borders: tuple[tuple[int, ...], ...]
    follows: tuple[tuple[str, int] | None, ...]
    reductions: tuple[tuple[str, str], ...] = ()

    def pieces(self) -> Iterator[Limits]:
        """The limits of each shard."""
        return product(*(pairwise(member) for member in self.borders))

    @property
    def count(self) -> int:
        """Return how many shards there are."""
        return prod(len(member) - 1 for member in self.borders)


@dataclass(frozen=True)
class MemberAxis:
    """An axis that a member of a band goes along: subscripts are ``factor * member + offset``, and near that.

    Attributes:
        array, axis: the array and its axis.
        member: the member.
        factor, offset: as in the subscripts.
        is_written: whether the elements are written, and not read.
    """

    array: str
    axis: int
    member: int
    factor: int
    offset: int
    is_written: bool


def cut_region(
    regions: Regions, number: int, around: tuple[int, ...], arrays: Mapping[str, tuple[Chunks | None, int]]
) -> Cut | None:
    """Cut a region by the chunks of the arrays that it accesses; None where it has no iterations.

    Each coincident member is cut by the array that has most bytes of those that it goes along and that have several
    chunks there, what is written counting twice.  A member along which only sums depend on one another is cut where
    there would be one shard otherwise.

    Args:
        regions: the call's regions.
        number: the region's.
        around: the values of the loops around the region.
        arrays: per array its chunks, None where it has none yet, and its bytes.
    """
    part, limits = regions.part(number), regions.whole(number, around)
    if any(start >= stop for start, stop in regions.ranges(number, around)):
        return None
    reducing = [bool(each) for each in part.reductions]
    reducing += [False] * (part.shared - len(reducing))
    borders: list[tuple[int, ...]] = []
    follows: list[tuple[str, int] | None] = []
    for member in range(part.shared):
        found = None if reducing[member] else _cut_member(regions, number, around, member, arrays)
        borders.append(limits[member] if found is None else found[0])
        follows.append(None if found is None else found[1])
    summed = dict(part.sums)
    if all(len(each) == 2 for each in borders):
        for member in range(part.shared):
            found = _cut_member(regions, number, around, member, arrays) if reducing[member] else None
            if found is not None:
                borders[member], follows[member] = found
                summed |= dict(part.reductions[member])
                break
    return Cut(tuple(borders), tuple(follows), tuple(summed.items()))


def _cut_member(
    regions: Regions,
    number: int,
    around: tuple[int, ...],
    member: int,
    arrays: Mapping[str, tuple[Chunks | None, int]],
) -> tuple[tuple[int, ...], tuple[str, int]] | None:
    """The borders of a member of a band, and what they are those of."""
    start, stop = regions.whole(number, around)[member]
    best: tuple[int, tuple[int, ...], tuple[str, int]] | None = None
    for axis in _axes(regions, number, around, member):
        chunks, weight = arrays[axis.array]
        if chunks is None:
            continue
        places = (-((axis.offset - border) // axis.factor) for border in borders_of(chunks[axis.axis])[1:-1])
        inside = sorted({place for place in places if start < place < stop})
        weight = 2 * weight if axis.is_written else weight
        if inside and (best is None or weight > best[0]):
            best = weight, (start, *inside, stop), (axis.array, axis.axis)
    return None if best is None else best[1:]


def written_axes(regions: Regions, number: int, around: tuple[int, ...]) -> list[MemberAxis]:
    """The axes of what a region writes that members of its band go along.

    Args:
        regions: the call's regions.
        number: the region's.
        around: the values of the loops around the region.
    """

    def found() -> list[MemberAxis]:
        members = range(regions.part(number).shared)
        return [axis for member in members for axis in _axes(regions, number, around, member) if axis.is_written]

    return regions.kept(("written axes", *regions.place(number, around)), found)


def _axes(regions: Regions, number: int, around: tuple[int, ...], member: int) -> Iterator[MemberAxis]:
    """The axes of arrays that a member goes along, by the boxes of two of its iterations, away from its ends."""
    limits = regions.whole(number, around)
    start, stop = limits[member]
    if stop - start < 2:
        return
    first = start + (stop - start) // 3
    second = max(first + 1, start + 2 * (stop - start) // 3)
    places = [(*limits[:member], (place, place + 1), *limits[member + 1 :]) for place in (first, second)]
    for is_written, of in ((True, regions.writes), (False, regions.strided_reads)):
        before, after = (of(number, around, at) for at in places)
        for array in before:
            if len(before[array]) != len(after.get(array, [])):
                continue
            for box, later in zip(before[array], after[array], strict=True):
                for axis, ((low, high, _), (later_low, later_high, _)) in enumerate(zip(box, later, strict=True)):
                    moved, distance = later_low - low, second - first
                    if moved and moved == later_high - high and moved % distance == 0:
                        factor = moved // distance
                        yield MemberAxis(array, axis, member, factor, low - factor * first, is_written)
