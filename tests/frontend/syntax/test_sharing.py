"""Names of arrays that stand for one array in Python, and for two in the model: refused where that could be seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from polytune.frontend import analyse
from polytune.runtime.calls.arguments import signature_of


def changed_before_it_is_replaced(X, steps: int):
    x = X.copy()
    y = X * 2.0
    for _ in range(steps):
        y[1] += 1.0
        y = x
        x[0] += 1.0
        x = y * 2.0
    return x, y


def changed_after_the_loop(X, steps: int):
    x = X.copy()
    y = X * 2.0
    for _ in range(steps):
        x[1] += y[0]
        y[1] += 1.0
        x = y
    y[0] = 7.0
    return x, y


def argument_changed_where_nothing_has_replaced_it(X, steps: int):
    for _ in range(steps):
        X = X * 2.0
    X[0] = 5.0


def changed_through_a_part(X, steps: int):
    x = X.copy()
    y = X * 2.0
    for _ in range(steps):
        x[1] += y[0]
        y[1] += 1.0
        part = y[1:]
        x = y
        part[0] = 1.0
    return x, y


def add_one(A):
    A[0] += 1.0


def changed_by_a_function(X, steps: int):
    x = X.copy()
    y = X * 2.0
    for _ in range(steps):
        y[1] += x[0]
        x[1] += 1.0
        x = y
        add_one(y)
    return x, y


def changed_in_a_branch(X, steps: int):
    x = X.copy()
    y = X * 2.0
    if steps > 2:
        x = y
    x[0] = 3.0
    return x, y


def test_one_array_under_two_names_stays_one() -> None:
    for steps in (1, 3):
        x, y = polytune.kernel(changed_in_a_branch)(np.arange(4.0), steps)
        np.testing.assert_array_equal((x, y), changed_in_a_branch(np.arange(4.0), steps))
        assert (x is y) == (steps > 2)


@pytest.mark.parametrize(
    "function",
    [
        changed_before_it_is_replaced,
        changed_after_the_loop,
        argument_changed_where_nothing_has_replaced_it,
        changed_through_a_part,
        changed_by_a_function,
    ],
)
def test_what_could_be_seen_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(function, signature_of(("X", "steps"), (np.zeros(6), 3)))
    assert any("another one after an iteration" in each.what or "one of several" in each.what
               for each in caught.value.obstacles)  # fmt: skip
