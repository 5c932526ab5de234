"""Outer tiles: whatever the sizes of both levels, everything runs once and in a legal order."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

import polytune
from polytune.codegen.loop_text import programs_text
from polytune.codegen.loops import Program
from polytune.codegen.module import write_module
from polytune.codegen.tiles.outer import OUTER
from polytune.pipeline import Stages
from polytune.show import show_space
from polytune.versions import all_arrays
from tests.codegen.test_programs import assert_close
from tests.every_version import stages_of
from tests.fuzz.interpreted import Interpreter
from tests.schedule.kernels import SMALL, Case, polybench_case

SIZES = (1, 2, 3, 5, 99)


def in_outer_tiles(program: Program, sizes: tuple[int, ...]) -> Program:
    """A program as it is, with its tiles in outer tiles: the same code, with other sizes to start from."""
    return replace(program, recipe=program.recipe.then(OUTER), tiles=sizes, outer=sizes, shares=program.function)


def in_two_levels(stages: Stages) -> tuple[tuple[Program, ...], Interpreter]:
    """Every tiled version of a kernel in outer tiles, and what runs them."""
    tiled = [program for program in stages.programs if program.tile_depth and not program.outer]
    ones = [(1,) * program.tile_depth for program in tiled]
    nested = tuple(in_outer_tiles(program, sizes) for program, sizes in zip(tiled, ones, strict=True))
    scop = replace(stages.scop, arrays=all_arrays(stages.plans))
    return nested, Interpreter(write_module(scop, (*tiled, *nested), stages.bounds, stages.counts))


def check_outer_tiles(case: Case, runs: int) -> None:
    if not any(program.tile_depth for program in case.stages.programs):
        return
    nested, interpreter = in_two_levels(case.stages)
    expected = case.arguments()
    with np.errstate(all="ignore"):
        wanted = case.function(*expected.values())
    choose = random.Random(case.seed)
    for program in nested:
        for seed in range(runs):
            configuration = {"version": program.name, "threads": 1 + 2 * (seed % 2)}
            for member in range(program.tile_depth):
                configuration |= {f"tile_{member}": choose.choice(SIZES), f"outer_{member}": choose.choice(SIZES)}
            given = case.arguments()
            with np.errstate(all="ignore"):
                result = interpreter.run(configuration, list(given.values()), seed)
            for name, value in (*expected.items(), ("result", wanted)):
                found = result if name == "result" else given[name]
                assert_close(found, value, 1e-10, f"{case.name}, {configuration}: {name}")


@pytest.mark.parametrize("name", SMALL)
def test_small_kernels(name: str) -> None:
    check_outer_tiles(SMALL[name], runs=2)


@pytest.mark.parametrize("name", ["gemm", "lu", "heat-3d", "doitgen"])
def test_polybench(name: str) -> None:
    """Blocks in registers, interior tiles, planes of each statement's own and copies for points."""
    check_outer_tiles(polybench_case(name), runs=2)


def test_versions_of_one_level_run_the_same_function() -> None:
    stages = SMALL["stencil"].stages
    nested, _ = in_two_levels(stages)
    scop = replace(stages.scop, arrays=all_arrays(stages.plans))
    program = next(program for program in stages.programs if program.name == nested[0].shares)
    text = write_module(scop, (program, nested[0]), stages.bounds, stages.counts)
    assert nested[0].recipe == program.recipe.then(OUTER)
    assert text.count("\ndef run_") == 1
    assert f"Version({nested[0].name!r}, run_{program.name}," in text


def lower_and_upper(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def test_one_version_of_a_factorisation_is_offered_in_two_levels() -> None:
    """The first one that keeps sums in registers, and is followed by it."""
    programs = stages_of(lower_and_upper, [np.ones((4, 4))]).programs
    (nested,) = (program for program in programs if program.outer)
    assert programs[programs.index(nested) - 1].name == nested.shares == programs[0].name
    assert nested.outer == (2, 2, 1)
    assert f"version {nested.name}: {nested.shares} in outer tiles of" in programs_text(programs)
    assert "outer_1: from 1 to 64 tiles" in show_space(programs)


@pytest.mark.parametrize("name", ["product_of_sums", "stencil"])
def test_products_and_stencils_have_no_outer_tiles(name: str) -> None:
    assert not any(program.outer for program in SMALL[name].stages.programs)


SIZES_OF_BOTH = (
    {},
    {"tile_0": 2, "tile_1": 3, "tile_2": 5, "outer_0": 2, "outer_1": 3, "outer_2": 2},
    {"tile_0": 32, "tile_1": 7, "tile_2": 16, "outer_0": 1, "outer_1": 64, "outer_2": 3},
)


def factorised(size: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of which no pivot is small, and its factors."""
    matrix = np.random.default_rng(size).random((size, size)) + size * np.eye(size)
    factors = matrix.copy()
    lower_and_upper(factors)
    return matrix, factors


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_sizes_below_a_tile(size: int) -> None:
    stages = stages_of(lower_and_upper, [np.ones((4, 4))])
    interpreter = Interpreter(stages.source)
    (nested,) = (program for program in stages.programs if program.outer)
    for sizes in SIZES_OF_BOTH:
        matrix, factors = factorised(size)
        interpreter.run({"version": nested.name, "threads": 3, **sizes}, [matrix], size)
        np.testing.assert_allclose(matrix, factors, rtol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [29, 101])
def test_compiled(size: int, order: Literal["C", "F"]) -> None:
    kernel = polytune.kernel(lower_and_upper)
    matrix, factors = factorised(size)
    for sizes in SIZES_OF_BOTH:
        A = np.array(matrix, order=order)
        space = kernel.space(A)
        (name,) = (name for name in space["version"].values if str(name).endswith("_outer"))
        kernel.run(space.configuration(version=name, threads=2, **sizes), A)
        np.testing.assert_allclose(A, factors, rtol=1e-10)
