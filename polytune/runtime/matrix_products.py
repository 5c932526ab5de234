"""Products of matrices by the library that NumPy has for them, into memory that is there."""

from __future__ import annotations

import numpy as np

__all__ = ["matrix_product"]


def matrix_product(left: np.ndarray, right: np.ndarray, *, out: np.ndarray) -> np.ndarray:
    """Compute ``left @ right`` into an array that has no memory in common with them.

    The library takes matrices whose rows or columns are contiguous; others are copied first, as NumPy itself does for
    some functions and not for all.  As in compiled code no warnings are given of numbers that are infinite or none.

    Args:
        left, right: two matrices of one type.
        out: a matrix of that type, which is returned.
    """
    if 0 in (*left.shape, *right.shape):
        out[...] = 0
        return out
    with np.errstate(all="ignore"):
        if not _is_contiguous_along_one(out):
            out[...] = np.matmul(_for_library(left), _for_library(right))
            return out
        return np.matmul(_for_library(left), _for_library(right), out=out)


def _for_library(matrix: np.ndarray) -> np.ndarray:
    return matrix if _is_contiguous_along_one(matrix) else np.ascontiguousarray(matrix)


def _is_contiguous_along_one(matrix: np.ndarray) -> bool:
    """Return whether rows or columns are contiguous, and do not overlap."""
    size = matrix.itemsize
    (rows, columns), (down, along) = matrix.shape, matrix.strides
    return (along == size and down >= columns * size) or (down == size and along >= rows * size)
