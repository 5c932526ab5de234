"""Variables that hold elements of index arrays, read where these are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from polytune.frontend.expression import Element, walk
from polytune.frontend.scop import Scop
from tests.every_version import check_versions, stages_of


def rows(index, A, B):
    for k in range(index.shape[0]):
        u = index[k, 0]
        v = index[k, 1]
        for j in range(A.shape[1]):
            B[u, j] += A[v, j]


def counted(index, A, B):
    for k in range(index.shape[0]):
        u = index[k, 0]
        B[u, 0] += A[k % A.shape[0], 0]


def assigned_again(index, A, B):
    for k in range(index.shape[0]):
        u = index[k, 0]
        B[u, 0] += 1.0
        u = index[k, 1]
        B[u, 1] += 2.0
        u = (u + 1) % B.shape[0]
        B[u, 2] += A[u, 0]


def in_branches(index, A, B):
    u = 0
    for k in range(index.shape[0]):
        if k % 2 == 0:
            u = index[k, 0]
            B[u, 0] += 1.0
        else:
            B[u, 1] += 2.0
            u = index[k, 1]
        B[u, 2] += A[u, 1]


def of_the_iteration_before(index, A, B):
    u = 0
    for k in range(index.shape[0]):
        B[u, 0] += A[u, 0]
        u = index[k, 0]
        for j in range(B.shape[1]):
            B[u, j] -= 1.0
    B[u, 1] = 7.0


def in_inner_loops(index, A, B):
    for k in range(index.shape[0]):
        u = index[k, 0]
        for j in range(A.shape[1]):
            B[u, j] += 1.0
            u = index[k, 1]
            B[u, j] += A[u, j]


def on_data(index, A, B):
    for k in range(index.shape[0]):
        u = index[k, 0]
        if A[u, 0] > 0.0:
            B[u, 0] += A[u, 1]
            u = index[k, 1]
        B[u, 1] += 1.0


def written_index(index, A, B):
    for k in range(index.shape[0] - 1):
        u = index[k, 0]
        index[k, 0] = index[k + 1, 1]
        B[u, 0] += 1.0
        B[index[k, 0], 1] += A[u, 1]


FUNCTIONS = (
    rows,
    counted,
    assigned_again,
    in_branches,
    of_the_iteration_before,
    in_inner_loops,
    on_data,
    written_index,
)


def arguments(dtype: type = np.int64, negative: bool = False) -> list[Any]:
    generator = np.random.default_rng(7)
    index = generator.integers(-6 if negative else 0, 6, (11, 2)).astype(dtype)
    return [index, generator.integers(-9, 10, (6, 4)).astype(float), np.zeros((6, 4))]


def reads_in_subscripts(scop: Scop, name: str) -> bool:
    """Whether a variable is read in a subscript anywhere."""
    elements = (part for statement in scop.statements for each in statement.operations for part in walk(each))
    return any(
        Element(name, (), "int64") in walk(subscript)
        for element in elements
        if isinstance(element, Element)
        for subscript in element.subscripts
    )


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint16])
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_version_computes_what_the_source_does(function: Callable, dtype: type, negative: bool) -> None:
    if negative and dtype is np.uint16:
        dtype = np.int16
    values = arguments(dtype, negative)
    check_versions(function, stages_of(function, values), values)


@pytest.mark.parametrize(("function", "remains"), [(rows, False), (counted, False), (assigned_again, True)])
def test_elements_are_read_in_place(function: Callable, remains: bool) -> None:
    assert reads_in_subscripts(stages_of(function, arguments()).scop, "u") is remains


def test_loops_over_rows_have_no_tests() -> None:
    scop = stages_of(rows, arguments()).scop
    assert not scop.reports
    assert {check.array for check in scop.checks} == {"index"}


def histogram(index, weights, counts):
    for k in range(index.shape[0]):
        bin = index[k]
        counts[bin] += weights[k]


def test_what_indices_select_is_added_up_by_every_worker() -> None:
    generator = np.random.default_rng(3)
    values = [generator.integers(0, 5, 40), generator.integers(0, 9, 40).astype(float), np.zeros(5)]
    stages = stages_of(histogram, values)
    assert any(region.sums for plan in stages.plans for region in plan.regions)
    check_versions(histogram, stages, values)


@pytest.mark.parametrize("wrong", [6, -7])
def test_nothing_is_written_where_an_index_is_out_of_range(wrong: int) -> None:
    index, A, B = arguments()
    index[9, 1] = wrong
    with pytest.raises(ArgumentError, match="index"):
        polytune.kernel(rows)(index, A, B)
    assert not B.any()
