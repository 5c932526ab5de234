"""Small kernels of which texts are kept, one of each kind and some that transforms are for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from polytune.codegen.transform import Target
from polytune.pipeline import Stages
from polytune.signature import Signature, parse_type


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def stencil(steps, A, B):
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = A[i - 1, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j]


def factorisation(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def recurrence(x, y):
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            x[i, j] = 0.25 * x[i, j - 1] + 0.75 * y[i, j]


def dynamic_program(table, weight):
    n = table.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j] + weight[i, j])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def reduction(A, x, y):
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        for j in range(A.shape[1]):
            y[j] += A[i, j] * total


def step_by_step(steps, A):
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / 5.0


def rows_times_matrix(A, C):
    t = np.empty(A.shape[1])
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            t[p] = 0.0
            for s in range(A.shape[1]):
                t[p] += A[i, s] * C[s, p]
        for p in range(A.shape[1]):
            A[i, p] = t[p]


def windows(out, image, depth):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for k in range(depth):
                s += image[i + k, j]
            out[i, j] = s


@dataclass(frozen=True)
class Kernel:
    """A function with the types of its arguments."""

    function: Callable[..., Any]
    types: dict[str, str]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def stages(self) -> Stages:
        """The stages for small registers, which make short texts."""
        signature = Signature(tuple((name, parse_type(text)) for name, text in self.types.items()))
        return Stages(cast(Any, self.function), signature, target=Target(16, 16))


def _of(function: Callable[..., Any], **types: str) -> Kernel:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Kernel(function, {name: types.get(name, "float64[:, ::1]") for name in names})


KINDS = (
    _of(product),
    _of(stencil, steps="int"),
    _of(factorisation),
    _of(recurrence),
    _of(dynamic_program),
    _of(reduction, x="float64[::1]", y="float64[::1]"),
)
"""A kernel of each kind."""

OTHERS = (_of(step_by_step, steps="int"), _of(rows_times_matrix), _of(windows, depth="int"))
"""Kernels that transforms are for that none of the above is."""
