"""Split loops, vectors along their rows, and blocks of steps: every version computes what plain Python does.

Small registers make small problems have whole vectors; generated code is interpreted, and compared with the source.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polybench.registry import benchmark
from polytune.codegen.loops import Compute, walk_nodes
from polytune.schedule.rewrites import step_blocks
from tests.every_version import check_versions, stages_of, tile_sizes
from tests.fuzz.interpreted import Interpreter

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
"""Sums are to wrap round."""

TYPES = ("int32", "int64", "float32", "float64")

floyd_warshall = benchmark("floyd-warshall").kernel.__wrapped__


def widest_paths(path):
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = max(path[i, j], min(path[i, k], path[k, j]))


def two_updates(path, hops):
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                hops[i, j] = hops[i, j] if path[i, j] <= path[i, k] + path[k, j] else hops[i, k] + hops[k, j]
                path[i, j] = path[i, j] if path[i, j] <= path[i, k] + path[k, j] else path[i, k] + path[k, j]


def away_from_one(x):
    m = len(x) // 2 - 1
    for k in range(2):
        for i in range(len(x)):
            x[i] = x[i] - x[m + k]


def from_one_to_all(x, w):
    for k in range(len(x)):
        for i in range(len(x)):
            x[i] = min(x[i], x[k] + w[i])


def where_it_is_read(path):
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = path[i, j] if i < k else min(path[i, j], path[k, j])


def any_numbers(generator: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    """Numbers of which sums wrap round, or that are infinite, not a number or a negative zero."""
    if dtype.startswith("int"):
        limits = np.iinfo(dtype)
        near = generator.integers(-9, 10, shape, dtype)
        return np.where(generator.random(shape) < 0.3, generator.integers(limits.min, limits.max, shape, dtype), near)
    special = generator.choice(np.array([np.inf, -np.inf, np.nan, -0.0, 0.0], dtype), shape)
    return np.where(generator.random(shape) < 0.1, special, generator.normal(size=shape).astype(dtype))


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of steps of which small problems have several."""
    monkeypatch.setattr(step_blocks, "STEPS", 3)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("function", [floyd_warshall, widest_paths])
def test_pieces_of_rows_are_right(function: Callable, dtype: str) -> None:
    generator = np.random.default_rng(0)
    stages = stages_of(function, [any_numbers(generator, dtype, 3, 3)], strict=True)
    vectors = {program.name for program in stages.programs if program.has_vectors}
    assert vectors == {"split_registers", "blocked_registers", "blocked_registers_prefetched", "blocked_packed"}
    for size in (0, 1, 2, 5, 11):
        check_versions(function, stages, [any_numbers(generator, dtype, size, size)])


def test_negative_cycles_are_followed_as_in_the_source() -> None:
    initial = np.random.default_rng(1).integers(-3, 6, (10, 10), "int32")
    assert (np.diag(initial) < 0).any()
    check_versions(floyd_warshall, stages_of(floyd_warshall, [initial], strict=True), [initial])


@pytest.mark.parametrize("layout", ["F", "strided", "reversed"])
def test_other_layouts(layout: str) -> None:
    generator = np.random.default_rng(2)
    wide = any_numbers(generator, "int32", 10, 20)
    initial = {"F": np.asfortranarray(wide[:, :10]), "strided": wide[:, ::2], "reversed": wide[::-1, :10]}[layout]
    stages = stages_of(floyd_warshall, [initial], strict=True)
    expected = initial.copy(order="K")
    floyd_warshall(expected)
    interpreter = Interpreter(stages.source)
    for program in stages.programs:
        memory = wide.copy()
        values = {"F": np.asfortranarray(memory[:, :10]), "strided": memory[:, ::2], "reversed": memory[::-1, :10]}
        interpreter.run({"version": program.name, "threads": 2, **tile_sizes([3])}, [values[layout]], seed=0)
        assert np.array_equal(values[layout], expected), program.name


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_several_statements_run_one_after_another(dtype: str) -> None:
    generator = np.random.default_rng(3)
    stages = stages_of(two_updates, [any_numbers(generator, dtype, 3, 3) for _ in range(2)], strict=True)
    assert any(program.has_vectors for program in stages.programs)
    for size in (1, 4, 11):
        check_versions(two_updates, stages, [any_numbers(generator, dtype, size, size) for _ in range(2)])


def test_loops_of_one_dimension() -> None:
    generator = np.random.default_rng(4)
    stages = stages_of(away_from_one, [any_numbers(generator, "float64", 3)], strict=True)
    assert any(program.name == "split" for program in stages.programs)
    for size in (2, 3, 4, 21):
        check_versions(away_from_one, stages, [any_numbers(generator, "float64", size)])


def test_blocks_of_one_dimension() -> None:
    generator = np.random.default_rng(5)
    stages = stages_of(from_one_to_all, [any_numbers(generator, "int32", 3) for _ in range(2)], strict=True)
    assert any(program.name == "blocked_registers" for program in stages.programs)
    for size in (1, 2, 4, 13):
        check_versions(from_one_to_all, stages, [any_numbers(generator, "int32", size) for _ in range(2)])


def test_what_is_not_always_read_is_not_saved() -> None:
    initial = any_numbers(np.random.default_rng(6), "int32", 7, 7)
    stages = stages_of(where_it_is_read, [initial], strict=True)
    assert not any(program.name == "blocked_registers" for program in stages.programs)
    check_versions(where_it_is_read, stages, [initial])


def test_one_iteration_stays_scalar() -> None:
    stages = stages_of(floyd_warshall, [np.zeros((3, 3), np.int32)], strict=True)
    program = next(program for program in stages.programs if program.name == "split_registers")
    for region in program.regions:
        assert len([part for part in walk_nodes(region.body) if isinstance(part, Compute)]) == 1
