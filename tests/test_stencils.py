"""Stencils of Numba's in kernels: what Numba computes by them, with types as NumPy has them."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError

WEIGHT = 0.25


@numba.stencil
def four_neighbours(a):
    """The mean."""
    return WEIGHT * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])


@numba.stencil(cval=7.0)
def right_neighbour(a, scale):
    return a[0, 1] * scale + 1


@numba.stencil(neighborhood=((-2, 2),))
def of_two(a, b):
    return np.sin(a[-1]) + b[1]


@numba.stencil(cval=np.nan)
def after(a):
    return a[1] - a[0]


@numba.stencil(neighborhood=((-3, 0),))
def running_mean(a):
    total = 0.0
    for k in range(-3, 1):
        total += a[k]
    return total / 4


@numba.stencil
def limited(a):
    left = a[0] - a[-1]
    right = a[1] - a[0]
    slope = 0.0
    if left * right > 0:
        slope = 2 * left * right / (left + right)
    return a[0] + 0.5 * slope


@numba.stencil(cval=-1.0)
def edges(a, least):
    across = a[-1, 1] - a[-1, -1] + 2 * (a[0, 1] - a[0, -1])
    down = a[1, -1] - a[-1, -1] + 2 * (a[1, 0] - a[-1, 0])
    size = np.sqrt(across * across + down * down)
    if size > least:
        return size
    return 0.0


def of_statements(A, B):
    edges(A, 0.8, out=B)
    row = A[0].copy()
    for _ in range(3):
        row = limited(row)
    return edges(B, 1.6), running_mean(A[1]), row


def replaced(row, n):
    for _ in range(n):
        row = after(row)
    return row


def new_array(A):
    return four_neighbours(A)


def into_another(A, B):
    four_neighbours(A, out=B)


def sweeps(A, B, n):
    A, B = A.copy(), B.copy()
    for _ in range(n):
        four_neighbours(A, out=B)
        A, B = B, A
    return A


def with_border(A, B):
    right_neighbour(A, 2.0, out=B)
    return right_neighbour(B, 3.0)


def rows(A, B):
    return of_two(A[0], A[1]) + of_two(B[0], A[0]), after(A[0])


A = np.random.default_rng(1).random((20, 30))
CASES = [
    (new_array, (A,)),
    (new_array, (A[:2],)),
    (new_array, (A[:1, :1],)),
    (into_another, (A, np.ones_like(A))),
    (sweeps, (A, np.zeros_like(A), 5)),
    (with_border, (A, np.zeros_like(A))),
    (rows, (A, A[::-1].copy())),
    (of_statements, (A, np.zeros_like(A))),
    (replaced, (A[0].copy(), 4)),
]


@pytest.mark.parametrize("function, arguments", CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_stencils_are_numbas(function, arguments):
    kernel, reference = polytune.kernel(function), numba.njit(function)
    given = [[each.copy() if isinstance(each, np.ndarray) else each for each in arguments] for _ in range(2)]
    found, wanted = kernel(*given[0]), reference(*given[1])
    for got, right in zip(given[0], given[1], strict=True):
        np.testing.assert_allclose(got, right)
    for got, right in zip(*((each if isinstance(each, tuple) else (each,)) for each in (found, wanted)), strict=True):
        np.testing.assert_equal(got is None, right is None)
        if right is not None:
            np.testing.assert_allclose(got, right)


def test_types_are_numpys():
    kernel = polytune.kernel(new_array)
    assert kernel(A.astype(np.float32)).dtype == np.float32
    assert kernel(np.arange(12).reshape(3, 4)).dtype == np.float64


def test_another_stencil_of_the_name_is_another_kernel(monkeypatch):
    assert polytune.kernel(new_array)(A)[1, 1] == pytest.approx((A[0, 1] + A[2, 1] + A[1, 0] + A[1, 2]) / 4)

    @numba.stencil
    def four_neighbours(a):
        return a[0, 1] + a[0, -1]

    monkeypatch.setitem(globals(), "four_neighbours", four_neighbours)
    assert polytune.kernel(new_array)(A)[1, 1] == pytest.approx(A[1, 0] + A[1, 2])


@numba.stencil(standard_indexing=("w",))
def weighted(a, w):
    return a[0] * w[0]


def test_stencils_of_absolute_subscripts_are_refused():
    def calling(x):
        return weighted(x, x)

    with pytest.raises(UnsupportedSourceError, match="the stencil"):
        polytune.kernel(calling)(A[0].copy())
