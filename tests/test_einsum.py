"""Subscripts of ``np.einsum``, against NumPy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError

rng = np.random.default_rng(5)
A, B, C, x = rng.random((4, 4)), rng.random((3, 4, 4)), rng.random((3, 4, 5)), rng.random(4)


def trace(A):
    return np.einsum("ii", A)


def traces(B):
    return np.einsum("bii->b", B)


def traces_of_stacks(B):
    return np.einsum("...ii", B)


def along_the_diagonal(A, x):
    return np.einsum("ii,i,j->j", A, x, x)


def products_of_stacks(B, C):
    return np.einsum("...ij,...jk->...ik", B, C)


def of_a_stack_and_a_matrix(A, B):
    return np.einsum("ij, ...jk", A, B)


def with_a_vector(B, x):
    return np.einsum("...ij,j->...i", B, x)


def stretched(B, A):
    return np.einsum("b...,...->b...", B, A)


def summed(B):
    return np.einsum("...ij->...", B)


def turned(B):
    return np.einsum("...ij->...ji", B)


def kept(B):
    return np.einsum("...", B)


CASES: list[tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = [
    (trace, (A,)),
    (traces, (B,)),
    (traces_of_stacks, (B,)),
    (traces_of_stacks, (A,)),
    (along_the_diagonal, (A, x)),
    (products_of_stacks, (B, C)),
    (products_of_stacks, (A, A)),
    (products_of_stacks, (A, B)),
    (of_a_stack_and_a_matrix, (A, B)),
    (with_a_vector, (B, x)),
    (stretched, (B, A)),
    (summed, (B,)),
    (turned, (B,)),
    (kept, (B,)),
]


@pytest.mark.parametrize(("function", "arguments"), CASES)
@pytest.mark.parametrize("dtype", ["float64", "complex64", "int32"])
def test_subscripts(function: Callable[..., Any], arguments: tuple[np.ndarray, ...], dtype: str) -> None:
    given = [(9 * each).astype(dtype) for each in arguments]
    found, wanted = polytune.kernel(function)(*given), function(*given)
    assert np.shape(found) == np.shape(wanted) and np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == "complex64" else 1e-13)


def test_a_diagonal_of_another_extent_is_none() -> None:
    with pytest.raises(ArgumentError, match="do not fit"):
        polytune.kernel(trace)(rng.random((3, 4)))


def diagonal(A):
    return np.einsum("ii->i", A)


def of_no_operand(A):
    return np.einsum("ij->k", A)


def lost(B):
    return np.einsum("...ij->ij", B)


def of_more(A):
    return np.einsum("ijk->i", A)


@pytest.mark.parametrize(
    ("function", "shape", "what"),
    [
        (diagonal, (4, 4), "a diagonal that is not added up"),
        (of_no_operand, (4, 4), "not compiled"),
        (lost, (3, 4, 4), "not compiled"),
        (of_more, (4, 4), "not compiled"),
    ],
)
def test_subscripts_that_are_refused(function: Callable[..., Any], shape: tuple[int, ...], what: str) -> None:
    """Of the first NumPy gives a view, which may be written to; of the others it gives errors."""
    with pytest.raises(UnsupportedSourceError, match=what):
        polytune.kernel(function)(rng.random(shape))
