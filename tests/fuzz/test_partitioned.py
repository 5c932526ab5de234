"""Random programs shared among the processor and two devices at once, PoCL and the stand-in for a CUDA GPU.

A few that are always the same, or with ``--fuzz N`` N larger ones of each kind, other ones every time.
"""

from __future__ import annotations

import zlib

import pytest
from hypothesis import HealthCheck, given, settings

from tests.device_versions.offered import offered
from tests.fuzz.partitioned import check_partitioned
from tests.fuzz.programs import Program
from tests.fuzz.strategy import programs

NUMBER = 6
"""Programs drawn for each test by default."""


@pytest.mark.parametrize("strict", [False, True], ids=["reassociating", "strict"])
def test_shared_among_platforms(strict: bool, fuzz: int | None) -> None:
    checked: set[str] = set()
    used = 0

    @settings(
        max_examples=fuzz or NUMBER,
        deadline=None,
        database=None,
        derandomize=fuzz is None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs() if fuzz else programs(statements=3, depth=3))
    def run(program: Program) -> None:
        nonlocal used
        text = program.reproducer(exact=True)
        if text not in checked:
            seed = zlib.crc32(text.encode())
            used += check_partitioned(program, strict=strict, platforms=platforms, seed=seed)
            checked.add(text)

    with offered() as platforms:
        if not platforms:
            pytest.skip("there is neither PoCL nor the stand-in for CUDA")
        run()
    assert used > (fuzz or NUMBER) // 4
