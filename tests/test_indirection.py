"""Subscripts and bounds that depend on data, in compiled kernels against NumPy and plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.errors import ArgumentError, DataError, SubscriptError
from polytune.explanation import explain
from polytune.runtime.calls.arguments import signature_of
from tests.test_control import in_every_version
from tests.test_results import kernel_of, vector

SIZES = (0, 1, 2, 5, 33)


def gathered(A, index, B):
    for i in range(len(index)):
        B[i] = 2.0 * A[index[i]]


def gathered_rows(A, index, B):
    for i in range(len(index)):
        for j in range(A.shape[1]):
            B[i, j] = A[index[i], j] + 1.0


def scattered(A, index, w):
    for i in range(len(index)):
        A[index[i]] += w[i]


def permuted(A, index, B):
    for i in range(len(index)):
        B[index[i]] = A[i]


def through_two(A, first, second, B):
    for i in range(len(first)):
        B[i] = A[second[first[i]]]


def multiplied(start, column, value, x, y):
    for i in range(len(y)):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k] * x[column[k]]
        y[i] = total


def guarded(A, index, B):
    for i in range(len(index)):
        if 0 <= index[i] < len(A):
            B[i] = A[index[i]]
        else:
            B[i] = -1.0
        B[i] += A[index[i] - 1] if index[i] > len(A) // 2 and index[i] <= len(A) else 0.0


def counted_up(A, B):
    k = 0
    for i in range(len(A)):
        if A[i] > 4.0:
            B[k] = A[i]
            k += 1
    return k


def periodic(A, B, n):
    for i in range(n):
        B[i] = A[(i + 1) % n] - A[i - 1 if i > 0 else n - 1]


def searched(A, x):
    low, high = 0, len(A)
    while low < high:
        middle = (low + high) // 2
        if A[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def positions(n: int, extent: int, dtype: str = "int64") -> np.ndarray:
    """Subscripts for an axis, some of them negative."""
    return np.random.default_rng(n).integers(-extent, extent, n if extent else 0).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_elements_by_subscripts_that_are_read(dtype: str) -> None:
    for n in SIZES:
        A, index = vector(7), positions(n, 7, dtype)
        in_every_version(gathered, A, index, np.zeros(n))
        in_every_version(gathered, vector(14)[::2], index[::-1], np.zeros(2 * n)[::2])
        in_every_version(scattered, A, index, vector(n))
        in_every_version(scattered, A, index, vector(n), strict=True)
        in_every_version(permuted, vector(n), np.random.default_rng(n).permutation(n).astype(dtype), np.zeros(n))
        in_every_version(through_two, A, positions(n, 5, dtype), positions(5, 7, dtype), np.zeros(n))
        matrix = vector(21).reshape(7, 3)
        for layout in (matrix, np.asfortranarray(matrix)):
            in_every_version(gathered_rows, layout, index, np.zeros((n, 3)))
        in_every_version(guarded, A, (positions(n, 12) if n else index).astype(dtype), np.zeros(n))


def test_sums_through_subscripts_have_the_order_of_the_source_where_strict() -> None:
    A, index, w = np.zeros(3), positions(500, 3), vector(500) * 1e-3
    wanted = A.copy()
    scattered(wanted, index, w)
    kernel_of(scattered, True)(A, index, w)
    assert A.tobytes() == wanted.tobytes()


def test_rows_of_sparse_matrices() -> None:
    for n in SIZES:
        rng = np.random.default_rng(n)
        dense = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
        row, column = np.nonzero(dense)
        start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))]).astype(np.int64)
        x, y = rng.random(n), np.full(n, np.nan)
        in_every_version(multiplied, start, column, dense[row, column], x, y)
        kernel_of(multiplied, False)(start, column, dense[row, column], x, y)
        np.testing.assert_allclose(y, dense @ x)
    assert "tiles of i in parallel" in explain(kernel_of(multiplied, False))


def test_variables_and_arithmetic_as_subscripts() -> None:
    for n in SIZES:
        for strict in (False, True):
            in_every_version(counted_up, vector(n), np.zeros(n), strict=strict)
        in_every_version(periodic, vector(n), np.zeros(n), n)
        for x in (-1.0, 0.5, 4.0, 99.0):
            in_every_version(searched, np.sort(vector(n)), x)


def test_reads_are_parallel() -> None:
    for function, arguments in (
        (gathered, (vector(7), positions(5, 7), np.zeros(5))),
        (periodic, (vector(5), vector(5), 5)),
    ):
        kernel_of(function, False)(*arguments)
        assert "tiles of i in parallel" in explain(kernel_of(function, False)), function.__name__


@pytest.mark.parametrize("wrong", [7, -8, 2**62, -(2**62)])
def test_what_is_out_of_range_is_an_error_that_names_the_place(wrong: int) -> None:
    A, index, B = vector(7), positions(9, 7), np.zeros(9)
    index[4] = wrong
    for function in (gathered, scattered):
        arguments = (A, index, B) if function is gathered else (A, index, vector(9))
        with pytest.raises(IndexError):
            function(*[each.copy() for each in arguments])
        with pytest.raises(
            SubscriptError, match=r"test_indirection.py:\d+: a subscript of 'A' was out of range"
        ) as caught:
            kernel_of(function, False)(*arguments)
        assert isinstance(caught.value, ArgumentError) and isinstance(caught.value, IndexError)
        assert "A[index[i]]" in str(caught.value)


def test_nothing_outside_of_an_array_is_touched() -> None:
    memory = np.zeros(300)
    A = memory[100:107]
    index = np.array([3, 120, -150, 6])
    with pytest.raises(SubscriptError):
        kernel_of(scattered, False)(A, index, np.ones(4))
    assert not memory[:100].any() and not memory[107:].any()
    for empty in (memory[50:50], np.zeros(0)):
        with pytest.raises(SubscriptError):
            kernel_of(scattered, False)(empty, index, np.ones(4))
        with pytest.raises(SubscriptError):
            kernel_of(gathered, False)(empty, index, np.ones(4))
        kernel_of(gathered, False)(empty, index[:0], np.ones(0))


def followed(chain, start, most):
    """A walk that would never end if a step were left out."""
    k = start
    while k != 0:
        k = chain[k]
    return k


def test_a_while_ends_where_a_subscript_is_out_of_range() -> None:
    in_every_version(followed, np.array([0, 0, 1, 2]), 3, 5)
    with pytest.raises(SubscriptError):
        kernel_of(followed, False)(np.array([0, 0, 9, 2]), 3, 5)


def chains(chain, starts, lengths):
    """Walks that would never end if a step were left out, side by side, each behind an element of its own."""
    for i in range(len(starts)):
        k = starts[i]
        steps = chain[k + 1]
        while k != 0:
            k = chain[k]
            steps += 1
        lengths[i] = steps


@pytest.mark.parametrize("wrong", [None, 0, 4, 8])
def test_each_version_reports_the_first_place_of_a_worker_that_is_out_of_range(wrong: int | None) -> None:
    kernel, chain = kernel_of(chains, False), np.array([0, 0, 1, 2, 9, 0])
    starts = np.array([3, 2, 1, 0, 3, 3, 2, 1, 0])
    if wrong is None:
        in_every_version(chains, chain, starts, np.zeros(9, np.int64))
        return
    starts[wrong] = 4
    space = kernel.space(chain, starts, np.zeros(9, np.int64))
    assert "parallel" in space["version"].values
    for version in space["version"].values:
        sizes = {name: 2 for name in space.configuration(version=version) if name.startswith("tile_")}
        lengths = np.full(9, -1)
        with pytest.raises(SubscriptError, match=r"chain\[k\]"):
            kernel.run(space.configuration(version=version, **sizes), chain, starts, lengths)
        kernel.run(space.configuration(version=version, **sizes), chain, np.zeros(9, np.int64), lengths)
        assert not lengths.any(), version


def test_tiles_keep_in_a_variable_whether_a_subscript_was_out_of_range() -> None:
    chain = np.array([0, 0, 1, 2])
    signature = signature_of(("chain", "starts", "lengths"), (chain, chain, chain))
    text = kernel_of(chains, False).module_text(signature, devices=False)
    parallel = text.partition("def run_parallel(")[2].partition("@njit")[0]
    uses = [line.strip() for line in parallel.splitlines() if "failed_subscript_shared[0]" in line]
    assert uses == ["failed_subscript = failed_subscript_shared[0]", "failed_subscript_shared[0] = failed_subscript"]


def test_empty_calls_with_data_in_bounds() -> None:
    start = np.zeros(1, np.int64)
    kernel_of(multiplied, False)(start, np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0))


def test_places_in_the_index_array_itself_are_checked_before_anything_is_written() -> None:
    B = np.zeros(5)
    with pytest.raises(ArgumentError, match="goes past the end"):
        kernel_of(gathered, False)(vector(7), positions(6, 7), B)
    assert not B.any()


@pytest.mark.parametrize("wrong", [7, -8])
def test_index_arrays_are_tested_before_anything_is_written(wrong: int) -> None:
    A, index = vector(7), positions(300_000, 7)
    index[250_000] = wrong
    before = A.copy()
    with pytest.raises(SubscriptError, match="nothing was written"):
        kernel_of(scattered, False)(A, index, np.ones(300_000))
    np.testing.assert_array_equal(A, before)


def every_second(A, index, B):
    """What is not read of the index array may be anything."""
    for i in range(0, len(index), 2):
        B[i] = A[index[i]]


def changed_inside(A, index):
    for i in range(1, len(index)):
        A[index[i]] += 1.0
        index[i] = index[i - 1]


def test_only_what_is_read_is_tested() -> None:
    A, index = vector(7), positions(9, 7)
    index[1::2] = 10**6
    in_every_version(every_second, A, index, np.zeros(9))
    index[4] = 7
    with pytest.raises(SubscriptError):
        kernel_of(every_second, False)(A, index, np.zeros(9))
    sound = positions(9, 7)
    sound[0] = 10**6  # is not read
    for n in (0, 1, 2):
        in_every_version(changed_inside, vector(7), sound[:n].copy())
    with pytest.raises(SubscriptError):
        kernel_of(changed_inside, False)(vector(7), np.array([0, 3, 9]))


def least_by_label(A, label, w):
    for i in range(len(label)):
        A[label[i]] = min(A[label[i]], w[i])


def total_by_label(total, count, label, X):
    for i in range(X.shape[0]):
        count[label[i]] += 1
        for j in range(X.shape[1]):
            total[label[i], j] += X[i, j]


def test_updates_through_subscripts_have_versions_with_copies_of_workers() -> None:
    index = positions(500, 7)
    for function in (scattered, least_by_label):
        arguments = (vector(7), index, vector(500))
        in_every_version(function, *arguments)
        versions = kernel_of(function, False).space(*arguments)["version"].values
        assert "summed" in versions and versions[0] != "summed", versions
        in_every_version(function, *arguments, strict=True)
        assert "summed" not in kernel_of(function, True).space(*arguments)["version"].values
    for n in SIZES:
        X = vector(3 * n).reshape(n, 3)
        in_every_version(total_by_label, np.zeros((7, 3)), np.zeros(7, np.int64), positions(n, 7), X)


def between(x, y, bounds):
    first, last = bounds[0], bounds[1]
    y[1:3] = 7.0
    y[first:last] = x[first:last]
    return np.max(x[first:last])


def test_extents_that_depend_on_data_and_do_not_fit_are_an_error_in_every_version() -> None:
    x = vector(6)
    for first, last in ((0, 4), (2, 6), (-3, -1), (3, 60), (7, 9), (4, 2)):
        bounds = np.array([first, last])
        for extent in (6, 4, 5):
            try:
                between(x, np.zeros(extent), bounds)
            except ValueError:
                with pytest.raises(DataError, match=r"do not fit|which is empty"):
                    kernel_of(between, False)(x, np.zeros(extent), bounds)
            else:
                in_every_version(between, x, np.zeros(extent), bounds)


def at_floats(A, places, B):
    for i in range(len(places)):
        B[i] = A[int(places[i])]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floats_are_subscripts_without_their_fractions(dtype: type) -> None:
    places = np.array([0.0, 1.75, -2.75, 1.99, -0.5], dtype)
    in_every_version(at_floats, vector(2), places, np.ones(5))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 3.0, -4.0])
def test_floats_that_are_no_subscripts_are_found(wrong: float) -> None:
    places = np.array([0.0, 1.0, wrong, 2.0])
    kernel = kernel_of(at_floats, False)
    space = kernel.space(vector(3), places, np.ones(4))
    for version in space["version"].values:
        with pytest.raises(SubscriptError):
            kernel.run(space.configuration(version=version), vector(3), places, np.ones(4))
