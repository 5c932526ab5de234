"""The random programs themselves: they run, they do not repeat, and they are as varied as they are meant to be."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.fuzz.harness import expected_of, function_of
from tests.fuzz.programs import INSTANCES, Program
from tests.fuzz.strategy import program_of


@pytest.fixture(scope="module")
def sample() -> list[Program]:
    """Some hundred different programs."""
    return list({program.source: program for program in map(program_of, range(500))}.values())


def test_programs_run_in_plain_python_and_few_overflow(sample: list[Program]) -> None:
    usable = [program for program in sample if expected_of(program, exact=True) is not None]
    assert len(usable) > 0.85 * len(sample)


def test_no_subscript_is_negative(sample: list[Program]) -> None:
    """Plain Python would wrap round where compiled code may not."""

    class Watched(np.ndarray):
        def __getitem__(self, subscripts):
            assert all(index >= 0 for index in np.atleast_1d(subscripts)), subscripts
            return super().__getitem__(subscripts)

        def __setitem__(self, subscripts, value):
            assert all(index >= 0 for index in np.atleast_1d(subscripts)), subscripts
            super().__setitem__(subscripts, value)

    for program in sample[:80]:
        arguments = [a.view(Watched) if isinstance(a, np.ndarray) else a for a in program.arguments(exact=False)]
        with np.errstate(all="ignore"):
            function_of(program)(*arguments)


def test_arguments_and_results_are_the_same_every_time(sample: list[Program]) -> None:
    for program in sample[:40]:
        first, second = expected_of(program, exact=True), expected_of(program, exact=True)
        if first is None or second is None:
            assert first is second
            continue
        assert all(np.array_equal(a, b) for a, b in zip(first[0], second[0], strict=True)) and first[1] == second[1]


FEATURES = {
    "a loop three deep": (r"\n {12}for", 20),
    "a loop four deep": (r"\n {16}for", 5),
    "a bound by an outer iterator": (r"range\(.*\b[ijk]\b.*\):", 15),
    "a bound by min or max": (r"range\(.*m[inax]{2}\(", 3),
    "a step of 2 or 3": (r", [23]\):", 5),
    "a negative step": (r", -[12]\):", 10),
    "two nests": (r"\n    for(.|\n)*\n    for", 20),
    "an update": (r" [-+*]= ", 40),
    "a minimum or maximum as reduction": (r"= (max|min)\((\w+\[.*?\]), ", 2),
    "a scalar variable": (r"\bs\d = ", 25),
    "a scalar that carries a sum": (r"\bs\d \+= ", 5),
    "a result": (r"return s", 5),
    "an affine condition": (r"\n +if [ijk(]", 8),
    "a conditional expression": (r" if .* else ", 10),
    "control that depends on data": (r"\n +(while|if [A-D]\[)", 5),
    "a local array": (r"np\.zeros", 10),
    "a buffer between two loops": (r"np\.empty", 3),
    "a parameter from a shape": (r"= [A-D]\.shape\[", 20),
    "a sweep over neighbours": (r"= 0\.5 \* \(+\w+\[.*\] \+ ", 3),
    "a recurrence within a loop": (r"\n +(\w+)\[(.*), (\w+)\] = .*\1\[\2, \3 [-+] 1\]", 5),
    "single precision by name": (r"np\.float32", 5),
}


@pytest.mark.parametrize(("pattern", "percent"), FEATURES.values(), ids=FEATURES.keys())
def test_feature_is_common_enough(sample: list[Program], pattern: str, percent: int) -> None:
    having = sum(bool(re.search(pattern, program.source)) for program in sample)
    assert having >= percent / 100 * len(sample), f"{having} of {len(sample)}"


def test_types_ranks_layouts_and_sizes_vary(sample: list[Program]) -> None:
    arrays = [array for program in sample for array in program.tree.arrays]
    assert {array.dtype for array in arrays} == {"int32", "int64", "float32", "float64"}
    assert {array.rank for array in arrays} == {1, 2, 3}
    assert {array.layout for array in arrays} == {"C", "F", "A"}
    sizes = [program.instances for program in sample]
    assert max(sizes) <= INSTANCES and sum(size > 50 for size in sizes) > 0.2 * len(sizes)
    assert sum(size == 0 for size in sizes) < 0.25 * len(sizes)
