"""Functions of ``math`` that NumPy does not have, in every version of a kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polytune


def special_functions(A, B):
    for i in range(A.shape[0]):
        B[i, 0] = math.erf(A[i])
        B[i, 1] = math.erfc(A[i])
        B[i, 2] = math.gamma(A[i])
        B[i, 3] = math.lgamma(A[i])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_functions(strict: bool, dtype: type) -> None:
    A = np.linspace(0.1, 4.0, 57).astype(dtype)
    wanted = np.zeros((len(A), 4))
    special_functions(A, wanted)
    kernel = polytune.kernel(strict=strict)(special_functions)
    B = np.zeros_like(wanted)
    for version in kernel.space(A, B)["version"].values:
        found = np.zeros_like(wanted)
        kernel.run(kernel.space(A, B).configuration(version=version), A, found)
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15, err_msg=version)
