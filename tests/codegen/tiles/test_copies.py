"""Copies of an array for each point of a tile: right for every size, tile, layout and type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polytune
from polytune.codegen import numba_source
from polytune.pipeline import Stages
from tests.every_version import check_versions, stages_of
from tests.fuzz.interpreted import Interpreter
from tests.schedule.kernels import rows_times_matrix


def two_arrays(A, C):
    t = np.empty(A.shape[1])
    u = np.empty((A.shape[1], 2))
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            first = A[i, p] + C[p, 0]
            t[p] = first * 2.0
            u[p, 0] = first
            u[p, 1] = A[i, A.shape[1] - 1 - p]
        for p in range(A.shape[1]):
            for s in range(A.shape[1]):
                A[i, p] = A[i, p] - t[s] * C[s, p] + u[s, 0] * u[p, 1]


def whole_numbers(A, C):
    t = np.empty(A.shape[1], dtype=np.int64)
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            t[p] = 1
            for s in range(A.shape[1]):
                t[p] += A[i, s] * C[s, p]
        for p in range(A.shape[1]):
            A[i, p] = t[p]


def names_of_ours(A, C):
    """With l0, the name of a tile's bound, for a loop, and c0 for a parameter."""
    c0 = A.shape[1]
    t = np.empty(c0)
    for l0 in range(A.shape[0]):
        for u0 in range(c0):
            t[u0] = 0.0
            for l1 in range(c0):
                t[u0] += A[l0, l1] * C[l1, u0]
        for c1 in range(c0):
            A[l0, c1] = t[c1]


KERNELS = [rows_times_matrix, two_arrays, whole_numbers, names_of_ours]


def arguments_of(function: Callable, rows: int, columns: int) -> list[np.ndarray]:
    generator = np.random.default_rng(rows + 10 * columns)
    values = [generator.integers(-4, 5, shape) for shape in ((rows, columns), (columns, columns))]
    return values if function is whole_numbers else [value.astype(np.float64) for value in values]


def expanded(stages: Stages) -> list[str]:
    return [program.name for program in stages.programs if any(region.expanded for region in program.regions)]


@pytest.mark.parametrize("function", KERNELS)
@pytest.mark.parametrize("strict", [False, True])
def test_every_tile_is_right(function: Callable, strict: bool) -> None:
    stages = stages_of(function, arguments_of(function, 3, 3), strict=strict)
    versions = expanded(stages)
    assert versions
    for rows, columns, tile in [(1, 1, 4), (5, 3, 2), (7, 9, 16), (10, 5, 7), (13, 12, 1)]:
        initial = arguments_of(function, rows, columns)
        check_versions(function, stages, initial, versions=versions, tiles=[(tile,)])


def test_products_of_points_are_in_registers() -> None:
    stages = stages_of(rows_times_matrix, arguments_of(rows_times_matrix, 3, 3))
    best = stages.programs[0]
    assert best.name in expanded(stages)
    assert best.has_vectors


def test_copies_fit_into_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """However large a tile is asked for."""
    monkeypatch.setattr(numba_source, "BYTES_OF_COPIES", 8 * 11)
    stages = stages_of(rows_times_matrix, arguments_of(rows_times_matrix, 3, 3))
    interpreter = Interpreter(stages.source)
    (version, *_) = expanded(stages)
    for columns in (5, 6, 12):
        initial = arguments_of(rows_times_matrix, 9, columns)
        values = [value.copy() for value in initial]
        interpreter.run({"version": version, "threads": 2, "tile_0": 9}, values, seed=0)
        np.testing.assert_array_equal(values[0], initial[0] @ initial[1])
    assert "t_copies = np.empty((tile_0," in stages.source


@pytest.mark.parametrize("rows, columns", [(0, 4), (3, 0), (1, 1), (7, 3), (23, 17), (40, 70)])
def test_compiled(rows: int, columns: int) -> None:
    """Every layout, sizes smaller than a vector or a tile, and none at all; NaN stays where it belongs."""
    kernel = polytune.kernel(rows_times_matrix)
    generator = np.random.default_rng(5)
    A, C = generator.random((rows, columns)), generator.random((columns, columns))
    if A.size:
        A[0, 0] = np.nan
    for arrange in (np.ascontiguousarray, np.asfortranarray, lambda value: np.repeat(value, 2, axis=1)[:, ::2]):
        values = arrange(A.copy()), arrange(C)
        space = kernel.space(*values)
        names = [name for name in kernel.space(*values).parameters[0].values if "expanded" in str(name)]
        assert names
        for name in names:
            for tile in (1, 5, 64):
                current = arrange(A.copy())
                kernel.run(space.configuration(version=name, tile_0=tile), current, values[1])
                np.testing.assert_allclose(current, A @ C, rtol=1e-12)


def test_overflow_wraps() -> None:
    kernel = polytune.kernel(whole_numbers)
    A = np.full((3, 4), 2**62, np.int64)
    C = np.arange(16).reshape(4, 4)
    space = kernel.space(A, C)
    names = [name for name in space.parameters[0].values if "expanded" in str(name)]
    assert names
    with np.errstate(over="ignore"):
        wanted = A @ C + 1
    for name in names:
        current = A.copy()
        kernel.run(space.configuration(version=name, tile_0=2), current, C)
        np.testing.assert_array_equal(current, wanted)
