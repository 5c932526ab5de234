"""Fixtures of the tests of running kernels."""

import time

import pytest

from polytune.runtime.calls.settled import NOT_MADE, SettledCalls
from polytune.runtime.teams import helpers

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
    """Of each call whether it went the short way.

    A call is over when its helpers are out of it: on a busy machine one may be off its core for long, and the next call
    would go the long way.
    """
    found: list[bool] = []
    make, lead = SettledCalls.make, helpers.lead.ready()

    def awaited(mailbox, function, context, workers):
        if lead(mailbox, function, context, workers):
            while helpers.inside(mailbox):
                time.sleep(1e-4)
        return 0

    def noted(self, arguments):
        returned = make(self, arguments)
        found.append(returned is not NOT_MADE)
        return returned

    monkeypatch.setattr(SettledCalls, "make", noted)
    monkeypatch.setattr(helpers.lead, "call", awaited)
    return found
