"""Kernels of short calls, which the workers of `benchmarks.scale` import and measure."""

import polytune


@polytune.kernel
def shift(n: "int", x: "float32[::1]"):  # noqa: F821
    for i in range(n - 1):
        x[i] = x[i + 1]


@polytune.kernel
def product(C: "float64[:, ::1]", A: "float64[:, ::1]", B: "float64[:, ::1]"):  # noqa: F821
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
