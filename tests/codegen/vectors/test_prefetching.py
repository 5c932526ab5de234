"""Prefetched rows: which loads are asked for early, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polytune.codegen.loops import For, Let, Node, Prefetch, Program, Store, is_innermost, map_nodes, walk_nodes
from polytune.codegen.vectors.prefetching import AHEAD, PREFETCHED
from polytune.frontend.expression import walk
from polytune.pipeline import Stages
from tests.every_version import check_versions, stages_of


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def columns(C, A, B):
    """Both operands are walked along their rows."""
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k]


def triangular(A, B):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i + 1, A.shape[0]):
                B[i, j] += A[k, i] * B[k, j]


def integers(generator: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    """Numbers whose sums and products are exact."""
    return generator.integers(-9, 10, shape).astype(dtype)


def prefetched(stages: Stages) -> list[Program]:
    return [program for program in stages.programs if program.recipe.has(PREFETCHED)]


def without_prefetches(program: Program) -> Program:
    """The program with its prefetches taken out again."""

    def visit(node: Node) -> Node:
        if isinstance(node, For) and is_innermost(node):
            kept = [part for part in getattr(node.body, "children", (node.body,)) if not isinstance(part, Prefetch)]
            return replace(node, body=replace(node.body, children=tuple(kept)) if len(kept) > 1 else kept[0])
        return map_nodes(node, visit)

    regions = tuple(replace(region, body=visit(region.body)) for region in program.regions)
    return replace(program, recipe=program.recipe.before_last, regions=regions)


@pytest.mark.parametrize("function", [product, triangular])
def test_it_adds_prefetches_and_changes_nothing_else(function: Callable) -> None:
    arguments = [np.zeros((3, 3)) for _ in function.__code__.co_varnames[: function.__code__.co_argcount]]
    stages = stages_of(function, arguments)
    (version,) = prefetched(stages)
    before = stages.programs[stages.programs.index(version) - 1]
    assert version.recipe.before_last == before.recipe
    assert without_prefetches(version) == before


def test_rows_ahead_are_asked_for_once_each() -> None:
    (version,) = prefetched(stages_of(product, [np.zeros((3, 3)) for _ in range(3)]))
    (region,) = version.regions
    asked = 0
    for loop in walk_nodes(region.body):
        if not (isinstance(loop, For) and is_innermost(loop)):
            continue
        hints = [part.element for part in walk_nodes(loop.body) if isinstance(part, Prefetch)]
        loads = {part for node in walk_nodes(loop.body) if isinstance(node, Let | Store) for part in walk(node)}
        assert len(set(hints)) == len(hints) and {hint.array for hint in hints} <= {"B"}
        for hint in hints:
            row, column = hint.subscripts
            assert loop.variable in str(row) and str(AHEAD) in str(row) and loop.variable not in str(column)
            assert hint not in loads
        asked += len(hints)
    assert asked


@pytest.mark.parametrize(
    "arguments",
    [
        [np.zeros((3, 3)), np.zeros((3, 3)), np.asfortranarray(np.zeros((3, 3)))],
        [np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((6, 6))[::2, ::2]],
    ],
    ids=["Fortran", "strided"],
)
def test_columns_of_other_layouts_are_left_to_the_processor(arguments: list[np.ndarray]) -> None:
    assert not prefetched(stages_of(product, arguments))


def test_rows_that_are_walked_along_are_left_to_the_processor() -> None:
    assert not prefetched(stages_of(columns, [np.zeros((3, 3)) for _ in range(3)]))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(0, 0, 0), (1, 1, 1), (5, 7, 3), (9, 16, 12), (17, 21, 33)], ids=str)
def test_products_are_right(shape: tuple[int, int, int], dtype: str) -> None:
    generator = np.random.default_rng(sum(shape))
    rows, width, inner = shape
    arguments: list[Any] = [
        integers(generator, dtype, rows, width),
        integers(generator, dtype, rows, inner),
        integers(generator, dtype, inner, width),
    ]
    stages = stages_of(product, arguments)
    names = [program.name for program in prefetched(stages)]
    check_versions(product, stages, arguments, versions=names, tiles=[(3, 7), (64,)])


@pytest.mark.parametrize("size", [0, 1, 4, 13])
def test_updates_in_place_are_right(size: int) -> None:
    generator = np.random.default_rng(size)
    arguments = [integers(generator, "float64", size, size), integers(generator, "float64", size, size + 2)]
    stages = stages_of(triangular, arguments)
    names = [program.name for program in prefetched(stages)]
    check_versions(triangular, stages, arguments, versions=names, tiles=[(3, 7), (64,)])
