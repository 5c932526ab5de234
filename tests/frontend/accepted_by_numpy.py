"""Functions with loops in which arrays have other shapes from one iteration to the next: NumPy runs these."""

# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import matrix, vector

LIMIT = 1e-6


@accepted(lambda: (vector(9) + 1.5, 1e-9, 30), lambda: (np.zeros(0), 1e-9, 30), lambda: (vector(9) + 1.5, 1e-9, 0))
def roots_of_those_that_are_left(a, tolerance, most: int):
    n = len(a)
    roots = np.empty(n)
    steps = np.zeros(n, dtype=np.int64)
    left = np.arange(n)
    x = 0.5 * a + 1.0
    for step in range(most):
        if not left.size:
            break
        x = x - (x * x - a[left]) / (2.0 * x)
        done = abs(x * x - a[left]) <= tolerance
        roots[left[done]] = x[done]
        steps[left] = step + 1
        left, x = left[~done], x[~done]
    return 2.0 * roots[:0], steps * 2, n


@accepted(lambda: (np.arange(16.0) ** 2 % 7, 4), lambda: (np.arange(32.0)[::-2] % 5, 4), lambda: (np.arange(4.0), 2))
def averages_and_differences(signal, levels: int):
    n = len(signal)
    out = np.zeros(n)
    smooth = signal.copy()
    for level in range(levels):
        pairs = np.reshape(smooth, (n // 2 ** (level + 1), 2))
        smooth = 0.5 * (pairs[:, 0] + pairs[:, 1])
        out[n // 2 ** (level + 1) : n // 2**level] = pairs[:, 0] - smooth
    for i in range(n):
        out[i] *= 3.0
    return out


@accepted(lambda: (np.arange(13.0), np.zeros(5)), lambda: (np.ones(1), np.zeros(5)))
def halves_in_a_while(A, sums):
    level = 0
    while len(A) > 1 and level < len(sums):
        A = np.add(A[: len(A) // 2], A[len(A) // 2 : 2 * (len(A) // 2)])
        sums[level] = A.sum()
        level += 1
    for i in range(len(sums)):
        sums[i] += 1.0


@accepted(lambda: (matrix(4, 6), np.zeros((4, 3))))
def in_each_row(A, out):
    for i in range(A.shape[0]):
        row = 2.0 * A[i]
        for k in range(out.shape[1]):
            row = row[row > row.min()]
            out[i, k] = row.sum()
        out[i] += 1.0


@accepted(lambda: (matrix(3, 4).astype(np.float32), 0.1, True), lambda: (matrix(3, 4), np.float32(0.1), False))
def types_of_numbers(A, factor, wanted: bool):
    size = A.shape
    kept = np.zeros(size, dtype=A.dtype)
    if A[0, 0] > -9.0:
        B = A * 1
        for step in range(size[0]):
            B = B[:-1] * factor
            kept[: len(B)] += B - LIMIT + math.pi
            if wanted and step == 1:
                continue
            kept[step] *= size[1]
    return kept
