"""Boxes of points: whether a set is one."""

from __future__ import annotations

from functools import reduce

import islpy as isl


def intervals_of(points: isl.Set) -> tuple[isl.Set, ...] | None:
    """The interval of each axis, ``[p] -> { [a] : low <= a <= high }``, of a set ``[p] -> { [x] }`` that is a box: with
    I_k what lies between the first and the last coordinate along axis k, the product of all I_k is the set; None
    where it has more points.

    Args:
        points: the set, of one dimension or more.
    """
    intervals = []
    for axis in range(points.dim(isl.dim_type.set)):
        along = points.project_out(isl.dim_type.set, axis + 1, points.dim(isl.dim_type.set) - axis - 1)
        along = along.project_out(isl.dim_type.set, 0, axis).reset_tuple_id()
        after = along.apply(isl.Map.lex_le(along.get_space()))
        before = along.apply(isl.Map.lex_ge(along.get_space()))
        intervals.append(after.intersect(before))
    box = reduce(lambda left, right: left.flat_product(right), intervals)
    return tuple(intervals) if box.is_subset(points.reset_tuple_id()) else None
