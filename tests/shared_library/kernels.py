"""Kernels of the tests of shared libraries: strides, dtypes, results, requirements, subscripts of data."""

# ruff: noqa: F821

import math

import numpy as np

import polytune


@polytune.kernel
def smooth(x: "float64[:, :]", y: "float64[:, :]", rate: "float" = 0.5):
    """Write to ``y`` what is between ``x`` and its neighbours; its border stays."""
    for i in range(1, y.shape[0] - 1):
        for j in range(1, y.shape[1] - 1):
            y[i, j] = x[i, j] + rate * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j])


@polytune.kernel
def product(A: "float32[:, ::1]", B: "float32[:, ::1]"):
    return A @ B, A.shape[0]


@polytune.kernel
def gathered(x: "float64[::1]", index: "int32[:]", n: "int"):
    assert n <= x.shape[0], f"there are {x.shape[0]} elements, not {n}"
    y = np.zeros(n)
    for i in range(n):
        y[i] = math.exp(-x[index[i]])
    return y


@polytune.kernel
def followed(x: "float64[::1]", steps: "int64[::1]"):
    place = 0
    for i in range(steps.shape[0]):
        place = place + steps[i]
        x[place] += 1.0
    return place


@polytune.kernel
def total(x: "float64[::1]", z: "complex128", big: "bool"):
    heat = 0.0
    for i in range(x.shape[0]):
        heat += x[i] * (2.0 if big else 1.0)
    z *= 2
    return heat, z


@polytune.kernel
def named(NULL: "float64[::1]", int32_t: "float", pt_wide: "int", true: "float64[::1]"):
    """Have arguments whose names mean something in C."""
    for i in range(pt_wide):
        true[i] = NULL[i] * int32_t


@polytune.kernel
def thirds(n: "int", x: "float64[::1]"):
    m = n * n // 3
    for i in range(m):
        x[i] = n


@polytune.kernel(strict=True)
def prefix(x: "float64[::1]"):
    for i in range(1, x.shape[0]):
        x[i] += x[i - 1]


@polytune.kernel
def solved(A: "float64[:, ::1]", b: "float64[::1]"):
    return np.linalg.solve(A, b)


@polytune.kernel(fastmath=True)
def looked_up(table: "float64[::1]", x: "float64[::1]", scale: "float64", out: "float64[::1]"):
    for i in range(x.shape[0]):
        out[i] = table[int(x[i] / scale)] / scale
