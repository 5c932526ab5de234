"""Functions that were written for Numba, with the decorator swapped."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba import literal_unroll, njit, prange

import polytune
from polytune.errors import PolytuneError
from tests.test_results import kernel_of, same, vector


@njit(parallel=True, fastmath=True)
def distance(x, y, weights=(1.0, 2.0)):
    """A helper that stays as it is."""
    total = numba.float64(0.0)
    for k in prange(x.shape[0]):
        total += weights[0] * (x[k] - y[k]) ** 2
    return np.sqrt(total) * weights[1]


def table(points, metric=distance, dtype=numba.float32):
    n = points.shape[0]
    found = np.zeros((n, n), dtype=np.float32)
    for i in numba.prange(n):
        for j in prange(i + 1, n):
            found[i, j] = found[j, i] = metric(points[i], points[j])
    for factor in literal_unroll((1, 2.5, numba.int64(3))):
        found *= np.float32(factor)
    return found


def table_without_default(points, metric):
    return table(points, metric)


def test_helpers_loops_and_types_of_numba() -> None:
    for n in (0, 1, 2, 5):
        points = vector(3 * n).reshape(n, 3)
        right = table_without_default(points, distance.py_func)
        same(kernel_of(table_without_default, False)(points, distance), right)


def test_the_decorator_is_swapped() -> None:
    """With the options that say what holds of every kernel."""
    kernel = polytune.kernel(parallel=True, fastmath=True, cache=True, nogil=True, nopython=True)(table_without_default)
    points = vector(6).reshape(2, 3)
    np.testing.assert_allclose(kernel(points, distance), table_without_default(points, distance), rtol=1e-6)


@pytest.mark.parametrize("option", ["parallel", "cache", "nogil", "nopython"])
@pytest.mark.parametrize("value", [False, None, 1])
def test_what_holds_cannot_be_left_out(option: str, value: object) -> None:
    with pytest.raises(PolytuneError, match=f"takes Numba's option '{option}' as True alone, not {value}: .*leave it"):
        polytune.kernel(**{option: value})  # type: ignore[call-overload]


def test_options_and_types_of_numba_are_explained() -> None:
    with pytest.raises(PolytuneError, match="need Numba's option 'boundscheck': accesses are always") as caught:
        polytune.kernel(parallel=True, boundscheck=True, error_model="numpy")  # type: ignore[call-overload]
    assert "option 'error_model': a division by zero gives" in str(caught.value) and "parallel" not in str(caught.value)
    with pytest.raises(PolytuneError, match="no option 'stric'; it has strict, fastmath, budget"):
        polytune.kernel(stric=True)  # type: ignore[call-overload]
    for types in ("f8(f8[:])", numba.float64(numba.float64[:])):
        with pytest.raises(PolytuneError, match="takes no types"):
            polytune.kernel(types)
