"""The bytes that a call with arrays in chunks has to send at the least: the exact volume of its halos, by Barvinok.

Each part of a region reads a set of elements, the image of its iterations under the accesses, which isl knows exactly,
and which is counted exactly.  What of it a worker has not is sent to it, once for each time that it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import islpy as isl

from polytune.codegen.tiles.windows import constrain
from polytune.frontend.generated_names import generated
from polytune.frontend.scop import AccessKind, Scop
from polytune.schedule.regions import Plan, Region

__all__ = ["Holders", "PartAccesses", "count", "inside"]


def count(elements: isl.Set) -> int:
    """Return how many elements a set without parameters has, by Barvinok's algorithm."""
    found = elements.coalesce().make_disjoint().card()
    return int(found.eval(isl.Point.zero(found.domain().get_space())).to_python())


class PartAccesses:
    """The elements that parts of a kernel's regions access.

    Args:
        scop: the kernel.
        plan: the plan that it is cut by.
        parameters: the values of the kernel's parameters in a call.
    """

    def __init__(self, scop: Scop, plan: Plan, parameters: Sequence[int]):
        self._scop, self._plan = scop, plan
        self._parameters = {each.name: value for each, value in zip(scop.parameters, parameters, strict=True)}
        self._images: dict[int, tuple[dict[str, isl.Set], dict[str, isl.Set]]] = {}

    def of(self, number: int, integers: Sequence[int]) -> tuple[dict[str, isl.Set], dict[str, isl.Set]]:
        """The elements that a part reads, or may but need not overwrite, and those that it may write, by array.

        Args:
            number: the region's.
            integers: the values of the loops around it, then the limits of the part.
        """
        if number not in self._images:
            self._images[number] = self._images_of(self._plan.regions[number], len(integers))
        values = {**self._parameters, **{_integer(k): value for k, value in enumerate(integers)}}
        reads, writes = self._images[number]
        return {name: _fixed(each, values) for name, each in reads.items()}, {
            name: _fixed(each, values) for name, each in writes.items()
        }

    def _images_of(self, region: Region, integers: int) -> tuple[dict[str, isl.Set], dict[str, isl.Set]]:
        """The same for any part, with the integers as parameters of sets."""
        scop, domain = self._scop, region.domain.intersect_params(self._scop.context)
        around = region.outer_depth
        for level in range(around):
            assert region.prefix is not None
            domain = constrain(domain, region.prefix.get_union_pw_aff(level), _integer(level), 0, 0)
        for member in range((integers - around) // 2):
            assert region.band is not None
            position, lower = region.band.get_union_pw_aff(member), around + 2 * member
            domain = constrain(domain, position, _integer(lower), 0, None)
            domain = constrain(domain, position, _integer(lower + 1), None, -1)
        reads: dict[str, isl.Set] = {}
        writes: dict[str, isl.Set] = {}
        for access in (each for statement in scop.statements for each in statement.accesses):
            if access.array in region.private or access.array in region.local:
                continue
            image = isl.UnionMap.from_map(access.relation).intersect_domain(domain).range()
            if image.is_empty():
                continue
            elements = isl.Set.from_union_set(image)
            if access.kind is not AccessKind.MUST_WRITE:
                reads[access.array] = _joined(reads.get(access.array), elements)
            if access.is_write:
                writes[access.array] = _joined(writes.get(access.array), elements)
        return reads, writes


class Holders:
    """The elements that each worker has the newest values of, by array.

    Attributes:
        sent: per array how many elements have been sent so far.
    """

    def __init__(self) -> None:
        self.sent: dict[str, int] = {}
        self._held: dict[tuple[str, int], isl.Set] = {}
        self._boxes: dict[tuple[str, int], list[tuple[tuple[int, int], ...]]] = {}

    def begin_with(self, name: str, worker: int, box: tuple[tuple[int, int], ...]) -> None:
        """Have a worker hold a box of an array from the beginning."""
        self._boxes.setdefault((name, worker), []).append(box)

    def need(self, worker: int, needed: Mapping[str, isl.Set]) -> None:
        """Send a worker what it needs and has not."""
        for name, elements in needed.items():
            held = self._of(name, worker, elements)
            self.sent[name] = self.sent.get(name, 0) + count(elements.subtract(held))
            self._held[name, worker] = held.union(elements).coalesce()

    def write(self, written: Sequence[tuple[int, Mapping[str, isl.Set]]], sums: Iterable[str] = ()) -> None:
        """Take note of what workers have written at the same time; nobody else has the newest values of it then.

        Args:
            written: per worker what it has written, by array.
            sums: the arrays of which these are partial sums: those of the same element come together on one worker.
        """
        for name in dict.fromkeys(name for _, arrays in written for name in arrays):
            mine = [(worker, arrays[name]) for worker, arrays in written if name in arrays]
            everything = mine[0][1]
            for _, elements in mine[1:]:
                everything = everything.union(elements)
            everything = everything.coalesce()
            keys = {key for key in (*self._held, *self._boxes) if key[0] == name}
            for key in keys:
                self._held[key] = self._of(*key, everything).subtract(everything)
            if name in sums:
                partial: dict[int, isl.Set] = {}
                for worker, elements in mine:
                    partial[worker] = _joined(partial.get(worker), elements)
                more = sum(map(count, partial.values())) - count(everything)
                self.sent[name] = self.sent.get(name, 0) + more
                mine = [(next(iter(partial)), everything)]
            for worker, elements in mine:
                self._held[name, worker] = self._of(name, worker, elements).union(elements).coalesce()

    def gather(self, name: str, box: tuple[tuple[int, int], ...], like: isl.Set) -> None:
        """Have one worker hold all of a box that anybody holds: the one that has the most of it.

        Args:
            name: the array's.
            box: the box.
            like: any set of the array's elements.
        """
        keys = {key for key in (*self._held, *self._boxes) if key[0] == name}
        whole = _box(box, like)
        parts = [self._of(*key, like).intersect(whole) for key in keys]
        counts = [count(part) for part in parts]
        if counts:
            together = parts[0]
            for part in parts[1:]:
                together = together.union(part)
            self.sent[name] = self.sent.get(name, 0) + count(together) - max(counts)

    def _of(self, name: str, worker: int, like: isl.Set) -> isl.Set:
        held = self._held.get((name, worker))
        if held is None:
            held = isl.Set.empty(like.get_space())
            for box in self._boxes.get((name, worker), []):
                held = held.union(_box(box, like))
            self._held[name, worker] = held = held.coalesce()
        return held


def inside(elements: isl.Set, box: tuple[tuple[int, int], ...]) -> isl.Set:
    """The elements of a set that lie in a box."""
    return elements.intersect(_box(box, elements))


def _box(box: tuple[tuple[int, int], ...], like: isl.Set) -> isl.Set:
    found = isl.Set.universe(like.get_space())
    for axis in range(like.dim(isl.dim_type.set)):
        start, stop = box[axis]
        low, high = isl.Val(start, like.get_ctx()), isl.Val(stop - 1, like.get_ctx())
        found = found.lower_bound_val(isl.dim_type.set, axis, low).upper_bound_val(isl.dim_type.set, axis, high)
    return found


def _integer(position: int) -> str:
    """The parameter that stands for one of the integers that say which part of a region is meant."""
    return generated(f"integer_{position}")


def _joined(before: isl.Set | None, elements: isl.Set) -> isl.Set:
    return elements if before is None else before.union(elements)


def _fixed(elements: isl.Set, values: Mapping[str, Any]) -> isl.Set:
    """A set with values in place of its parameters."""
    for position in range(elements.dim(isl.dim_type.param)):
        name = elements.get_dim_name(isl.dim_type.param, position)
        elements = elements.fix_val(isl.dim_type.param, position, isl.Val(int(values[name]), elements.get_ctx()))
    return elements.project_out_all_params().coalesce()
