"""Values that meet larger arrays: which are computed once and kept, and which for each element that they meet."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.frontend import analyse
from polytune.frontend.scop import ArrayRole
from polytune.runtime.calls.arguments import signature_of


def quotient(A, x):
    return A - x / (x + 2.0)


def root(A, x):
    return A * np.sqrt(x)


def power(A, x):
    return A * x**1.5


def power_of_a_column(A, x):
    return (A[:, :, None] * (x / (A + 1.0) ** 1.5)[:, None, :]).sum(axis=2)


def function(A, x):
    return A + np.exp(x)[None, :] * A


def factor_of_a_product(A, x):
    return A.T @ (A / 3.0)


KEPT = (quotient, root, power, power_of_a_column, function, factor_of_a_product)


def sums_and_products(A, x):
    return A + (x * 2.0 - x**2)


def as_large(A, x):
    return A * 2.0 - np.sqrt(A) / (A + 1.0)


def maxima(A, x):
    return A * np.maximum(x, 0.5)[None, :]


COMPUTED_AGAIN = (sums_and_products, as_large, maxima)


def local_arrays(kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    """How many arrays there are beside arguments and results."""
    scop = analyse(kernel, signature_of(tuple(inspect.signature(kernel).parameters), arguments))
    return sum(array.role is ArrayRole.LOCAL for array in scop.arrays)


def arguments_of(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.random((n, m)), rng.random(m)


@pytest.mark.parametrize("kernel", KEPT)
def test_what_takes_long_is_computed_once(kernel: Callable[..., Any]) -> None:
    assert local_arrays(kernel, arguments_of(5, 6)) == 1


@pytest.mark.parametrize("kernel", COMPUTED_AGAIN)
def test_what_is_quickly_computed_is_computed_again(kernel: Callable[..., Any]) -> None:
    """As is what meets as many elements as it has itself."""
    assert local_arrays(kernel, arguments_of(5, 6)) == 0


@pytest.mark.parametrize("kernel", [quotient, root, power_of_a_column, factor_of_a_product])
def test_results_are_those_of_numpy(kernel: Callable[..., Any]) -> None:
    compiled = polytune.kernel(kernel)
    for n, m in ((1, 1), (4, 7), (33, 20)):
        A, x = arguments_of(n, m)
        np.testing.assert_allclose(compiled(A, x), kernel(A, x), rtol=1e-13)
