"""The operation counts against a count of the operations that plain Python performs."""

import numpy as np
import pytest

from polybench.registry import benchmark

SIZES = {"ni": 5, "nj": 6, "nk": 7, "nl": 8, "nm": 9, "m": 5, "n": 7, "tsteps": 3, "tmax": 4, "nx": 5, "ny": 7}


class Counted:
    """A number that counts what is done with it; to take its square root is to convert it to a float first."""

    operations = 0

    def __init__(self, value):
        self.value = np.float64(value)

    def __float__(self):
        Counted.operations += 1
        return float(self.value)

    def _binary(self, other, operation):
        Counted.operations += 1
        return Counted(operation(self.value, other.value if isinstance(other, Counted) else other))

    def __add__(self, other):
        return self._binary(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._binary(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self._binary(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self._binary(other, lambda a, b: a / b)

    __radd__, __rmul__ = __add__, __mul__


def counted(value):
    if isinstance(value, np.ndarray):
        return np.vectorize(Counted, otypes=[object])(value)
    return value


def performed(name, sizes):
    found = benchmark(name)
    arguments = [counted(value) for value in found.initialise(**sizes)]
    Counted.operations = 0
    with np.errstate(invalid="ignore"):
        found.kernel.__wrapped__(*arguments)
    return Counted.operations


WITHOUT_INVARIANTS = ["3mm", "atax", "bicg", "mvt", "trmm", "cholesky", "gramschmidt", "lu", "ludcmp", "trisolv"]
WITHOUT_INVARIANTS += ["fdtd-2d", "heat-3d", "jacobi-1d", "jacobi-2d", "seidel-2d"]


@pytest.mark.parametrize("name", WITHOUT_INVARIANTS)
def test_operations_of_kernels_without_invariant_products(name):
    found = benchmark(name)
    sizes = {key: SIZES[key] for key in found.sizes("MINI")}
    assert found.operations(**sizes) == performed(name, sizes)


@pytest.mark.parametrize(
    ("name", "repeated"),
    [
        # How often the source forms a product again that a loop does not change: alpha * A[i, k] and the like.
        ("gemm", lambda ni, nj, nk: ni * nk * (nj - 1)),
        ("2mm", lambda ni, nj, nk, nl: ni * nk * (nj - 1)),
        ("syrk", lambda m, n: m * n * (n + 1) // 2 - n * m),
        ("syr2k", lambda m, n: m * n * (n + 1) - 2 * n * m),
        ("gemver", lambda n: 2 * n * (n - 1)),
        # In the first row alpha * temp2 is of two Python floats, which nothing counts.
        ("symm", lambda m, n: m * (m - 1) // 2 * n - n),
        ("gesummv", lambda n: 0),
    ],
)
def test_invariant_products_count_once(name, repeated):
    found = benchmark(name)
    sizes = {key: SIZES[key] for key in found.sizes("MINI")}
    assert found.operations(**sizes) == performed(name, sizes) - repeated(**sizes)
