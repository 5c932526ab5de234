"""Helpers: a call ends when its work is done, whoever has done it; calls from several threads; forks; the end."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from numba import njit, types

from polytune.runtime.machine import machine
from polytune.runtime.teams import helpers
from polytune.runtime.teams.context_memory import ContextMemory
from polytune.runtime.teams.helpers import HelperPool, compile_team
from polytune.runtime.teams.team import STATE_LENGTH, claim, complete, fetch_add, load_acquire, wait, yield_thread

COMPLETED, STARTED, RELEASED, RUNS, SUM = (16 * k + STATE_LENGTH for k in range(5))
"""Words of the contexts here, behind the team's state."""

REGIONS, TASKS = 20, 13

PATIENCE = 60_000_000
"""The number of times that a caller looks for a helper: about a minute, as others may have the cores."""


@njit(nogil=True)
def add(context, worker, workers):
    """Adds up the numbers of all tasks in all regions."""
    fetch_add(context, RUNS, 1)
    base = 0
    for _ in range(REGIONS):
        task = claim(context, worker, workers, base, TASKS)
        while task < base + TASKS:
            fetch_add(context, SUM, task)
            complete(context)
            task = claim(context, worker, workers, base, TASKS)
        base += TASKS
        wait(context, base)


@njit(nogil=True)
def hold_helpers(context, worker, workers):
    """As ``add``, but a helper first waits until it is let go; the caller waits for a while until one has come."""
    if worker > 0:
        fetch_add(context, STARTED, 1)
        while load_acquire(context, RELEASED) == 0:
            yield_thread()
    else:
        turns = 0
        while load_acquire(context, STARTED) == 0 and turns < PATIENCE:
            yield_thread()
            turns += 1
    add(context, worker, workers)
    fetch_add(context, COMPLETED, 1)


def address(function):
    function.compile((types.int64,) * 3)
    compiled = function.overloads[(types.int64,) * 3]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)


def new_context():
    return ContextMemory(8 * (SUM + 16), None)


def words(context):
    return np.frombuffer(context.memory, np.int64)


EXPECTED = sum(range(REGIONS * TASKS))


@pytest.fixture
def pool():
    compile_team()
    found = HelperPool(3)
    yield found
    found.stop()
    assert not any(thread.is_alive() for each in found._all for thread in each._threads)


def call_with_a_helper(pool, released=False):
    """The context of a call that a helper has come to, and still holds unless it is released."""
    until(lambda: all(each.is_free for each in pool._all))
    context = new_context()
    words(context)[RELEASED] = released
    pool.run(address(hold_helpers), context, 2)
    assert words(context)[SUM] == EXPECTED
    assert words(context)[STARTED], "no helper comes"
    return context


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.001)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("rest", [0.0, 0.01], ids=["awake", "asleep"])
def test_every_task_is_worked_on_once_whether_helpers_are_awake_or_asleep(pool, workers, rest):
    for _ in range(50 if rest else 1000):
        context = new_context()
        pool.run(address(add), context, workers)
        assert words(context)[SUM] == EXPECTED and 1 <= words(context)[RUNS] <= workers
        time.sleep(rest)


def test_helpers_come_also_after_they_have_slept(pool):
    for _ in range(3):
        time.sleep(0.05)  # much longer than helpers wait on their cores
        assert words(call_with_a_helper(pool, released=True))[STARTED] == 1


def test_a_helper_that_falls_asleep_while_a_call_begins_is_woken(pool, monkeypatch):
    def lead_after_a_while(*arguments):
        time.sleep(0.005)  # much longer than a helper waits on its core
        return lead(*arguments)

    lead = helpers.lead.ready()
    monkeypatch.setattr(helpers.lead, "call", lead_after_a_while)
    for _ in range(20):
        call_with_a_helper(pool, released=True)


def test_a_helper_comes_however_long_it_had_nothing_to_do(pool):
    for turn in range(300):
        end = time.perf_counter() + 6e-6 * turn  # it falls asleep after something between half and all of that
        while time.perf_counter() < end:
            pass
        call_with_a_helper(pool, released=True)


def test_a_call_ends_without_a_helper_that_is_held_back_and_leaves_it_the_context(pool):
    held = call_with_a_helper(pool)
    assert words(held)[COMPLETED] == 1
    assert held.is_left
    # The next calls are made by the caller alone, on other contexts.
    for _ in range(3):
        context = new_context()
        pool.run(address(add), context, 2)
        assert words(context)[SUM] == EXPECTED and words(context)[RUNS] == 1 and not context.is_left
    # The helper finds nothing to do, and helps again.
    words(held)[RELEASED] = 1
    until(lambda: words(held)[COMPLETED] == 2)
    assert words(held)[SUM] == EXPECTED
    assert words(call_with_a_helper(pool, released=True))[STARTED] == 1


def test_calls_from_several_threads_at_once_have_helpers_of_their_own(pool):
    sums = []

    def often():
        for _ in range(300):
            context = new_context()
            pool.run(address(add), context, 2)
            sums.append(int(words(context)[SUM]))

    address(add)
    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sums == [EXPECTED] * 1200 and 1 <= len(pool._all) <= 4


def test_calls_within_a_call_of_another_thread_get_helpers(pool):
    held = new_context()
    caller = threading.Thread(target=pool.run, args=(address(hold_helpers), held, 2))
    caller.start()
    until(lambda: words(held)[STARTED])
    context = new_context()
    pool.run(address(add), context, 4)
    assert words(context)[SUM] == EXPECTED
    words(held)[RELEASED] = 1
    caller.join(60)
    assert words(held)[SUM] == EXPECTED


def test_where_no_thread_can_be_started_the_caller_does_all(pool, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    context = new_context()
    pool.run(address(add), context, 3)
    assert words(context)[SUM] == EXPECTED and words(context)[RUNS] == 1


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not say where threads may run")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="a core is left out only where there are others")
def test_helpers_are_kept_off_the_core_of_the_caller(pool):
    before = os.sched_getaffinity(0)
    core = max(before)
    if len(before) < 2:
        pytest.skip("there is one core for this process")
    address(add)
    pool.run(address(add), new_context(), 2)
    os.sched_setaffinity(0, {core})
    try:
        for _ in range(2):  # where the caller was is known after the call
            pool.run(address(add), new_context(), 2)
    finally:
        os.sched_setaffinity(0, before)
    helper = pool._all[0]._threads[0].native_id
    assert os.sched_getaffinity(helper) == before - {core}


@pytest.mark.parametrize("workers", [-1, 0, 5])
def test_teams_of_another_size_are_refused(pool, workers):
    with pytest.raises(ValueError, match="from 1 to 4 workers"):
        pool.run(address(add), new_context(), workers)


KERNEL = """
    import os, sys
    import numpy as np
    import polytune

    @polytune.kernel
    def scaled(A, B):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = 2.0 * A[i, j]

    A, B = np.ones((300, 300)), np.zeros((300, 300))
    two = next(c for c in [scaled.space(A, B).default()] if c["threads"] > 1)
    for _ in range(20):
        scaled.run(two, A, B)
    assert (B == 2).all()
"""


def run_python(script):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "NUMBA_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def kernel_script(tmp_path):
    """Kernels have to be in files."""
    if machine().cores < 2:
        pytest.skip("there is one core, and no choice of threads")

    def write(more):
        (tmp_path / "of_a_file.py").write_text(textwrap.dedent(KERNEL) + textwrap.dedent(more))
        return run_python(f"import runpy; runpy.run_path({str(tmp_path / 'of_a_file.py')!r}, run_name='__main__')")

    return write


def test_a_process_ends_while_helpers_wait(kernel_script):
    done = kernel_script("print('done')")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_helpers_of_its_own(kernel_script):
    done = kernel_script("""
        child = os.fork()
        B[:] = 0
        for _ in range(20):
            scaled.run(two, A, B)
        assert (B == 2).all()
        if child:
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status))
    """)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
