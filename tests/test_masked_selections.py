"""Reductions of what masks select, and assignments to it, against NumPy, in every version."""

# mypy: ignore-errors

from __future__ import annotations

import warnings

import numpy as np
import pytest

import polytune


def sums_by_label(A, y, n: int):
    return np.array([[np.sum(A[y == i, j]) / np.sum(y == i) for j in range(A.shape[1])] for i in range(n)])


def means_of_rows_by_label(A, y, n: int):
    out = np.zeros((n, A.shape[1]))
    for k in range(n):
        out[k] = np.mean(A[y == k], axis=0)
    return out


def of_columns(A, y):
    m = y > 1
    return A[m, 1].sum(), A[m, -1].mean(), A[m].mean(), np.var(A[m]), np.std(A[m, 2], ddof=1), A[m, 0] * 2


def of_rows(A, y):
    m = y > 1
    mean = A[m].mean(axis=0)
    distances = ((A[m] - mean) ** 2).sum(axis=0), ((A[m] - mean) ** 2).sum(axis=1)
    return A[m].sum(axis=0), A[m].var(axis=0), A[m].max(axis=0), A[m].min(), np.prod(A[m], axis=0), distances


def along_rows(A, y):
    m = y > 1
    B = A[m]
    return A[m].sum(axis=1), A[m][:, 0], A[m] * 2, B.mean(axis=0), B[-1], A[m].sum(axis=0, keepdims=True)


def of_columns_that_a_mask_selects(A, y):
    c = A[0] > 0.0
    return A[:, c].sum(axis=1), A[1, c].sum(), A[:, c].mean(axis=0), A[:, c].max(), A.T[c].sum(axis=0)


def of_three_dimensions(A, y):
    T = A[:24].reshape(4, 6, -1)[:, :, :6] * 1.0
    m = y[:6] > 1
    return T[:, 0, m].sum(axis=0), T[0, :, m].sum(axis=0), T[:, m].sum(axis=1), T[:, m, 1].mean()


def of_pairs_in_three_dimensions(A, y):
    T = A[:24].reshape(4, 6, -1)[:, :, :6] * 1.0
    pairs = y[:24].reshape(4, 6) > 1
    return T[pairs].sum(axis=0), T[pairs].mean(), T[pairs, 1].sum(), T[pairs].max(axis=1)


def truths(A, y):
    m = y > 1
    return np.all(A[m] > 0), np.any(A[m, 0] > 1), np.count_nonzero(A[m] > 0.5), len(A[m]), A[m].shape[1]


def named(A, y):
    m = y > 1
    x, z = A[m, 0], A[m, 1]
    m[:3] = False
    A[0, 0] = 7
    return ((x - z) ** 2).sum(), x[0], len(x), x


def assigned(A, y):
    m = y > 1
    A[m, 0] = 3
    A[m, 1] += A[m, 2]
    A[m, 2] = A[m, 0] + A[m, 1]
    A[1, :2][y[:2] > 0] = 5
    A[~m] = A[0] + 1
    return A


FUNCTIONS = (
    of_columns,
    of_rows,
    along_rows,
    of_columns_that_a_mask_selects,
    of_three_dimensions,
    of_pairs_in_three_dimensions,
    truths,
    named,
)


def same(found, wanted, tolerance: float = 1e-12) -> None:
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            same(one, other, tolerance)
    else:
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def arguments(dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    A = rng.standard_normal((37, 9)) * 4
    A[0, 3] = 2.0
    return A.astype(dtype), np.r_[2, 0, rng.integers(0, 4, 35)]


FORMS = {"float64": np.asarray, "float32": np.asfortranarray, "int8": lambda A: A[:, ::-1]}


@pytest.mark.slow
@pytest.mark.parametrize("function", [*FUNCTIONS, assigned], ids=lambda function: function.__name__)
@pytest.mark.parametrize(("dtype", "strict"), [("float64", False), ("float32", True), ("int8", False)])
def test_what_masks_select(function, dtype: str, strict: bool) -> None:
    A, y = arguments(dtype)
    if dtype == "int8":
        A = np.abs(A) % 3 + 1  # whose products fit
    A = FORMS[dtype](A)
    kernel = polytune.kernel(strict=strict)(function)
    same(kernel(A.copy(order="K"), y.copy()), function(A.copy(order="K"), y.copy()), 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("function", [sums_by_label, means_of_rows_by_label])
def test_groups_in_every_version(function) -> None:
    A, y = arguments()
    A[1, 2], A[4, 3], A[5, 3] = np.nan, np.inf, -np.inf
    kernel = polytune.kernel(function)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # means of nothing
        for n in (4, 6):
            wanted = function(A, y, n)
            space = kernel.space(A, y, n)
            for version in space["version"].values:
                same(kernel.run(space.configuration(version=version), A, y, n), wanted)
        same(kernel(A[:0], y[:0], 3), function(A[:0], y[:0], 3))


@pytest.mark.slow
@pytest.mark.parametrize("function", [of_columns, of_rows])
def test_of_rows_in_every_version(function) -> None:
    A, y = arguments()
    kernel = polytune.kernel(function)
    space, wanted = kernel.space(A, y), function(A, y)
    for version in space["version"].values:
        same(kernel.run(space.configuration(version=version), A, y), wanted)


def test_masks_of_another_length_are_refused() -> None:
    A, y = arguments()

    @polytune.kernel
    def first_column(A, y):
        return A[y > 1, 0].sum()

    with pytest.raises(polytune.ArgumentError):
        first_column(A, y[:-1])


def test_extrema_of_no_rows_raise() -> None:
    A, y = arguments()

    @polytune.kernel
    def greatest(A, y, k: int):
        return A[y == k].max(axis=0)

    same(greatest(A, y, 2), A[y == 2].max(axis=0))
    with pytest.raises(polytune.DataError, match="none"):
        greatest(A, y, 9)
