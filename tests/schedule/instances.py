"""Statement instances of a SCoP for given parameters, and what they access: isl objects as plain Python sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import islpy as isl

from polytune.frontend.expression import Extent
from polytune.frontend.scop import Access, Scop

Point = tuple[int, ...]
Instance = tuple[str, Point]
Pair = tuple[Instance, Instance]


def parameters_at(scop: Scop, values: Mapping[str, int]) -> isl.Set:
    """The one point of parameter space at which the parameters have these values."""
    here = scop.context
    for parameter in scop.parameters:
        position = here.find_dim_by_name(isl.dim_type.param, parameter.name)
        if position >= 0:
            here = here.fix_val(isl.dim_type.param, position, isl.Val(values[parameter.name], here.get_ctx()))
    assert not here.is_empty()
    return here


def extents(scop: Scop, sizes: Iterable[int], integer: int) -> dict[str, int]:
    """Values for all parameters: the sizes in turn for extents of arrays, ``integer`` for integer arguments."""
    order = iter(sizes)
    return {p.name: next(order) if isinstance(p.source, Extent) else integer for p in scop.parameters}


def points(domain: isl.Set) -> list[Point]:
    """All points of a finite set that no parameter changes."""
    if domain.dim(isl.dim_type.set) == 0:
        return [] if domain.is_empty() else [()]
    found: list[Point] = []

    def note(point: isl.Point) -> None:
        coordinates = (point.get_coordinate_val(isl.dim_type.set, k) for k in range(domain.dim(isl.dim_type.set)))
        found.append(tuple(value.to_python() for value in coordinates))

    domain.foreach_point(note)
    return found


def pairs(relation: isl.UnionMap, here: isl.Set) -> set[tuple[Instance, Instance]]:
    """The elements of ``{ S[i] -> T[j] }`` at a point of parameter space, as pairs of names with coordinates."""
    found: set[tuple[Instance, Instance]] = set()

    def note(part: isl.Map) -> None:
        source, sink = (part.get_tuple_name(kind) or "" for kind in (isl.dim_type.in_, isl.dim_type.out))
        split = part.dim(isl.dim_type.in_)
        found.update(((source, point[:split]), (sink, point[split:])) for point in points(part.wrap()))

    relation.intersect_params(here).foreach_map(note)
    return found


def times(schedule: isl.UnionMap, here: isl.Set) -> dict[Instance, Point]:
    """The time of each instance under a schedule given as one map."""
    return {instance: time for instance, (_, time) in pairs(schedule, here)}


@dataclass(frozen=True)
class Touch:
    """An access of one statement instance to one element."""

    access: Access
    instance: Instance
    element: Point


def trace(scop: Scop, here: isl.Set) -> list[list[Touch]]:
    """Per instance what it may access, in source order."""
    order = times(scop.schedule.get_map().intersect_domain(scop.schedule.get_domain()), here)
    touches: dict[Instance, list[Touch]] = {instance: [] for instance in order}
    for statement in scop.statements:
        for access in statement.accesses:
            for instance, (_, element) in pairs(isl.UnionMap.from_map(access.relation), here):
                touches[instance].append(Touch(access, instance, element))
    return [touches[instance] for instance in sorted(order, key=order.__getitem__)]
