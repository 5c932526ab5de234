"""Kernels of array expressions, as people write them in NumPy; each with the shapes of its arguments."""

# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """A kernel.

    Attributes:
        shapes: gives the shapes of its array arguments for a size; numbers stand for themselves.
        least: the smallest size that NumPy raises no error for.
    """

    kernel: Callable[..., Any]
    shapes: Callable[[int], tuple[Any, ...]]
    least: int


PROGRAMS: list[Program] = []


def program(shapes: Callable[[int], tuple[Any, ...]], *, least: int = 0) -> Callable[[Any], Any]:
    def register(kernel: Any) -> Any:
        PROGRAMS.append(Program(kernel, shapes, least))
        return kernel

    return register


VECTORS = lambda n: ((n,), (n,))  # noqa: E731
MATRICES = lambda n: ((n, n + 1), (n, n + 1))  # noqa: E731
PRODUCT = lambda n: ((n, n + 2), (n, 3), (3, n + 2))  # noqa: E731
SQUARE = lambda n: ((n, n),)  # noqa: E731


# ---- slices


@program(VECTORS)
def three_points(A, B):
    A[1:-1] = 0.5 * (B[:-2] + B[2:]) - B[1:-1]


@program(lambda n: ((n, n + 1), (n, n + 1), 3))
def five_points(A, B, steps):
    for _ in range(steps):
        A[1:-1, 1:-1] = (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]) * 0.25
        B[1:-1, 1:-1] = A[1:-1, 1:-1]


@program(VECTORS)
def shifted_in_place(A, B):
    A[1:] = A[:-1] + B[1:]
    B[:-1] = B[1:]
    A[::2] += B[::2]


@program(VECTORS)
def backwards(A, B):
    A[:] = A[::-1]
    B[::-2] = A[::-2] * 2
    B[-1:0:-3] += 1


@program(MATRICES, least=2)
def boundaries(A, B):
    A[:, -1] = A[:, -2]
    A[0, :] = B[1]
    A[-1] = 0
    A[..., 0] = B[..., 1]


@program(MATRICES)
def rows_by_name(A, B):
    for i in range(A.shape[0]):
        row = A[i]
        row[:] = row * 2 + B[i, 0]
        row[::2] -= 1
        A[i, : i + 1] *= B[i, : i + 1]


@program(lambda n: ((n, n, n), (n, n, n)))
def interior_by_name(A, B):
    inner = A[1:-1, 1:-1, 1:-1]
    inner[...] = B[1:-1, 1:-1, 1:-1] + inner
    corner = inner[:1, :1]
    corner += 1


@program(lambda n: ((n,), (n, n)))
def new_dimensions(A, B):
    B += A[:, None] * A[None, :]
    B *= A[:, np.newaxis]


@program(lambda n: ((n + 7,), 4))
def blocks(A, size):
    for start in range(0, A.shape[0], 4):
        A[start : start + 4] *= 2
        A[start : start + 4] += A[start : start + 4] * 3


@program(lambda n: ((n,), (n,), n // 2))
def first_elements(A, B, count):
    A[:count] = B[:count]
    A[count:] = 0


@program(lambda n: ((n, n),))
def triangle(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j] + 2
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


# ---- whole arrays and names for results


@program(MATRICES)
def named_results(A, B):
    t = A + B
    u = t * t - 1
    t = u / 2
    A[:] = t
    B -= u


@program(MATRICES)
def other_names(A, B):
    same = A
    same += 1
    B[:] = same
    copy = A.copy()
    A[:] = 0
    B += copy


@program(VECTORS, least=1)
def elements_of_the_target(A, B):
    A += B[0]
    A[:] = A[0] * A
    B[:] = B[-1] - B


@program(MATRICES)
def carried(A, B):
    x = np.zeros(A.shape[0])
    for j in range(3):
        x = x + A[:, 0] * j
        x = np.sqrt(abs(x))
    A[:, 0] = x


@program(MATRICES)
def replaced_in_a_loop(A, B):
    old = np.empty_like(A)
    for _ in range(3):
        old = A.copy()
        A[1:, 1:] = old[:-1, :-1] + B[1:, 1:]


@program(MATRICES)
def transposed(A, B):
    t = A.T
    B[:] = t.T + np.transpose(A.T)
    t[0:1] += 2.0


@program(SQUARE)
def symmetric(A):
    A[:] = (A + A.T) / 2


@program(SQUARE)
def shortest_paths(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


@program(lambda n: ((n, n), (n,)))
def until_small(A, x):
    norm = 10.0
    steps = 0
    while norm > 0.5 and steps < 4:
        old = A.copy()
        A[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1]) * 0.25
        for i in range(1, A.shape[0]):
            x[:i] += A[i, :i] * 0.5
            part = x[: i + 1] * 2
            A[i, 0] = part[i] - part[0]
        norm = np.sum(np.abs(A - old))
        steps += 1
    A += steps


# ---- new arrays


@program(MATRICES)
def made(A, B):
    t = np.zeros_like(A)
    t[1:] = np.ones((A.shape[0] - 1, A.shape[1]))[:, :] if False else 1.0
    A += t + np.full(A.shape, 2.5)
    for i in range(A.shape[0]):
        part = np.zeros(i + 1)
        part += A[i, : i + 1]
        B[i, : i + 1] = part[::-1]


@program(lambda n: ((n,), (n, n)))
def counted(x, A):
    x += np.linspace(0, 1, x.shape[0])
    x *= np.arange(x.shape[0])
    A[:] = A @ np.eye(x.shape[0]) + np.eye(x.shape[0], k=1)


@program(VECTORS)
def listed(x, y):
    weights = np.array([0.25, 0.5, 0.25])
    table = np.array([[1, 2], [3, 4]])
    x[1:-1] = weights[0] * y[:-2] + weights[1] * y[1:-1] + weights[2] * y[2:]
    y[:] = y + np.sum(table) + np.sum(table[1] / weights[:2])
    y[1:] += np.diff(x)
    y[:] = np.rint(y * 4) / 4 + np.round(-x * 0.5)


@program(lambda n: ((n + 2, n + 3), (n + 2, n + 2)))
def covariances(A, C):
    C[:] = np.cov(A) + np.cov(A.T[: A.shape[0], : A.shape[1]].T)[: C.shape[0]]


@program(VECTORS, least=1)
def joined(x, y):
    both = np.concatenate((x, y, x[1:]))
    x[:] = both[1 : 1 + x.shape[0]]
    y[:] = np.roll(y, 1) + np.stack((x, y))[1]


@program(lambda n: ((n, 2, n + 1), (n, 2 * n + 2), (2 * n * (n + 1),)))
def regrouped(A, B, x):
    B += np.reshape(A, (A.shape[0], 2 * A.shape[2]))
    x += A.reshape(-1) + B.ravel()
    A[:] = B.reshape((A.shape[0], 2, A.shape[2])) * 2
    t = A * 2
    t = t.reshape((A.shape[0], 2 * A.shape[2]))
    B -= t


# ---- functions


@program(MATRICES)
def functions(A, B):
    A[:] = np.where(B > 0.5, np.exp(A), np.sqrt(np.abs(B)))
    B[:] = np.clip(A, 0.2, 1.5) * np.maximum(A, B) + np.sign(A - 1)
    np.multiply(A, B, out=A)


@program(MATRICES)
def masks(A, B):
    large = (A > 0.5) & ~(B > 0.7)
    A[large] = 7
    B[A > 1] *= 2
    A[:] = A + large
    A[A > 1] = A[A > 1] ** 2 - B[A > 1] + 1


@program(lambda n: ((n + 2,), (n + 2,), n), least=1)
def selected(x, y, bins):
    y[0] = x[x >= 0].sum() + np.max(x[x > 0]) + np.min(x[x > 0] + 1) + np.prod(x[x > 0.1])
    greatest = x.max()
    for i in range(bins):
        within = np.logical_and(greatest * i <= x * bins, x * bins <= greatest * bins)
        chosen = y[within]
        y[:] = y + 1
        y[i] = chosen.mean()


@program(lambda n: ((n, n + 1), (n,), (n + 1,)), least=1)
def statistics(A, x, y):
    y[:] = np.mean(A, axis=0)
    A -= y
    x[:] = np.std(A, axis=1) + A.sum(axis=1) + np.var(A)
    A /= np.max(np.abs(A), axis=-1, keepdims=True) + 1
    y += A.min(axis=0) + np.prod(A, axis=0)


@program(VECTORS, least=1)
def positions(x, y):
    y[0] = np.argmax(x) + 10 * np.argmin(x) + 1000 * np.any(x > 0.9) + np.all(x >= 0)
    y += np.cumsum(x) + np.count_nonzero(x > 0.5)


def positive(x):
    return np.maximum(x, 0)


def normalised(x):
    greatest = np.max(x, axis=-1, keepdims=True)
    powers = np.exp(x - greatest)
    return powers / np.sum(powers, axis=-1, keepdims=True)


@program(PRODUCT)
def layers(C, A, B):
    x = positive(A @ B - 1)
    x = normalised(x)
    C[:] = x


def windows(x, w):
    k = w.shape[0]
    result = np.empty((x.shape[0] - k + 1, x.shape[1]))
    for i in range(x.shape[0] - k + 1):
        for j in range(x.shape[1]):
            result[i, j] = np.sum(x[i : i + k, j] * w[:, np.newaxis][:, 0])
    return result


@program(lambda n: ((n + 3, n), (3,), (n + 1, n)))
def convolved(x, w, result):
    result[:] = windows(x, w) + 1


def means(x):
    m = x.mean(axis=0)
    return m, x - m


def pairs(x, y):
    return x[:1], y * 2


@program(MATRICES, least=1)
def results_of_calls(A, B):
    m, rest = means(A)
    A[:] = rest
    B[0] = m
    first, twice = pairs(A, B)
    first += 1
    B[:] = twice - normalised(twice)[0]
    for _ in range(2):
        m = means(A)[0]
        A += m
    B[0], B[-1] = B[-1], A[0] * 2


# ---- products


@program(PRODUCT)
def scaled_product(C, A, B):
    C[:] = 1.5 * A @ B + 2.0 * C


@program(PRODUCT)
def added_product(C, A, B):
    C += A @ B
    C -= np.dot(A, B)


@program(lambda n: ((n, 3), (3,), (n,)))
def matrix_and_vector(A, x, y):
    y[:] = A @ x
    x += y @ A - x
    x[0] = np.dot(x, x) + (A @ x) @ y


@program(lambda n: ((n, n + 2), (n + 2, n + 2), (n,)))
def correlated(data, C, x):
    C[:] = 0
    for i in range(C.shape[0]):
        C[i + 1 :, i] = C[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
        C[i:, i] = C[i, i:] = data[:, i] @ data[:, i:] / 2.0
        x[1:] = x[:-1] = data[:, 0] @ data[:, 1 : len(x)]
        x[:0:-1] = x[1:] = data[:, 0] @ data[:, 1 : len(x)] + 1.0
    x[1:] = x[:-1] = x[1:] + x[:-1]
    a = x[::-1] = x * 2
    x += a
    x[:] = data[:, 0] = x[::-1]


@program(lambda n: ((n, n), (n,), (n, n)))
def finished(A, x, B):
    x[:] = (A @ x) / 2 - x
    B[:] = 1 - (A @ A) * x
    B[:] = (A @ A) * B + 0.5 / (A @ A + 1)
    for i in range(len(x)):
        x[i] = (x[i] - A[i, :i] @ x[:i]) / (A[i, i] + 2)


@program(lambda n: ((n, n + 2), (n, n), (n + 2, n + 2)))
def symmetric_products(A, B, C):
    B[:] = A @ A.T
    C += A[1:].T @ A[1:] - 1.0
    B[::2] -= np.dot(B[::2, ::-1], B[::2, ::-1].T) @ B[::2]
    C[:] = C.T @ C
    if C[0, 0] > 1.0:
        B[:] = np.dot(A, A.T) / 2.0


@program(SQUARE)
def product_in_place(A):
    A[:] = A @ A


@program(lambda n: ((n,), (n,), (n, n)))
def outer_products(x, y, A):
    A += np.outer(x, y) + np.outer(y, x)


@program(lambda n: ((2, n, 3), (3, 3)))
def stacks(A, B):
    A[:] = np.reshape(np.reshape(A, (2, A.shape[1], 1, 3)) @ B, (2, A.shape[1], 3))


@program(PRODUCT)
def contractions(C, A, B):
    C[:] = np.einsum("ik,kj->ij", A, B) + np.tensordot(A, B, 1) + np.einsum("ij->", A)
