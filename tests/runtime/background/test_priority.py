"""The priority of what compiles, which falls when the application calls a library with threads of its own."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.runtime.background import priority
from polytune.runtime.intrinsics import library


class Follower:
    """What is told how far to stand behind."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def stand_behind(self, niceness: int) -> None:
        self.told.append(niceness)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> priority.BackgroundPriority:
    """The priority of a process that has called nothing yet."""
    found = priority.BackgroundPriority()
    monkeypatch.setattr(library, "background_priority", found)
    library._read.cache_clear()
    return found


@polytune.kernel
def solved(A, b):
    return np.linalg.solve(A, b)


@polytune.kernel
def ordered(a):
    return np.sort(a)


def test_calls_of_linear_algebra_have_what_compiles_stand_farther_behind(fresh: priority.BackgroundPriority) -> None:
    early, late = Follower(), Follower()
    fresh.lower(early)
    ordered(np.random.default_rng(0).random(5000))
    assert early.told == [5]
    A = np.random.default_rng(0).random((100, 100)) + 100 * np.eye(100)
    np.testing.assert_allclose(A @ solved(A, A[0]), A[0])
    solved(A, A[1])
    fresh.lower(late)
    assert early.told == [5, 15] and late.told == [15]
    fresh.stand_farther()
    assert early.told == [5, 15]
