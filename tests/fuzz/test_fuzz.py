"""Random programs through the whole compiler, against plain Python.

Which ones follows from polytune's sources: a commit that has passed passes again, and the next one tries others.  More
of them are tried by ``make fuzz``, and a single one, which a failure names, by ``python -m tests.fuzz``.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import polytune
from tests.fuzz.campaign import check_number
from tests.fuzz.numbered import generator_of
from tests.fuzz.workers import Worker, judge

INTERPRETED, COMPILED = 320, 16
"""How many programs are interpreted, in every version, and how many are compiled."""
AT_ONCE = 2
"""How many interpreted programs are one test."""


@functools.cache
def first_number() -> int:
    """The number of the first program, which follows from the sources."""
    digest = hashlib.sha256()
    root = Path(polytune.__file__).parent
    for path in sorted(root.glob("**/*.py")):
        digest.update(f"{path.relative_to(root)}\n".encode())
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6]) // 2 * 2


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """A process that programs run in: one that hangs or crashes is a test that fails."""
    with Worker.spawned(check_number) as found:
        yield found


def check_numbers(worker: Worker, numbers: range, compiled: bool) -> None:
    for number in numbers:
        failure = judge(worker, (number, compiled)).failure
        if failure is not None:
            share = 1 if compiled else 0
            command = f"python -m tests.fuzz --programs 1 --start {number} --compiled {share}"
            pytest.fail(f"{failure.kind}\n{failure.message}\nagain, and made small: {command}", pytrace=False)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(INTERPRETED // AT_ONCE))
def test_every_version_interpreted(part: int, worker: Worker) -> None:
    first = first_number() + part * AT_ONCE
    check_numbers(worker, range(first, first + AT_ONCE), compiled=False)


@pytest.mark.parametrize("part", range(COMPILED))
def test_default_call_compiled(part: int, worker: Worker) -> None:
    first = first_number() + INTERPRETED + part
    check_numbers(worker, range(first, first + 1), compiled=True)


def test_both_generators_have_their_share() -> None:
    first = first_number()
    generators = [generator_of(number) for number in range(first, first + INTERPRETED)]
    assert generators.count("affine") == generators.count("seeded") == INTERPRETED // 2
