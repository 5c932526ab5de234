"""The interpreter finds what it is there to find: versions that are wrong on purpose give wrong results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polytune.codegen.loops import Program, RegionCode
from tests.codegen.interpreter import Interpreter
from tests.schedule.kernels import SMALL, Case


def program_of(case: Case, version: str) -> Program:
    return next(program for program in case.stages.programs if program.name == version)


def changed(program: Program, number: int, region: RegionCode) -> Program:
    return replace(program, regions=(*program.regions[:number], region, *program.regions[number + 1 :]))


def is_right(case: Case, program: Program, tile: int = 2) -> bool:
    """Whether a version computes, in ten orders, what plain Python computes."""
    expected = case.arguments()
    case.function(*expected.values())
    interpreter = Interpreter(program, case.stages.scop)
    for seed in range(10):
        given = case.arguments()
        interpreter.run(given, [tile] * program.tile_depth, seed)
        if not all(np.array_equal(given[name], value) for name, value in expected.items()):
            return False
    return True


@pytest.mark.parametrize("name", ["stencil", "in_place_stencil"])
def test_tiles_of_a_wavefront_that_run_at_once(name: str) -> None:
    case = SMALL[name]
    program = program_of(case, "tiled")
    assert program.regions[0].kind == "wavefront" and is_right(case, program)
    assert not is_right(case, changed(program, 0, replace(program.regions[0], kind="parallel")))


def test_copy_of_what_is_shared() -> None:
    """Every worker with a stencil's array of its own."""
    case = SMALL["stencil"]
    program = program_of(case, "parallel")
    assert is_right(case, program)
    assert not is_right(case, changed(program, 0, replace(program.regions[0], private=frozenset({"B"}))))


def test_variable_of_a_tile_that_outlives_it() -> None:
    """A scalar that is read after its region, kept in a variable of each tile."""
    case = SMALL["scalar_used_twice"]
    program = program_of(case, "parallel")
    first = next(region for region in program.regions if not region.local)
    assert is_right(case, program)
    assert not is_right(case, changed(program, first.index, replace(first, local=frozenset({"t"}))))


def test_tile_that_is_too_short() -> None:
    case = SMALL["product_of_sums"]
    program = program_of(case, "parallel")
    region = program.regions[0]
    shorter = replace(region.members[0], upper=region.members[0].lower)
    with pytest.raises(AssertionError):
        is_right(case, changed(program, 0, replace(region, members=(shorter, *region.members[1:]))))
