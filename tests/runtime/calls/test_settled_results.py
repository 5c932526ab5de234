"""Calls that go the short way with results, local arrays, or what depends on elements."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import SubscriptError
from polytune.history import HistoryStore
from tests.runtime.calls.settled_calls import check, settle


def totals(x, factor, start):
    """A result, scalars that workers share, a local array, and an argument that is assigned to."""
    total = 0.0
    rows = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        rows[i] = 0.0
        for j in range(x.shape[1]):
            value = factor * x[i, j]
            if value > 0.5:
                rows[i] += value
    for i in range(x.shape[0]):
        total += rows[i]
    start += total
    return total, start


def test_calls_with_results_and_local_arrays_are_right(tmp_path, made):
    found = polytune.Kernel(totals, background=False)
    found._store = HistoryStore(tmp_path / "history.sqlite")
    x = np.random.default_rng(0).random((6, 8))
    settle(found, x, 2.0, 1.0)
    for call in range(12):
        x[call % 6] += 0.25
        np.testing.assert_allclose(found(x, 2.0 + call, 1.0), totals(x, 2.0 + call, 1.0), rtol=1e-13)
    assert made[-9:] == [True] * 9
    np.testing.assert_allclose(found(x, 2.0, 3.0), totals(x, 2.0, 3.0), rtol=1e-13)
    assert not made[-1], "an argument that the kernel assigns to begins with another value"


def test_calls_that_several_threads_make_at_once_do_not_share_memory(tmp_path, made):
    found = polytune.Kernel(totals, background=False)
    found._store = HistoryStore(tmp_path / "history.sqlite")
    x = np.random.default_rng(0).random((60, 80))
    settle(found, x, 2.0, 1.0)
    wrong = []

    def call(factor: float) -> None:
        for _ in range(40):
            got = found(x, factor, 1.0)
            if not np.allclose(got, wanted[factor], rtol=1e-12):
                wrong.append((factor, got))

    wanted = {factor: totals(x, factor, 1.0) for factor in (1.0, 2.0, 3.0)}
    threads = [threading.Thread(target=call, args=(factor,)) for factor in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert any(made)


def made_anew(x):
    return x * 2.0, np.array([x[0], 1.0]).sum() * np.ones(1)


def counted(index, weights, n):
    """A result that begins with zeros, a local array that does, and numbers that are tested each time."""
    assert weights[0] >= 0.0, "a negative weight"
    counts = np.zeros(n)
    seen = np.zeros(n, dtype=np.int64)
    for k in range(len(index)):
        counts[index[k]] += weights[k]
        seen[index[k]] += 1
    return counts, seen.max()


def found_late(x, y):
    for i in range(len(x)):
        y[int(x[i] * x[i])] += 1.0
    return y.sum()


def settled_kernel(function: Any, tmp_path: Any, *arguments: Any) -> polytune.Kernel:
    found = polytune.Kernel(function, background=False)
    found._store = HistoryStore(tmp_path / "history.sqlite")
    settle(found, *arguments)
    return found


def test_arrays_that_are_returned_are_the_caller_s(tmp_path, made):
    x = np.ones(600)
    found = settled_kernel(made_anew, tmp_path, x)
    results = []
    for number in range(6):
        x[0] = number
        results.append(found(x))
    assert made[-4:] == [True] * 4
    assert len({doubled.ctypes.data for doubled, _ in results}) == 6
    for number, (doubled, single) in enumerate(results):
        np.testing.assert_array_equal(doubled[:2], [2.0 * number, 2.0])
        np.testing.assert_array_equal(single, [number + 1.0])


def with_variables(x, z):
    count, total, product, is_large = 0, np.float32(0.0), 1j, False
    doubled = np.empty(len(x))
    for k in range(len(x)):
        doubled[k] = 2.0 * x[k]
        if x[k] > 0.5:
            count += 1
            total += np.float32(1.0)
        product = product * z[k]
        is_large = is_large or x[k] > 5.0
    return count, doubled, total, product, is_large


def number_alone(x, z):
    total = 0.0
    for k in range(len(x)):
        total += x[k]
    return total


@pytest.mark.parametrize("function", [with_variables, number_alone], ids=lambda function: function.__name__)
def test_variables_are_returned_as_the_long_way_returns_them(function, tmp_path, made):
    x, z = np.zeros(30), np.ones(30, complex)
    first = polytune.kernel(function)(x, z)
    found = settled_kernel(function, tmp_path, x, z)
    for number in range(8):
        x[number], z[number] = number, 1 - 1j
        got, wanted = found(x, z), function(x, z)
        assert type(got) is type(first)
        if function is number_alone:
            assert got == wanted
            continue
        for one, right, like in zip(got, wanted, first, strict=True):
            assert type(one) is type(like)
            np.testing.assert_allclose(one, right)
    assert made[-4:] == [True] * 4


def test_nothing_is_kept_of_what_is_returned(tmp_path, made):
    x = np.ones(600)
    found = settled_kernel(made_anew, tmp_path, x)
    for _ in range(3):
        found(x)
    doubled, single = found(x)
    assert made[-1]
    references = [weakref.ref(each if each.base is None else each.base) for each in (doubled, single)]
    del doubled, single
    assert [reference() for reference in references] == [None, None]


def test_memory_that_begins_with_zeros_does_so_each_time(tmp_path, made):
    index, weights = np.array([1, 4, 1, 700, 4, 1]), np.arange(6.0)
    found = settled_kernel(counted, tmp_path, index, weights, 800)
    for number in range(6):
        index[5] = number
        weights[1] = 0.5 * number
        got, wanted = found(index, weights, 800), counted(index, weights, 800)
        np.testing.assert_array_equal(got[0], wanted[0])
        assert got[1] == wanted[1]
    assert made[-3:] == [True] * 3


def test_what_elements_may_break_is_tested_each_time(tmp_path, made):
    index, weights = np.array([1, 4, 1, 700, 4, 1]), np.arange(6.0)
    found = settled_kernel(counted, tmp_path, index, weights, 800)
    for _ in range(3):
        found(index, weights, 800)
    assert made[-1]
    index[2] = 800
    with pytest.raises(SubscriptError, match="index"):
        found(index, weights, 800)
    index[2], weights[0] = -800, -1.0
    with pytest.raises(AssertionError, match="a negative weight"):
        found(index, weights, 800)
    weights[0] = 1.0
    np.testing.assert_array_equal(found(index, weights, 800)[0], counted(index, weights, 800)[0])
    assert made[-1]


def test_subscripts_that_are_out_of_range_later_are_an_error(tmp_path, made):
    x, y = np.array([0.0, 1.0, -1.25]), np.zeros(3)
    found = settled_kernel(found_late, tmp_path, x, y)
    for _ in range(3):
        found(x, y)
    assert made[-1]
    tuner = found.tuner(x, y)
    calls = tuner.statistics().calls
    x[1] = 3.0
    with pytest.raises(SubscriptError):
        found(x, y)
    assert tuner.statistics().calls == calls, "of a call that fails nothing is learned"
    x[1] = 1.0
    y[:] = 0.0
    assert found(x, y) == 3.0 and made[-1]


def made_twice(x, n):
    doubled, total = np.empty(len(x)), np.zeros(n)
    for i in range(len(x)):
        doubled[i] = 2.0 * x[i]
        total[i % n] += x[i]
    return doubled, total, doubled


def ordered(x, limit):
    smaller = np.empty(len(x))
    for i in range(len(x)):
        smaller[int(limit * i)] = x[i]
    return smaller


def test_tuples_of_arrays_and_arrays_whose_subscripts_are_tested_are_returned(tmp_path, made):
    x = np.arange(1.0, 8.0)
    both, order = settled_kernel(made_twice, tmp_path, x, 3), settled_kernel(ordered, tmp_path, x, 1.0)
    kept = []
    for number in range(6):
        x[0] = number
        doubled, total, again = both(x, 3)
        assert doubled is again
        np.testing.assert_array_equal(doubled, 2.0 * x)
        np.testing.assert_array_equal(total, made_twice(x, 3)[1])
        kept.append((doubled, 2.0 * x))
        np.testing.assert_array_equal(order(x, 1.0), x)
    assert made[-2:] == [True, True]
    with pytest.raises(SubscriptError):
        order(x, 2.0)
    for got, wanted in kept:
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(order(x, 1.0), x)
    assert made[-1]


def of_all_kinds(x, start, factor, turns):
    """Scalars of several types in memory, which begin anew in each call, and a local array of one element."""
    largest, place, seen = x[0], 0, False
    small = np.float32(0.0)
    one = np.zeros(1)
    for _ in range(turns):
        for i in range(len(x)):
            if x[i] > largest:
                largest = x[i]
                place = i
                seen = True
            start += factor * x[i]
            small += np.float32(1.0)
            one[0] += x[i]
    return largest, place, seen, start, small, one[0]


@pytest.mark.parametrize("factor", [2.0, 1 + 2j])
def test_scalars_of_all_kinds_begin_anew_in_each_call(tmp_path, made, factor):
    x = np.random.default_rng(0).random(9)
    found = settled_kernel(of_all_kinds, tmp_path, x, factor, factor, 3)
    for number in range(6):
        x[number] = 2.0 + number
        got, wanted = found(x, factor, factor, 3), of_all_kinds(x, factor, factor, 3)
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert made[-2:] == [True, True]


def systems_solved(A, b):
    x = np.zeros_like(b)
    for k in range(len(A)):
        x[k] = np.linalg.solve(A[k], b[k])
    return x


def test_what_the_library_raises_is_raised(tmp_path, made):
    A, b = np.random.default_rng(0).random((4, 3, 3)) + 2.0 * np.eye(3), np.ones((4, 3))
    found = settled_kernel(systems_solved, tmp_path, A, b)
    for number in range(4):
        b[number] = number
        np.testing.assert_allclose(found(A, b), systems_solved(A, b))
    assert made[-1]
    before = A[2].copy()
    A[2] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        found(A, b)
    A[2] = before
    np.testing.assert_allclose(found(A, b), systems_solved(A, b))
    assert made[-2:] == [True, True]


def held(x, y):
    big = np.empty((1100, 1100))
    for i in range(1100):
        for j in range(1100):
            big[i, j] = x[0] + j
    for i in range(1100):
        y[i] = big[i, i]


def held_smaller(x, y):
    big = np.empty((600, 600))
    for i in range(600):
        for j in range(600):
            big[i, j] = x[0] + j
    for i in range(600):
        y[i] = big[i, i]


def test_local_arrays_of_some_megabytes_are_kept(tmp_path, made):
    x, y = np.ones(600), np.zeros(600)
    found = settled_kernel(held_smaller, tmp_path, x, y)
    for _ in range(6):
        y[:] = 0.0
        found(x, y)
    assert made[-1]
    np.testing.assert_array_equal(y, 1.0 + np.arange(600))


def test_large_local_arrays_are_made_anew(tmp_path, made):
    x, y = np.ones(1100), np.zeros(1100)
    found = settled_kernel(held, tmp_path, x, y)
    for _ in range(4):
        found(x, y)
    assert not any(made)
    np.testing.assert_array_equal(y, 1.0 + np.arange(1100))


def gathered(x, index, y):
    for i in range(len(index)):
        y[i] = x[index[i]]


def asserted(x, y):
    assert x[0] > 0.0, "the first element is to be positive"
    for i in range(len(x)):
        y[i] = 2.0 * x[i]


def test_what_depends_on_elements_is_tested_at_each_call(made, tmp_path):
    x, index, y = np.arange(1.0, 9.0), np.array([3, 1, 2]), np.zeros(8)
    store = HistoryStore(tmp_path / "history.sqlite")
    gather, double = polytune.Kernel(gathered, background=False), polytune.Kernel(asserted, background=False)
    for kernel, arguments in ((gather, (x, index, y)), (double, (x, y))):
        kernel._store = store
        settle(kernel, *arguments)
        for _ in range(4):
            check(kernel, *arguments)
        assert made[-1]
    index[1], x[0] = 8, -1.0
    with pytest.raises(IndexError):
        gather(x, index, y)
    with pytest.raises(AssertionError, match="positive"):
        double(x, y)
