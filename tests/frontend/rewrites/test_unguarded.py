"""Variables that only what is under a condition needs, without the condition."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
import polytune.frontend.analyse
from polytune.frontend.analyse import analyse
from polytune.frontend.expression import Branch, walk
from polytune.frontend.scop import Scop
from polytune.signature import ArrayType, Signature
from tests.test_control import in_every_version

VECTOR = ArrayType("float64", 1)


def sum_behind_a_return(x, w):
    scale = x.sum()
    if scale == 0.0:
        return 1.0, 2.0
    return (x * w).sum() / scale, scale


def mean_behind_a_return(x, w):
    if x[0] == 0.0:
        return -1.0
    return np.mean(x * x) + np.mean(w)


def mean_of_loops(x, w):
    if w[0] < 0.0:
        return 0.0
    total = 0.0
    for i in range(len(x)):
        total += x[i] * w[i]
    total = total / 2.0
    return total


def greatest_behind_a_return(x, w):
    if x[0] == 0.0:
        return 0.0
    best = x[0]
    for i in range(len(x)):
        best = max(best, w[i])
    return best


def array_behind_a_return(x, w):
    if x[0] == 0.0:
        return 0.0
    d = x - w[0]
    e = d * d
    return e.sum() + d.sum()


def two_dimensions_behind_returns(x, w):
    if x[0] == 0.0:
        return 0.0
    first = (x[:, None] + w[None, :]).sum(axis=1)
    if first[0] == 0.0:
        return -1.0
    return (first / 2.0).sum()


def columns_behind_a_return(x, w):
    if x[0] == 0.0:
        return 0.0
    y = x[:, None] * w[None, :]
    column = np.sum(y, axis=0)
    return column[0] + column[-1]


def rows_under_conditions(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0.0:
            total = 0.0
            for j in range(len(w)):
                total += w[j] * x[i]
            out[i] = total
    return out


SUMS = [
    sum_behind_a_return,
    mean_behind_a_return,
    mean_of_loops,
    greatest_behind_a_return,
    columns_behind_a_return,
    array_behind_a_return,
    two_dimensions_behind_returns,
]


def needed_in_any_case(x, w):
    total = 3.0
    if x[0] != 0.0:
        total = 0.0
        for i in range(len(x)):
            total += w[i]
    return total


def kept_for_the_next_iteration(x, w):
    total, found = 1.0, 0.0
    for i in range(len(x)):
        if x[i] > 0.0:
            total = 0.0
        if w[i] > 0.0:
            total += w[i]
        found += total
    return found


def of_a_condition_that_changes(x, w):
    flag, total = x[0], 5.0
    if flag > 0.0:
        total = 0.0
    for i in range(len(x)):
        if flag > 0.0:
            total += w[i]
        flag = x[i]
    if flag > 0.0:
        total += 1.0
    return total


def of_the_iteration_before(x, w):
    kept = np.zeros(2)
    found = 0.0
    for i in range(len(x)):
        if x[i] > 0.0:
            kept[0] = 0.0
            kept[1] = kept[1] + w[i]
            kept[0] += w[i]
            found += kept[0] + kept[1]
    return found


def of_one_element(x, w):
    part = np.zeros(3)
    if x[0] > 0.0:
        part[0] = 0.0
        for i in range(len(x)):
            part[0] += w[i]
    return part


OTHERS = [
    needed_in_any_case,
    kept_for_the_next_iteration,
    of_a_condition_that_changes,
    of_the_iteration_before,
    of_one_element,
    rows_under_conditions,
]


def arguments(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, of which sums are exact."""
    random = np.random.default_rng(seed)
    return random.integers(-3, 4, n).astype(float), random.integers(-2, 6, n).astype(float)


def scop_of(function: Callable[..., Any], strict: bool = False) -> Scop:
    return analyse(function, Signature((("x", VECTOR), ("w", VECTOR))), strict=strict)


@pytest.mark.parametrize("function", SUMS, ids=lambda function: function.__name__)
def test_updates_behind_a_return_are_reductions(function: Callable[..., Any]) -> None:
    scop = scop_of(function)
    assert any(each.reduction is not None for each in scop.statements)
    assert not any(
        isinstance(part, Branch)
        for each in scop.statements
        if each.iterators
        for operation in each.operations
        for part in walk(operation)
    )
    versions = set(polytune.kernel(function).space(*arguments(9, 0))["version"].values)
    assert versions & {"summed", "tiled"}


@pytest.mark.parametrize("function", [*SUMS, *OTHERS], ids=lambda function: function.__name__)
@pytest.mark.parametrize("first", [-1.0, 0.0, 2.0])
def test_every_version_computes_what_python_does(function: Callable[..., Any], first: float) -> None:
    for n in (1, 2, 9, 40):
        x, w = arguments(n, n)
        x[0] = w[0] = first
        in_every_version(function, x, w)
        in_every_version(function, np.full(n, first), w)


@pytest.mark.parametrize("function", [needed_in_any_case, of_a_condition_that_changes], ids=lambda each: each.__name__)
def test_what_others_need_stays_under_its_condition(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pass = scop_of(function)
    analysing = sys.modules["polytune.frontend.analyse"]
    monkeypatch.setattr(analysing, "without_needless_guards", lambda nodes, kernel: nodes)
    assert [each.operations for each in with_pass.statements] == [
        each.operations for each in scop_of(function).statements
    ]


def test_what_is_not_returned_may_be_anything() -> None:
    kernel = polytune.kernel(mean_behind_a_return)
    x, w = np.array([0.0, np.inf, np.nan]), np.array([np.nan, -np.inf, 1.0])
    assert kernel(x, w) == -1.0
    x[0] = 1.0
    assert np.isnan(kernel(x, w))
    assert kernel(np.zeros(1), w[:1]) == -1.0


def test_strict_kernels_compute_only_what_is_needed() -> None:
    assert any(each.reduction is None for each in scop_of(mean_of_loops, strict=True).statements if each.iterators)
