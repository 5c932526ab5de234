"""Kernels that workers import."""

import polytune


@polytune.kernel
def shift(n: "int", x: "float32[::1]"):  # noqa: F821
    for i in range(n - 1):
        x[i] = x[i + 1]


@polytune.kernel
def scale(alpha: "float", A: "float64[:, ::1]"):  # noqa: F821
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= alpha
