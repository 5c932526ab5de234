"""Early updates: what a tile adds up of elements that were there before it comes first, a whole row of points at once.

In a tile ``L <= j < U`` of

    for i: for j: ...; for k in range(i + 1, j): t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])

every point of a row i waits for the one before, by ``t[i, k]`` with ``L <= k``.  The updates with ``k < L`` read
nothing that the tile's part of the row writes: they may come before all else in it, those of all j side by side.
"""

from __future__ import annotations

from collections.abc import Collection

import islpy as isl

from polytune.frontend.scop import Scop, Statement
from polytune.records import dataclass
from polytune.schedule.analysis.bands import analyse_band, distances, open_dependences
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.analysis.legality import violation
from polytune.schedule.tree import below_mark
from polytune.schedule.unions import sets_of, union_of


@dataclass(frozen=True)
class EarlyUpdates:
    """The updates of a statement whose innermost iterator is below a tile's lower bound along the last member of its
    band.

    Attributes:
        statement: the statement.
        depth: the depth, below everything else, of the loop over the last member that runs these updates.
    """

    statement: Statement
    depth: int


def updates_inside(scop: Scop, names: Collection[str], members: int) -> Statement | None:
    """The only statement of some that updates elements in a loop inside a band; None where there is none, or several.

    Args:
        scop: the kernel.
        names: of the statements.
        members: how many members the band has.
    """
    found = [
        statement
        for statement in scop.statements
        if statement.name in names and statement.reduction is not None and len(statement.iterators) == members + 1
    ]
    return found[0] if len(found) == 1 and members >= 2 and not scop.strict else None


def early_updates(
    node: isl.ScheduleNode, schedule: isl.Schedule, relaxed: Dependences, depth: int
) -> EarlyUpdates | None:
    """Return what may come first in the rows of a band's tiles; None where there is nothing that is proven to.

    Args:
        node: a band of two members or more that may be shared out in a wavefront.
        schedule: the schedule that it is of.
        relaxed: the dependences without those among the updates of an element.
        depth: how many loops there are at most around anything.

    The updates of one element by one operation may come in any order, whatever statements they belong to.  Without the
    dependences among those, and with P the schedule around the band, B all of its members but the last one, C that,
    and E(L) the updates ``{ s : k(s) < L }``, there is to be no dependence

        ``{ s -> t : P(s) = P(t), B(s) = B(t), L <= C(s), L <= C(t), t in E(L) }``

    for any L: then in every row of every tile nothing has to come before the early updates, nor any of them before
    another one.  Those of one element are to have the same C, so that others may run side by side.  Rows and tiles stay
    in their order, which has to be legal for the dependences that are left.
    """
    names = {part.get_tuple_name() for part in sets_of(node.get_domain())}
    statement = updates_inside(relaxed.scop, names, node.band_n_member())
    if statement is None or not analyse_band(node, relaxed).concurrent or violation(schedule, relaxed) is not None:
        return None
    if not _wait_for_nothing(node, statement, relaxed):
        return None
    return EarlyUpdates(statement, depth)


def _wait_for_nothing(node: isl.ScheduleNode, statement: Statement, dependences: Dependences) -> bool:
    """Return whether no dependence within a row of a tile leads to an early update, whatever the tile."""
    last = node.band_n_member() - 1
    node = node.band_split(last).child(0)
    bound = "L"
    while bound in {item.name for item in dependences.scop.parameters}:
        bound += "_"
    early = isl.UnionSet.from_set(_early(statement, bound))
    inside = _at_least(node.band_get_partial_schedule().get_union_pw_aff(0), bound)
    rows = open_dependences(union_of([dependences.all_flow, *dependences.all_order.values()], dependences.scop), node)
    rows = rows.intersect_domain(inside).intersect_range(inside)
    if not rows.intersect_range(early).is_empty():
        return False
    updates = open_dependences(dependences.reductions, node).intersect_domain(early).intersect_range(early)
    apart = distances(updates, node.band_get_partial_schedule_union_map())
    return apart is None or apart.is_subset(isl.Set.from_multi_aff(isl.MultiAff.zero(apart.get_space())))


def early_updates_first(schedule: isl.Schedule, mark: str, updates: EarlyUpdates, bound: str) -> isl.Schedule:
    """A schedule in which each row of a tile begins with the early updates: by their innermost iterator, and for each
    value of it those of all points.

    Args:
        schedule: the schedule.
        mark: the name of the mark above the band.
        updates: the early ones.
        bound: a parameter, the lower bound of a tile along the last member of the band.
    """
    node = below_mark(schedule.get_root(), mark)
    assert node is not None, "every region has a mark"
    node = node.band_split(node.band_n_member() - 1).child(0)
    instances = node.get_domain()
    early = isl.UnionSet.from_set(_early(updates.statement, bound)).intersect(instances)
    filters = isl.UnionSetList.alloc(node.get_ctx(), 2).add(early).add(instances.subtract(early))
    node = node.insert_sequence(filters).child(0).child(0)
    node = node.child(0).cut().parent()
    iterator = isl.MultiUnionPwAff.from_union_pw_aff(isl.UnionPwAff.from_pw_aff(_innermost(updates.statement)))
    nothing = iterator.sub(iterator)
    # Loops have their names by their depths: that over the last member is to have one of its own.
    for _ in range(updates.depth - node.get_schedule_depth() - 1):
        node = node.insert_partial_schedule(nothing)
    return node.insert_partial_schedule(iterator).get_schedule()


def _innermost(statement: Statement) -> isl.PwAff:
    """``{ S[i, ..., k] -> [(k)] }``."""
    local = isl.LocalSpace.from_space(statement.domain.get_space())
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, len(statement.iterators) - 1))


def _early(statement: Statement, bound: str) -> isl.Set:
    """``[..., bound] -> { S[i, ..., k] : k < bound }``."""
    limit = isl.PwAff.from_aff(_parameter_on(statement.domain, bound))
    return _innermost(statement).lt_set(limit).intersect(statement.domain)


def _parameter_on(domain: isl.Set, name: str) -> isl.Aff:
    """A parameter as an expression on a set's space."""
    space = domain.get_space()
    position = space.find_dim_by_name(isl.dim_type.param, name)
    if position < 0:
        position = space.dim(isl.dim_type.param)
        space = space.add_dims(isl.dim_type.param, 1).set_dim_name(isl.dim_type.param, position, name)
    return isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), isl.dim_type.param, position)


def _at_least(member: isl.UnionPwAff, bound: str) -> isl.UnionSet:
    """``{ s : bound <= member(s) }``."""
    found = isl.UnionSet.empty(member.get_space())
    pieces = member.get_pw_aff_list()
    for index in range(pieces.n_pw_aff()):
        piece = pieces.get_at(index)
        value = isl.PwAff.from_aff(_parameter_on(piece.domain(), bound))
        found = found.union(isl.UnionSet.from_set(piece.ge_set(value)))
    return found
