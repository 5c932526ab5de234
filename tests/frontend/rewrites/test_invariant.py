"""Sums that do not change in a loop: which are moved out of it, and that results are the same."""

# mypy: ignore-errors

from __future__ import annotations

import copy
from collections.abc import Callable

import islpy as isl
import numpy as np
import pytest

import polytune
from polytune.frontend import analyse
from polytune.runtime.calls.arguments import signature_of
from tests.frontend.test_array_expressions import modelled


def of_a_row(A, x, n: int):
    out = np.zeros((n, A.shape[1]))
    for i in range(n):
        for j in range(A.shape[1]):
            s = np.sum(A[i])
            out[i, j] = A[i, j] / (s + 9.0)
    return out


def of_everything(A, x, n: int):
    for i in range(n):
        for j in range(A.shape[1]):
            s = np.sum(x * x)
            A[i, j] = A[i, j] + s
    return A


def of_the_inner_loop(A, x, n: int):
    out = np.zeros((A.shape[1], n))
    for i in range(A.shape[1]):
        for k in range(n):
            s = np.sum(A[k])
            out[i, k] = s + i
    return out


def beside_others(A, x, n: int):
    for i in range(n):
        x[i] = 2.0
        for j in range(A.shape[1]):
            s = np.sum(x)
            A[i, j] = A[i, j] + s
    return A, x


def backwards(A, x, n: int):
    for i in range(n):
        for j in range(A.shape[1] - 1, -1, -1):
            s = np.sum(x[1:])
            A[i, j] = j * s + i
    return A


def counted_by_label(A, x, n: int):
    return np.array([[np.sum(A[x > i, j]) / (1.0 + np.sum(x > i)) for j in range(A.shape[1])] for i in range(n)])


def of_what_changes(A, x, n: int):
    for i in range(n):
        for j in range(A.shape[1]):
            s = np.sum(A[:, 0])
            A[i, j] = s / 2.0
    return A


def used_afterwards(A, x, n: int):
    s = 0.0
    for _ in range(n):
        s = np.sum(x)
        x[0] = x[0] / 2.0
    return s


def of_the_iteration(A, x, n: int):
    out = np.zeros(n)
    for i in range(n):
        out[i] = np.sum(A[i] * x[: A.shape[1]])
    return out


def of_an_iteration_before(A, x, n: int):
    s = 0.0
    for i in range(n):
        A[i, 0] = s
        s = np.sum(x)
    return A


def beside_a_product(A, x, n: int):
    out = np.zeros((A.shape[0], A.shape[0]))
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            product = 0.0
            first = 0.0
            second = 1.0
            for k in range(A.shape[1]):
                product += A[i, k] * A[j, k]
                first += A[i, k] * A[i, k]
                second += A[j, k] * A[j, k]
            out[i, j] = product / (1.0 + np.sqrt(first * second))
    return out


def beside_a_product_of_two_loops(A, x, n: int):
    out = np.zeros((n, A.shape[0]))
    for i in range(n):
        for j in range(A.shape[0]):
            total = 0.0
            weight = 0.5
            for k in range(A.shape[1]):
                total += A[j, k] * i
                for m in range(A.shape[0]):
                    weight += A[m, k] * x[m]
                    total += A[m, k]
            out[i, j] = total * weight
    return out


def read_by_the_other_sum(A, x, n: int):
    out = np.zeros((n, A.shape[0]))
    for i in range(n):
        for j in range(A.shape[0]):
            running = 0.0
            total = 0.0
            for k in range(A.shape[1]):
                running += A[j, k]
                total += running * i
            out[i, j] = total + running
    return out


def of_what_the_loop_writes(A, x, n: int):
    out = np.zeros((n, A.shape[0]))
    for i in range(n):
        for j in range(A.shape[0]):
            total = 0.0
            for k in range(A.shape[0]):
                x[k] = x[k] / 2.0 + i
                total += x[k]
            out[i, j] = total
    return out, x


def begun_from_an_element(A, x, n: int):
    out = np.zeros((n, A.shape[0]))
    for i in range(n):
        for j in range(A.shape[0]):
            first = x[i]
            product = 0.0
            for k in range(A.shape[1]):
                product += A[j, k] * i
                first += A[j, k]
            out[i, j] = product + first
    return out


def until_one_is_large(A, x, n: int):
    out = np.zeros((n, A.shape[0]))
    for i in range(n):
        for j in range(A.shape[0]):
            total = 0.0
            weight = 0.0
            for k in range(A.shape[1]):
                weight += A[j, k]
                total += A[j, k] * i
                if total > 3.0:
                    break
            out[i, j] = total - weight
    return out


AROUND_SUMS = {
    beside_a_product: [2, 2, 3],
    beside_a_product_of_two_loops: [2, 3, 4],
    read_by_the_other_sum: [3, 3],
    of_what_the_loop_writes: [3],
    begun_from_an_element: [3, 3],
    of_a_row: [2],
    of_everything: [1, 2],
    of_the_inner_loop: [2],
    beside_others: [2, 2],
    backwards: [1],
    counted_by_label: [2, 3],
    of_what_changes: [3],
    used_afterwards: [2],
    of_the_iteration: [2],
    of_an_iteration_before: [1],
}
"""How many loops are around the updates of sums, by function."""


def arguments(n: int = 4) -> tuple[np.ndarray, np.ndarray, int]:
    generator = np.random.default_rng(5)
    return generator.integers(-8, 9, (6, 5)) / 4.0, generator.integers(-8, 9, 6) / 4.0, n


@pytest.mark.parametrize(("function", "expected"), AROUND_SUMS.items(), ids=lambda each: getattr(each, "__name__", ""))
@pytest.mark.parametrize("strict", [False, True])
def test_which_sums_are_moved(function: Callable, expected: list[int], strict: bool) -> None:
    scop = analyse(function, signature_of(("A", "x", "n"), arguments()), strict=strict)
    found = [each.domain.dim(isl.dim_type.set) for each in scop.statements if each.reduction is not None]
    assert sorted(found) == expected


@pytest.mark.parametrize("function", [*AROUND_SUMS, until_one_is_large], ids=lambda function: function.__name__)
@pytest.mark.parametrize("n", [0, 1, 4])
def test_results_stay_the_same(function: Callable, n: int) -> None:
    if function is counted_by_label and not n:
        return  # NumPy makes an array of one dimension of no lists
    for width in (5, 1):
        A, x, _ = arguments()
        given = A[:, :width].copy(), x, n
        same(modelled(function, copy.deepcopy(given)), function(*copy.deepcopy(given)))


def test_bounds_of_what_is_not_run_are_not_checked() -> None:
    @polytune.kernel
    def first_elements(A, x, n: int, m: int):
        for j in range(m):
            s = np.sum(x[:n] * x[:n])
            A[0, j] = s + x[n - 1]
        return A

    A, x, _ = arguments()
    same(first_elements(A, x, 99, 0), A)
    same(first_elements(A.copy(), x, 3, 2), first_elements.__wrapped__(A.copy(), x, 3, 2))


@pytest.mark.slow
@pytest.mark.parametrize("function", [of_a_row, backwards, counted_by_label, beside_others, beside_a_product])
def test_every_version_computes_the_same(function: Callable) -> None:
    kernel = polytune.kernel(function)
    space = kernel.space(*arguments())
    for version in space["version"].values:
        same(kernel.run(space.configuration(version=version), *arguments()), function(*arguments()))


def same(found, wanted) -> None:
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, wanted)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
