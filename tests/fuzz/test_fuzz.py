"""Random programs through the whole compiler.

Without options some hundred small programs, always the same; ``--fuzz N`` checks N larger programs of each kind, other
ones every time.  What fails is shrunk, and reported as a script.
"""

from __future__ import annotations

import zlib

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.harness import check
from tests.fuzz.programs import Program
from tests.fuzz.strategy import programs

INTERPRETED, COMPILED = 90, 8
"""Programs drawn for each test by default; a third of them repeats others and is not checked again."""


def check_programs(number: int, larger: bool, *, strict: bool, interpret: bool) -> int:
    """Check so many random programs; returns how many different ones could be used."""
    checked: set[str] = set()
    used = 0

    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        derandomize=not larger,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs() if larger else programs(statements=3, depth=3))
    def run(program: Program) -> None:
        nonlocal used
        text = program.reproducer(exact=True)
        if text not in checked:
            used += check(program, strict=strict, interpret=interpret, seed=zlib.crc32(text.encode()))
            # Only now: a program that fails has to fail again when Hypothesis repeats it.
            checked.add(text)

    run()
    return used


@pytest.mark.parametrize("strict", [False, True], ids=["reassociating", "strict"])
def test_every_version_interpreted(strict: bool, fuzz: int | None) -> None:
    number = fuzz or INTERPRETED
    assert check_programs(number, fuzz is not None, strict=strict, interpret=True) > number // 3


@pytest.mark.parametrize("strict", [False, True], ids=["reassociating", "strict"])
def test_every_version_compiled(strict: bool, fuzz: int | None) -> None:
    number = fuzz or COMPILED
    assert check_programs(number, fuzz is not None, strict=strict, interpret=False) > number // 3
