"""Random programs through the whole compiler; ``--fuzz N`` checks N programs of each kind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.harness import check
from tests.fuzz.programs import Program
from tests.fuzz.strategy import programs


def check_programs(number: int, examine: Callable[[Program], bool]) -> int:
    """Examine so many random programs; returns how many different ones could be used."""
    seen: set[str] = set()
    used = 0

    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        derandomize=number < 1000,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def run(program: Program) -> None:
        nonlocal used
        text = program.reproducer()
        if text not in seen:
            used += examine(program)
            # Only now: a program that fails must fail again.
            seen.add(text)

    run()
    return used


@pytest.mark.parametrize("strict", [False, True], ids=["reassociating", "strict"])
def test_every_version_interpreted(strict: bool, fuzz: int | None) -> None:
    number = fuzz or 120
    used = check_programs(number, lambda program: check(program, strict=strict, interpret=True))
    assert used > number // 3


@pytest.mark.parametrize("strict", [False, True], ids=["reassociating", "strict"])
def test_every_version_compiled(strict: bool, fuzz: int | None) -> None:
    number = (fuzz or 80) // 10
    used = check_programs(number, lambda program: check(program, strict=strict, interpret=False))
    assert used > 0
