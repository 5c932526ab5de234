"""Names for what NumPy makes views of: they show what is changed later, or are refused."""

from typing import Any

import numpy as np
import pytest

import polytune


@pytest.mark.parametrize("strict", [True, False])
def test_diagonals_are_views(strict: bool) -> None:
    def changed(A):
        first, second = A.diagonal(), np.diag(A, 1)
        A[0] = 7.0
        return first + 0.0, second + 0.0, first[0]

    kernel = polytune.kernel(strict=strict)(changed)
    for n in (1, 2, 5):
        A, expected = np.arange(float(n * n)).reshape(n, n), np.arange(float(n * n)).reshape(n, n)
        for pair in zip(kernel(A), changed(expected), strict=True):
            np.testing.assert_array_equal(*pair)
        np.testing.assert_array_equal(A, expected)


def test_views_that_are_computed_are_kept_where_nothing_changes() -> None:
    def kept(Z):
        rows, real = np.broadcast_to(Z[0], (3, len(Z))), Z.real
        return (rows * 2.0).sum(), real + 1.0

    def stretched(Z):
        rows = np.broadcast_to(Z[0], (3, len(Z)))
        Z[0] = 2.0
        return rows * 1.0

    def real_part(Z):
        real = Z.real
        Z[0] = 2.0
        return real * 1.0

    Z = np.arange(9.0).reshape(3, 3) + 1j
    for pair in zip(polytune.kernel(kept)(Z), kept(Z), strict=True):
        np.testing.assert_allclose(*pair)
    for function in (stretched, real_part):
        with pytest.raises(polytune.UnsupportedSourceError, match="a view of an array gets a name"):
            polytune.kernel(function)(Z)


def test_diagonals_are_not_assigned_to() -> None:
    def of_a_name(A):
        diagonal = A.diagonal(1)
        diagonal[:] = 5.0

    def of_a_call(A):
        np.diag(A)[:] = 5.0

    def filled(A):
        np.fill_diagonal(A, 5.0)

    for function in (of_a_name, of_a_call):
        with pytest.raises(ValueError, match="read-only"):
            function(np.ones((3, 3)))
        with pytest.raises(polytune.UnsupportedSourceError, match="a diagonal is assigned to"):
            polytune.kernel(function)(np.ones((3, 3)))
    A, expected = np.ones((3, 3)), np.ones((3, 3))
    polytune.kernel(filled)(A)
    filled(expected)
    np.testing.assert_array_equal(A, expected)


@pytest.mark.parametrize("strict", [True, False])
def test_the_real_part_of_real_numbers_is_the_array(strict: bool) -> None:
    def changed(A):
        by_function, by_attribute = np.real(A), A.real
        A[0] = 9.0
        return by_function.sum(), by_attribute.sum(), np.real(A[1]), np.imag(A).sum()

    A, expected = np.ones(3), np.ones(3)
    np.testing.assert_array_equal(polytune.kernel(strict=strict)(changed)(A), changed(expected))


def test_the_real_part_of_complex_numbers_is_no_copy() -> None:
    def changed(Z):
        real = np.real(Z)
        Z[0] = 2.0
        return real * 1.0

    with pytest.raises(polytune.UnsupportedSourceError, match="a view of an array gets a name"):
        polytune.kernel(changed)(np.ones(3) + 1j)


def _own(A):
    return +A


def _numbers(A):
    return np.nan_to_num(A)


def _conjugated(A):
    return A.conj()


def _converted_if_needed(A):
    return A.astype(A.dtype, copy=False)


def _copied_if_needed(A):
    return np.array(A, copy=None)


def _of_a_type(A):
    return np.float64(A)


def _as_it_is(A):
    return np.einsum("ij->ij", A)


def _turned(A):
    return np.einsum("ij->ji", A)


@pytest.mark.parametrize(
    "made",
    [_own, _numbers, _conjugated, _converted_if_needed, _copied_if_needed, _of_a_type, _as_it_is, _turned],
)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_arrays_are_copied_where_numpy_copies_and_nowhere_else(made: Any, dtype: Any) -> None:
    def argument_changed(A):
        B = made(A)
        A[0] = 7
        return B + 0

    def result_changed(A):
        B = made(A)
        B[0] = 7
        return A + 0

    def returned(A):
        return made(A)

    for function in (argument_changed, result_changed):
        A, expected = np.arange(9).reshape(3, 3).astype(dtype), np.arange(9).reshape(3, 3).astype(dtype)
        np.testing.assert_array_equal(polytune.kernel(function)(A), function(expected))
        np.testing.assert_array_equal(A, expected)
    A = np.arange(9).reshape(3, 3).astype(dtype)
    if not np.shares_memory(returned(A), A):
        assert not np.shares_memory(polytune.kernel(returned)(A), A)


def test_numbers_that_are_replaced_in_place_are_refused() -> None:
    def replaced(A):
        return np.nan_to_num(A, copy=False)

    with pytest.raises(polytune.UnsupportedSourceError, match=r"write A\[:\] = np.nan_to_num\(A\)"):
        polytune.kernel(replaced)(np.ones(3))
