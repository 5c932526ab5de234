"""Coordinates of grids, histograms, and arrays that are unpacked, in compiled kernels against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from tests.test_control import in_every_version
from tests.test_results import compared


def grids(n, m):
    i, j = np.mgrid[0:n, 2:m:3]
    a, b = np.ogrid[n:0:-2, :m]
    whole = np.mgrid[0:n, 0:m]
    line = np.mgrid[1:n]
    return i * 10 + j, a * b, whole, whole[1] - whole[0], line, np.mgrid[:3, :n, :m][2], np.ogrid[:n] + 1


def meshes(x, y, z):
    X, Y = np.meshgrid(x, y)
    P, Q = np.meshgrid(x, y, indexing="ij")
    S, T, U = np.meshgrid(x, y, z, sparse=True)
    V, W, Z = np.meshgrid(x, y, z)
    (only,) = np.meshgrid(z)
    return X * Y, P - Q, S, T, U, V + W * Z, np.meshgrid(x, y)[1], only


def test_coordinates_are_numpys() -> None:
    for n, m in ((4, 9), (1, 1), (5, 2)):
        compared(grids, n, m)
    compared(meshes, np.arange(4.0), np.arange(3.0) * 2, np.linspace(0.0, 1.0, 5))


def unpacked(A):
    T = np.zeros((3, 4))
    T[:] = A
    first, second, third = T
    second[0] = 9.0
    x, y, z = T[:, 1]
    return first + third, second, T, x + y * z


def test_arrays_of_a_known_extent_are_unpacked_as_views() -> None:
    compared(unpacked, np.arange(12.0).reshape(3, 4))


def ogrid_as_an_array(n):
    return np.ogrid[:n, :n]


def test_an_open_grid_is_no_array() -> None:
    with pytest.raises(UnsupportedSourceError, match="is used as one array"):
        polytune.kernel(ogrid_as_an_array)(4)


def histograms(A, w, n):
    counts, edges = np.histogram(A, n)
    sums = np.histogram(A, bins=n, weights=w)[0]
    inside, borders = np.histogram(A, n, range=(0.25, 0.75))
    return counts, edges, sums, sums / counts, inside, borders, np.histogram(A)[0]


def data(n: int, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    return (np.random.default_rng((n, seed)).random(n) * (1 if dtype.startswith("float") else 90)).astype(dtype)


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
@pytest.mark.parametrize("weights", ["float64", "float32", "int64", "complex128"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_histograms_are_numpys(dtype: str, weights: str) -> None:
    for n, bins in ((1, 3), (50, 7), (3000, 64)):
        compared(histograms, data(n, dtype), data(n, weights, 1), bins)
    compared(histograms, np.full(5, 2).astype(dtype), data(5, weights), 4)


def counted(A, n):
    return np.histogram(A, n, range=(0.0, 1.0))[0]


def test_elements_on_edges_are_in_the_bins_of_numpy() -> None:
    for n in (3, 10, 49, 100):
        edges = np.linspace(0.0, 1.0, n + 1)
        values = np.concatenate([edges, np.nextafter(edges, -1.0), np.nextafter(edges, 2.0), [np.nan]])
        compared(counted, values, n)
        compared(counted, values.reshape(-1, 1), n)


def test_histograms_in_every_version() -> None:
    in_every_version(counted, data(500), 16)


def by_edges(A, edges, w):
    dense, same = np.histogram(A, edges, density=True)
    return np.histogram(A, edges)[0], np.histogram(A, bins=[0.0, 0.5, 1.0], weights=w), dense, same


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_histograms_by_edges_are_numpys(dtype: str) -> None:
    edges = np.array([0.1, 0.25, 0.25, 0.6, 0.9])
    for n in (1, 50, 3000):
        values = data(n, dtype)
        values[0] = edges[-1] if dtype != "int32" else 0
        compared(by_edges, values, edges, np.floor(9 * data(n, "float64", 1)))
    compared(by_edges, np.array([0.1, 0.25, 0.9, 0.95, np.nan]), edges, data(5))
    in_every_version(by_edges, data(300), edges, np.floor(9 * data(300, "float64", 1)))
