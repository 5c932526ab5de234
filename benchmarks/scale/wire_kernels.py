"""Kernels with halos of several shapes, of which `benchmarks.scale.wire` counts the traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polytune
from benchmarks.dask import heat

__all__ = ["problems"]


@polytune.kernel
def asymmetric(A, out):
    for i in range(2, out.shape[0] - 1):
        for j in range(out.shape[1] - 3):
            out[i, j] = 0.25 * (A[i - 2, j] + A[i, j] + A[i + 1, j] + A[i, j + 3])


@polytune.kernel
def coarser(A, out):
    """A strided halo: every second element of every second row, and those around."""
    for i in range(1, out.shape[0] - 1):
        for j in range(1, out.shape[1] - 1):
            out[i, j] = 0.5 * A[2 * i, 2 * j] + 0.125 * (
                A[2 * i - 2, 2 * j] + A[2 * i + 2, 2 * j] + A[2 * i, 2 * j - 2] + A[2 * i, 2 * j + 2]
            )


@polytune.kernel
def symmetrised(A, out):
    """A triangle, with the transposed elements of the other one."""
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = 0.5 * (A[i, j] + A[j, i])


@polytune.kernel
def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@polytune.kernel
def column_sums(A, sums):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            sums[j] += A[i, j]


def problems(extent: int, chunk: int) -> Mapping[str, tuple[polytune.Kernel, Mapping[str, Any]]]:
    """The kernels by name, each with its arguments by name.

    Args:
        extent: of the arrays that are written, along both axes.
        chunk: of their chunks.
    """
    import dask.array

    def plane(factor: int = 1) -> dask.array.Array:
        return dask.array.zeros((factor * extent,) * 2, chunks=factor * chunk)

    return {
        "heat, 2 x 2 steps": (heat, {"steps": 2, "A": plane(), "B": plane()}),
        "asymmetric": (asymmetric, {"A": plane(), "out": plane()}),
        "strided": (coarser, {"A": plane(2), "out": plane()}),
        "triangular": (symmetrised, {"A": plane(), "out": plane()}),
        "product": (product, {"C": plane(), "A": plane(), "B": plane()}),
        "sums": (column_sums, {"A": plane(), "sums": dask.array.zeros(extent, chunks=chunk)}),
    }
