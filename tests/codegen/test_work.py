"""The operations that versions say that they have to do: held against what a call really does."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.runtime.tuning.rates import RATES
from polytune.runtime.tuning.work import Account, Kind
from tests.codegen.accounts import CACHES, account_of, generated_of, product


def triangle(a, x):
    for i in range(a.shape[0]):
        for j in range(i):
            x[i] += a[i, j]


def test_loops_count_by_their_iterations():
    a, b, c = np.ones((40, 50)), np.ones((50, 60)), np.zeros((40, 60))
    generated, parameters = generated_of(product, a, b, c)
    assert account_of(generated, "source", *parameters).arithmetic == 2 * 40 * 50 * 60
    for version in generated.module.VERSIONS:
        found = account_of(generated, version.name, *parameters)
        assert 0.3 < found.arithmetic / (2 * 40 * 50 * 60) < 3, version.name
        assert all(count >= 0 for count in found.counts)


def test_triangles_count_by_their_area():
    generated, parameters = generated_of(triangle, np.ones((100, 100)), np.zeros(100))
    assert account_of(generated, "source", *parameters).arithmetic == pytest.approx(100 * 99 / 2, rel=0.05)


def cholesky_rows(a):
    for i in range(a.shape[0]):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]


def test_a_sum_that_may_be_among_its_own_elements_stays_in_memory():
    """Compilers keep it in no register, and add up nothing side by side."""
    n = 60
    generated, parameters = generated_of(cholesky_rows, np.ones((n, n)))
    counts = account_of(generated, "source", *parameters).counts
    assert counts[Kind.SUMS_IN_MEMORY] == pytest.approx(n**3 / 8, rel=0.1), "in the middle of the ranges"
    assert counts[Kind.VECTOR_OPERATIONS] == 0 and counts[Kind.WAITS] > 0
    generated, parameters = generated_of(product, *(np.ones((n, n)) for _ in range(3)))
    counts = account_of(generated, "source", *parameters).counts
    assert counts[Kind.SUMS_IN_MEMORY] == 0 and counts[Kind.VECTOR_OPERATIONS] > 0


def smoothed(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j]


def test_what_is_left_of_rows_is_left_where_they_are_cut_too():
    """Rows of 38 are four vectors of 8 and 6 elements, in one piece and in tiles of 8."""
    generated, parameters = generated_of(smoothed, np.ones((40, 40)), np.ones((40, 40)))
    version = next(each for each in generated.module.VERSIONS if each.name == "tiled")
    counts = []
    for size in (8, 64):
        account = Account(64, CACHES)
        assert version.work is not None
        version.work(account, *parameters, 32, size)
        counts.append(account.counts)
    narrow, whole = counts
    assert narrow[Kind.VECTOR_OPERATIONS] == pytest.approx(whole[Kind.VECTOR_OPERATIONS], rel=0.01)
    assert narrow[Kind.LOOPS] > 4 * whole[Kind.LOOPS]


def solved(a, x, b):
    for i in range(a.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] = x[i] / a[i, i]


def test_few_tiles_of_a_triangle_count_as_they_are():
    """Of two by two tiles one is empty, one whole and two are triangles."""
    generated, _ = generated_of(solved, np.eye(4), np.ones(4), np.ones(4))
    version = next(each for each in generated.module.VERSIONS if each.name == "tiled")
    account = Account(64, CACHES)
    n = 512
    assert version.work is not None
    version.work(account, *(n,) * len(generated.module.PARAMETERS), n // 2, n // 2)
    assert account.arithmetic == pytest.approx(n * n, rel=0.15)


def test_copies_of_rows_are_made_in_vectors():
    matrix = np.empty((384, 384))
    generated, parameters = generated_of(product, matrix, matrix.copy(), matrix.copy())
    name = next(version.name for version in generated.module.VERSIONS if version.name.endswith("packed"))
    counts = account_of(generated, name, *parameters).counts
    assert counts[Kind.VECTOR_ACCESSES] >= 2 * 384 * 384 / 8
    direct = account_of(generated, name.replace("packed", "registers"), *parameters).counts
    assert counts[Kind.ACCESSES] - direct[Kind.ACCESSES] < 384 * 384 / 4


def recurrent_rows(x, y):
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = 0.9 * y[i, j - 1] + 0.1 * x[i, j]


def test_lanes_that_lie_apart_are_loaded_and_stored_one_by_one():
    """Rows side by side in vectors: each iteration loads an element of each and stores one, wherever these lie."""
    generated, parameters = generated_of(recurrent_rows, np.ones((64, 200)), np.ones((64, 200)))
    name = next(version.name for version in generated.module.VERSIONS if version.name.endswith("parallel_registers"))
    found = account_of(generated, name, *parameters)
    assert 2 * 64 * 199 <= found.counts[Kind.GATHERED] <= 3 * 64 * 199
    assert account_of(generated, "source", *parameters).counts[Kind.GATHERED] == 0


def test_there_is_a_rate_for_everything_that_is_counted():
    assert set(RATES) == set(Kind) and all(rate > 0 for rate in RATES.values())


def relaxed(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = b[i, j]


def behind(a):
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = 0.5 * a[i, j - 1]


def ahead(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1] - 1):
            a[i, j] = 0.5 * a[i, j + 1]


def written_before_it_is_read(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1] - 1):
            a[i, j] = 0.5 * b[i, j]
            b[i, j] = a[i, j + 1] - 1.0


def waits(function, *arguments) -> dict[str, float]:
    """Of each version, how many operations wait for one of the iteration before."""
    generated, parameters = generated_of(function, *arguments)
    return {
        each.name: account_of(generated, each.name, *parameters).counts[Kind.WAITS]
        for each in generated.module.VERSIONS
    }


def trends(a, b):
    """Level and slope of rows: an iteration waits for both of the one before, the level by way of three operations."""
    for i in range(a.shape[0]):
        level, slope = a[i, 0], 0.0
        for j in range(1, a.shape[1]):
            gap = a[i, j] - level
            level = level + 0.5 * gap
            slope = slope + gap
            b[i, j] = slope


def totals(a, b):
    """Sums, of which the order is free, of values that no other iteration has."""
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            part = a[i, j] * a[i, j]
            total = total + part
        b[i, 0] = total


def swapped(a, b):
    """Two variables take turns, so that a circle of waiting goes through two iterations: three operations in both."""
    for i in range(a.shape[0]):
        last, one_before = a[i, 0], a[i, 1]
        for j in range(a.shape[1]):
            now = one_before * 0.5
            one_before = last + now * 0.25
            last = now
            b[i, j] = now


def test_variables_of_the_iteration_before_are_waited_for():
    square = np.ones((60, 60))
    counted = {each: waits(each, square, square.copy())["source"] for each in (trends, totals, swapped)}
    assert counted[trends] == 60 * 59 * 3, "level - gap - product - level"
    assert counted[totals] == 0
    assert 60 * 60 * 1.5 <= counted[swapped] <= 60 * 60 * 3


def test_what_is_read_ahead_of_what_is_written_waits_for_nothing():
    square = np.ones((60, 60))
    assert not any(waits(relaxed, square, square.copy(), 4).values()), "though tiles of all steps write what they read"
    assert waits(ahead, square)["source"] == 0
    assert waits(behind, square)["source"] > 0
    assert waits(written_before_it_is_read, square, square.copy())["source"] > 0


def scattered(a, counts):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            counts[int(a[i, j]) % counts.shape[0]] += 1.0


def test_what_data_say_comes_from_no_more_lines_than_an_array_has():
    """A histogram of a thousand elements stays in the first cache, however much is counted in it."""
    values = np.ones((2000, 3000))
    apart = {}
    for size in (1000, 50_000_000):
        generated, parameters = generated_of(scattered, values, np.zeros(size))
        apart[size] = account_of(generated, "source", *parameters).counts[Kind.APART_4]
    assert apart[1000] == 0
    assert apart[50_000_000] >= values.size / 8


def where_selected(a, mask):
    for i in range(a.shape[0]):
        if mask[i] > 0.5:
            for j in range(a.shape[1]):
                a[i, j] = a[i, j] * 3.0 + 1.0


def where_each_is_selected(a, mask):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > mask[i]:
                a[i, j] = a[i, j] * 3.0 + 1.0


def test_conditions_of_rows_are_decided_before_them():
    a, mask = np.ones((64, 256)), np.ones(64)
    generated, parameters = generated_of(where_selected, a, mask)
    of_rows = account_of(generated, "source", *parameters).counts
    assert of_rows[Kind.BRANCHES] == 0
    assert of_rows[Kind.VECTOR_OPERATIONS] > 0
    generated, parameters = generated_of(where_each_is_selected, a, mask)
    assert account_of(generated, "source", *parameters).counts[Kind.BRANCHES] >= 64 * 256


def bisections(a, x, tol):
    for i in range(a.shape[0]):
        low, high = 0.0, 4.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            if high - low < tol:
                break
            if middle * middle > a[i]:
                high = middle
            else:
                low = middle
        x[i] = high


def first_above(a, x, tol):
    for i in range(a.shape[0]):
        for j in range(x.shape[0]):
            if a[i] * x[j] > tol:
                break
            x[i] += 1.0


def test_loops_inside_of_statements_count_by_their_iterations():
    """As far as sizes say how many there are; of those that may end early, no more than a hundred."""
    generated, parameters = generated_of(bisections, np.ones(50), np.ones(50), 1e-9)
    for version in generated.module.VERSIONS:
        assert account_of(generated, version.name, *parameters).arithmetic > 50 * 60 * 3, version.name
    generated, _ = generated_of(first_above, np.ones(50), np.ones(50), 1e-9)
    few, many, most = (
        account_of(generated, "source", *({"a_0": 50, "x_0": n}[name] for name in generated.module.PARAMETERS))
        for n in (50, 100, 5000)
    )
    assert 1.8 < many.arithmetic / few.arithmetic < 2.2
    assert most.arithmetic == many.arithmetic
