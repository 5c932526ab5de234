"""Functions with loops in which arrays become shorter by as many elements each time."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.acceptance import accepted
from tests.frontend.values import matrix, vector


@accepted(lambda: (20.0, 0.25, 6), lambda: (20.0, 0.25, 1), lambda: (20.0, 0.25, 0))
def tree_of_prices(strike, p, n: int):
    values = np.maximum(strike - np.arange(n + 1) ** 2.0, 0.0)
    for _ in range(n):
        values = 0.5 * (p * values[:-1] + (1.0 - p) * values[1:])
    return values[0]


@accepted(lambda: (20.0, 6), lambda: (20.0, 2))
def tree_with_early_exercise(strike, n: int):
    prices = np.arange(n + 1) ** 2.0
    values = np.maximum(strike - prices, 0.0)
    for i in range(n - 1, -1, -1):
        values = 0.5 * values[:-1] + 0.25 * values[1:]
        values *= 1.0 + 0.5 * i
        prices = prices[:-1] * 2.0
        values = np.maximum(values, strike - prices)
    return values[0], len(prices)


@accepted(lambda: (matrix(5, 2), 0.5), lambda: (matrix(1, 2), 0.5))
def point_of_a_curve(points, t):
    for _ in range(len(points) - 1):
        points = (1.0 - t) * points[:-1] + t * points[1:]
    return points[0]


@accepted(*(lambda n=n, steps=steps: (vector(n), steps) for n in (0, 1, 5) for steps in (-1, 0, 1, 4, 5, 7)))
def differences_again_and_again(y, steps: int):
    for _ in range(steps):
        y = np.diff(y)
    return y


@accepted(lambda: (vector(6) + 3.0, vector(6)))
def divided_differences(x, y):
    n = len(x)
    c = np.zeros(n)
    c[0] = y[0]
    d = y
    for k in range(1, n):
        d = (d[1:] - d[:-1]) / (x[k:] - x[: n - k] + 64.0)
        c[k] = d[0]
    return c


@accepted(lambda: (matrix(3, 9), 2, 4), lambda: (matrix(3, 9), 4, 2), lambda: (matrix(3, 9), 0, 3))
def columns_left_out(A, first: int, last: int):
    total = 0.0
    for i in range(first, last):
        total += A[0, i - first]
        A = A[:, 2:] - A[:, :-2]
        total += A.shape[1] + 0.5 * i
    return total, A.sum()


@accepted(lambda: (matrix(3, 8), np.zeros((3, 4))))
def in_rows(A, out):
    for i in range(A.shape[0]):
        row = A[i] + 1.0
        for k in range(out.shape[1]):
            out[i, k] = row[-1] + row.sum()
            row = row[:-1] + 0.5 * row[1:]
