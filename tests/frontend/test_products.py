"""Products of arguments and extents in bounds and subscripts, extents as numbers, subscripts of transposed arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from polytune.frontend import analyse
from polytune.runtime.calls.arguments import signature_of
from tests.frontend.helpers import analysed
from tests.frontend.interpreter import Run, check_accesses


def bound(A, n: int, m: int):
    for i in range(n * m):
        A[i] += 1.0


def beside_a_loop_variable(A, n: int, m: int):
    for i in range(n):
        for j in range(i, n * m - i):
            A[i + n * m] += A[j]


def of_extents(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[0] * A.shape[1] - 1, i, -2):
            B[j] += A[i, 0]


def of_three(A, n: int, m: int):
    for i in range(max(n * m, n * n) + n * m * n):
        A[i] = i


def product_of(x, y):
    return x * y


def of_a_helper(A, n: int, m: int):
    for i in range(product_of(n, m)):
        A[i] += 1.0


def named_alike(A, n: int, m: int):
    product = 2.0
    for i in range(n * m):
        A[i] *= product


def transposed(A, B):
    for i in range(A.shape[1]):
        for j in range(A.shape[0]):
            B[i, j] = A.T[i, j] + A.T.T[j, i]


def written_transposed(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            A.T[i, j] = B[i][j]


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((function, (np.arange(40.0), n, m)) for n in (0, 1, 3) for m in (2, 4)
      for function in (bound, beside_a_loop_variable, of_a_helper, named_alike)),
    (of_extents, (np.arange(12.0).reshape(3, 4), np.zeros(12))),
    (of_three, (np.zeros(60), 3, 4)),
    (bound, (np.arange(5.0), -2, -2)),
    (transposed, (np.arange(12.0).reshape(3, 4), np.zeros((4, 3)))),
    (written_transposed, (np.zeros((3, 4)), np.arange(12.0).reshape(4, 3))),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_models_compute_what_python_does(function, arguments):
    wanted, found = ([value.copy() if hasattr(value, "copy") else value for value in arguments] for _ in range(2))
    function(*wanted)
    names = tuple(inspect.signature(function).parameters)
    run = Run(analyse(function, signature_of(names, found)), dict(zip(names, found, strict=True))).execute()
    check_accesses(run)
    for before, after in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(after, before)


def test_one_product_is_one_parameter():
    def twice(A, n: int, m: int):
        for i in range(n * m):
            A[i] += 1.0
        for i in range(n * m):
            A[i] *= 2.0

    assert [parameter.name for parameter in analysed(twice).parameters if parameter.name not in ("n", "m")] == [
        "product"
    ]


def test_compiled_kernels_check_their_bounds():
    kernel = polytune.kernel(beside_a_loop_variable, background=False)
    for n, m in ((3, 4), (1, 2), (0, 7)):
        wanted, found = np.arange(40.0), np.arange(40.0)
        for _ in range(3):
            beside_a_loop_variable(wanted, n, m)
            kernel(found, n, m)
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ArgumentError, match="goes past the end of axis 0"):
        kernel(np.zeros(14), 3, 4)


def extent_alone(A, B):
    for i in range(len(B)):
        B[i] = len(A) * 2.0 + A.shape[1]


def product_of_extents(A, B):
    n, m = A.shape
    p = n * m
    B[0] = p
    return 2 * n + m


@pytest.mark.parametrize("function", [extent_alone, product_of_extents])
def test_extents_that_are_nothing_but_numbers_are_compiled(function):
    """No loop or subscript mentions them, and compiled code has no shapes."""
    wanted, found = np.zeros(3), np.zeros(3)
    right = function(np.ones((4, 5)), wanted)
    assert polytune.kernel(function, budget=0, background=False)(np.ones((4, 5)), found) == right
    assert found.tolist() == wanted.tolist()


def quotient(A, n: int, m: int):
    for i in range(n // m):
        A[i] += 1.0


def test_quotients_of_arguments_bound_parallel_loops():
    scop = analysed(quotient)
    assert [loop.variable for loop in scop.loops] == ["i"]
    kernel = polytune.kernel(quotient, budget=0, background=False)
    for n, m in ((7, 2), (1, 3), (-4, -1), (0, 5), (7, -2)):
        wanted, found = np.zeros(8), np.zeros(8)
        quotient(wanted, n, m)
        kernel(found, n, m)
        np.testing.assert_array_equal(found, wanted)
    found = np.zeros(8)
    kernel(found, 5, 0)
    assert not found.any()  # a quotient by 0 is 0


def test_products_of_what_is_no_plain_integer_bound_loops_in_order():
    """One of int32 wraps round in NumPy, and is no parameter."""
    assert analysed(bound, A="float64[::1]", n="int32", m="int32").loops == ()
