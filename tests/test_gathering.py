"""Subscripts that are arrays of integers, and parts of arrays by subscripts and bounds that depend on data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, DataError, SubscriptError, UnsupportedSourceError
from tests.test_control import in_every_version
from tests.test_results import compared

INDEX = np.array([3, 0, -2, 7, 7, 18])
FEW = np.array([0, 2, -3])


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng((*shape, seed)).random(shape)


def gathered(A, M, index, few):
    return (
        A[index], A[index] * 2 + A[index + 1], A[index].sum(), np.linspace(0.0, 1.0, 20)[index],
        M[index], M[:, few], M[index[:3], few], M[few[:, None], index], M[1, index], M[index, 1:3].sum(axis=1),
        (A * 2)[index], A[1:][few],
    )  # fmt: skip


def gathered_from_layers(T, i, j):
    return T[i], T[:, i], T[i, :, j], T[:, i, j], T[i, j, 1:], T[0, :, i], T[..., i], T[i, None, j], T[:, ::-2, i]


def test_elements_are_gathered_as_numpy_does() -> None:
    compared(gathered, numbers(20), numbers(20, 20), INDEX, FEW)
    compared(gathered, numbers(20), np.asfortranarray(numbers(20, 20)), INDEX.astype(np.int32), FEW.astype(np.int8))
    compared(gathered_from_layers, numbers(5, 6, 7), np.array([1, 4, -1]), np.array([0, 2, 4]))


def scattered(A, M, index, values):
    A[index] = values
    A[index] += 1.5
    A[index] = A[index] * 2 + A[::-1][: len(index)]
    M[index] = 7.0
    M[index, 1] = values
    M[:, index[:2]] += 2.0


def test_elements_are_scattered_and_the_last_one_stays() -> None:
    compared(scattered, numbers(20), numbers(20, 20), INDEX, numbers(6))
    in_every_version(scattered, numbers(20), numbers(20, 20), INDEX, numbers(6))


def scattered_to_views(M, T, index, few):
    M.T[index] = 5.0
    M.T[few, 1] += few
    rest = M[:, 1:]
    rest[few] *= 2.0
    M[:, ::-1][few] = index * 1.0
    M[1][index] -= 3.0
    column = M[:, 2]
    column[few] = few * 0.5
    for row in M[2:]:
        row[[1, -1]] = row[[0, 2]] + 1.0
    rest[rest[:, 0] > 4.0] = -1.0
    T[1, :, 1:][few] = 2.5
    T[:, 1:][few, :, 0] += 1.0
    T.swapaxes(0, 2)[few, 0] *= 3.0
    M.T.flat[3] = 9.0
    M[:, 2:].flat[1::2] += 4.0


def test_elements_of_views_are_scattered() -> None:
    arguments = numbers(5, 5), numbers(3, 5, 5), np.array([1, 3, -1, 0, 1]), np.array([0, 2, -2])
    compared(scattered_to_views, *arguments)
    compared(scattered_to_views, np.asfortranarray(numbers(5, 5)), *arguments[1:])
    in_every_version(scattered_to_views, *arguments)


def rows(A, index, out):
    for i in range(len(index)):
        row = A[index[i]]
        out[i] = row.sum() + row[1]
        A[index[i]] *= 0.5
        out[i] += A[index[i], :] @ row
        A[index[i], :] = i


def names(A, index, out):
    k = index[0]
    row = A[k]
    k = index[1]
    out[:] = row + A[k]


def test_rows_are_selected_by_data() -> None:
    compared(rows, numbers(20, 20), INDEX, np.zeros(6))
    compared(names, numbers(20, 20), INDEX, np.zeros(20))


def sparse_product(first, column, value, x):
    y = np.empty(first.size - 1, value.dtype)
    for i in range(first.size - 1):
        columns = column[first[i] : first[i + 1]]
        values = value[first[i] : first[i + 1]]
        y[i] = values @ x[columns]
    return y


def segments(first, value, out, total):
    for i in range(len(first) - 1):
        part = value[first[i] : first[i + 1]]
        doubled = part * 2.0
        out[first[i] : first[i + 1]] = doubled - 1.0
        total[i] = np.sum(doubled * part)
        out[first[i] : first[i + 1]] += part[::-1]


def windows(A, n, out):
    p, q = 0, 2
    for i in range(n):
        out[i] = A[p:q].sum() + A[:p].sum() - A[q:].sum()
        p, q = p + 1, q + 2


def sparse(rows: int, columns: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """A matrix by its compressed rows, some of them empty."""
    rng = np.random.default_rng(seed)
    first = np.concatenate([[0], np.cumsum(rng.integers(0, 5, rows))])
    return first, rng.integers(0, columns, first[-1]), rng.random(first[-1])


@pytest.mark.parametrize("count", [1, 7, 40])
def test_slices_with_bounds_that_depend_on_data(count: int) -> None:
    first, column, value = sparse(count, 25)
    compared(sparse_product, first, column, value, numbers(25))
    compared(sparse_product, first.astype(np.int32), column.astype(np.int32), value, numbers(25))
    in_every_version(segments, first, value, np.zeros(len(value)), np.zeros(count))
    compared(windows, numbers(20), 6, np.zeros(6))


@pytest.mark.parametrize(
    ("first", "column"), [([0, 2, 9], [0, 1, 99]), ([0, 2, 3], [0, 1, 25]), ([0, 2, 3], [0, 1, -26])], ids=str
)
def test_what_is_out_of_range_is_refused(first: list[int], column: list[int]) -> None:
    arguments: tuple[Any, ...] = np.array(first), np.array(column), np.ones(3), np.ones(25)
    with pytest.raises(SubscriptError, match="out of range"):
        polytune.kernel(sparse_product)(*arguments)


def unequal(first, A, B):
    A[first[0] : first[1]] = B[first[0] : first[2]]


def test_bounds_beyond_the_end_are_cut_off() -> None:
    compared(sparse_product, np.array([0, 2, 9]), np.array([0, 1, 2]), np.ones(3), numbers(25))


def test_lengths_that_depend_on_data_are_tested() -> None:
    kernel = polytune.kernel(unequal)
    for bounds in ([0, 1, 2], [0, 4, 2], [3, 4, 9]):
        with pytest.raises(DataError, match=r"an extent that depends on data.* do not fit"):
            kernel(np.array(bounds), np.ones(5), np.ones(7))
    for bounds in ([1, 3, 3], [0, 5, 1], [4, 9, 5], [3, 2, 1]):
        compared(unequal, np.array(bounds), np.ones(5), numbers(7))


def part_by_index(A, index):
    A[1:][index] = 0.0


def test_parts_are_not_assigned_to_by_index_arrays() -> None:
    with pytest.raises(UnsupportedSourceError, match="an assignment by an array of subscripts to a part of an array"):
        polytune.kernel(part_by_index)(np.ones(5), np.array([1]))


def element_of_a_part(A, index):
    for i in range(len(index)):
        row = A[i, 1:4]
        row[index[i]] += 1.0
    return A


def test_a_subscript_out_of_a_part_is_out_of_range() -> None:
    kernel = polytune.kernel(budget=0)(element_of_a_part)
    A = np.arange(12.0).reshape(2, 6)
    right = element_of_a_part(A.copy(), np.array([2, -3]))
    np.testing.assert_array_equal(kernel(A.copy(), np.array([2, -3])), right)
    for wrong in (3, -4):  # which the array has, but not the part
        with pytest.raises(SubscriptError, match="out of range"):
            kernel(A.copy(), np.array([0, wrong]))


def assigned_elements(A, B, index):
    A[index] = B


def test_what_is_assigned_to_elements_may_have_leading_extents_of_one() -> None:
    kernel = polytune.kernel(budget=0)(assigned_elements)
    index, right, found = np.array([2, 0, 1]), np.zeros(4), np.zeros(4)
    assigned_elements(right, np.array([[3.0, 4.0, 5.0]]), index)
    kernel(found, np.array([[3.0, 4.0, 5.0]]), index)
    np.testing.assert_array_equal(found, right)
    with pytest.raises(ArgumentError, match="do not fit"):
        kernel(found, np.ones((3, 3)), index)
