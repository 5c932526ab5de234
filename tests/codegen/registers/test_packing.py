"""Packing: what is copied into buffers, and what must not be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polytune
from polytune.codegen.numba_source import MOST_PACKED
from polytune.pipeline import Stages
from tests.codegen.registers.test_tiles import (
    arguments_of,
    in_place,
    product,
    product_with_transposed,
    rows_alone,
    sum_of_two_products,
    within_a_band,
    within_a_triangle,
)
from tests.every_version import stages_of


def of_three(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(B.shape[1]):
                C[i, j] += A[i, j, k] * B[j, k]


def reads_what_another_writes(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(C.shape[1]):
                C[i, j] += A[i, k] * B[j, k]
            B[j, j] = 1.0


def numbers_of_buffers(stages: Stages) -> set[int]:
    return {sum(len(region.buffers) for region in program.regions) for program in stages.programs}


@pytest.mark.parametrize(
    "function, count",
    [
        (product, 1),
        (product_with_transposed, 1),
        (sum_of_two_products, 2),
        (within_a_band, 0),
        (within_a_triangle, 0),
        (in_place, 0),
        (rows_alone, 0),
    ],
)
def test_what_all_rows_share_is_copied(function: Callable, count: int) -> None:
    """What is written is not, nor what no single row has all of."""
    assert max(numbers_of_buffers(stages_of(function, arguments_of(function, 5, np.random.default_rng(0))))) == count


def test_what_differs_from_row_to_row_is_not_copied() -> None:
    arguments = [np.ones((4, 5)), np.ones((4, 5, 3)), np.ones((5, 3))]
    found = [region for program in stages_of(of_three, arguments).programs for region in program.regions]
    assert all("A" not in str(region.buffers) for region in found)


def test_what_is_written_is_not_copied() -> None:
    stages = stages_of(reads_what_another_writes, [np.ones((4, 4)), np.ones((4, 4)), np.ones((4, 4))])
    assert numbers_of_buffers(stages) == {0}


def test_buffers_have_a_greatest_size() -> None:
    stages = stages_of(product, arguments_of(product, 5, np.random.default_rng(0)))
    assert f"least(tile_1, {MOST_PACKED})" in stages.source.replace("_tile", "tile").replace("_least", "least")


@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize("size, tile", [(1, 8), (23, 7), (70, 600)])
def test_compiled_with_any_strides(step: int, size: int, tile: int) -> None:
    """What is copied may lie anywhere."""
    kernel = polytune.kernel(product_with_transposed)
    generator = np.random.default_rng(1)
    C, A = generator.random((size, size + 3)), generator.random((size, size + 1))
    B = generator.random(((size + 3) * abs(step), (size + 1) * abs(step)))[::step, ::step]
    space = kernel.space(C, A, B)
    names = [name for name in space.parameters[0].values if str(name).endswith("_packed")]
    assert names
    for name in names:
        current = C.copy()
        tiles = {f"tile_{member}": tile for member in range(3)}
        kernel.run(space.configuration(version=name, **tiles), current, A, B)
        np.testing.assert_allclose(current, C - A @ B.T, rtol=1e-11)
