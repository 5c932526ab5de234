"""Loops in which arrays exchange their names: the arrays that they write, and the one that is returned."""

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
    u, v = u.copy(), v.copy()
    for _ in range(steps):
        v[:] = 0.5 * u + 1.0
        change = np.max(np.abs(v - u))
        u, v = v, u
        if change < 0.3:
            break
    return u


def relaxed(u, v, f):
    """Sweep once.  Return the greatest change."""
    change = 0.0
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) + f[i, j]
            change = max(change, abs(v[i, j] - u[i, j]))
    return change


def returning_early(u, v, f, steps, least):
    for _ in range(steps):
        change = relaxed(u, v, f)
        u, v = v, u
        if change < least:
            return u
    return v


def breaking_after(u, v, f, steps, least):
    for it in range(2, steps + 3):
        change = relaxed(u, v, f)
        u, v = v, u
        f[0, 0] += u[2, 2]
        if change < least:
            f[0, 1] = it
            break
    v[0, 0] = 5.0
    return u, it, v[2, 3]


def breaking_before(u, v, f, steps, least):
    for _ in range(steps):
        v[1:-1] = 0.5 * (u[:-2] + u[2:]) + f[1:-1]
        if np.max(np.abs(v - u)) < least:
            break
        kept = u
        u = v
        v = kept
    u[0, 0] = 5.0
    return u, v


def in_either_place(u, v, f, steps, least):
    for it in range(steps):
        change = relaxed(u, v, f)
        if change < 0.5 * least:
            break
        u, v = v, u
        if change < least:
            if it > 3:
                return v, u
            break
    return u, v


def with_a_test(u, v, f, steps, least):
    change, it = least + 1.0, 0
    while change > least and it < steps:
        change = relaxed(u, v, f)
        u, v = v, u
        it += 1
    return u, it


def with_a_test_and_a_break(u, v, f, steps, least):
    it = 0
    while it < steps:
        v[1:-1] = 0.5 * (u[:-2] + u[2:]) + f[1:-1]
        change = np.max(np.abs(v - u))
        u, v = v, u
        it += 1
        if change < least:
            break
    return it, v, u


def while_an_element_is_small(u, v, f, steps, least):
    while u[2, 2] < 9.0 and u[1, 1] + steps > least:
        v[1:-1] = 0.5 * (u[:-2] + u[2:]) + f[1:-1] + 1.0
        u, v = v, u
        u[2, 2] += 1.0
        steps -= 1
    return u


def without_a_test(u, v, f, steps, least):
    u, v = u.copy(), v.copy()
    while True:
        change = relaxed(u, v, f)
        u, v = v, u
        steps -= 1
        if change < least or steps < 1:
            break
    return u


def of_three_early(u, v, f, steps, least):
    w = np.zeros_like(u)
    for _ in range(steps):
        w[1:-1] = 0.5 * v[1:-1] - 0.25 * u[1:-1] + f[1:-1]
        change = np.abs(w - v).max()
        u, v, w = v, w, u
        if change < least:
            break
    return u, v, w


def without_loops_inside(u, v, f, steps, least):
    for i in range(1, min(steps, 7)):
        v[i, 1] = u[i - 1, 1] * 0.5 + f[i, 1]
        u, v = v, u
        if abs(u[i, 1]) < least:
            break
    return u, v


EARLY = [
    returning_early,
    breaking_after,
    breaking_before,
    in_either_place,
    with_a_test,
    with_a_test_and_a_break,
    while_an_element_is_small,
    without_a_test,
    of_three_early,
    without_loops_inside,
]


def early_arrays(steps, least, shape=(8, 9)):
    random = np.random.default_rng(5)
    return [*(random.integers(-9, 9, shape) / 4 for _ in range(2)), random.integers(-1, 2, shape) / 8, steps, least]


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


def names_that_are_used_again(u, v, steps):
    for t in range(steps):
        v[1:] = u[:-1] + t
        u, v = v, u
    for t in range(3):
        u[t] += t
    v = v + u
    u = u[1:] * 2
    for steps in range(2):
        u[steps] -= 1.0
    return u, v


def names_that_are_used_again_after_a_break(u, v, steps):
    for _ in range(steps):
        v[1:] = u[:-1] + 2.0
        u, v = v, u
        if v[2, 2] > 5.0:
            break
    w = u
    u = np.zeros(3)
    w[0] = 100.0
    for t in range(2):
        u[t] += t
    return u, v, w


TWO = [
    names_that_are_used_again,
    names_that_are_used_again_after_a_break,
    sweeps,
    returning,
    with_early_end,
    within_another_loop,
    bound_that_changes,
]
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


@pytest.mark.parametrize("function", EARLY, ids=lambda each: each.__name__)
def test_names_are_exchanged_in_loops_that_end_early(function):
    kernel = polytune.kernel(function, strict=True)
    for steps in (-1, 0, 1, 2, 3, 4, 7, 40):
        for least in (0.0, 0.05, 0.3, 1.0, 2.0, 99.0, np.nan):
            if function is breaking_after and steps < 0:
                continue  # what is returned has no value
            wanted, found = early_arrays(steps, least), early_arrays(steps, least)
            right, got = function(*wanted), kernel(*found)
            for one, other in zip((*wanted, *parts(right)), (*found, *parts(got)), strict=True):
                np.testing.assert_array_equal(other, one)
            for one, other in zip(parts(right), parts(got), strict=True):
                assert [one is each for each in wanted[:3]] == [other is each for each in found[:3]]


@pytest.mark.parametrize("function", EARLY, ids=lambda each: each.__name__)
def test_every_version_exchanges_them_in_loops_that_end_early(function):
    stages = stages_of(function, early_arrays(3, 0.5))
    for steps, least in ((0, 0.5), (1, 99.0), (5, 0.05), (5, 0.0), (6, 1.0)):
        check_versions(function, stages, early_arrays(steps, least, (6, 5)), tiles=((2,),))


@pytest.mark.parametrize("function", [of_three_early, without_a_test], ids=lambda each: each.__name__)
def test_nothing_is_copied_in_loops_that_end_early(function):
    stages = stages_of(function, early_arrays(3, 0.5))
    statements = [statement.text for statement in stages.scop.statements]
    assert not [text for text in statements if text in ("u, v = v, u", "u, v, w = v, w, u")]


def test_nothing_is_copied():
    stages = stages_of(of_local_arrays, arrays(of_local_arrays, 3))
    assert len([array for array in stages.scop.arrays if array.ndim]) == 3
    assert not [statement.text for statement in stages.scop.statements if "old, new = new, old" in statement.text]


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_numbers_are_exchanged_too(steps):
    wanted, found = np.ones(6), np.ones(6)
    assert polytune.kernel(of_numbers)(found, steps) == of_numbers(wanted, steps)
    np.testing.assert_array_equal(found, wanted)
