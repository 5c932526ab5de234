"""The threads of NumPy's library for linear algebra, while something is compiled beside the application."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

import polytune
from polytune.runtime.background.executor import ProcessExecutor
from polytune.runtime.background.priority import BackgroundPriority
from polytune.runtime.background.process import WorkerProcess
from polytune.runtime.intrinsics import library
from polytune.runtime.intrinsics.library_threads import LibraryThreads


def in_use() -> int:
    """The most threads that a library for linear algebra has in this process."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return max((each.num_threads for each in found), default=1)


@pytest.fixture
def four_threads():
    """Libraries that have four threads, whatever the machine has."""
    libraries = ThreadpoolController().select(user_api="blas")
    if not libraries.lib_controllers:
        pytest.skip("NumPy has no library whose threads can be told")
    with libraries.limit(limits=4):
        if in_use() != 4:
            pytest.skip("the library does not take as many threads as it is told")
        yield


@pytest.mark.parametrize(("busy", "left"), [(0, 4), (1, 3), (2, 2), (9, 1)])
def test_a_thread_is_taken_for_each_worker(four_threads: None, busy: int, left: int) -> None:
    with LibraryThreads(lambda: busy).off_busy_cores():
        assert in_use() == left
    assert in_use() == 4


def test_calls_at_the_same_time_give_back_what_was_there(four_threads: None) -> None:
    busy = 2
    threads = LibraryThreads(lambda: busy)
    first, second = threads.off_busy_cores(), threads.off_busy_cores()
    first.__enter__()
    busy = 0
    second.__enter__()
    first.__exit__(None, None, None)
    assert in_use() == 2
    second.__exit__(None, None, None)
    assert in_use() == 4


def test_a_call_that_fails_gives_back_what_was_there(four_threads: None) -> None:
    with pytest.raises(ZeroDivisionError), LibraryThreads(lambda: 1).off_busy_cores():
        raise ZeroDivisionError
    assert in_use() == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_all_threads(four_threads: None) -> None:
    with LibraryThreads(lambda: 1).off_busy_cores():
        child = os.fork()
        if not child:
            os._exit(in_use())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4


class Held(ProcessExecutor[threading.Event]):
    """Does nothing until it is told to go on."""

    def __init__(self) -> None:
        super().__init__("held", 0.01)
        self.is_held = threading.Event()

    def hold(self, until: threading.Event) -> None:
        with self._lock:
            assert self._have_thread()
        self._waiting.put(until)

    def _is_busy(self) -> bool:
        return not self._waiting.empty()

    def _do(self, item: threading.Event) -> None:
        self.is_held.set()
        item.wait(60)

    def _new_process(self) -> WorkerProcess:
        raise NotImplementedError


def test_what_works_beside_the_application_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    priority = BackgroundPriority()
    monkeypatch.setattr("polytune.runtime.background.executor.background_priority", priority)
    go_on, held = threading.Event(), Held()
    assert priority.at_work() == 0
    held.hold(go_on)
    assert held.is_held.wait(60) and priority.at_work() == 1
    thread = held._thread
    go_on.set()
    if thread is not None:
        thread.join(60)
    assert priority.at_work() == 0


def solved(A, b):
    return np.linalg.solve(A, b)


@pytest.mark.parametrize(("strict", "left"), [(False, 1), (True, 4)])
def test_kernels_solve_on_the_cores_that_are_left(
    four_threads: None, monkeypatch: pytest.MonkeyPatch, strict: bool, left: int
) -> None:
    """Strict ones do not: the digits of what the library computes depend on how many threads it has."""
    seen = []

    def watched(*given: np.ndarray) -> np.ndarray:
        seen.append(in_use())
        return np.linalg.solve(*given)

    monkeypatch.setattr(library, "library_threads", LibraryThreads(lambda: 3))
    monkeypatch.setitem(library._OWN, "numpy.linalg.solve", watched)
    library._read.cache_clear()
    kernel = polytune.kernel(strict=strict)(solved)
    A = np.random.default_rng(0).random((100, 100)) + 100 * np.eye(100)
    np.testing.assert_allclose(A @ kernel(A, A[0]), A[0])
    assert seen == [left] and in_use() == 4
    library._read.cache_clear()
