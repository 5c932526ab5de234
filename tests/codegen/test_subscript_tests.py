"""Tests of subscripts before loops instead of in each of their iterations: where they are made, and that nothing is
overlooked by them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.codegen.subscript_tests import tests_before as before_loop
from polytune.errors import SubscriptError
from polytune.frontend.expression import Constant, Loop, walk
from tests.every_version import stages_of
from tests.test_control import in_every_version


def halves(A, counts):
    n = len(A)
    B = np.empty(n)
    while n > 1:
        half = n // 2
        for i in range(half):
            B[i] = A[2 * i] + A[2 * i + 1]
            B[half + i] = A[2 * i] - A[2 * i + 1]
        for i in range(2 * half):
            A[i] = B[i]
        n = half


def every_third(A, counts):
    for k in range(len(counts)):
        for i in range(counts[k]):
            A[k] += A[3 * i + 1] * 0.5


def backwards(A, counts):
    for k in range(len(counts)):
        for i in range(counts[k], 0, -1):
            A[k] += A[14 - 2 * i] * 0.5


def of_one_place(A, counts):
    for k in range(len(counts)):
        place = counts[k] + 1
        for i in range(counts[k]):
            A[place] += A[i] * 0.5


FUNCTIONS = [halves, every_third, backwards, of_one_place]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_all_is_tested_before_loops(function: Callable[..., Any]) -> None:
    arguments = np.random.default_rng(1).integers(-8, 9, 16) / 4.0, np.array([3, 0, 5, 1])
    operations = [each for statement in stages_of(function, arguments).scop.statements for each in statement.operations]
    loops = [part for each in operations for part in walk(each) if isinstance(part, Loop)]
    found = [before_loop(loop) for loop in loops]
    assert found and None not in found
    violations = [each.violation for tests in found if tests is not None for each in tests.remaining.values()]
    assert violations == [Constant(False, "bool")] * len(violations)
    in_every_version(function, *arguments, strict=True)


@pytest.mark.parametrize("count", [6, 1000, 2**61, 2**62 + 1, 2**63 - 1])
@pytest.mark.parametrize("function", [every_third, backwards, of_one_place], ids=lambda each: each.__name__)
def test_what_is_out_of_range_is_found(function: Callable[..., Any], count: int) -> None:
    """However far: what the last subscript would be need not fit into a word."""
    A, counts = np.arange(16.0), np.array([2, count])
    expected = A.copy()
    if count == 6 and function is not every_third:
        function(expected, counts)
        polytune.kernel(function, background=False)(A, counts)
        np.testing.assert_array_equal(A, expected)
        return
    with pytest.raises(SubscriptError):
        polytune.kernel(function, background=False)(copy.deepcopy(A), counts)
