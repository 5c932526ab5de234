"""Tests of subscripts in the form in which they cost least, against plain Python wherever subscripts lie."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import SubscriptError
from tests.every_version import check_versions, stages_of


def sparse_product(first, columns, values, x, y):
    for i in range(y.shape[0]):
        total = 0.0
        for p in range(first[i], first[i + 1]):
            total += values[p] * x[columns[p]]
        y[i] = total


def knapsack(weights, values, best):
    capacity = best.shape[0] - 1
    for i in range(weights.shape[0]):
        w = weights[i]
        for c in range(capacity, w - 1, -1):
            if best[c - w] + values[i] > best[c]:
                best[c] = best[c - w] + values[i]


def every_second(begin, end, x, y):
    for i in range(y.shape[0]):
        for k in range(begin[i], end[i], 2):
            y[i] += x[k] * x[3 - k]


def until(begin, end, x, y):
    """The loop ends before its last subscripts, which are out of range."""
    for i in range(y.shape[0]):
        for k in range(begin[i], end[i]):
            if x[k] > 0.75:
                break
            y[i] += x[k]


def moving(begin, end, x, y):
    """What is added to the counter changes in the loop."""
    for i in range(y.shape[0]):
        shift = 0
        for k in range(begin[i], end[i]):
            y[i] += x[k - shift]
            shift += 1  # noqa: SIM113


def either_end(index, x, y):
    for i in range(index.shape[0]):
        y[i] = x[index[i]] + 2.0 * x[-index[i]]


X = np.arange(8) / 8.0
FIRST = np.array([0, 2, 2, 5])
CASES: dict[str, tuple[Callable, tuple[Any, ...]]] = {
    "all in range": (sparse_product, (FIRST, np.array([7, 0, 3, 3, 1]), X[:5], X, np.zeros(3))),
    "columns from the end": (sparse_product, (FIRST, np.array([-1, -8, 3, -3, 1]), X[:5], X, np.zeros(3))),
    "counters from the end": (sparse_product, (FIRST - 3, np.array([7, 0, 3, 3, 1]), X[:5], X, np.zeros(3))),
    "backwards": (knapsack, (np.array([1, 3, 2, 9]), np.array([0.5, 2.0, 1.0, 4.0]), np.zeros(7))),
    "weights below 0": (knapsack, (np.array([0, 2]), np.array([0.5, 2.0]), np.zeros(7))),
    "steps": (every_second, (np.array([0, 1, 5]), np.array([4, 4, 2]), X, np.zeros(3))),
    "steps from the end": (every_second, (np.array([-4, -1, 5]), np.array([4, 4, 9]), X, np.zeros(3))),
    "ended early": (until, (np.array([0, 6, 3]), np.array([9, 20, 4]), X, np.zeros(3))),
    "ended early from the end": (until, (np.array([-2, -8, -1]), np.array([9, 20, 0]), X, np.zeros(3))),
    "moving": (moving, (np.array([0, 2, 3]), np.array([20, 9, 4]), X, np.zeros(3))),
    "either end": (either_end, (np.array([0, 3, -2, 7]), X, np.zeros(4))),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_python(name: str) -> None:
    function, arguments = CASES[name]
    check_versions(function, stages_of(function, arguments), arguments)


OUTSIDE: dict[str, tuple[Callable, tuple[Any, ...]]] = {
    "a column": (sparse_product, (FIRST, np.array([7, 0, 8, 3, 1]), X[:5], X, np.zeros(3))),
    "a column from the end": (sparse_product, (FIRST, np.array([7, 0, -9, 3, 1]), X[:5], X, np.zeros(3))),
    "the last counter": (sparse_product, (FIRST + 1, np.array([7, 0, 3, 3, 1]), X[:5], X, np.zeros(3))),
    "the first counter": (sparse_product, (FIRST - 6, np.array([7, 0, 3, 3, 1]), X[:5], X, np.zeros(3))),
    "the last of steps": (every_second, (np.array([0, 1, 4]), np.array([4, 4, 9]), X, np.zeros(3))),
    "no early end": (until, (np.array([0, 2, 3]), np.array([4, 5, 4]), X[:4], np.zeros(3))),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_out_of_range_is_an_error(name: str) -> None:
    function, arguments = OUTSIDE[name]
    with pytest.raises(IndexError):
        function(*(each.copy() for each in arguments))
    with pytest.raises(SubscriptError):
        polytune.kernel(function, background=False)(*(each.copy() for each in arguments))


@pytest.mark.parametrize(("function", "arguments"), [CASES["backwards"], CASES["all in range"]])
def test_loops_along_arrays_test_their_ends_alone(function: Callable, arguments: tuple[Any, ...]) -> None:
    text = stages_of(function, arguments).source
    source = text[text.index("def run_source") :]
    pattern = r"if not \((?P<before>.*)\):\n +for (?P<counter>\w+) in range\(.*\):\n(?P<first>.*)\n"
    found = re.search(pattern, source)
    assert found is not None
    assert found["counter"] not in found["before"]
    assert found["counter"] in found["first"]
    assert not re.search(rf"\b{found['counter']} (<|>=)", found["first"])


def running(A, out):
    best = 0.0
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] = A[i, j] + 0.5 * A[i, j - 1]
            if A[i, j] > best:
                best = A[i, j]
    out[0] = best


def test_scalars_stay_out_of_memory_where_one_worker_does_all() -> None:
    arguments = (np.arange(12.0).reshape(3, 4) % 5.0, np.zeros(1))
    stages = stages_of(running, arguments)
    source = stages.source[stages.source.index("def run_source") :]
    loops = source[source.index("for ") : source.index("def parameters")]
    inside = [line for line in loops.splitlines() if line.startswith(" " * 8)]
    assert inside and not any("_shared" in line for line in inside)
    check_versions(running, stages, arguments)
