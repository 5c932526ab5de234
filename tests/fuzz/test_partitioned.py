"""Random programs shared among the processor and two devices at once, PoCL and the stand-in for a CUDA GPU.

A few that are always the same, or with ``--fuzz N`` N larger ones of each kind, other ones every time.
"""

from __future__ import annotations

import math
import zlib

import pytest
from hypothesis import HealthCheck, assume, given, seed, settings

from polytune.schedule.rewrites import factoring
from tests.device_versions.offered import offered
from tests.fuzz.partitioned import check_partitioned
from tests.fuzz.programs import Program
from tests.fuzz.strategy import programs

PARTS = 6
"""The number of tests that share the programs of each kind; by default one each, besides the simplest program of
all."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("strict", [False, True], ids=["reassociating", "strict"])
def test_shared_among_platforms(strict: bool, part: int, fuzz: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    # Few, so that partial sums of small arrays have several terms.
    monkeypatch.setattr(factoring, "COUNTS", {1: (5,), 2: (2, 3), 3: (2, 1, 3)})
    checked: set[str] = set()
    number = 2 if fuzz is None else max(2, math.ceil(fuzz / PARTS))

    @settings(max_examples=number, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(programs() if fuzz else programs(statements=3, depth=3))
    def run(program: Program) -> None:
        text = program.reproducer(exact=True)
        if text not in checked:
            # One of which nothing can run on a device is replaced by another one.
            assume(check_partitioned(program, strict=strict, platforms=platforms, seed=zlib.crc32(text.encode())))
            checked.add(text)

    with offered() as platforms:
        if not platforms:
            pytest.skip("there is neither PoCL nor the stand-in for CUDA")
        (seed(1 + part)(run) if fuzz is None else run)()
    assert len(checked) > 1
