"""Members of a band without what they have of one another.

isl's scheduler looks for the least coefficients of iterators and parameters together, and for two parallel loops, one
of which has a small constant number of iterations, may find ``(b, 2 * b + i)`` where ``(b, i)`` would do.  Tiles of
such members are parallelograms in a bounding box that is all but empty: 5 million tiles, not 2 thousand, for 50
thousand products of matrices of 4 rows.
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

Row = dict[tuple[str, int], int]
"""The coefficients of a member: by statement and dimension of its domain."""


def unskewed(schedule: isl.Schedule) -> isl.Schedule:
    """The schedule with members of its bands subtracted from one another wherever that leaves less of them.

    With members k and m of a band both coincident, no dependence leads from one value of (k, m) to another, and so none
    from one value of ``(k, m - a * k)`` to another, for any integer a.  The members before and after change places with
    a combination of them that has an inverse, so that all points stay apart from one another, and permutable bands
    permutable.
    """
    return _visited(schedule.get_root()).get_schedule()


def _visited(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """A node with the bands in it and below unskewed."""
    if node.get_type() == isl.schedule_node_type.band:
        node = _unskewed_band(node)
    for position in range(node.n_children()):
        node = _visited(node.child(position)).parent()
    return node


def _unskewed_band(node: isl.ScheduleNode) -> isl.ScheduleNode:
    count = node.band_n_member()
    coincident = [bool(node.band_member_get_coincident(member)) for member in range(count)]
    partial = node.band_get_partial_schedule()
    members = [partial.get_union_pw_aff(member) for member in range(count)]
    free = [member for member in range(count) if coincident[member]]
    rows = {member: _row(members[member]) for member in free}
    changed = False
    while True:
        better = _better(rows)
        if better is None:
            break
        changed = True
        member, other, factor = better
        scaled = members[other].scale_val(isl.Val(factor, node.get_ctx()))
        members[member] = members[member].sub(scaled)
        rows[member] = _row(members[member])
    if not changed:
        return node
    together = isl.UnionPwAffList.alloc(node.get_ctx(), count)
    for function in members:
        together = together.add(function)
    permutable = int(node.band_get_permutable())
    node = node.delete().insert_partial_schedule(
        isl.MultiUnionPwAff.from_union_pw_aff_list(partial.get_space(), together)
    )
    node = node.band_set_permutable(permutable)
    for member, is_free in enumerate(coincident):
        node = node.band_member_set_coincident(member, int(is_free))
    return node


def _better(rows: dict[int, Row | None]) -> tuple[int, int, int] | None:
    """A member, another one, and how often to subtract that from it so that less is left of it; None where there is
    nothing to gain."""
    for member, row in rows.items():
        for other, subtracted in rows.items():
            if member == other or row is None or not subtracted:
                continue
            factors = {row.get(place, 0) // own for place, own in subtracted.items()} - {0}
            for factor in sorted(factors, key=abs):
                if _size(_less(row, subtracted, factor)) < _size(row.values()):
                    return member, other, factor
    return None


def _less(row: Row, subtracted: Row, factor: int) -> list[int]:
    return [row.get(place, 0) - factor * subtracted.get(place, 0) for place in row.keys() | subtracted.keys()]


def _size(coefficients: Iterable[int]) -> int:
    return sum(map(abs, coefficients))


def _row(function: isl.UnionPwAff) -> Row | None:
    """The coefficients of the iterators of each statement; None where they differ within one, or are no integers."""
    row: Row = {}
    functions = function.get_pw_aff_list()
    for number in range(functions.n_pw_aff()):
        own = functions.get_at(number)
        if own.n_piece() != 1:
            return None
        affine = own.as_aff()
        if not affine.get_denominator_val().is_one() or affine.dim(isl.dim_type.div):
            return None
        name = affine.get_domain_space().get_tuple_name(isl.dim_type.set)
        for dimension in range(affine.dim(isl.dim_type.in_)):
            value = int(affine.get_coefficient_val(isl.dim_type.in_, dimension).to_python())
            if value:
                row[name, dimension] = value
    return row
