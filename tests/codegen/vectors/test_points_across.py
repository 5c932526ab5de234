"""Points across the rows of arrays: which nests have them, and that every block, whole or not, is right.

Small registers make small problems have whole blocks; generated code is interpreted, and compared with the source.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polytune.codegen.loops import Compute, For, walk_nodes
from polytune.codegen.registers.point_nests import is_chain, links_of
from polytune.frontend.expression import Assign
from polytune.pipeline import Stages
from tests.every_version import check_versions, stages_of


def tridiagonal(x, b):
    """Its coefficients live in one row alone."""
    p = np.empty_like(x)
    q = np.empty_like(x)
    for i in range(x.shape[0]):
        p[i, 0] = 0.5
        q[i, 0] = b[i, 0]
        for j in range(1, x.shape[1]):
            p[i, j] = 1.0 / (4.0 - p[i, j - 1])
            q[i, j] = (b[i, j] + q[i, j - 1]) / (4.0 - p[i, j - 1])
        x[i, x.shape[1] - 1] = 0.0
        for j in range(x.shape[1] - 2, -1, -1):
            x[i, j] = p[i, j] * x[i, j + 1] + q[i, j]


def kept_for_later(x, b):
    """Every row of p is read by the next nest, so that it has to be where it belongs."""
    p = np.empty_like(x)
    for i in range(x.shape[0]):
        p[i, 0] = b[i, 0]
        for j in range(1, x.shape[1]):
            p[i, j] = b[i, j] - 0.5 * p[i, j - 1]
    for j in range(x.shape[1]):
        x[0, j] = p[x.shape[0] - 1, j]
        for i in range(1, x.shape[0]):
            x[i, j] = p[i, j] + 0.5 * x[i - 1, j]


def filtered(x, b):
    for i in range(x.shape[0]):
        before = 0.0
        last = 0.0
        for j in range(x.shape[1]):
            x[i, j] = b[i, j] + 0.5 * before - 0.25 * last
            last = before
            before = x[i, j]


def neighbours(x, b):
    """Rows of b around a row of x."""
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1]):
            x[i, j] = b[i - 1, j] + 2.0 * b[i, j] + b[i + 1, j] - 0.5 * x[i, j - 1]


def overwritten(x, b):
    """What an iteration stores, and loads again, and stores once more."""
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            x[i, j] = b[i, j] + 0.5 * x[i, j - 1]
            x[i, j] = x[i, j] * 2.0 - b[i, j - 1]


def two_before(x, b):
    for i in range(x.shape[0]):
        for j in range(2, x.shape[1]):
            x[i, j] = b[i, j] + 0.5 * x[i, j - 1] - 0.25 * x[i, j - 2]


def of_the_last(x, b):
    """An iteration reads the old value of what it has not stored yet, after it has stored."""
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            x[i, j] = x[i, j] + 0.5 * x[i, j - 1]
            b[i, j] = x[i, j] - x[i, j - 1]


def whole_numbers(x, b):
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            x[i, j] = max(b[i, j] - 3 * x[i, j - 1], x[i, j])


def sums(x, b):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, 0] += b[i, j]


def rows(x, b):
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = b[i, j] + 0.5


KERNELS = [tridiagonal, kept_for_later, filtered, neighbours, overwritten, two_before, of_the_last, whole_numbers]


def across(stages: Stages) -> list[str]:
    return [program.name for program in stages.programs if program.has_vectors_apart]


def check(function: Callable, initial: list, tiles: tuple[int, ...]) -> None:
    """All versions with points across, with tiles of these sizes along all loops."""
    stages = stages_of(function, initial, strict=True)
    check_versions(function, stages, initial, versions=across(stages), tiles=[(size,) for size in tiles])


@pytest.mark.parametrize("function", KERNELS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 2), (4, 5), (9, 3), (14, 6)])
def test_every_block_is_right(function: Callable, shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(7)
    integers = function is whole_numbers
    initial = [generator.integers(-9, 9, shape).astype(np.int32 if integers else float) for _ in range(2)]
    check(function, initial, (1, 4, 6, 64))


@pytest.mark.parametrize("function", [tridiagonal, filtered])
def test_single_precision(function: Callable) -> None:
    generator = np.random.default_rng(1)
    check(function, [generator.random((11, 5), np.float32) for _ in range(2)], (4, 16))


@pytest.mark.parametrize("function", [neighbours, two_before])
def test_infinite_and_not_a_number(function: Callable) -> None:
    x, b = np.zeros((9, 6)), np.ones((9, 6))
    b[2, 3], b[5, 1], b[7, 4] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        check(function, [x, b], (4, 16))


@pytest.mark.parametrize("view", [lambda a: a[:, ::-1], lambda a: a[::2, ::3], lambda a: a[::-1]])
def test_other_strides(view: Callable) -> None:
    x, b = (np.random.default_rng(seed).random((22, 15)) for seed in range(2))
    check(two_before, [view(x), view(b)], (4, 16))


def test_values_that_live_in_a_point_need_no_array() -> None:
    arguments = [np.zeros((8, 8)), np.ones((8, 8))]
    (program,) = (each for each in stages_of(tridiagonal, arguments, strict=True).programs if each.has_vectors_apart)
    assert [len(region.strips) for region in program.regions] == [2]
    (kept,) = (
        each for each in stages_of(kept_for_later, arguments, strict=True).programs if each.name == "parallel_registers"
    )
    assert not any(region.strips for region in kept.regions)


def test_sums_and_rows_stay_with_rows() -> None:
    """Vectors run along these."""
    arguments = [np.zeros((8, 8)), np.ones((8, 8))]
    assert not across(stages_of(sums, arguments))
    assert not across(stages_of(rows, arguments, strict=True))


@pytest.mark.parametrize(
    "function, chained, links", [(two_before, True, 0), (neighbours, True, 1), (sums, False, 0), (rows, False, 0)]
)
def test_chains(function: Callable, chained: bool, links: int) -> None:
    stages = stages_of(function, [np.zeros((8, 8)), np.ones((8, 8))], strict=True)
    source = next(program for program in stages.programs if program.name == "source")
    loops = [node for node in walk_nodes(source.regions[0].body) if isinstance(node, For)]
    loop = loops[-1]
    operations = [part for node in walk_nodes(loop) if isinstance(node, Compute) for part in node.operations]
    assignments = [operation for operation in operations if isinstance(operation, Assign)]
    assert is_chain(assignments, loop.variable, frozenset()) is chained
    assert len(links_of(assignments, loop.variable, frozenset())) == links
