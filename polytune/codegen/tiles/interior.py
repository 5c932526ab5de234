"""Interior tiles: those that one statement fills, with no other one inside, get code of their own, a perfect nest.

In a factorisation most tiles only update ``A[i, j] -= A[i, k] * A[k, j]``; what is done once per row or pivot is in the
tiles along the diagonals.  Code for both has conditions and several loops inside one another; code for the former has
three plain loops, of which ``polytune.codegen.registers.tiles`` makes blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations

import islpy as isl

from polytune.codegen.ast_conversion import convert_condition, convert_node, substitute
from polytune.codegen.loops import Node
from polytune.codegen.tiles.windows import WindowNames, ast_build, loops_of_schedule
from polytune.frontend.expression import Expression, Iterator
from polytune.frontend.scop import Scop, Statement
from polytune.records import dataclass
from polytune.schedule.regions import Region
from polytune.schedule.tiles.interchange import select_members
from polytune.schedule.unions import sets_of


@dataclass(frozen=True)
class Interior:
    """The condition that the window of an interior tile fulfils, and the code for such a tile."""

    condition: Expression
    body: Node


def interior_of(
    inside: isl.UnionSet, context: isl.Set, region: Region, scop: Scop, names: WindowNames
) -> Interior | None:
    """The interior tiles of a region that accumulates; None where there are none, or no other ones.

    Interior are the windows (l, u) that the instances S[i] of one statement fill, with no instance T[i] of any other
    one inside: the context without ``{ (l, u) : exists x, l <= x < u, not in band(S) }`` and without
    ``{ (l, u) : exists T[i], l <= band(T[i]) < u }``.  There the instances are ordered by the band alone, the
    accumulating member last: the band is permutable and every point of it has one instance, so that this is one of the
    legal orders.  Statements with the same operations and the same schedule at disjoint instances are taken for one.

    Args:
        inside: the region's instances in a window, whose bounds are parameters.
        context: what is known of parameters and windows.
        region: the region.
        scop: its kernel.
        names: the names of loops.
    """
    if region.band is None or region.accumulated is None or region.contiguous is None:
        return None
    parts = {part.get_tuple_name(): part for part in sets_of(inside)}
    heavy = [scop.statement(name) for name, part in parts.items() if part.dim(isl.dim_type.set) >= region.depth]
    if not heavy or len(parts) == 1 or not _are_twins(heavy, region):
        return None
    stand_in = heavy[0]
    renamed = [parts[statement.name].set_tuple_name(stand_in.name) for statement in heavy]
    if any(not one.is_disjoint(other) for one, other in combinations(renamed, 2)):
        return None  # the same twice at one place is not the same once
    instances = reduce(lambda left, right: left.union(right), renamed).coalesce()
    filled = isl.Set.from_union_set(isl.UnionSet.from_set(instances).apply(_band_of(region, stand_in)))
    others = [part.params() for name, part in parts.items() if name not in {statement.name for statement in heavy}]
    exceptions = [_window(region, names, context.get_ctx()).subtract(filled).params(), *others]
    interior = context.subtract(reduce(lambda left, right: left.union(right), exceptions)).coalesce()
    if interior.is_empty():
        return None
    order = [member for member in range(region.depth) if member not in (region.contiguous, region.accumulated)]
    order += [region.contiguous, region.accumulated]
    band = isl.MultiUnionPwAff.from_union_map(_band_of(region, stand_in))
    schedule = isl.Schedule.from_domain(isl.UnionSet.from_set(instances.intersect_params(interior)))
    schedule = schedule.insert_partial_schedule(select_members(band, tuple(order)))
    build = ast_build(interior, names, region.depth, region.outer_depth)
    nest = convert_node(loops_of_schedule(build, schedule), scop)
    condition = convert_condition(ast_build(context, names, 0).expr_from_set(interior.gist(context).coalesce()))
    return Interior(condition, nest)


def _band_of(region: Region, statement: Statement) -> isl.UnionMap:
    """``{ S[i] -> band(S[i]) }`` of one statement."""
    assert region.band is not None
    instances = isl.UnionSet.from_set(isl.Set.universe(statement.domain.get_space()))
    return isl.UnionMap.from_multi_union_pw_aff(region.band).intersect_domain(instances)


def _window(region: Region, names: WindowNames, context: isl.Context) -> isl.Set:
    """``[l, u] -> { [x] : l <= x < u }``."""
    bounds = [name for member in range(region.depth) for name in names.window(member)]
    space = isl.Space.set_alloc(context, len(bounds), region.depth)
    for position, name in enumerate(bounds):
        space = space.set_dim_name(isl.dim_type.param, position, name)
    local = isl.LocalSpace.from_space(space)

    def value(kind: isl.dim_type, position: int) -> isl.PwAff:
        return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, kind, position))

    inside = isl.Set.universe(space)
    for member in range(region.depth):
        point = value(isl.dim_type.set, member)
        low, high = (value(isl.dim_type.param, 2 * member + end) for end in range(2))
        inside = inside.intersect(point.ge_set(low)).intersect(point.lt_set(high))
    return inside


def _position(region: Region, member: int, statement: Statement) -> isl.Aff | None:
    """A member of the band as an affine function of a statement's iterators; None where it is none."""
    assert region.band is not None
    pieces = region.band.get_union_pw_aff(member).get_pw_aff_list()
    for index in range(pieces.n_pw_aff()):
        piece = pieces.get_at(index)
        if piece.get_tuple_id(isl.dim_type.in_).get_name() == statement.name:
            piece = piece.gist(statement.domain)
            return piece.as_aff() if piece.isa_aff() else None
    return None


def _are_twins(statements: Sequence[Statement], region: Region) -> bool:
    """Return whether statements compute the same of their iterators, at the same places of the band."""
    first, *others = statements
    places = [_position(region, member, first) for member in range(region.depth)]
    if any(len(other.iterators) != len(first.iterators) for other in others):
        return False
    for other in others:
        values = {own: Iterator(name) for own, name in zip(other.iterators, first.iterators, strict=True)}
        if tuple(substitute(operation, values) for operation in other.operations) != first.operations:
            return False
        for member, place in enumerate(places):
            own = _position(region, member, other)
            if own is None or place is None:
                return False
            if not own.set_tuple_id(isl.dim_type.in_, first.domain.get_tuple_id()).plain_is_equal(place):
                return False
    return True
