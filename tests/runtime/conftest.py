"""Fixtures of the tests of running kernels."""

import pytest

from polytune.runtime.calls.settled import NOT_MADE, SettledCalls

SOURCE = '''\
"""Adds one to every element, in parallel: a module as code generation writes it, but small."""

from numba import njit, prange

from polytune.runtime.intrinsics.memory import view
from polytune.runtime.teams.team import claim, complete, reset, wait


@njit(error_model="numpy", nogil=True)
def worker(state, number, workers, A, n):
    A = view(A, "A", "A")
    task = claim(state, number, workers, 0, n)
    while task < n:
        A[task] += 1
        complete(state)
        task = claim(state, number, workers, 0, n)
    wait(state, n)


@njit(parallel=True, nogil=True, cache=True)
def run(threads, state, A, n):
    for number in prange(threads):
        worker(state, number, threads, A, n)
    reset(state)


@njit(cache=True)
def double(x):
    return 2 * x
'''


@pytest.fixture(scope="session")
def source() -> str:
    """The text of a generated module."""
    return SOURCE


@pytest.fixture
def made(monkeypatch) -> list[bool]:
    """Of each call whether it went the short way."""
    found: list[bool] = []
    make = SettledCalls.make

    def noted(self, arguments):
        returned = make(self, arguments)
        found.append(returned is not NOT_MADE)
        return returned

    monkeypatch.setattr(SettledCalls, "make", noted)
    return found
