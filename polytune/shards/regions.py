"""The regions of a call: what any part of one reads and writes, worked out once for each."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from polytune.runtime.partitioned.description import Part, Partitioned, Transfer
from polytune.runtime.partitioned.pieces import Limits, integers
from polytune.shards.boxes import Ranges, Strided, hull

__all__ = ["Regions"]

Kept = TypeVar("Kept")


class Regions:
    """The regions of a kernel, for one call.

    Args:
        partitioned: the kernel's regions.
        parameters: the call's parameters.
        shapes: the shape of every array.
    """

    def __init__(self, partitioned: Partitioned, parameters: Sequence[int], shapes: Mapping[str, tuple[int, ...]]):
        self._partitioned = partitioned
        self.parameters = tuple(parameters)
        self._shapes = dict(shapes)
        self._found: dict[tuple[bool, int, tuple[int, ...], Limits], dict[str, list[Strided]]] = {}
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._uniform = [
            all(
                _ignores(function, len(self.parameters), limits)
                for function, limits in ((part.reads, part.shared), (part.writes, part.shared), (part.ranges, 0))
            )
            for part in partitioned.parts
        ]

    def place(self, number: int, around: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """The executions of a region that are alike: all of them, where the loops around it make no difference.

        Args:
            number: the region's.
            around: the values of the loops around it.
        """
        return number, () if self._uniform[number] else around

    def kept(self, key: tuple[Any, ...], find: Callable[[], Kept]) -> Kept:
        """A finding about the regions, from before or made now.

        Args:
            key: what it is, and of which region.
            find: finds it.
        """
        if key not in self._kept:
            self._kept[key] = find()
        found: Kept = self._kept[key]
        return found

    def steps(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The regions in the order in which they run, each with the values of the loops around it."""
        return self._partitioned.steps(*self.parameters)

    def part(self, number: int) -> Part:
        """The region of a number."""
        return self._partitioned.parts[number]

    def is_uniform(self, number: int) -> bool:
        """Return whether a region is the same in all iterations of the loops around it."""
        return self._uniform[number]

    def ranges(self, number: int, around: tuple[int, ...]) -> Limits:
        """The ranges of all members of a region's band."""
        key = ("ranges", *self.place(number, around))
        return self.kept(key, lambda: self.part(number).ranges(*self.parameters, *around))

    def whole(self, number: int, around: tuple[int, ...]) -> Limits:
        """The limits between which all of a region lies."""
        return self.ranges(number, around)[: self.part(number).shared]

    def reads(self, number: int, around: tuple[int, ...], limits: Limits) -> dict[str, list[Ranges]]:
        """The boxes that a part reads, without their strides, by array.

        Args:
            number: the region's.
            around: the values of the loops around it.
            limits: of the part.
        """
        boxes = self._of(False, number, around, limits)
        return {name: [ranges for box in found if (ranges := self._inside(name, box))] for name, found in boxes.items()}

    def strided_reads(self, number: int, around: tuple[int, ...], limits: Limits) -> dict[str, list[Strided]]:
        """The boxes that a part reads, by array.

        Args:
            number: the region's.
            around: the values of the loops around it.
            limits: of the part.
        """
        return self._of(False, number, around, limits)

    def writes(self, number: int, around: tuple[int, ...], limits: Limits) -> dict[str, list[Strided]]:
        """The elements that a part writes, by array.

        Args:
            number: the region's.
            around: the values of the loops around it.
            limits: of the part.
        """
        return self._of(True, number, around, limits)

    def written(self, number: int, around: tuple[int, ...], limits: Limits) -> dict[str, Ranges]:
        """The least box that holds what a part writes, by array.

        Args:
            number: the region's.
            around: the values of the loops around it.
            limits: of the part.
        """
        found = {}
        for name, boxes in self._of(True, number, around, limits).items():
            inside = [ranges for box in boxes if (ranges := self._inside(name, box))]
            if inside:
                found[name] = hull(inside)
        return found

    def _of(self, writes: bool, number: int, around: tuple[int, ...], limits: Limits) -> dict[str, list[Strided]]:
        key = (writes, *self.place(number, around), limits)
        found = self._found.get(key)
        if found is None:
            part = self.part(number)
            transfers = part.writes if writes else part.reads
            found = self._found[key] = _by_name(transfers(*self.parameters, *integers(around, limits)))
        return found

    def _inside(self, name: str, box: Strided) -> Ranges | None:
        """A box without its strides, as far as it lies in the array; None where it is empty."""
        extents = self._shapes[name]
        ranges = tuple(
            (max(start, 0), min(stop, extent)) for (start, stop, _), extent in zip(box, extents, strict=True)
        )
        return ranges if all(start < stop for start, stop in ranges) else None


def _by_name(transfers: Sequence[Transfer]) -> dict[str, list[Strided]]:
    found: dict[str, list[Strided]] = {}
    for name, box in transfers:
        if all(start < stop for start, stop, _ in box):
            found.setdefault(name, []).append(tuple(box))
    return found


def _ignores(function: Callable[..., object], parameters: int, limits: int) -> bool:
    """Return whether a function of a generated module looks at none of the loops around its region.

    Args:
        function: of the parameters, the loops around, and the limits.
        parameters: how many parameters it takes.
        limits: of how many members it takes limits.
    """
    code = function.__code__
    around = set(code.co_varnames[parameters : code.co_argcount - 2 * limits])
    return not any(
        argument in around
        for instruction in dis.get_instructions(code)
        for argument in (instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,))
    )
