"""Matrices and vectors, of sizes for which nobody calls a library."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from benchmarks.applications.case import Arguments, case


def product_data(rng: np.random.Generator) -> Arguments:
    return rng.random((200, 180)), rng.random((180, 220)), np.zeros((200, 220))


@case(product_data, calls=320)
def product(a, b, c):
    for i in prange(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def products_data(rng: np.random.Generator) -> Arguments:
    return rng.random((500, 24, 24)), rng.random((500, 24, 24)), np.zeros((500, 24, 24))


@case(products_data, calls=2000)
def batched_products(a, b, c):
    for n in prange(a.shape[0]):
        for i in range(24):
            for j in range(24):
                total = 0.0
                for k in range(24):
                    total += a[n, i, k] * b[n, k, j]
                c[n, i, j] = total


def vector_data(rng: np.random.Generator) -> Arguments:
    return rng.random((1500, 1200)), rng.random(1200), np.zeros(1500)


@case(vector_data, calls=2000)
def matrix_vector(a, x, y):
    for i in prange(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        y[i] = total


def both_data(rng: np.random.Generator) -> Arguments:
    return rng.random((800, 900)), rng.random(900), rng.random(800), np.zeros(800), np.zeros(900)


@case(both_data, calls=500)
def both_products(a, x, y, rows, columns):
    for j in range(a.shape[1]):
        columns[j] = 0.0
    for i in range(a.shape[0]):
        rows[i] = 0.0
        for j in range(a.shape[1]):
            rows[i] += a[i, j] * x[j]
            columns[j] += a[i, j] * y[i]


def update_data(rng: np.random.Generator) -> Arguments:
    return rng.random((900, 900)), rng.random(900), rng.random(900), 1e-3


@case(update_data, calls=5000)
def rank_one_update(a, x, y, alpha):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += alpha * x[i] * y[j]


def solve_data(rng: np.random.Generator) -> Arguments:
    return np.tril(rng.random((150, 150))) / 150 + np.eye(150), rng.random((150, 200))


@case(solve_data, calls=2000)
def triangular_solve(lower, b):
    for column in prange(b.shape[1]):
        for i in range(b.shape[0]):
            total = b[i, column]
            for k in range(i):
                total -= lower[i, k] * b[k, column]
            b[i, column] = total / lower[i, i]


def gram_data(rng: np.random.Generator) -> Arguments:
    return rng.random((4000, 40)), np.zeros((40, 40))


@case(gram_data, calls=320)
def gram(x, out):
    for i in prange(x.shape[1]):
        for j in range(x.shape[1]):
            total = 0.0
            for k in range(x.shape[0]):
                total += x[k, i] * x[k, j]
            out[i, j] = total


def factor_data(rng: np.random.Generator) -> Arguments:
    a = rng.random((160, 160))
    return a @ a.T + 160 * np.eye(160), np.zeros((160, 160))


@case(factor_data, calls=2000)
def factorisation(a, lower):
    n = a.shape[0]
    for j in range(n):
        total = a[j, j]
        for k in range(j):
            total -= lower[j, k] * lower[j, k]
        lower[j, j] = math.sqrt(total)
        for i in prange(j + 1, n):
            rest = a[i, j]
            for k in range(j):
                rest -= lower[i, k] * lower[j, k]
            lower[i, j] = rest / lower[j, j]


def tridiagonal_data(rng: np.random.Generator) -> Arguments:
    shape = (200, 300)
    return rng.random(shape), 4.0 + rng.random(shape), rng.random(shape), rng.random(shape), np.zeros(shape)


@case(tridiagonal_data, calls=5000)
def tridiagonal(below, diagonal, above, x, scale):
    for i in prange(x.shape[0]):
        scale[i, 0] = above[i, 0] / diagonal[i, 0]
        x[i, 0] = x[i, 0] / diagonal[i, 0]
        for k in range(1, x.shape[1]):
            pivot = diagonal[i, k] - below[i, k] * scale[i, k - 1]
            scale[i, k] = above[i, k] / pivot
            x[i, k] = (x[i, k] - below[i, k] * x[i, k - 1]) / pivot
        for k in range(x.shape[1] - 2, -1, -1):
            x[i, k] -= scale[i, k] * x[i, k + 1]


def forms_data(rng: np.random.Generator) -> Arguments:
    return rng.random((2000, 24)), rng.random((24, 24)), np.zeros(2000)


@case(forms_data, calls=5000)
def quadratic_forms(x, a, out):
    for n in prange(x.shape[0]):
        total = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                total += x[n, i] * a[i, j] * x[n, j]
        out[n] = total


def softmax_data(rng: np.random.Generator) -> Arguments:
    return rng.standard_normal((512, 256)).astype(np.float32), np.zeros((512, 256), np.float32)


@case(softmax_data, calls=5000)
def softmax(x, out):
    for i in prange(x.shape[0]):
        most = x[i, 0]
        for j in range(x.shape[1]):
            most = max(most, x[i, j])
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - most)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total


def transpose_data(rng: np.random.Generator) -> Arguments:
    return rng.random((1000, 1100)), np.zeros((1100, 1000))


@case(transpose_data, calls=1000)
def transpose(a, out):
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]


def conjugate_gradients_data(rng: np.random.Generator) -> Arguments:
    n = 800
    matrix = rng.random((n, n))
    return matrix + matrix.T + n * np.eye(n), rng.random(n), np.zeros(n), 1e-9


@case(conjugate_gradients_data, calls=300)
def conjugate_gradients(matrix, b, x, tolerance):
    n = len(b)
    r = np.empty(n)
    p = np.empty(n)
    q = np.empty(n)
    rest = 0.0
    for i in range(n):
        x[i] = 0.0
        r[i] = b[i]
        p[i] = b[i]
        rest += b[i] * b[i]
    for step in range(n):  # noqa: B007
        if rest < tolerance:
            break
        along = 0.0
        for i in prange(n):
            total = 0.0
            for j in range(n):
                total += matrix[i, j] * p[j]
            q[i] = total
            along += p[i] * total
        alpha = rest / along
        before = rest
        rest = 0.0
        for i in range(n):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            rest += r[i] * r[i]
        for i in range(n):
            p[i] = r[i] + (rest / before) * p[i]
    return step
