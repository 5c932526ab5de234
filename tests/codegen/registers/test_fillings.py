"""Strips of arrays that points read again and again across their rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polytune.codegen.registers import fillings
from tests.every_version import check_compiled, check_versions, stages_of, with_vectors


def quadratic_forms(x, a, out):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                total += x[i, j] * a[j, k] * x[i, k]
        out[i] = total


def least_squares(x, a, out):
    """Statements around the loops, and a part of each row that is read once."""
    for i in range(x.shape[0]):
        least = 1e9
        for j in range(a.shape[0]):
            apart = 1.0
            for k in range(a.shape[1]):
                apart += (x[i, k] - a[j, k]) ** 2
            least = min(least, apart)
        out[i] = np.sqrt(least)


def columns_of_blocks(x, a, out):
    """Three axes, of which the points go along the one in the middle."""
    for i in range(x.shape[1]):
        total = 0.0
        for m in range(a.shape[0]):
            for j in range(x.shape[0]):
                for k in range(x.shape[2]):
                    total += x[j, i, k] * a[m, k]
        out[i] = total


def filled(function: Callable, arguments: list[np.ndarray]) -> list[str]:
    """The versions with strips."""
    stages = stages_of(function, arguments)
    return [program.name for program in stages.programs if any(region.strips for region in program.regions)]


def arguments_of(function: Callable, points: int, rows: int, width: int) -> list[np.ndarray]:
    rng = np.random.default_rng(points)
    shape = (2, points, width) if function is columns_of_blocks else (points, width)
    return [rng.random(shape), rng.random((rows, width)), np.full(points, -1.0)]


@pytest.mark.parametrize("function", [quadratic_forms, least_squares, columns_of_blocks])
@pytest.mark.parametrize("size", [(1, 1, 1), (13, 3, 3), (37, 2, 2), (5, 0, 0)])
def test_points_read_their_rows_from_strips(function: Callable, size: tuple[int, int, int]) -> None:
    arguments = arguments_of(function, *size)
    stages = stages_of(function, arguments)
    assert filled(function, arguments) and with_vectors(stages)
    check_versions(function, stages, arguments, versions=with_vectors(stages), tiles=[(3,), (64,)])


@pytest.mark.parametrize("function", [quadratic_forms, least_squares, columns_of_blocks])
@pytest.mark.parametrize("points", [1, 29, 300])
def test_compiled(function: Callable, points: int) -> None:
    check_compiled(function, arguments_of(function, points, 7, 7))


def test_what_no_loop_reads_is_not_put_into_strips() -> None:
    """There are no rows of a, which are longer than those of x."""
    arguments = [np.ones((40, 3)), np.ones((0, 50)), np.full(40, -1.0)]
    stages = stages_of(quadratic_forms, arguments)
    check_versions(quadratic_forms, stages, arguments, versions=filled(quadratic_forms, arguments), tiles=[(64,)])


def test_long_rows_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strips have no more room than that, and code for rows that have more."""
    monkeypatch.setattr(fillings, "MOST_ELEMENTS", 9)
    for width in (2, 3, 4, 9, 10, 23):
        for function in (quadratic_forms, columns_of_blocks):
            arguments = arguments_of(function, 13, width, width)
            stages = stages_of(function, arguments)
            check_versions(function, stages, arguments, versions=filled(function, arguments), tiles=[(64,)])


def of_what_changes(x, a, out):
    """The points change the rows that they read."""
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                x[i, k] = x[i, k] * 0.5 + a[j, k]
                total += x[i, k]
        out[i] = total


def read_once(x, a, out):
    """Each element is loaded once for each point: a strip would be one more load."""
    for i in range(x.shape[0]):
        total = 0.0
        for k in range(a.shape[1]):
            total += x[i, k] * a[0, k]
        out[i] = total


def from_the_second_on(x, a, out):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(a.shape[0]):
            for k in range(1, a.shape[1]):
                total += x[i, k] * a[j, k]
        out[i] = total


def in_loops_of_their_own(x, a, out):
    """Where one loop has no iterations, the other one may have some."""
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                total += x[i, k] * a[j, k]
        for k in range(x.shape[1]):
            total += x[i, k] * 2.0
        out[i] = total


def along_rows_and_columns(x, a, out):
    """What lies along a column, too, is no row."""
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[0]):
            for k in range(a.shape[0]):
                total += x[i, k] * a[j, k] + x[k, i]
        out[i] = total


def in_a_triangle(x, a, out):
    """Whether the inner loop has iterations differs from one of the outer loop to the next."""
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            for k in range(j):
                total += x[i, j] * a[0, k]
        out[i] = total


UNFILLED = [
    of_what_changes,
    read_once,
    from_the_second_on,
    in_loops_of_their_own,
    in_a_triangle,
    along_rows_and_columns,
]


@pytest.mark.parametrize("function", UNFILLED)
def test_what_is_not_put_into_strips(function: Callable) -> None:
    arguments = arguments_of(quadratic_forms, 13, 4, 4)
    assert not filled(function, arguments)
    check_versions(function, stages_of(function, arguments), arguments)
