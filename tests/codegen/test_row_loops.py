"""Loops over all elements of an array, row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polytune.codegen.loops import Compute, For, walk_nodes
from polytune.codegen.row_loops import split_rows
from polytune.frontend.expression import Binary, walk
from tests.every_version import check_versions, stages_of


def flat(A, B):
    x = A.reshape(-1)
    y = B.ravel()
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i] - i


def summed(A, B):
    B[0, 0] = np.sum(A.ravel() * B.ravel())


def one_index(A, B):
    n, m = A.shape
    for k in range(n * m):
        i = k // m
        j = k % m
        B[i, j] += A[i, j] * k


def part_of_the_places(A, B):
    n, m = A.shape
    for k in range(2, n * m - 1):
        B[k // m, k % m] = A[(k - 2) // m, (k - 2) % m] + A[(k + 1) // m, (k + 1) % m]


def in_columns(A, B):
    n, m = A.shape
    for k in range(n * m):
        B[k % n, k // n] = A[k % n, k // n] + 1.0


def three_indices(A, B):
    n, m = A.shape
    for k in range(n * m * 2):
        half = k // (n * m)
        place = k % (n * m)
        B[place // m, place % m] += A[place // m, place % m] * (half + 1)


def one_after_another(A, B):
    n, m = A.shape
    last = 0.0
    for k in range(n * m):
        last = 0.5 * last + A[k // m, k % m]
        B[k // m, k % m] = last


def by_an_argument(A, B, r: int):
    for k in range(A.shape[0]):
        B[k, 0] = A[k // r, 0] + k % r


FUNCTIONS = (flat, summed, one_index, part_of_the_places, in_columns, three_indices, one_after_another)


def arguments(shape: tuple[int, int]) -> list[Any]:
    generator = np.random.default_rng(9)
    return [generator.integers(-9, 10, shape).astype(float) for _ in range(2)]


@pytest.mark.parametrize("shape", [(4, 7), (3, 1), (1, 5), (2, 2)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_version_computes_what_the_source_does(function: Callable, shape: tuple[int, int]) -> None:
    values = arguments(shape)
    check_versions(function, stages_of(function, values), values)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
@pytest.mark.parametrize("function", [flat, one_index, in_columns, three_indices, one_after_another])
def test_nothing_is_done_where_there_are_no_places(function: Callable, shape: tuple[int, int]) -> None:
    values = arguments(shape)
    check_versions(function, stages_of(function, values), values)


@pytest.mark.parametrize("r", [1, 3, 20, -2])
def test_rows_as_long_as_an_argument_says(r: int) -> None:
    values = [*arguments((6, 4)), r]
    check_versions(by_an_argument, stages_of(by_an_argument, values), values)


@pytest.mark.parametrize("function", [flat, one_index, one_after_another])
def test_rows_need_no_divisions(function: Callable) -> None:
    program = next(each for each in stages_of(function, arguments((4, 7))).programs if each.name == "source")
    rows = [
        part
        for region in program.regions
        for part in walk_nodes(region.body)
        if isinstance(part, For) and "row" in part.variable
    ]
    assert rows
    for loop in rows:
        computed = [node for node in walk_nodes(loop.body) if isinstance(node, Compute)]
        assert computed
        assert not any(
            isinstance(part, Binary) and part.operator in ("//", "%")
            for node in computed
            for operation in node.operations
            for part in walk(operation)
        )


def test_rows_of_a_constant_length_are_left_to_compilers() -> None:
    def halves(A, B):
        for k in range(A.shape[0]):
            B[k, 0] = A[k // 2, k % 2]

    values = arguments((4, 7))
    for program in stages_of(halves, values).programs:
        assert split_rows(program) == program
    check_versions(halves, stages_of(halves, values), values)
