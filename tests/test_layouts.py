"""Every version of a kernel, on arrays of every layout, with sizes that no tile and no vector divides.

The versions with vectors read and write whole registers: past the end of a row, across a stride or against a direction
they must fall back to what the source does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polytune


@polytune.kernel
def product(alpha, beta, C, A, B):
    """A matrix product into what is there: register tiles over rows and columns."""
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(m):
                C[i, j] += alpha * A[i, k] * B[k, j]


@polytune.kernel
def sweeps(A, x, y, z):
    """A matrix and a vector, along rows and along columns: sums in registers, and columns of sums."""
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            y[i] += A[i, j] * x[j]
    for i in range(n):
        for j in range(m):
            z[j] += A[i, j] * y[i]


def reversed_rows(values: np.ndarray) -> np.ndarray:
    return values[::-1].copy()[::-1]


def spread(values: np.ndarray) -> np.ndarray:
    """Every second element of an array twice as large along each axis."""
    whole = np.zeros([2 * extent for extent in values.shape], values.dtype)
    view = whole[tuple(slice(None, None, 2) for _ in values.shape)]
    view[...] = values
    return view


def padded_rows(values: np.ndarray) -> np.ndarray:
    """Rows that lie apart: contiguous each, but not together."""
    whole = np.zeros((*values.shape[:-1], values.shape[-1] + 3), values.dtype)
    view = whole[..., : values.shape[-1]]
    view[...] = values
    return view


def unaligned(values: np.ndarray) -> np.ndarray:
    """One byte past where an element may begin."""
    whole = np.zeros(values.nbytes + 1, np.uint8)
    view = whole[1:].view(values.dtype).reshape(values.shape)
    view[...] = values
    return view


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.ascontiguousarray,
    "Fortran": lambda values: values.copy("F"),
    "reversed": reversed_rows,
    "spread": spread,
    "padded": padded_rows,
    "unaligned": unaligned,
}
SHAPES = [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (2, 5, 3), (9, 37, 19)]


def check_every_version(kernel, arguments: list, rtol: float) -> None:
    """Compare every version with plain NumPy; arguments that the kernel writes are copied in their layout."""
    expected = [np.copy(value) if isinstance(value, np.ndarray) else value for value in arguments]
    reference = REFERENCES[kernel.__name__]
    with np.errstate(all="ignore"):
        reference(*expected)
    space = kernel.space(*arguments)
    for version in space["version"].values:
        before = [np.copy(value) if isinstance(value, np.ndarray) else value for value in arguments]
        sizes = {name: 5 for name in space.configuration(version=version) if name.startswith("tile_")}
        try:
            kernel.run(space.configuration(version=version, **sizes), *arguments)
            for actual, wanted in zip(arguments, expected, strict=True):
                np.testing.assert_allclose(actual, wanted, rtol=rtol, err_msg=version)
        finally:
            for value, original in zip(arguments, before, strict=True):
                if isinstance(value, np.ndarray):
                    value[...] = original


def product_in_numpy(alpha, beta, C, A, B) -> None:
    C *= beta
    for k in range(A.shape[1]):
        C += alpha * np.outer(A[:, k], B[k])


def sweeps_in_numpy(A, x, y, z) -> None:
    for j in range(A.shape[1]):
        y += A[:, j] * x[j]
    for i in range(A.shape[0]):
        z += A[i] * y[i]


REFERENCES = {"product": product_in_numpy, "sweeps": sweeps_in_numpy}


def product_arguments(shape: tuple[int, int, int], dtype: str, layout: str) -> list:
    n, m, k = shape
    rng, lay = np.random.default_rng(0), LAYOUTS[layout]
    if np.dtype(dtype).kind == "i":
        # Products of such numbers wrap round.
        arrays = [rng.integers(-(2**31), 2**31, size).astype(dtype) for size in ((n, m), (n, k), (k, m))]
        return [np.dtype(dtype).type(3), np.dtype(dtype).type(-7), *map(lay, arrays)]
    arrays = [rng.random(size).astype(dtype) + dtype_one(dtype) for size in ((n, m), (n, k), (k, m))]
    return [np.dtype(dtype).type(1.5), np.dtype(dtype).type(0.5), *map(lay, arrays)]


def dtype_one(dtype: str) -> np.generic:
    return np.dtype(dtype).type(1)


def sweeps_arguments(shape: tuple[int, int, int], layout: str) -> list:
    n, m, _ = shape
    rng, lay = np.random.default_rng(0), LAYOUTS[layout]
    return [lay(rng.random(size) + 1) for size in ((n, m), (m,), (n,), (m,))]


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products(layout: str) -> None:
    for shape in SHAPES:
        check_every_version(product, product_arguments(shape, "float64", layout), 1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sweeps(layout: str) -> None:
    for shape in SHAPES:
        check_every_version(sweeps, sweeps_arguments(shape, layout), 1e-12)


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-5), ("int64", 0), ("int32", 0)])
def test_types(dtype: str, rtol: float) -> None:
    """Integers wrap round as NumPy's do."""
    for shape in SHAPES:
        with np.errstate(over="ignore"):
            check_every_version(product, product_arguments(shape, dtype, "C"), rtol)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_goes_where_it_goes_in_the_source(value: float) -> None:
    """One in A makes a row of the product, and no more; zero times infinity is no number."""
    arguments = product_arguments((9, 37, 19), "float64", "C")
    _, _, _, A, B = arguments
    A[4, 7] = value
    B[7, 30] = 0.0
    check_every_version(product, arguments, 1e-12)
