"""Launches of parallel functions: their thread count, calls from several threads, and after a fork."""

import os
import subprocess
import sys
import textwrap
import threading

import numba
import numpy as np
import pytest
from numba import get_num_threads, njit, prange

from polytune.runtime.threads import launch, maximum_threads, threading_layer


@njit(parallel=True, nogil=True)
def count(threads, hits, seen):
    seen[0] = get_num_threads()
    for worker in prange(threads):
        hits[worker] += 1


@pytest.mark.parametrize("threads", [1, maximum_threads()])
def test_the_thread_count_holds_for_the_launch_alone(threads):
    hits, seen = np.zeros(64, np.int64), np.zeros(1, np.int64)
    before = numba.get_num_threads()
    launch(count, threads, hits, seen)
    assert seen[0] == threads
    assert hits.sum() == threads
    assert numba.get_num_threads() == before


@pytest.mark.parametrize("threads", [0, maximum_threads() + 1])
def test_thread_counts_out_of_range_are_refused(threads):
    with pytest.raises(ValueError, match="number of threads"):
        launch(count, threads, np.zeros(64, np.int64), np.zeros(1, np.int64))
    assert threading_layer() in ("omp", "tbb", "workqueue")


def run_python(script: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


CONCURRENT = """
    import threading
    import numpy as np
    from numba import njit, prange
    from polytune.runtime.threads import launch, maximum_threads, threading_layer

    @njit(parallel=True, nogil=True)
    def add(threads, sums):
        for worker in prange(threads):
            for i in range(1000):
                sums[worker, i] += 1

    def often(sums):
        for _ in range(200):
            launch(add, maximum_threads(), sums)

    sums = [np.zeros((maximum_threads(), 1000), np.int64) for _ in range(4)]
    threads = [threading.Thread(target=often, args=(each,)) for each in sums]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((each == 200).all() for each in sums)
    print(threading_layer())
"""


def test_workqueue_survives_launches_from_several_threads():
    done = run_python(CONCURRENT, NUMBA_THREADING_LAYER="workqueue", NUMBA_NUM_THREADS="2")
    assert (done.returncode, done.stdout.strip()) == (0, "workqueue"), done.stderr


def test_launches_from_several_threads_at_once():
    results = []

    def often():
        hits, seen = np.zeros(64, np.int64), np.zeros(1, np.int64)
        for _ in range(100):
            launch(count, 1, hits, seen)
        results.append(int(hits.sum()))

    launch(count, 1, np.zeros(64, np.int64), np.zeros(1, np.int64))
    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [100] * 4


FORK = """
    import os
    import numpy as np
    from numba import njit, prange
    from polytune.errors import PolytuneError
    from polytune.runtime.threads import launch, threading_layer

    @njit(parallel=True, nogil=True)
    def run(threads, array):
        for worker in prange(threads):
            array[worker] += 1

    launch(run, 1, np.zeros(1))
    child = os.fork()
    if child == 0:
        try:
            launch(run, 1, np.zeros(1))
            print("went on", flush=True)
        except PolytuneError as error:
            print("refused" if "spawn" in str(error) else error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(threading_layer())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="GNU OpenMP and fork are Linux's")
def test_a_forked_process_is_told_what_to_do_instead_of_being_killed():
    done = run_python(FORK)
    said, layer = done.stdout.split("\n")[:2]
    assert said == ("refused" if layer == "omp" else "went on"), done.stderr
