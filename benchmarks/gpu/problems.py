"""The problems that are timed, and their sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from polybench.datasets import CATALOGUE, Dataset
from polybench.registry import benchmark, names

GROUPS = ("blas", "kernels")
"""The suite's categories that are timed."""

BOUND_BY_MEMORY = ("atax", "mvt", "gesummv", "bicg")
"""Kernels of few operations for each element of their matrices."""


DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


@dataclass(frozen=True)
class Problem:
    """One line of the results.

    Attributes:
        label: its name there.
        kernel: the suite's name of the kernel.
        sizes: of the problem.
        dtype: of its arrays.
        thorough: whether many configurations are tried.
        from_host: whether calls with arrays of the host are measured.
        weight: its share of the time.
    """

    label: str
    kernel: str
    sizes: dict[str, int]
    dtype: np.dtype
    thorough: bool = False
    from_host: bool = True
    weight: float = 1.0


def timed_kernels() -> list[str]:
    """The kernels of the groups, those that say most about a device first."""
    grouped = [name for name in names() if CATALOGUE[name].category in GROUPS]
    return sorted(grouped, key=lambda name: (name != "gemm", name not in BOUND_BY_MEMORY, grouped.index(name)))


def problems(kernels: list[str], dataset: Dataset, matrix_bytes: int) -> list[Problem]:
    """The problems in order: gemm in both precisions, large problems that memory bounds, then all at one dataset.

    Args:
        kernels: the suite's names.
        dataset: the size of problems.
        matrix_bytes: the size of a matrix that no cache holds; 0 for no such problems.
    """
    found = []
    for name in kernels:
        sizes = benchmark(name).sizes(dataset)
        if name == "gemm":
            found.append(Problem("gemm float64", name, sizes, DOUBLE, thorough=True, weight=4))
            found.append(Problem("gemm float32", name, sizes, SINGLE, thorough=True, from_host=False, weight=3))
            continue
        if name in BOUND_BY_MEMORY and matrix_bytes:
            extent = math.isqrt(matrix_bytes // DOUBLE.itemsize) // 32 * 32
            large: dict[str, Any] = dict.fromkeys(sizes, extent)
            found.append(Problem(f"{name} of {extent} x {extent}", name, large, DOUBLE, from_host=False))
        found.append(Problem(name, name, sizes, DOUBLE))
    return found
