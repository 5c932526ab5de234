"""Versions that take long to look for: whatever becomes of the process that makes them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import polytune
from polytune import kernel_modules
from polytune.runtime.background.process import WorkerProcess
from polytune.runtime.background.versions import VersionMaker, version_maker
from polytune.runtime.modules.cache import ModuleCache
from tests.deferred.kernels import (
    check_smoothed,
    gathered,
    holds,
    packed_kernel,
    smoothed,
    until,
    versions,
)
from tests.deferred.processes import HeldProcess, KilledProcess

ROOT = Path(__file__).parents[2]

needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def test_a_process_that_is_killed_leaves_it_to_a_call(makers):
    makers(KilledProcess)
    KilledProcess.started = 0
    kernel = polytune.kernel(smoothed)
    check_smoothed(kernel)
    until(lambda: not holds(kernel))
    for _ in range(3):
        check_smoothed(kernel)
    assert not holds(kernel) and len(versions(kernel)) > 2
    assert KilledProcess.started == 1


def test_what_cannot_be_started_leaves_it_to_a_call(makers, monkeypatch):
    maker = makers(WorkerProcess)
    monkeypatch.setattr(sys, "executable", "")
    kernel = polytune.kernel(smoothed)
    for _ in range(2):
        check_smoothed(kernel)
        until(lambda: not holds(kernel))
    assert len(versions(kernel)) > 2
    maker.close()
    another = polytune.kernel(gathered)
    for _ in range(2):
        out = np.zeros(3)
        another(np.arange(9.0), np.array([1, 2, -3]), out)
        np.testing.assert_array_equal(out, [1, 2, 6])


def test_what_changes_outside_is_seen_before_and_after(makers, monkeypatch):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    monkeypatch.setitem(globals(), "FACTOR", 2.0)

    def multiplied(A, B):
        for i in range(len(A)):
            B[i] = A[i] * FACTOR  # noqa: F821

    kernel = polytune.kernel(multiplied)
    B = np.zeros(5)
    try:
        kernel(np.ones(5), B)
        assert (B == 2).all()
        monkeypatch.setitem(globals(), "FACTOR", 3.0)
        kernel(np.ones(5), B)
        assert (B == 3).all()
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    kernel(np.ones(5), B)
    assert (B == 3).all()


def test_the_next_process_goes_on_from_what_one_has_left(makers, monkeypatch):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    try:
        check_smoothed(polytune.kernel(smoothed))
        cache = kernel_modules.module_cache()
        monkeypatch.setattr(kernel_modules, "module_cache", lambda: next_one)
        next_one = ModuleCache(cache.directory)
        monkeypatch.setattr(kernel_modules, "written_module", None)
        kernel = polytune.kernel(smoothed)
        check_smoothed(kernel)
        assert holds(kernel) and set(versions(kernel)) <= {"parallel", "source"}
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    check_smoothed(kernel)
    assert len(versions(kernel)) > 2
    another = polytune.kernel(smoothed)
    check_smoothed(another)
    assert not holds(another) and versions(another) == versions(kernel)


def test_threads_share_what_is_made():
    kernel = polytune.kernel(smoothed)
    wrong: list[BaseException] = []

    def work(size: int) -> None:
        try:
            for _ in range(50):
                check_smoothed(kernel, size)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(20 + number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    kernel.explain()
    check_smoothed(kernel)
    assert not holds(kernel)


@needs_forks
def test_a_child_makes_its_own(makers):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(smoothed)
    try:
        check_smoothed(kernel)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                check_smoothed(kernel)
                HeldProcess.may_answer.set()
                code = 0 if len(kernel.space(np.ones(50), np.ones(50), 3)["version"].values) > 2 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    check_smoothed(kernel)


APPLICATION = """
    import numpy as np
    import polytune
    from polytune import pipeline
    from polytune.runtime.background.versions import version_maker

    pipeline.FEW_CONSTRAINTS = -1
    pipeline.WAIT = -1.0

    @polytune.kernel
    def smoothed(A, B, steps):
        for _ in range(steps):
            for i in range(1, len(A) - 1):
                B[i] = 0.25 * A[i - 1] + 0.5 * A[i] + 0.25 * A[i + 1]
            for i in range(1, len(A) - 1):
                A[i] = B[i]

    A, B = np.ones(30), np.zeros(30)
    smoothed(A, B, 3)
    assert (A == 1).all()
    while version_maker._process is None:
        pass
    print(version_maker._process.pid)
"""


def test_nothing_is_left_of_an_application_that_ends_at_once(tmp_path):
    """It has no ``if __name__ == "__main__"``, and is not run again in another process."""
    program = tmp_path / "application.py"
    program.write_text(textwrap.dedent(APPLICATION))
    environment = {**os.environ, "POLYTUNE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=200)
    assert ran.stderr == ""
    (process,) = ran.stdout.split()
    if os.name == "posix":
        until(lambda: not _lives(int(process)), 20.0)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_process_ends_when_nothing_is_wanted():
    maker = VersionMaker(idle_seconds=0.1)
    _, packed = packed_kernel(smoothed)
    assert "VERSIONS" in maker.make(packed).result(120)
    until(lambda: maker._thread is None and maker._process is None)
    assert "VERSIONS" in maker.make(packed).result(120)
    maker.close()
    assert version_maker.is_usable
