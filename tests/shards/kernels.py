"""A loop over time that clusters run in several tests, and what it gives in plain Python."""

from __future__ import annotations

import numpy as np

import polytune


@polytune.kernel(strict=True)
def diffused(steps, A, B):
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(2, A.shape[1]):
                B[i, j] = 0.5 * A[i - 1, j] + 0.25 * A[i + 1, j - 2]
        for i in range(1, A.shape[0] - 1):
            for j in range(2, A.shape[1]):
                A[i, j] = B[i, j]


def diffusion(shape: tuple[int, int], steps: int) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """The arrays of a call of `diffused`, and what they are after it."""
    A, B = np.random.default_rng(0).random(shape), np.zeros(shape)
    expected = A.copy(), B.copy()
    diffused.__wrapped__(steps, *expected)
    return A, B, expected
