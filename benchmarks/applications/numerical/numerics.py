"""Numerical methods: solvers, integration, differential equations, automata."""

from __future__ import annotations

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def systems_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((n, 12, 5)), rng.random((n, 12)), 0.1


@case(systems_data, size=300, small=4, calls=100)
def ridge_regressions(designs, targets, penalty):
    out = np.empty((designs.shape[0], designs.shape[2]))
    for k in range(designs.shape[0]):
        X = designs[k]
        normal = X.T @ X + penalty * np.eye(X.shape[1])
        out[k] = np.linalg.solve(normal, X.T @ targets[k])
    return out


def tridiagonal_data(rng: np.random.Generator, n: int) -> Arguments:
    return tuple(rng.random((n // 20 + 2, n)) + shift for shift in (0.0, 3.0, 0.0, 0.0))


@case(tridiagonal_data, size=1000, small=7, calls=150)
def tridiagonal_systems(lower, diagonal, upper, right):
    if lower.shape != diagonal.shape:
        raise ValueError("the diagonals have different shapes")
    systems, n = diagonal.shape
    x = np.empty_like(right)
    for s in prange(systems):
        c = np.empty(n)
        d = np.empty(n)
        c[0] = upper[s, 0] / diagonal[s, 0]
        d[0] = right[s, 0] / diagonal[s, 0]
        for i in range(1, n):
            factor = 1.0 / (diagonal[s, i] - lower[s, i] * c[i - 1])
            c[i] = upper[s, i] * factor
            d[i] = (right[s, i] - lower[s, i] * d[i - 1]) * factor
        x[s, n - 1] = d[n - 1]
        for i in range(n - 2, -1, -1):
            x[s, i] = d[i] - c[i] * x[s, i + 1]
    return x


def definite(rng: np.random.Generator, n: int) -> Arguments:
    a = rng.random((n, n))
    return a @ a.T / n + np.eye(n), rng.random(n), 1e-8


@case(definite, size=300, small=6, calls=100)
def conjugate_gradient(A, b, tolerance):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    square = r @ r
    steps = 0
    while np.sqrt(square) > tolerance and steps < 10 * len(b):
        Ap = A @ p
        alpha = square / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        p = r + (new / square) * p
        square = new
        steps += 1
    return x, steps


def square_matrix(rng: np.random.Generator, n: int) -> Arguments:
    a = rng.random((n, n))
    return a + a.T, 1e-9


@case(square_matrix, size=400, small=6, calls=100)
def power_iteration(A, tolerance):
    v = np.ones(A.shape[0])
    eigenvalue = 0.0
    for _ in range(200):
        w = A @ v
        norm = np.linalg.norm(w)
        if norm == 0.0:
            return 0.0, v
        v = w / norm
        new = v @ A @ v
        if abs(new - eigenvalue) < tolerance:
            return new, v
        eigenvalue = new
    return eigenvalue, v


def integral_data(rng: np.random.Generator, n: int) -> Arguments:
    return 0.0, 2.0, 2 * n


@case(integral_data, size=200000, small=6, calls=200)
def simpson(a, b, n):
    x = np.linspace(a, b, n + 1)
    y = np.sin(x) * np.exp(-x)
    return (b - a) / (3 * n) * (y[0] + 4.0 * np.sum(y[1:-1:2]) + 2.0 * np.sum(y[2:-1:2]) + y[-1])


def general(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.random((n, n)),)


@case(general, size=200, small=6, calls=100)
def factorised(matrix):
    A = matrix.copy()
    n = A.shape[0]
    pivots = np.arange(n)
    sign = 1
    for k in range(n):
        best = k + np.argmax(np.abs(A[k:, k]))
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            pivots[k], pivots[best] = pivots[best], pivots[k]
            sign = -sign
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A, pivots, sign


def lorenz_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.random((n, 3)), 0.01, 50


@case(lorenz_data, size=2000, small=4, calls=100)
def lorenz(states, dt, steps):
    def slopes(x, y, z):
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z

    out = np.empty_like(states)
    for i in prange(len(states)):
        x, y, z = states[i]
        for _ in range(steps):
            ax, ay, az = slopes(x, y, z)
            bx, by, bz = slopes(x + 0.5 * dt * ax, y + 0.5 * dt * ay, z + 0.5 * dt * az)
            cx, cy, cz = slopes(x + 0.5 * dt * bx, y + 0.5 * dt * by, z + 0.5 * dt * bz)
            dx, dy, dz = slopes(x + dt * cx, y + dt * cy, z + dt * cz)
            x += dt / 6.0 * (ax + 2.0 * bx + 2.0 * cx + dx)
            y += dt / 6.0 * (ay + 2.0 * by + 2.0 * cy + dy)
            z += dt / 6.0 * (az + 2.0 * bz + 2.0 * cz + dz)
        out[i, 0], out[i, 1], out[i, 2] = x, y, z
    return out


@case(general, size=200, small=6, calls=60)
def orthonormal(matrix):
    n, m = matrix.shape
    Q = np.zeros((n, m))
    R = np.zeros((m, m))
    for j in range(m):
        v = matrix[:, j].copy()
        for i in range(j):
            R[i, j] = np.dot(Q[:, i], v)
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.sqrt(np.sum(v * v))
        Q[:, j] = v / R[j, j]
    return Q, R


def life_data(rng: np.random.Generator, n: int) -> Arguments:
    return rng.integers(0, 2, (n, n)).astype(np.uint8), 4


@case(life_data, size=400, small=6, calls=100)
def game_of_life(cells, generations):
    n, m = cells.shape
    for _ in range(generations):
        new = np.zeros_like(cells)
        for i in prange(n):
            for j in range(m):
                alive = 0
                for di, dj in ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)):
                    alive += cells[(i + di) % n, (j + dj) % m]
                new[i, j] = 1 if alive == 3 or (alive == 2 and cells[i, j] == 1) else 0
        cells = new
    return cells


def spline_data(rng: np.random.Generator, n: int) -> Arguments:
    return np.sort(rng.random(40)), rng.random(40), rng.uniform(-0.1, 1.1, n)


@case(spline_data, size=100000, small=9, calls=150)
def interpolated(nodes, values, points):
    out = np.empty(points.shape)
    last = nodes.size - 1
    for i in prange(points.size):
        x = points[i]
        if x <= nodes[0]:
            out[i] = values[0]
            continue
        if x >= nodes[last]:
            out[i] = values[last]
            continue
        low, high = 0, last
        while high - low > 1:
            middle = (low + high) // 2
            if nodes[middle] <= x:
                low = middle
            else:
                high = middle
        t = (x - nodes[low]) / (nodes[high] - nodes[low])
        out[i] = values[low] + t * (values[high] - values[low])
    return out
