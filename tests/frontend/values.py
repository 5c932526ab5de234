"""Arrays that small programs are tried on."""

from __future__ import annotations

import numpy as np


def vector(n: int = 6) -> np.ndarray:
    """Numbers that are all different, some above 1 and some below 0."""
    return np.array([0.5, 1.75, -0.25, 3.0, 0.125, 2.5, -1.5, 0.75, 4.0])[:n].copy()


def matrix(n: int = 4, m: int = 4) -> np.ndarray:
    return np.arange(float(n * m)).reshape(n, m) / 4 - 1


VECTOR = lambda: (vector(),)  # noqa: E731
TWO = lambda: (vector(), vector()[::-1].copy())  # noqa: E731
SQUARE = lambda: (matrix(),)  # noqa: E731
