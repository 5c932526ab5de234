"""Tiles of four members on diagonals: every one runs once, and none beside one that it depends on."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.regions import RegionKind
from tests.fuzz.interpreted import Interpreter


def heat(steps, A, B):
    for _t in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    B[i, j, k] = A[i - 1, j, k] + A[i + 1, j, k] - A[i, j - 1, k] + A[i, j + 1, k] - A[i, j, k + 1]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    A[i, j, k] = B[i - 1, j, k] + B[i + 1, j, k] - B[i, j - 1, k] + B[i, j + 1, k] - B[i, j, k + 1]


def sweep(steps, A):
    for _t in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    A[i, j, k] = A[i - 1, j, k] + A[i + 1, j, k] - A[i, j - 1, k] + A[i, j + 1, k] - A[i, j, k + 1]


def stages_of(function, arguments: list) -> Stages:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Stages(function, signature_of(names, tuple(arguments)))


def arguments_of(function, steps: int, shape: tuple[int, ...]) -> list:
    """Whole numbers, whose sums are exact."""
    arrays = function.__code__.co_argcount - 1
    generator = np.random.default_rng(7)
    return [steps, *(generator.integers(-3, 4, shape).astype(float) for _ in range(arrays))]


@pytest.mark.parametrize("function", [heat, sweep])
def test_all_members_but_the_last_are_shared_out(function) -> None:
    stages = stages_of(function, arguments_of(function, 2, (4, 4, 4)))
    plan = next(plan for plan in stages.plans if plan.name == "tiled")
    (region,) = plan.regions
    assert region.kind is RegionKind.WAVEFRONT
    assert (region.shared, region.depth) == (3, 4)


@pytest.mark.parametrize("function", [heat, sweep])
def test_every_tile_runs_in_its_turn(function) -> None:
    interpreter = Interpreter(stages_of(function, arguments_of(function, 2, (4, 4, 4))).source)
    for steps, shape, tiles in [
        (0, (4, 4, 4), (2, 2, 2, 2)),
        (3, (2, 5, 5), (2, 2, 2, 2)),
        (1, (3, 3, 3), (1, 1, 1, 1)),
        (3, (5, 4, 6), (1, 2, 3, 4)),
        (4, (4, 6, 5), (2, 3, 2, 99)),
        (3, (5, 5, 4), (99, 2, 2, 3)),
    ]:
        initial = arguments_of(function, steps, shape)
        expected = [value.copy() if isinstance(value, np.ndarray) else value for value in initial]
        function(*expected)
        for threads in (1, 3):
            values = [value.copy() if isinstance(value, np.ndarray) else value for value in initial]
            sizes = {f"tile_{member}": size for member, size in enumerate(tiles)}
            interpreter.run({"version": "tiled", "threads": threads, **sizes}, values, seed=threads)
            for wanted, got in zip(expected, values, strict=True):
                assert np.array_equal(wanted, got), (shape, tiles, threads)
