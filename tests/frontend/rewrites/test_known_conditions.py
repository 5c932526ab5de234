"""Tests of subscripts that conditions of the source make unnecessary, and those that they do not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import SubscriptError
from polytune.frontend.analyse import analyse
from polytune.frontend.expression import Checked, Compare, walk
from polytune.frontend.scop import Scop
from polytune.signature import ArrayType, Signature
from tests.test_control import in_every_version

LEAST, GREATEST = -(2**63), 2**63 - 1


def sorted_in(A, index):
    window = np.empty(len(A))
    for k in range(len(A)):
        j = k
        while j > 0 and window[j - 1] > A[k]:
            window[j] = window[j - 1]
            j -= 1
        window[j] = A[k]
    for k in range(len(A)):
        A[k] = window[k]


def between(A, index):
    for i in range(len(index)):
        k = 2 * index[i] - 3
        if k >= 0 and k < len(A):
            A[k] += 1.0


def not_outside(A, index):
    for i in range(len(index)):
        k = 2 * index[i] - 3
        if not (k < 0 or k >= len(A)):
            A[k] += 1.0


def chosen(A, index):
    for i in range(len(index)):
        k = 2 * index[i] - 3
        A[0] += A[k] if k >= 0 and len(A) > k else 0.5


def on_the_other_side(A, index):
    for i in range(len(index)):
        k = 2 * index[i] - 3
        if k < 1 or k >= len(A):
            A[0] += 1.0
        else:
            A[k] = A[k - 1]


WITHOUT_TESTS = [between, not_outside, chosen]
WITHOUT_NEGATIVE = [sorted_in, on_the_other_side]


def assigned_before(A, index):
    for i in range(len(index)):
        k = index[i]
        if k >= 0 and k < len(A):
            k -= 3
            A[k] += 1.0


def assigned_in_a_loop(A, index):
    for i in range(len(index)):
        k = index[i]
        if k >= 0 and k < len(A):
            while A[k] > 0.0:
                k -= 1
                A[0] += 0.5
                if k < -3:
                    break
            A[k] = -1.0


def beyond_the_greatest(A, index):
    for i in range(len(index)):
        k = index[i]
        if k >= 0:
            A[k + 1] += 1.0


def below_the_least(A, index):
    for i in range(len(index)):
        k = index[i]
        if k < len(A):
            A[k - 1] += 1.0


def counted_beyond(A, index):
    for i in range(len(index)):
        k = index[i]
        if k >= 0:
            for j in range(index[0] * 0 + 2):
                A[k + j] += 1.0


def either(A, index):
    for i in range(len(index)):
        k = index[i]
        if k >= 0 or k < len(A):
            A[k] += 1.0


def after_it(A, index):
    for i in range(len(index)):
        k = index[i]
        if k >= 0:
            A[0] += 1.0
        A[k] += 1.0


def of_a_number_that_changes(A, index):
    for i in range(len(index)):
        if index[i] >= 0 and index[i] < len(A):
            index[i] -= 4
            A[index[i]] += 1.0


def of_the_wrong_array(A, index):
    for i in range(len(A)):
        k = int(A[i])
        if k >= 0 and k < len(A):
            A[i] += index[k]


WITH_TESTS = [
    assigned_before,
    assigned_in_a_loop,
    beyond_the_greatest,
    below_the_least,
    counted_beyond,
    either,
    after_it,
    of_a_number_that_changes,
    of_the_wrong_array,
]


def scop_of(function: Callable[..., Any]) -> Scop:
    return analyse(function, Signature((("A", ArrayType("float64", 1)), ("index", ArrayType("int64", 1)))))


def violations(function: Callable[..., Any]) -> list[Any]:
    parts = (part for each in scop_of(function).statements for operation in each.operations for part in walk(operation))
    return [part.violation for part in parts if isinstance(part, Checked)]


@pytest.mark.parametrize("function", WITHOUT_TESTS, ids=lambda function: function.__name__)
def test_what_a_condition_says_needs_no_test(function: Callable[..., Any]) -> None:
    assert not violations(function)


@pytest.mark.parametrize("function", WITHOUT_NEGATIVE, ids=lambda function: function.__name__)
def test_subscripts_that_are_not_negative_count_from_the_beginning(function: Callable[..., Any]) -> None:
    compared = [part for each in violations(function) for part in walk(each) if isinstance(part, Compare)]
    lower, upper = (sum(part.operator == operator for part in compared) for operator in ("<", ">="))
    assert lower < upper or not compared


@pytest.mark.parametrize("function", WITH_TESTS, ids=lambda function: function.__name__)
def test_what_is_not_known_is_tested(function: Callable[..., Any]) -> None:
    assert violations(function)


def followed(A, index):
    for i in range(len(index)):
        k = index[i]
        while A[k] > 1.0:
            A[k] -= 1.0
            k -= 1


def test_what_may_count_from_the_end_keeps_both_tests_which_are_one() -> None:
    for violation in violations(followed):
        compared = [part.operator for part in walk(violation) if isinstance(part, Compare)]
        assert compared.count("<") == compared.count(">=")


def arguments(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.integers(0, max(n, 1), n).astype(float), random.integers(0, max(n - 1, 1), n if n > 1 else 0)


@pytest.mark.parametrize(
    "function", [*WITHOUT_TESTS, *WITHOUT_NEGATIVE, *WITH_TESTS], ids=lambda function: function.__name__
)
def test_every_version_computes_what_python_does(function: Callable[..., Any]) -> None:
    for n in (4, 5, 9, 20):
        in_every_version(function, *arguments(n, n))
        A, index = arguments(n, n + 1)
        if function in (*WITHOUT_TESTS, on_the_other_side):
            index[:3] = [-(2**60), 2**60, -1]
            in_every_version(function, A, index)


@pytest.mark.parametrize("wrong", [GREATEST, LEAST, LEAST + 1, GREATEST - 1, 7, -8])
@pytest.mark.parametrize(
    "function", [beyond_the_greatest, below_the_least, counted_beyond, either], ids=lambda function: function.__name__
)
def test_numbers_that_wrap_round_touch_nothing_outside(function: Callable[..., Any], wrong: int) -> None:
    kernel, memory = polytune.kernel(function), np.zeros(300)
    A, index = memory[100:107], np.array([1, 2, wrong, 3])
    for version in kernel.space(A, index)["version"].values:
        memory[:] = 0.0
        with suppress(SubscriptError):
            kernel.run(kernel.space(A, index).configuration(version=version), A, index)
        assert not memory[:100].any() and not memory[107:].any()
