"""Linear algebra of small matrices: elimination, and Cholesky's factor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from polytune.runtime.modules.compilation import keeps_code
from polytune.runtime.small_calls.rows import REPORT, after, element, extent, load, store, word

__all__ = ["SMALL_MATRIX", "determining", "factoring", "inverting", "solving"]

SMALL_MATRIX = 32
"""Rows of matrices up to which elimination is faster than LAPACK after a call of NumPy."""


@njit
def _size(value):
    """The size of a number as LAPACK compares pivots."""
    return abs(value.real) + abs(value.imag)


@njit
def _eliminate(work, n):
    """Bring the first n columns of a matrix into triangular form by exchanges and sums of rows.

    Return the sign of the exchanges, 0 where the matrix is singular.
    """
    sign = 1
    for column in range(n):
        best, pivot = _size(work[column, column]), column
        for row in range(column + 1, n):
            size = _size(work[row, column])
            if size > best:
                best, pivot = size, row
        if not best > 0.0:
            return 0
        if pivot != column:
            sign = -sign
            for place in range(column, work.shape[1]):
                work[column, place], work[pivot, place] = work[pivot, place], work[column, place]
        for row in range(column + 1, n):
            factor = work[row, column] / work[column, column]
            for place in range(column + 1, work.shape[1]):
                work[row, place] -= factor * work[column, place]
    return sign


@njit
def _substitute(work, n):
    """Solve a triangular system for the right sides in the columns after the first n."""
    for row in range(n - 1, -1, -1):
        for other in range(row + 1, n):
            factor = work[row, other]
            for place in range(n, work.shape[1]):
                work[row, place] -= factor * work[other, place]
        for place in range(n, work.shape[1]):
            work[row, place] /= work[row, row]


@njit
def _read(row, at, like, work, start):
    """Copy an array to the columns from one on.  Return whether all of its elements are finite."""
    is_finite = True
    for first in range(extent(row, at, 0)):
        for second in range(extent(row, at, 1)):
            value = load(element(row, at, first, second), like)
            is_finite = is_finite and _size(value) < math.inf
            work[first, start + second] = value
    return is_finite


@njit
def _is_taken(row, matrix):
    """Return whether an array is a small square matrix of the result's type."""
    is_square = word(row, matrix + 2) == 2 and 0 < extent(row, matrix, 0) == extent(row, matrix, 1) <= SMALL_MATRIX
    return is_square and word(row, REPORT + 1) == word(row, matrix + 1)


@njit
def _working_copy(row, matrix, columns, like, dtype):
    """Copy a small square matrix of the result's type, with so many columns of zeros behind it.

    The copy has no rows where the array is anything else, or an element is not finite.
    """
    n = extent(row, matrix, 0)
    if _is_taken(row, matrix):
        work = np.zeros((n, n + columns), dtype)
        if _read(row, matrix, like, work, 0):
            return work
    return np.empty((0, 0), dtype)


@njit
def _solve(row, work):
    """Solve a system for the right sides in the columns after the first, as many as rows, and give the solutions as the
    result.

    Return 0 where the matrix is singular, else 1.
    """
    n = len(work)
    if _eliminate(work, n) == 0:
        return 0
    _substitute(work, n)
    for first in range(n):
        for second in range(work.shape[1] - n):
            store(element(row, REPORT, first, second), work[first, n + second])
    return 1


def solving(like: Any, dtype: Any) -> Any:
    """``np.linalg.solve``: elimination with partial pivoting, as LAPACK's."""

    @njit(cache=keeps_code(__file__))
    def small_solve(row):
        matrix = after(row, REPORT)
        right = after(row, matrix)
        n, columns = extent(row, matrix, 0), extent(row, right, 1)
        if word(row, right + 1) != word(row, matrix + 1) or extent(row, right, 0) != n or columns > SMALL_MATRIX:
            return 0
        work = _working_copy(row, matrix, columns, like, dtype)
        if len(work) == 0 or not _read(row, right, like, work, n):
            return 0
        return _solve(row, work)

    return small_solve


def inverting(like: Any, dtype: Any) -> Any:
    """``np.linalg.inv``: the solutions for the columns of the identity."""
    one = type(like)(1)

    @njit(cache=keeps_code(__file__))
    def small_inverse(row):
        matrix = after(row, REPORT)
        work = _working_copy(row, matrix, extent(row, matrix, 0), like, dtype)
        if len(work) == 0:
            return 0
        for place in range(len(work)):
            work[place, len(work) + place] = one
        return _solve(row, work)

    return small_inverse


def determining(like: Any, dtype: Any) -> Any:
    """``np.linalg.det``: the product of the pivots."""
    one = type(like)(1)

    @njit(cache=keeps_code(__file__))
    def small_determinant(row):
        work = _working_copy(row, after(row, REPORT), 0, like, dtype)
        sign = _eliminate(work, len(work)) if len(work) > 0 else 0
        product = one
        for place in range(len(work)):
            product *= work[place, place]
        if sign == 0 or not 0.0 < _size(product) < math.inf:
            return 0
        store(element(row, REPORT, 0, 0), product if sign > 0 else -product)
        return 1

    return small_determinant


def factoring(like: Any, dtype: Any) -> Any:
    """``np.linalg.cholesky`` of the lower triangle."""

    @njit(cache=keeps_code(__file__))
    def small_cholesky(row):
        work = _working_copy(row, after(row, REPORT), 0, like, dtype)
        n = len(work)
        if n == 0:
            return 0
        for column in range(n):
            pivot = work[column, column].real
            for place in range(column):
                value = work[column, place]
                pivot -= value.real * value.real + value.imag * value.imag
            if not pivot > 0.0:
                return 0
            root = math.sqrt(pivot)
            work[column, column] = root
            for first in range(column + 1, n):
                rest = work[first, column]
                for place in range(column):
                    rest -= work[first, place] * np.conj(work[column, place])
                work[first, column] = rest / root
        for first in range(n):
            for second in range(n):
                store(element(row, REPORT, first, second), work[first, second] if second <= first else like)
        return 1

    return small_cholesky
