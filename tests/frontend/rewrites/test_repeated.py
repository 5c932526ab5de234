"""What is computed like something before it: what is left out, and that results are the same whether it is or not."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.frontend import analyse
from polytune.frontend.expression import Assign, walk
from polytune.frontend.scop import ArrayRole
from polytune.runtime.calls.arguments import signature_of
from tests.frontend.test_array_expressions import modelled


def matrix(n: int = 6, m: int = 4) -> np.ndarray:
    return np.random.default_rng(n).integers(-8, 9, (n, m)) / 4.0


def vector(n: int = 6) -> np.ndarray:
    return np.random.default_rng(n + 1).integers(-8, 9, n) / 4.0


def standard_scores(A, x):
    return (A - A.mean(axis=0)) / (A.std(axis=0) + 1.0)


def of_all_elements(A, x):
    return (A - A.mean()) / (A.std() + A.var() + 1.0)


def dimensions_kept(A, x):
    mean = A.mean(axis=1, keepdims=True)
    return (A - mean) * A.var(axis=1, keepdims=True) + A.var(axis=1)[:, None]


def in_a_loop(A, x):
    for i in range(len(A)):
        x[i] = A[i].mean() + A[i].var()
        A[i] = x[i]


def under_a_condition(A, x):
    for i in range(len(A)):
        if i % 2 == 0:
            x[i] = A[i].mean() + A[i].var()


def functions_twice(A, x):
    first = np.sin(x)
    second = np.sin(x)
    return first[::-1] + second, first[0] + second[1]


def a_result_is_kept(A, x):
    mean = A.mean(axis=0)
    return mean, A.var(axis=0)


def loops_of_the_source(A, x):
    n, m = A.shape
    first = np.empty(n)
    second = np.empty(n)
    for i in range(n):
        first[i] = 1.0
        for k in range(m):
            first[i] += A[i, k]
    for p in range(n):
        second[p] = 1.0
        for q in range(m):
            second[p] += A[p, q]
    for i in range(n):
        x[i] = first[i] * second[n - 1 - i]


def with_branches(A, x):
    n = len(x)
    first = np.empty(n)
    second = np.empty(n)
    for i in range(n):
        first[i] = 0.0
        if x[i] > 0.0:
            first[i] = A[i, 0]
            if first[i] > 1.0:
                first[i] -= 1.0
        else:
            first[i] -= x[i]
    for i in range(n):
        second[i] = 0.0
        if x[i] > 0.0:
            second[i] = A[i, 0]
            if second[i] > 1.0:
                second[i] -= 1.0
        else:
            second[i] -= x[i]
    x[:] = first * second[::-1]


LEFT_OUT: dict[str, tuple[Callable[..., Any], int]] = {
    "means of columns": (standard_scores, 4),
    "the mean of all": (of_all_elements, 4),
    "with dimensions kept": (dimensions_kept, 3),
    "in a loop": (in_a_loop, 4),
    "under a condition": (under_a_condition, 3),
    "functions of elements": (functions_twice, 3),
    "one is a result": (a_result_is_kept, 2),
    "loops of the source": (loops_of_the_source, 2),
    "with branches": (with_branches, 2),
}
"""Kernels, and to how many arrays and variables they assign."""


def operand_changed(A, x):
    first = A.sum(axis=1)
    A[0] = 1.0
    second = A.sum(axis=1)
    x[:] = first * second


def number_changed(A, x):
    factor = x[0]
    first = np.sin(x * factor)
    factor = 3.0
    second = np.sin(x * factor)
    x[:] = first[::-1] + second[::-1]


def first_changed(A, x):
    first = A.sum(axis=1)
    first[0] = 1.0
    second = A.sum(axis=1)
    x[:] = first * second[::-1]


def first_changed_later(A, x):
    first = A.sum(axis=1)
    second = A.sum(axis=1)
    x[:] = first
    first[:] = 1.0
    x[:] *= first[::-1] * second[::-1]


def second_changed_later(A, x):
    first = A.sum(axis=1)
    second = A.sum(axis=1)
    second[0] += 1.0
    x[:] = first[::-1] * second[::-1]


def both_are_results(A, x):
    return A.sum(axis=1), A.sum(axis=1)


def other_order(A, x):
    first = A[:4].sum(axis=1)
    second = A[:4].sum(axis=0)
    x[:4] = first * second


def other_type(A, x):
    first = np.sum(A, axis=1)
    second = np.sum(A, axis=1, dtype=np.float32)
    x[:] = first[::-1] * second[::-1]


def read_before_the_second(A, x):
    second = np.zeros(len(x))
    for i in range(len(x)):
        x[i] += second[0]
        first = np.sin(x)
        second = np.sin(x)
        x[i] += first[0] - second[-1]


def as_many_times_of_another(A, x):
    n, m = A.shape
    first = np.empty(m)
    second = np.empty(m)
    for i in range(m):
        first[i] = 0.0
    for _ in range(n):
        for i in range(m):
            first[i] += 1.0
    for i in range(m):
        second[i] = 0.0
    for i in range(m):
        for _ in range(n):
            second[i] += 1.0
    x[:m] = first * second + x[0]


def what_was_there(A, x):
    first = np.zeros(len(x))
    second = np.zeros(len(x))
    for i in range(1, len(x)):
        first[i] = first[i - 1] + x[i]
    for i in range(1, len(x)):
        second[i] = second[i - 1] + x[i]
    x[:] = first * second[::-1]


def other_branches(A, x):
    n = len(x)
    first = np.empty(n)
    second = np.empty(n)
    for i in range(n):
        first[i] = 0.0
        if x[i] > 0.0:
            first[i] = A[i, 0]
            if first[i] > 1.0:
                first[i] -= 1.0
        else:
            first[i] -= x[i]
    for i in range(n):
        second[i] = 0.0
        if x[i] > 0.0:
            second[i] = A[i, 0]
            if second[i] > 1.0:
                second[i] -= 2.0
        else:
            second[i] -= x[i]
    x[:] = first * second[::-1]


KEPT: dict[str, Callable[..., Any]] = {
    "an operand is changed": operand_changed,
    "a number is changed": number_changed,
    "the first one is changed": first_changed,
    "the first one is changed later": first_changed_later,
    "the second one is changed later": second_changed_later,
    "both are returned": both_are_results,
    "sums of rows and of columns": other_order,
    "another type": other_type,
    "the second one is read before": read_before_the_second,
    "loops in another order": as_many_times_of_another,
    "elements before are read": what_was_there,
    "branches differ": other_branches,
}


def assigned(kernel: Callable[..., Any], arguments: list[Any]) -> set[str]:
    """The arrays and variables that a kernel assigns."""
    scop = analyse(kernel, signature_of(tuple(inspect.signature(kernel).parameters), tuple(arguments)))
    parts = (part for statement in scop.statements for operation in statement.operations for part in walk(operation))
    return {part.target.array for part in parts if isinstance(part, Assign)}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_was_computed_before_is_left_out(name: str) -> None:
    kernel, count = LEFT_OUT[name]
    found = assigned(kernel, [matrix(), vector()])
    assert len(found) == count, found


def test_the_bins_of_two_histograms_are_found_once() -> None:
    def weighted_means(A, x):
        return np.histogram(x, 3, weights=A[:, 0])[0] / np.histogram(x, 3)[0]

    found = [array for array in assigned(weighted_means, [matrix(), vector()]) if "bins" in array]
    assert len(found) == 1, found


@pytest.mark.parametrize("name", KEPT)
def test_what_differs_is_computed(name: str) -> None:
    kernel = KEPT[name]
    scop = analyse(kernel, signature_of(("A", "x"), (matrix(), vector())))
    arrays = [array for array in scop.arrays if array.role in (ArrayRole.LOCAL, ArrayRole.RESULT)]
    assert len(arrays) == 2, arrays


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", [*LEFT_OUT, *KEPT])
def test_the_model_computes_what_python_does(name: str, strict: bool) -> None:
    kernel = KEPT[name] if name in KEPT else LEFT_OUT[name][0]
    for n in (4, 6, 9):
        arguments = [matrix(n), vector(n)]
        wanted = copy.deepcopy(arguments)
        right, found = kernel(*wanted), modelled(kernel, tuple(arguments), strict=strict)
        for expected, got in zip((*_flat(right), *wanted), (*_flat(found), *arguments), strict=True):
            assert np.shape(got) == np.shape(expected)
            np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("means of columns", "float32"), ("with dimensions kept", "complex128"), ("in a loop", "float64")],
)
def test_compiled_kernels_agree_with_numpy(name: str, dtype: str) -> None:
    kernel, _ = LEFT_OUT[name]
    compiled = polytune.kernel(kernel)
    for n, m in ((1, 1), (5, 33), (40, 7)):
        A, x = matrix(n, m).astype(dtype), vector(n).astype(dtype)
        wanted, found = [A.copy(order="F"), x.copy()], [A.copy(order="F"), x.copy()]
        right, got = kernel(*wanted), compiled(*found)
        for expected, one in zip((*_flat(right), *wanted), (*_flat(got), *found), strict=True):
            assert getattr(one, "dtype", None) == getattr(expected, "dtype", None)
            np.testing.assert_allclose(one, expected, rtol=2e-4 if dtype == "float32" else 1e-11, atol=1e-5)


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [] if result is None else [result]
