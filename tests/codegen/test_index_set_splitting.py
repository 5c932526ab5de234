"""Loops that are three where most iterations decide tests of loop variables in the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polytune.codegen.index_set_splitting import split_index_sets
from polytune.codegen.loops import Compute, For, Program, walk_nodes
from polytune.frontend.expression import Binary, Checked, Compare, Constant, Select, Unary, walk
from tests.every_version import check_versions, stages_of


def nearest(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total = 0.0
            for d in range(-2, 3):
                total += A[min(max(i - d, 0), A.shape[0] - 1), min(max(j + d, 0), A.shape[1] - 1)]
            B[i, j] = total


def within_radius(A, B, r: int):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, min(j + r, A.shape[1] - 1)] - A[i, max(j - r, 0)]


def over_radius(A, B, r: int):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = 0.0
            for d in range(-r, r + 1):
                B[i, j] += A[i, min(max(j + d, 0), A.shape[1] - 1)] * d


def on_a_ring(A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            B[i, j] = A[(i + 1) % n, j] - A[(i - 1) % n, j] + 2.0 * A[i, (j + 1) % m] - A[i, (j - 1) % m]


def zeros_around(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            before = A[i, j - 1] if j > 0 else 0.0
            after = A[i, j + 1] if j + 1 < A.shape[1] else 0.0
            B[i, j] = before - 2.0 * after


def where_inside(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total = 0.0
            for d in range(-2, 3):
                if 0 <= j + d < A.shape[1]:
                    total += A[i, j + d] * d
            B[i, j] = total


def mirrored(A, B):
    m = A.shape[1]
    for i in range(A.shape[0]):
        for j in range(m):
            place = abs(j - 2)
            if place >= m:
                place = 2 * m - 2 - place
            B[i, j] = A[i, place] + A[i, m - 1 - abs(m - 2 - j)]


def backwards(A, B):
    m = A.shape[1]
    for i in range(A.shape[0]):
        for j in range(m):
            B[i, m - 1 - j] = A[i, max(m - 3 - j, 0)] - A[i, min(m - j, m - 1)]


def by_halves(A, B):
    """Twice as fast as the loop: what is tested has the factor 2."""
    m = A.shape[1]
    for i in range(A.shape[0]):
        for j in range(m):
            B[i, j] = A[i, min(2 * j, m - 1)] + A[i, max(2 * j - m, 0)]


def around_the_diagonal(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] if j < i else 3.0 if j == i else -A[i, j]


def of_all_columns(A, B):
    """The inner loop is as long as the outer one: the inner one is split."""
    m = A.shape[1]
    for i in range(A.shape[0]):
        for j in range(m):
            for k in range(m):
                B[i, j] += A[i, min(j + k, m - 1)]


def one_after_another(A, B):
    """A recurrence: iterations keep their order."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = 0.5 * B[i, max(j - 1, 0)] + A[i, min(j + 1, A.shape[1] - 1)]


def where_data_say(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > 0.0 and j > 1:
                B[i, j] = A[i, max(j - 2, 0)]
            elif j + 3 < A.shape[1]:
                B[i, j] = A[i, min(j + 3, A.shape[1] - 1)]


FUNCTIONS = (
    *(nearest, within_radius, over_radius, on_a_ring, zeros_around, where_inside, mirrored, backwards, by_halves),
    *(around_the_diagonal, of_all_columns, one_after_another, where_data_say),
)


def arguments(function: Callable[..., None], shape: tuple[int, int] = (6, 13), r: int = 2) -> list[Any]:
    generator = np.random.default_rng(5)
    arrays = [generator.integers(-9, 10, shape).astype(float) for _ in range(2)]
    return [*arrays, r] if "r" in function.__code__.co_varnames else arrays


def source_of(function: Callable[..., None]) -> Program:
    return next(each for each in stages_of(function, arguments(function)).programs if each.name == "source")


def decided_in(loop: For) -> list[Any]:
    """What is decided in the body of a loop by the value of its variable."""
    parts = [part for node in walk_nodes(loop.body) if isinstance(node, Compute | For) for part in walk(node)]
    return [
        part
        for part in parts
        if isinstance(part, Compare | Select)
        or (isinstance(part, Binary | Unary) and part.dtype == "int64" and part.operator in ("min", "max", "abs"))
        if loop.variable in {getattr(below, "name", None) for below in walk(part)}
    ]


@pytest.mark.parametrize(
    "function", [nearest, within_radius, over_radius, on_a_ring, zeros_around, where_inside, mirrored, backwards]
)
def test_the_middle_has_no_tests(function: Callable[..., None]) -> None:
    (region,) = source_of(function).regions
    loops = [part for part in walk_nodes(region.body) if isinstance(part, For) and part.variable.endswith("c1")]
    assert len(loops) == 3
    assert [bool(decided_in(loop)) for loop in loops] == [True, False, True]


def in_rows(v, B, h: int, w: int):
    A = v.reshape(h, w)
    for i in range(h):
        for j in range(w):
            B[i, j] = 2.0 * A[i, j]


def test_the_middle_has_no_subscripts_out_of_range() -> None:
    values = [np.arange(12.0), np.zeros((3, 4)), 3, 4]
    stages = stages_of(in_rows, values)
    (region,) = next(each for each in stages.programs if each.name == "source").regions
    loops = [part for part in walk_nodes(region.body) if isinstance(part, For) and part.variable.endswith("c1")]
    violations = [
        operation.violation
        for loop in loops
        for node in walk_nodes(loop.body)
        if isinstance(node, Compute)
        for operation in node.operations
        if isinstance(operation, Checked)
    ]
    assert [isinstance(each, Constant) and not each.value for each in violations] == [False, True, False]
    check_versions(in_rows, stages, values)


def test_inner_loops_as_long_as_the_outer_one_are_split_themselves() -> None:
    (region,) = source_of(of_all_columns).regions
    variables = [part.variable for part in walk_nodes(region.body) if isinstance(part, For)]
    assert [variables.count(name) for name in dict.fromkeys(variables)] == [1, 1, 2]


def test_programs_without_tests_stay_as_they_are() -> None:
    def plain(A, B):
        for i in range(A.shape[0]):
            for j in range(i, A.shape[1]):
                B[i, j] = A[i, j] + i

    for program in stages_of(plain, arguments(plain)).programs:
        assert split_index_sets(program) == program


@pytest.mark.parametrize("shape", [(6, 13), (1, 1), (2, 2), (3, 3), (4, 4), (5, 1)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_version_computes_what_the_source_does(function: Callable[..., None], shape: tuple[int, int]) -> None:
    rows, columns = shape
    if function is mirrored:  # in shorter rows the source reads past the other border
        columns = max(columns, 3)
    values = arguments(function, (rows, columns), r=min(3, columns))
    check_versions(function, stages_of(function, values), values)
