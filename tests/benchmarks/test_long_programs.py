"""Programs of many statements."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import polytune
from benchmarks.long_programs import SHAPES, first_call, long_program
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.analysis.array_dependences import Precision


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=[pytest.mark.slow] if shape == "mixed" else []) for shape in SHAPES]
)
def test_first_calls_give_what_plain_python_gives(shape: str, tmp_path: Path) -> None:
    assert first_call(*long_program(shape, 12, tmp_path)) > 0.0


@pytest.mark.slow
def test_a_hundred_statements_of_all_kinds_are_compiled(tmp_path: Path) -> None:
    function, arrays = long_program("mixed", 100, tmp_path)
    stages = polytune.kernel(function).stages(signature_of(tuple(inspect.signature(function).parameters), arrays))
    assert len(stages.scop.statements) >= 100
    assert {"parallel", "source"} <= {program.recipe.name for program in stages.programs}


@pytest.mark.slow
def test_dependences_of_a_hundred_sweeps_are_exact(tmp_path: Path) -> None:
    """Where isl gave up on them, each sweep was serial."""
    function, arrays = long_program("sweeps", 100, tmp_path)
    stages = polytune.kernel(function).stages(signature_of(("A", "B"), arrays))
    assert len(stages.scop.statements) == 100
    assert set(stages.dependences.precision.values()) == {Precision.VALUE_BASED}
