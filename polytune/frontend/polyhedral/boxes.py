"""Boxes of points: whether a set is one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl


def intervals_of(points: isl.Set) -> tuple[isl.Set, ...] | None:
    """The interval of each axis, ``[p] -> { [a] : low <= a <= high }``, of a set ``[p] -> { [x] }`` that is a box: with
    I_k what lies between the first and the last coordinate along axis k, the product of all I_k is the set; None
    where it has more points.

    Args:
        points: the set, of one dimension or more.
    """
    intervals = hull_of(points)
    return intervals if box_of(intervals).is_subset(points.reset_tuple_id()) else None


def hull_of(points: isl.Set) -> tuple[isl.Set, ...]:
    """The intervals between the first and the last coordinate along each axis of a set, ``[p] -> { [a] }``.

    Args:
        points: the set, of one dimension or more.
    """
    intervals = []
    for axis in range(points.dim(isl.dim_type.set)):
        along = along_axis(points, axis)
        after = along.apply(isl.Map.lex_le(along.get_space()))
        before = along.apply(isl.Map.lex_ge(along.get_space()))
        intervals.append(after.intersect(before))
    return tuple(intervals)


def along_axis(points: isl.Set, axis: int) -> isl.Set:
    """The coordinates of the points of a set along an axis, ``[p] -> { [a] }``."""
    along = points.project_out(isl.dim_type.set, axis + 1, points.dim(isl.dim_type.set) - axis - 1)
    return along.project_out(isl.dim_type.set, 0, axis).reset_tuple_id()


def box_of(intervals: Sequence[isl.Set]) -> isl.Set:
    """The points all of whose coordinates lie in the intervals of their axes."""
    return reduce(lambda left, right: left.flat_product(right), intervals)


def hull_without_gaps(points: isl.Set, apart: int) -> tuple[isl.Set, ...] | None:
    """The interval of each axis of a set that is the product of an interval I along one axis and of others E, of which
    each coordinate between the first and the last one along any axis is that of some point, as in triangles; None for
    other sets.

    Args:
        points: the set, of two dimensions or more.
        apart: the axis of I.
    """
    points = points.reset_tuple_id()
    intervals = hull_of(points)
    others = points.project_out(isl.dim_type.set, apart, 1).insert_dims(isl.dim_type.set, apart, 1)
    axes = points.dim(isl.dim_type.set)
    along = intervals[apart].insert_dims(isl.dim_type.set, 1, axes - apart - 1).insert_dims(isl.dim_type.set, 0, apart)
    if not others.intersect(along).is_subset(points):
        return None
    has_gaps = any(not each.is_subset(along_axis(points, axis)) for axis, each in enumerate(intervals))
    return None if has_gaps else intervals
