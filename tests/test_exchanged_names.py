"""Loops at whose end arrays exchange their names: the arrays that they write, and the one that is returned."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from tests.every_version import check_versions, stages_of


def sweeps(u, v, steps):
    for t in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.5 * (u[i - 1, j] + u[i + 1, j]) - u[i, j - 1] + t
        u, v = v, u


def returning(u, v, steps):
    for _ in range(2, steps):
        v[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] - u[1:-1, :-2]
        kept = u
        u = v
        v = kept
    u[0, 0] = 7.0
    return u, v.sum()


def of_three(u, v, w, steps):
    for t in range(steps):
        w[1:-1] = 2 * v[1:-1] - u[1:-1] + t * (v[:-2] - v[2:])
        u, v, w = v, w, u
    return v, w


def of_local_arrays(u, steps):
    old, new = u.copy(), np.zeros_like(u)
    for t in range(steps):
        new[1:] = old[:-1] + t
        old, new = new, old
    for t in range(steps):
        new[:-1] = old[1:] - t
        old, new = new, old
    return old


def calling(u, steps):
    once = of_local_arrays(u, steps)
    for k in range(3):
        once += of_local_arrays(once, k)
    return once


def with_early_end(u, v, steps):
    """Not written out: which iteration is the last depends on data."""
    u, v = u.copy(), v.copy()
    for _ in range(steps):
        v[:] = 0.5 * u + 1.0
        change = np.max(np.abs(v - u))
        u, v = v, u
        if change < 0.3:
            break
    return u


def of_numbers(u, steps):
    a, b = 0.0, 1.0
    for t in range(steps):
        u[t] = a
        a, b = b, a
    return a


def within_another_loop(u, v, steps):
    u, v = u.copy(), v.copy()
    for k in range(2):
        for t in range(steps + k):
            v[1:] = u[:-1] + t
            u, v = v, u
    return u - v


def bound_that_changes(u, v, steps):
    u, v = u.copy(), v.copy()
    for t in range(steps):
        v[:] = u + t
        steps = 2 * t
        u, v = v, u
    return u, steps


TWO = [sweeps, returning, with_early_end, within_another_loop, bound_that_changes]
ONE = [of_local_arrays, calling]


def arrays(function, steps):
    random = np.random.default_rng(1)
    count = 3 if function is of_three else 1 if function in ONE else 2
    return [*(random.integers(-9, 9, (8, 9)).astype(float) for _ in range(count)), steps]


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("function", [*TWO, of_three, *ONE], ids=lambda each: each.__name__)
def test_names_are_exchanged_as_in_python(function):
    kernel = polytune.kernel(function, strict=True)
    for steps in (-3, -2, -1, 0, 1, 2, 3, 4, 5, 6):
        wanted, found = arrays(function, steps), arrays(function, steps)
        right, got = function(*wanted), kernel(*found)
        for one, other in zip((*wanted, *parts(right)), (*found, *parts(got)), strict=True):
            np.testing.assert_array_equal(other, one)
        for one, other in zip(parts(right), parts(got), strict=True):
            assert [one is each for each in wanted[:-1]] == [other is each for each in found[:-1]]


@pytest.mark.parametrize("function", [sweeps, of_three], ids=lambda each: each.__name__)
def test_every_version_exchanges_them(function):
    stages = stages_of(function, arrays(function, 3))
    for steps in (0, 1, 4, 5):
        check_versions(function, stages, arrays(function, steps), tiles=((2,), (3,)))


def test_nothing_is_copied():
    stages = stages_of(of_local_arrays, arrays(of_local_arrays, 3))
    assert len([array for array in stages.scop.arrays if array.ndim]) == 3
    assert not [statement.text for statement in stages.scop.statements if "old, new = new, old" in statement.text]


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_numbers_are_exchanged_too(steps):
    wanted, found = np.ones(6), np.ones(6)
    assert polytune.kernel(of_numbers)(found, steps) == of_numbers(wanted, steps)
    np.testing.assert_array_equal(found, wanted)
