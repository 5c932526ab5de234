"""Eigenvalues of matrices that need not be symmetric, in a type that does not depend on what they are.

NumPy gives real numbers where all eigenvalues of a real matrix are real, and else complex ones.  Compiled code has one
type for them: that of the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.errors import ComplexEigenvaluesError


def eig(matrix: np.ndarray) -> Any:
    """Compute eigenvalues and eigenvectors, ``np.linalg.eig``, real ones of a real matrix.

    Args:
        matrix: a square one, or a stack of these.

    Raises:
        ComplexEigenvaluesError: it is real, and some of its eigenvalues are complex.
    """
    found = np.linalg.eig(matrix)
    return tuple(_as_of(matrix, part, "eig") for part in found)


def eigvals(matrix: np.ndarray) -> Any:
    """Compute eigenvalues, ``np.linalg.eigvals``; see ``eig``."""
    return _as_of(matrix, np.linalg.eigvals(matrix), "eigvals")


def _as_of(matrix: np.ndarray, values: np.ndarray, function: str) -> np.ndarray:
    if np.iscomplexobj(values) and not np.iscomplexobj(matrix):
        raise ComplexEigenvaluesError(function)
    return values
