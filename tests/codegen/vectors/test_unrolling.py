"""Unrolled iterations: every element gets the value that plain Python gives it.

Small registers make small problems have whole vectors; generated code is interpreted, and compared with the source.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polytune.codegen.loops import For, Let, Program, Store, walk_nodes
from polytune.codegen.vectors.expressions import Lanes
from polytune.pipeline import Stages
from tests.every_version import check_versions, stages_of
from tests.schedule.kernels import three_behind


def five_points(steps, A, B):
    for _t in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = A[i, j] - A[i, j - 1] + A[i, j + 1] - A[i - 1, j] + A[i + 1, j]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j] - B[i, j - 1] + B[i, j + 1] - B[i - 1, j] + B[i + 1, j]


def seven_points(steps, A, B):
    for _t in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    B[i, j, k] = A[i - 1, j, k] + A[i + 1, j, k] - A[i, j - 1, k] + A[i, j + 1, k] - A[i, j, k + 1]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                for k in range(1, A.shape[2] - 1):
                    A[i, j, k] = B[i - 1, j, k] + B[i + 1, j, k] - B[i, j - 1, k] + B[i, j + 1, k] - B[i, j, k + 1]


def fields(steps, ex, ey, hz, pulse):
    for t in range(steps):
        for j in range(hz.shape[1]):
            ey[0, j] = pulse[t]
        for i in range(1, hz.shape[0]):
            for j in range(hz.shape[1]):
                ey[i, j] = ey[i, j] - (hz[i, j] - hz[i - 1, j])
        for i in range(hz.shape[0]):
            for j in range(1, hz.shape[1]):
                ex[i, j] = ex[i, j] - (hz[i, j] - hz[i, j - 1])
        for i in range(hz.shape[0] - 1):
            for j in range(hz.shape[1] - 1):
                hz[i, j] = hz[i, j] - (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


FUNCTIONS = {five_points: (2, 2), seven_points: (3, 3), three_behind: (2, 2), fields: (2, 2, 2, 1)}
"""Stencils, and how many dimensions their arrays have."""


def numbers(function: Callable, steps: int, shape: tuple[int, ...], dtype: str) -> list:
    """Steps and arrays: integers of which sums wrap round, or whole numbers whose sums are exact."""
    generator = np.random.default_rng(len(shape))
    low, high = (-(2**30), 2**30) if dtype == "int32" else (-3, 4)
    shapes = (shape if dimensions > 1 else (steps,) for dimensions in FUNCTIONS[function])
    return [steps, *(generator.integers(low, high, each).astype(dtype) for each in shapes)]


def unrolled_of(stages: Stages) -> Program:
    return next(program for program in stages.programs if program.name == "tiled_unrolled")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_element_is_right(function: Callable, dtype: str) -> None:
    dimensions = FUNCTIONS[function][0]
    stages = stages_of(function, numbers(function, 2, (6,) * dimensions, dtype))
    sizes = [(0, (5, 5, 5), 4), (1, (2, 3, 4), 4), (3, (9, 8, 7), 3), (3, (6, 10, 9), 5), (4, (9, 7, 11), 64)]
    for steps, shape, tile in sizes:
        initial = numbers(function, steps, shape[-dimensions:], dtype)
        check_versions(function, stages, initial, versions=[unrolled_of(stages).name], tiles=[(tile,)])


@pytest.mark.parametrize("layout", ["reversed", "strided", "F"])
def test_other_layouts(layout: str) -> None:
    wide = np.random.default_rng(0).integers(-3, 4, (2, 9, 18)).astype(float)

    def laid_out(memory: np.ndarray) -> list:
        views = {
            "reversed": memory[:, ::-1, :9],
            "strided": memory[:, :, ::2],
            "F": np.asfortranarray(memory[:, :, :9].transpose(1, 2, 0)).transpose(2, 0, 1),
        }
        return [3, *views[layout]]

    stages = stages_of(five_points, laid_out(wide))
    check_versions(five_points, stages, laid_out(wide), tiles=[(3,)])


def most_in_a_loop(program: Program) -> tuple[int, int]:
    """The most loads that an innermost loop without masks has, and its stores."""
    loops = [node for region in program.regions for node in walk_nodes(region.body) if isinstance(node, For)]
    bodies = [list(walk_nodes(loop.body)) for loop in loops]
    found = []
    for body in bodies:
        loads = [part.value for part in body if isinstance(part, Let) and isinstance(part.value, Lanes)]
        if not any(isinstance(part, For) for part in body) and all(load.mask is None for load in loads):
            found.append((len(loads), sum(isinstance(part, Store) for part in body)))
    return max(found)


def test_what_rows_have_in_common_is_loaded_once() -> None:
    """Of four rows: six rows of the array that is read, and the neighbours to both sides of four."""
    stages = stages_of(five_points, numbers(five_points, 2, (6, 6), "float64"))
    assert most_in_a_loop(unrolled_of(stages)) == (6 + 4 + 4, 4)


def test_planes_are_unrolled_as_far_as_there_are_addresses_for_their_rows() -> None:
    """Of two points: four in a row, two to either side, and two to one side."""
    stages = stages_of(seven_points, numbers(seven_points, 2, (6, 6, 6), "float64"))
    assert most_in_a_loop(unrolled_of(stages)) == (4 + 4 + 2, 2)


def test_no_more_are_unrolled_than_may_be() -> None:
    stages = stages_of(three_behind, numbers(three_behind, 2, (6, 6), "float64"))
    assert most_in_a_loop(unrolled_of(stages))[1] == 2
