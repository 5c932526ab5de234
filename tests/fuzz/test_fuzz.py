"""Random programs through the whole compiler, against plain Python.

Which ones follows from polytune's sources: a commit that has passed passes again, and the next one tries others.  More
of them are tried by ``make fuzz``, and a single one, which a failure names, by ``python -m tests.fuzz``.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import polytune
from tests.fuzz.campaign import check_number, from_generator
from tests.fuzz.numbered import (
    AFFINE,
    ARRAYS,
    DATA_EXTENTS,
    EARLY_ENDS,
    FLAGS,
    NUMBER_TYPES,
    SEEDED,
    generator_of,
)
from tests.fuzz.workers import Worker, judge

INTERPRETED = {AFFINE: 140, SEEDED: 140, ARRAYS: 40, DATA_EXTENTS: 40, EARLY_ENDS: 6, NUMBER_TYPES: 8, FLAGS: 2}
"""The number of programs of each generator that are interpreted, in every version."""
COMPILED = {AFFINE: 7, SEEDED: 7, ARRAYS: 4, DATA_EXTENTS: 3, EARLY_ENDS: 1, NUMBER_TYPES: 2, FLAGS: 1}
"""The number of programs that are compiled."""
AT_ONCE = 2
"""The number of interpreted programs in one test."""


@functools.cache
def first_number() -> int:
    """The number of the first program, which follows from the sources."""
    digest = hashlib.sha256()
    root = Path(polytune.__file__).parent
    for path in sorted(root.glob("**/*.py")):
        digest.update(f"{path.relative_to(root)}\n".encode())
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6])


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """A process that programs run in: one that hangs or crashes is a test that fails.

    It is the session's, so that each process of the tests has its own, and programs are shared out among them.
    """
    with Worker.spawned(check_number) as found:
        yield found


def numbers_of(shares: dict[str, int], skipped: dict[str, int]) -> list[int]:
    """So many numbers of each generator, from the first one on, but for some that others have."""
    found: list[int] = []
    for generator, share in shares.items():
        first = skipped.get(generator, 0)
        found += itertools.islice(from_generator(first_number(), generator), first, first + share)
    return found


def check_numbers(worker: Worker, numbers: list[int], compiled: bool) -> None:
    for number in numbers:
        failure = judge(worker, (number, compiled)).failure
        if failure is not None:
            share = 1 if compiled else 0
            command = f"python -m tests.fuzz --programs 1 --start {number} --compiled {share}"
            pytest.fail(f"{failure.kind}\n{failure.message}\nagain, and made small: {command}", pytrace=False)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(sum(INTERPRETED.values()) // AT_ONCE))
def test_every_version_interpreted(part: int, worker: Worker) -> None:
    numbers = numbers_of(INTERPRETED, {})
    check_numbers(worker, numbers[part * AT_ONCE : (part + 1) * AT_ONCE], compiled=False)


@pytest.mark.parametrize("part", range(sum(COMPILED.values())))
def test_default_call_compiled(part: int, worker: Worker) -> None:
    check_numbers(worker, [numbers_of(COMPILED, INTERPRETED)[part]], compiled=True)


def test_generators_have_their_share() -> None:
    numbers = numbers_of(INTERPRETED, {}) + numbers_of(COMPILED, INTERPRETED)
    assert len(set(numbers)) == len(numbers)
    assert Counter(map(generator_of, numbers)) == Counter(INTERPRETED) + Counter(COMPILED)
