"""Variables that opaque statements only update: reductions of what single iterations add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.frontend.analyse import analyse
from polytune.frontend.scop import Scop
from polytune.signature import ArrayType, Signature
from tests.test_control import in_every_version


def in_a_while(x, w):
    total = 0
    for i in range(x.shape[0]):
        left = x[i]
        while left > 0.0:
            left -= 1.5
            total += 1
    return total


def beside_a_store(x, w):
    count, e = 0, 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            w[i] = 0.0
            count += 1
            e -= x[i]
    return count, e


def of_several_kinds(x, w):
    total, product, least, most = 1.0, 1, 2.5, -1
    for i in range(x.shape[0]):
        k = 0
        while k < 4:
            if x[i] > k:
                total = w[i] + total
                product *= 2
                least = min(least, x[i] - k)
            most = max(most, k + int(w[i]))
            k += 1
    return total, product, least, most


def under_a_loop_and_beside_one(x, w):
    total = 3.0
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            left = x[i] - w[j]
            while left > 0.0:
                total += left
                left -= 2.0
        total += w[i]
    return total


def left_by_break(x, w):
    inside = 0
    for i in range(x.shape[0]):
        c = x[i]
        z = 0.0
        for _ in range(6):
            if z > 4.0:
                break
            z = z * z + c
            inside += 1
    return inside


REDUCTIONS = [in_a_while, beside_a_store, of_several_kinds, under_a_loop_and_beside_one, left_by_break]


def read_by_the_statement(x, w):
    total = 0
    for i in range(x.shape[0]):
        left = x[i]
        while left > 0.0 and total < 9:
            left -= 1.0
            total += 1
    return total


def read_by_another_statement(x, w):
    total = 0
    for i in range(x.shape[0]):
        left = x[i]
        while left > 0.0:
            left -= 1.0
            total += 1
        w[i] = total
    return total


def set_in_the_same_loop(x, w):
    total = 0
    for i in range(x.shape[0]):
        if w[i] > 4.0:
            total = 0
        left = x[i]
        while left > 0.0:
            left -= 1.0
            total += 1
    return total


def of_alternating_sign(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        left = x[i]
        while left > 0.0:
            total = left - total
            left -= 1.0
    return total


def of_two_kinds(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        left = x[i]
        while left > 0.0:
            total += left
            total *= 0.5
            left -= 1.0
    return total


def of_numbers_in_python_order(x, w):
    least = 9.0
    for i in range(x.shape[0]):
        k = 0.0
        while k < x[i]:
            least = min(w[i] - k, least)
            k += 1.0
    return least


OTHERS = [
    read_by_the_statement,
    read_by_another_statement,
    set_in_the_same_loop,
    of_alternating_sign,
    of_two_kinds,
    of_numbers_in_python_order,
]


def ending(x, w):
    total, last = 0, -1
    for i in range(x.shape[0]):
        for _ in range(2):
            left = x[i]
            while left > 0.0:
                left -= 1.0
                total += 1
        last = i
        if w[i] > 4.0:
            break
    return total, last


def set_around(x, w):
    for i in range(x.shape[0]):
        total = 0
        for j in range(w.shape[0]):
            left = w[j] - x[i]
            while left > 0.0:
                left -= 1.0
                total += 1
        x[i] = total


def arguments(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, of which sums are exact."""
    random = np.random.default_rng(seed)
    return random.choice([-2.0, -1.0, 0.0, 1.0, 2.0, 4.0], n), random.integers(-2, 6, n).astype(float)


def scop_of(function: Callable[..., Any], strict: bool = False) -> Scop:
    kind = ArrayType("float64", 1)
    return analyse(function, Signature((("x", kind), ("w", kind))), strict=strict)


def reductions(scop: Scop) -> int:
    return sum(each.reduction is not None for each in scop.statements)


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda function: function.__name__)
def test_updates_are_reductions_unless_a_kernel_is_strict(function: Callable[..., Any]) -> None:
    assert reductions(scop_of(function)) > reductions(scop_of(function, strict=True))


@pytest.mark.parametrize("function", OTHERS, ids=lambda function: function.__name__)
def test_variables_that_are_not_only_updated_stay(function: Callable[..., Any]) -> None:
    assert not reductions(scop_of(function))


@pytest.mark.parametrize("function", [*REDUCTIONS, *OTHERS, ending, set_around], ids=lambda function: function.__name__)
def test_every_version_computes_what_python_does(function: Callable[..., Any]) -> None:
    for n in (0, 1, 2, 9, 40):
        in_every_version(function, *arguments(n, n))


@pytest.mark.parametrize(
    "function", [in_a_while, beside_a_store, left_by_break], ids=lambda function: function.__name__
)
def test_they_run_in_parallel(function: Callable[..., Any]) -> None:
    kernel = polytune.kernel(function)
    assert "summed" in kernel.space(*arguments(9, 0))["version"].values


def test_extrema_leave_out_what_is_no_number() -> None:
    x = np.array([4.0, np.nan, 1.0, np.inf, -np.inf, 4.0])
    w = np.array([1.0, np.nan, np.nan, -np.inf, 2.0, 3.0])
    with np.errstate(invalid="ignore"):
        in_every_version(least_difference, x, w)


def least_difference(x, w):
    least, most = 1.0, -0.0
    for i in range(x.shape[0]):
        k = 0.0
        while k < 2.0:
            least = min(least, x[i] - w[i] + k)
            most = max(most, w[i] * k)
            k += 1.0
    return least, most


def test_integers_wrap_round_as_in_source_order() -> None:
    def hashed(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        total = np.int8(1)
        for i in range(x.shape[0]):
            left = x[i]
            while left > 0:
                total += np.int8(left)
                left -= 3
        w[0] = total

    x = np.array([120, 100, 7, -3], np.int8)
    kernel = polytune.kernel(hashed)
    space = kernel.space(x, np.zeros(1, np.int8))
    with np.errstate(over="ignore"):
        wanted = np.zeros(1, np.int8)
        hashed(x, wanted)
    for version in space["version"].values:
        found = np.zeros(1, np.int8)
        kernel.run(space.configuration(version=version), x, found)
        assert found == wanted, version


def until_it_converges(x, w):
    """Iterations that go on until a break, of which what stands before it is under the same condition."""
    for i in range(x.shape[0]):
        rate = 0.5
        for _ in range(20):
            value, slope = 0.0, 0.0
            for t in range(w.shape[0]):
                discount = (1.0 + rate) ** -t
                value += w[t] * discount
                slope += t * w[t] * discount
            if slope <= 0.0:
                break
            rate += value / slope
            if abs(rate) > 4.0:
                x[i] = rate
                break


def test_variables_under_one_condition_keep_no_loop_from_being_shared_out() -> None:
    """Updates that were made apart would read the variables of the iteration before, for all that can be seen."""
    kernel = polytune.kernel(until_it_converges)
    given = arguments(9, 3)
    assert "parallel" in kernel.space(*given)["version"].values
    kernel(*given)
    assert "for i: parallel" in kernel.explain()
    for n in (0, 1, 9):
        wanted, found = arguments(n, n), arguments(n, n)
        until_it_converges(*wanted)
        kernel(*found)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9)
