"""Branches that assign variables, as choices of the lanes of points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.every_version import check_compiled, check_versions, stages_of, with_vectors


def nearest(x, a, out, where):
    """Numbers of two types, of which those of one choose between those of the other."""
    for i in range(x.shape[0]):
        least = 1e300
        place = -1
        for j in range(a.shape[0]):
            total = 0.0
            for k in range(a.shape[1]):
                total += (x[i, k] - a[j, k]) ** 2
            if total < least:
                least = total
                place = j
        out[i] = least
        where[i] = place


def counted(x, a, out, where):
    """Branches with two sides, one after the other."""
    for i in range(x.shape[0]):
        above = 0
        sign = 1.0
        total = 0.0
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                if x[i, k] > a[j, k]:
                    above = above + 1
                    sign = -1.0
                else:
                    sign = 2.0
                total += sign * a[j, k]
            if total > 3.0:
                total = 3.0
        out[i] = total
        where[i] = above


def one_after_the_other(x, a, out, where):
    """The second assignment reads what the first one has made."""
    for i in range(x.shape[0]):
        first = 0.0
        second = 0.0
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                if x[i, k] > a[j, k]:
                    first = second + x[i, k]
                    second = first * 0.5
        out[i] = first + second
        where[i] = 0


def two_conditions(x, a, out, where):
    """Both variables that are assigned are tested."""
    for i in range(x.shape[0]):
        low = 0.5
        high = 0.25
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                middle = x[i, k] * a[j, k]
                if low < high:
                    low = middle
                    high = 0.125
                else:
                    high = middle
        out[i] = low - high
        where[i] = 1


def cut_off(x, a, out, where):
    """Sums that are cut off where they become whole numbers."""
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                total += x[i, k] * a[j, k] + 0.25
        out[i] = total
        where[i] = int(total)


def arguments_of(points: int, rows: int, width: int, *, has_nan: bool = True) -> list[np.ndarray]:
    rng = np.random.default_rng(points)
    x, a = rng.integers(0, 9, (points, width)) / 8.0, rng.integers(0, 9, (rows, width)) / 8.0
    if has_nan and points > 4:
        x[3] = np.nan
    return [x, a, np.full(points, -1.0), np.full(points, -7)]


@pytest.mark.parametrize("function", [nearest, counted, one_after_the_other, two_conditions, cut_off])
@pytest.mark.parametrize("size", [(1, 1, 1), (13, 5, 3), (5, 0, 2)])
def test_lanes_choose_what_branches_assign(function: Callable, size: tuple[int, int, int]) -> None:
    arguments = arguments_of(*size, has_nan=function is not cut_off)
    stages = stages_of(function, arguments)
    if function in (nearest, counted):
        assert with_vectors(stages)
    check_versions(function, stages, arguments, versions=with_vectors(stages) or None, tiles=[(3,), (64,)])


@pytest.mark.parametrize("function", [nearest, counted, one_after_the_other, two_conditions, cut_off])
@pytest.mark.parametrize("points", [1, 29, 300])
def test_compiled(function: Callable, points: int) -> None:
    check_compiled(function, arguments_of(points, 6, 7, has_nan=function is not cut_off))
