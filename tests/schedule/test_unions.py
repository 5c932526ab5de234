"""Unions: nothing is lost where isl fails to simplify one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.every_version import check_versions, stages_of


def hard_to_coalesce(m, A, B):
    """isl (islpy 2026.2) stops over a union of its dependences: "total dimensionality changed unexpectedly"."""
    C = np.zeros((2, 5, 2), dtype=np.float32)
    n = B.shape[0]
    for i in range(n):
        for j in range(n - 1, -1, -2):
            for _ in range(n - j):
                for _ in range(n):
                    s = 1.0 + np.float32(A[2, n - j])  # noqa: F841
                    B[1, 1] += B[i, j]
                    C[i, j, n - 1] = np.float32(A[i + 2, j + 1])
                for k in range(1, n):
                    A[i, j + 2] = ((A[i + 2, j + 1] * (A[i + 2, m - j] + A[3, k])) % 13) + A[i, j + 2]


@pytest.mark.slow
def test_kernel_is_compiled_although_isl_fails_over_a_simplification():
    rng = np.random.default_rng(0)
    initial = (1, *(rng.integers(-4, 5, shape).astype(np.int32) for shape in ((4, 4), (2, 3))))
    check_versions(hard_to_coalesce, stages_of(hard_to_coalesce, initial), initial)
