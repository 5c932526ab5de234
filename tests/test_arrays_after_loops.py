"""Arrays that a loop makes, read after it: they are those of the last iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError
from tests.test_control import in_every_version


def logistic(X, y, w, steps):
    w = w.copy()
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-(X @ w)))
        w -= 0.1 * (X.T @ (p - y)) / len(y)
    return w, -np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))


def returned(X, y, w, steps):
    for i in range(steps):
        q = X[i % 2] * 0.5 + i
    return q


def written_later(X, y, w, steps):
    for i in range(steps):
        q = X[:, 0] * 0.5 + i
        for j in range(i):
            r = q + j
        if i > 0:
            w[0] += r[0]
    q[1] += 1.0
    q *= 2.0
    return q.sum() + w[0]


def with_two_names(X, y, w, steps):
    for i in range(steps):
        q = np.zeros(3)
        for j in range(3):
            q[j] = y[j] + i
        y[0] = q[1]
    t = q
    t[2] = 100.0
    return q + t


def replaced_in_the_loop(X, y, w, steps):
    for i in range(steps):
        q = X[:, 0] * 0.5
        old = q
        q = q + old[0]
        if i == 1:
            break
    return q


def under_a_condition_on_data(X, y, w, steps):
    for i in range(len(y)):
        if y[i] > 0.5:
            for j in range(steps, 0, -1):
                q = X[:, 0] + j + i
            w[0] += q.sum()
    return w


def with_one_before(X, y, w, steps):
    q = np.zeros(len(y))
    for i in range(steps):
        for j in range(2):
            q = X[:, j] - i
        w[0] += q[0]
    return q


def with_one_before_while(X, y, w, steps):
    q, n = np.zeros(len(y)), 0
    while n < steps:
        q = X[:, 0] * 0.5 + n
        n += 1
    return q.sum()


def with_a_row_before(X, y, w, steps):
    q = X[0]
    for i in range(steps):
        q = X[1] * 0.5 + i
        if q[0] > 1.5:
            break
    return q.sum()


def of_a_tuple(X, y, w, steps):
    for i in range(steps):
        p, q = X[:, 0] + i, X[:, 1] - i
        (r, _), n = (p * 2.0, q), i
    p[0] = 7.0
    r[1] = n
    return p, q.sum(), r


def both(X, i):
    t = X[:, 0] * i
    return t, t, X[:, 1] + i


def of_a_call(X, y, w, steps):
    for i in range(steps):
        *_, q = both(X, i)
    q += 1.0
    return q


def exchanged_in_the_loop(X, y, w, steps):
    p, q = X[:, 0] + 1.0, X[:, 1] + 2.0
    for i in range(steps):
        p, q = q + p, p - i
        if i == 1:
            p, q = q, p
    return p, q


WITH_ONE_BEFORE = [exchanged_in_the_loop, with_one_before, with_one_before_while, with_a_row_before]
FUNCTIONS = [logistic, returned, written_later, with_two_names, replaced_in_the_loop, under_a_condition_on_data]
FUNCTIONS += [of_a_tuple, of_a_call]


def arguments(steps: int) -> tuple[Any, ...]:
    """Matrix, two vectors and a number of steps."""
    generator = np.random.default_rng(steps)
    return generator.random((6, 4)), generator.random(6), generator.random(4), steps


@pytest.mark.parametrize("function", FUNCTIONS, ids=[each.__name__ for each in FUNCTIONS])
@pytest.mark.parametrize("steps", [1, 3])
def test_the_name_means_what_the_last_iteration_made(function: Callable[..., Any], steps: int) -> None:
    in_every_version(function, *arguments(steps), strict=True)


@pytest.mark.parametrize("function", FUNCTIONS, ids=[each.__name__ for each in FUNCTIONS])
def test_after_a_loop_without_iterations_calls_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnboundLocalError):
        function(*arguments(0))
    with pytest.raises(ArgumentError, match="is read after a loop without iterations"):
        polytune.kernel(function)(*arguments(0))


@pytest.mark.parametrize("function", WITH_ONE_BEFORE, ids=[each.__name__ for each in WITH_ONE_BEFORE])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_name_means_what_it_did_where_no_iteration_has_run(function: Callable[..., Any], steps: int) -> None:
    in_every_version(function, *arguments(steps), strict=True)


def unread(X, y, w, steps):
    for i in range(steps):
        q = X[:, 0] + i
        w[0] += q[0]
    if steps > 2:
        w[1] = q[1]
    return w


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_nothing_is_asked_of_a_call_that_does_not_read_it(steps: int) -> None:
    in_every_version(unread, *arguments(steps), strict=True)


def of_the_loop_before(X, y, w, steps):
    for i in range(steps):
        q = X[:, 0] + i
    for _ in range(steps):
        w[0] += q[0]
        q = X[:, 1] + w[0]
    return w


def of_an_earlier_iteration(X, y, w, steps):
    for k in range(2):
        for i in range(steps - k):
            q = X[:, 0] + i + k
        w[0] += q[k]
    return w


def test_what_several_loops_make_is_not_mixed_up() -> None:
    with pytest.raises(UnsupportedSourceError, match="may be one of several"):
        polytune.kernel(of_the_loop_before)(*arguments(2))
    in_every_version(of_an_earlier_iteration, *arguments(2), strict=True)
    of_an_earlier_iteration(*arguments(1))
    with pytest.raises(ArgumentError, match="or has what an earlier loop made"):
        polytune.kernel(of_an_earlier_iteration)(*arguments(1))


def in_a_tuple_too(X, i):
    t = X[:, 0] * i
    return t, (t, 1.0)


def changed_under_one_name(X, y, w, steps):
    p = X[:, 0] + 1.0
    for i in range(steps):
        p, pair = in_a_tuple_too(X, i)
        p[0] += 1.0
        w[0] += pair[0][0] + pair[1]
    return w


def test_an_array_at_two_places_of_what_a_call_gives_is_not_copied_to_one() -> None:
    with pytest.raises(UnsupportedSourceError):
        polytune.kernel(changed_under_one_name)(*arguments(2))


def centres(A, k, steps):
    """The means of groups, of which there are as many as there are first rows to begin with."""
    c = A[:k].copy()
    for _ in range(steps):
        nearest = np.argmin(((A[:, None, :] - c[None]) ** 2).sum(axis=2), axis=1)
        c = np.array([[A[nearest == j, q].sum() / max(np.sum(nearest == j), 1) for q in range(2)] for j in range(k)])
    return c


def rows_added_up(A, k, steps):
    c = A[:k]
    for _ in range(steps):
        new = np.zeros((k, A.shape[1]))
        for j in range(min(k, len(A))):
            new[j] += 0.5 * c[j]
        c = new
    return c


@pytest.mark.parametrize("function", [centres, rows_added_up])
def test_as_many_rows_as_a_part_may_have_are_checked_at_the_call(function: Callable[..., Any]) -> None:
    """There are ``min(k, n)`` rows before the loop, and ``k`` after an iteration."""
    A = np.random.default_rng(0).random((7, 2))
    for k in (1, 7):
        for steps in (0, 2):
            in_every_version(function, A, k, steps, strict=True)
    kernel = polytune.kernel(function)
    np.testing.assert_array_equal(kernel(A, 9, 0), A)  # nothing is asked of a loop that does not run
    before = A.copy()
    with pytest.raises(ArgumentError, match=r"the array 'c' has another shape after an iteration.*\n.*\n.*\n.*k = 9"):
        kernel(A, 9, 1)
    np.testing.assert_array_equal(A, before)
