"""Branches on data that update variables: updates that change nothing where the condition does not hold."""

# ruff: noqa: SIM108

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.frontend.analyse import analyse
from polytune.frontend.expression import Branch, walk
from polytune.frontend.scop import Scop
from polytune.signature import ArrayType, Signature
from tests.test_control import in_every_version

VECTOR = ArrayType("float64", 1)


def another_array(x, w):
    e = 0.0
    for i in range(x.shape[0]):
        if x[i] > 2.0:
            e += w[i]
    return e


def passed_on(x, w):
    e = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            s = 4.0 / x[i]
            t = s + w[i]
            e += t * t - s
    return e


def several(x, w):
    e, g, least = 0.0, 1, 100.0
    for i in range(x.shape[0]):
        if x[i] > w[i]:
            d = x[i] - w[i]
            e += d
            g += 2
            least = min(least, d)
        elif x[i] < 0.0:
            e -= w[i]
        else:
            g += 5
    return e, g, least


def branches_in_branches(x, w):
    e = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            if w[i] > 2.0:
                s = x[i]
            else:
                s = 3.0 * w[i]
            if s > 4.0:
                e += s
            e += 1.0
    return e


def either_side(x, w):
    e = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            e += x[i]
        else:
            e -= w[i]
    return e


def left_by_continue(x, w):
    e, p = 0.0, 1.0
    for i in range(x.shape[0]):
        if x[i] > 3.0:
            continue
        d = w[i] - x[i]
        e += d * d
        if d > 0.0:
            p *= 2.0
    return e, p


def over_two_loops(x, w):
    total = 0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            if i != j:
                d = abs(x[i] - w[j])
                if d < 3.0:
                    total += int(d) + 1
    return total


def greatest_under_a_condition(x, w):
    e = -1.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            e = max(e, w[i])
    return e


UPDATES = [
    another_array,
    passed_on,
    several,
    branches_in_branches,
    either_side,
    left_by_continue,
    over_two_loops,
    greatest_under_a_condition,
]


def read_in_the_condition(x, w):
    e = 0.0
    for i in range(x.shape[0]):
        if e < 5.0:
            e += x[i]
            e += w[i]
    return e


def read_beside(x, w):
    e, g = 0.0, 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            e += x[i]
            g += e
    return g


def read_behind(x, w):
    e, s = 0.0, 7.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            s = w[i]
            e += s * s
    return e, s


def of_the_iteration_before(x, w):
    e, s = 0.0, 1.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            e += s
            s = w[i]
    return e


def on_one_side(x, w):
    e, s = 0.0, 1.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            if w[i] > 2.0:
                s = x[i]
            e += s
    return e


def also_written(x, w):
    e = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            e += w[i]
            w[i] = 0.0
    return e


def of_alternating_sign(x, w):
    e = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            e = w[i] - e
            e = e + 1.0
    return e


def of_two_kinds(x, w):
    e = 1.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            e += w[i]
            e *= 0.5
    return e


OTHERS = [
    read_in_the_condition,
    read_beside,
    read_behind,
    of_the_iteration_before,
    on_one_side,
    also_written,
    of_alternating_sign,
    of_two_kinds,
]


def doubled_again_and_again(x, w):
    e = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            a = x[i] + w[i]
            b = a * a + a
            c = b * b + b
            d = c * c + c
            f = d * d + d
            e += f * f + f
    return e


def arguments(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, of which sums are exact, and quotients of powers of two."""
    random = np.random.default_rng(seed)
    return random.choice([-2.0, -1.0, 0.0, 1.0, 2.0, 4.0], n), random.integers(-2, 6, n).astype(float)


def scop_of(function: Callable[..., Any], strict: bool = False) -> Scop:
    return analyse(function, Signature((("x", VECTOR), ("w", VECTOR))), strict=strict)


def has_branches(scop: Scop) -> bool:
    parts = (part for each in scop.statements for operation in each.operations for part in walk(operation))
    return any(isinstance(part, Branch) for part in parts)


@pytest.mark.parametrize("function", UPDATES, ids=lambda function: function.__name__)
def test_updates_are_reductions(function: Callable[..., Any]) -> None:
    scop = scop_of(function)
    assert not has_branches(scop)
    inner = [each for each in scop.statements if each.iterators and each.text]
    assert any(each.reduction is not None for each in inner)
    assert all(each.reduction is not None or each.text.startswith(("d =", "e, ")) for each in inner)


@pytest.mark.parametrize("function", [*OTHERS, doubled_again_and_again], ids=lambda function: function.__name__)
def test_branches_that_do_anything_else_stay(function: Callable[..., Any]) -> None:
    assert has_branches(scop_of(function))


@pytest.mark.parametrize("function", [*UPDATES, *OTHERS], ids=lambda function: function.__name__)
def test_every_version_computes_what_python_does(function: Callable[..., Any]) -> None:
    for n in (1, 2, 9, 40):
        in_every_version(function, *arguments(n, n))


@pytest.mark.parametrize("function", UPDATES, ids=lambda function: function.__name__)
def test_updates_run_in_parallel(function: Callable[..., Any]) -> None:
    kernel = polytune.kernel(function)
    assert "summed" in kernel.space(*arguments(9, 0))["version"].values


def test_numbers_that_the_branch_alone_uses_are_gone() -> None:
    names = {array.name for array in scop_of(passed_on).arrays}
    assert names.isdisjoint({"s", "t"})
    assert "s" in {array.name for array in scop_of(read_behind).arrays}


def test_what_follows_a_false_condition_is_not_evaluated() -> None:
    def quotients(x: np.ndarray, k: np.ndarray) -> int:
        e = 0
        for i in range(x.shape[0]):
            if k[i] != 0:
                q = 12 // k[i]
                e += q
        return e

    k = np.array([0, 1, 2, 0, 3, -4])
    with np.errstate(all="raise"):
        assert polytune.kernel(quotients)(np.zeros(6), k) == 19


def test_a_sum_of_nothing_keeps_the_sign_of_its_zero() -> None:
    def summed(x: np.ndarray) -> float:
        e = -0.0
        for i in range(x.shape[0]):
            if x[i] > 1.0:
                s = x[i]
                e += s * s
        return e

    kernel = polytune.kernel(summed)
    x = np.zeros(4)
    assert np.signbit(kernel.run(kernel.space(x).configuration(version="source"), x))
