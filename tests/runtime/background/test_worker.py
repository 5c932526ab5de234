"""The process that compiles: what it leaves on disk, and that it leaves nothing else behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
from numba.core import types

from polytune.errors import CacheWarning
from polytune.runtime.background import process as process_module
from polytune.runtime.background.compiler import request_for
from polytune.runtime.background.priority import BackgroundPriority
from polytune.runtime.background.process import WorkerError, WorkerProcess
from polytune.runtime.background.protocol import Answer, Request
from polytune.runtime.modules.compilation import compile_for, is_on_disk
from polytune.runtime.native import translation
from polytune.runtime.teams.entries import caller, entry_of, is_kept

ROOT = Path(__file__).parents[3]
WORD = (types.int64,)

needs_signals = pytest.mark.skipif(os.name != "posix", reason="processes are ended by signals")


@pytest.fixture(scope="module")
def worker():
    process = WorkerProcess()
    process.wait_until_ready()
    yield process
    process.end()


@pytest.fixture
def numba_worker(monkeypatch):
    """A process that leaves all functions to Numba, as this one then does."""
    monkeypatch.setenv("POLYTUNE_NATIVE", "0")
    process = WorkerProcess()
    process.wait_until_ready()
    yield process
    process.end()


def test_what_it_has_translated_is_only_loaded(worker, load, monkeypatch):
    module = load()
    for function, words in ((module.double, 1), (module.add, 3)):
        assert compile_in(worker, function, words) == Answer("", True)
        assert is_kept(function) and not is_on_disk(function)
        monkeypatch.setattr(translation, "object_code", None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call = caller(entry_of(function, words), words, returns=True)
        assert call(*range(20, 20 + words)) == (40 if words == 1 else 63)


def test_object_code_that_is_damaged_is_made_again(worker, load, tmp_path):
    module = load()
    assert compile_in(worker, module.double).kept
    (file,) = tmp_path.rglob("double-*.native")
    content = file.read_bytes()
    for damaged in (content[:-100], content[:200] + b"x" + content[201:], b""):
        file.write_bytes(damaged)
        with pytest.warns(CacheWarning, match="damaged"):
            assert caller(entry_of(load().double, 1), 1, returns=True)(21) == 42
        assert file.read_bytes() == content


def compile_in(worker: WorkerProcess, function, words: int = 1) -> Answer:
    request = request_for(function, words)
    assert request is not None
    return worker.compile(request)


def test_what_it_has_compiled_is_only_loaded(numba_worker, load):
    module = load()
    for function, words in ((module.double, 1), (module.add, 3)):
        assert compile_in(numba_worker, function, words) == Answer("", True)
        assert is_on_disk(function)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile_for(function, WORD * words)
        assert function.stats.cache_hits and not function.stats.cache_misses
    assert (module.double(21), module.add(1, 2, 3)) == (42, 6)


def test_what_numba_refuses_is_said(worker, load):
    answer = compile_in(worker, load().impossible)
    assert "impossible cannot be compiled" in answer.failure
    assert not answer.kept


def test_what_it_cannot_find_or_keep_is_left_to_the_application(worker, load, tmp_path):
    module = load()
    assert worker.compile(Request("gone", str(tmp_path / "gone.py"), "double", 1)) == Answer("", False)
    assert worker.compile(Request("polytune_kernel_x", module.__file__, "nothing", 1)) == Answer("", False)


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="there are no priorities to be read")
def test_it_stands_behind_the_application(worker):
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) == own
    priority = BackgroundPriority()
    priority.lower(worker)
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) == min(own + 5, 19)
    priority.stand_farther()
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) == min(own + 15, 19)
    priority.lower(worker)
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) == min(own + 15, 19)


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="there are no priorities to be read")
def test_what_has_ended_has_no_priority(monkeypatch):
    """Its number may by then be that of another program."""
    priority, process = BackgroundPriority(), WorkerProcess("json.tool")
    priority.lower(process)
    process.end()
    monkeypatch.setattr(process_module, "stand_behind", lambda *_: pytest.fail("something else may be lowered"))
    priority.stand_farther()


def test_two_processes_that_compile_the_same_both_do_it_right(worker, load):
    """The application may run a version at once that is being compiled in the background."""
    module, other = load(), WorkerProcess()
    try:
        other.wait_until_ready()
        request = request_for(module.triple, 1)
        assert request is not None
        lines = [process._process for process in (worker, other)]
        for process in lines:
            process.stdin.write(request.line().encode())
        compile_for(module.triple, WORD)
        assert [Answer.read(process.stdout.readline().decode()) for process in lines] == [Answer("", True)] * 2
    finally:
        other.end()
    again = load()
    compile_for(again.triple, WORD)
    assert (module.triple(7), again.triple(7)) == (21, 21)


def test_what_is_damaged_before_it_is_loaded_is_compiled_again(numba_worker, load, tmp_path):
    module = load()
    assert compile_in(numba_worker, module.double).kept
    for file in tmp_path.rglob("*.nbc"):
        file.write_bytes(file.read_bytes()[:-100])
        os.utime(file, (1e9, 1e9))
    with pytest.warns(CacheWarning, match="damaged"):
        compile_for(module.double, WORD)
    assert module.double(21) == 42


def test_a_process_that_ends_says_how(load):
    process = WorkerProcess()
    process.wait_until_ready()
    process._process.kill()
    with pytest.raises(WorkerError, match="ended"):
        compile_in(process, load().double)
    assert process._process.returncode is not None


@pytest.mark.parametrize("program", ["print('something else')", "raise SystemExit(3)"])
def test_what_is_no_worker_is_not_used(monkeypatch, tmp_path, program):
    script = tmp_path / "interpreter"
    script.write_text(f"#!{sys.executable}\n{program}\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    process = WorkerProcess()
    with pytest.raises(WorkerError, match="did not start"):
        process.wait_until_ready()


@pytest.mark.parametrize("executable", [None, "", "/nowhere/python"])
def test_without_an_interpreter_there_is_no_process(monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(WorkerError):
        WorkerProcess()


APPLICATION = """
import os, sys, time
import numpy as np
import polytune
from polytune.runtime.background.compiler import background


@polytune.kernel(budget="10000 calls")
def sweep(n, a, b):
    for t in range(n):
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.25 * (a[i - 1] + 2 * a[i] + a[i + 1])
        for i in range(1, a.shape[0] - 1):
            a[i] = 0.25 * (b[i - 1] + 2 * b[i] + b[i + 1])


a, b, expected, other = (np.linspace(0.0, 1.0, 50) ** 2 for _ in range(4))


def call():
    sweep(3, a, b)
    sweep.__wrapped__(3, expected, other)
    np.testing.assert_allclose(a, expected, rtol=1e-12)


def until(is_so):
    end = time.monotonic() + 240
    while not is_so():
        assert time.monotonic() < end
        call()
        time.sleep(0.002)  # a core for the process, on whatever machine


# No "if __name__ == '__main__'" around what follows: it must not be needed.
until(lambda: background.activity % 2 == 1 and background._process is not None)
"""


def run_application(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run an application that is compiling in the background when ``program`` begins."""
    script = folder / "application.py"
    script.write_text(APPLICATION + textwrap.dedent(program))
    surroundings = {
        **os.environ,
        "POLYTUNE_CACHE_DIR": str(folder / "kept"),
        "PYTHONPATH": str(ROOT),
        "NUMBA_NUM_THREADS": "1",  # so that the process has a core, however few there are
        "POLYTUNE_NATIVE": "0",  # else there would be no process
    }
    return subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=500, env=surroundings, cwd=folder
    )


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@needs_signals
@pytest.mark.parametrize("end", ["sys.exit(0)", "os.kill(os.getpid(), 9)"])
def test_it_does_not_outlive_the_application(tmp_path, until, end):
    ran = run_application(tmp_path, f"print(background._process.pid, flush=True)\n{end}")
    assert ran.stderr == ""
    assert ran.returncode == (-signal.SIGKILL if "kill" in end else 0)
    pid = int(ran.stdout)
    until(lambda: not is_running(pid), 30)


@needs_signals
def test_calls_go_on_when_it_is_killed_and_the_version_is_tried_all_the_same(tmp_path):
    ran = run_application(
        tmp_path,
        """
        os.kill(background._process.pid, 9)
        tuner = sweep.tuner(3, a, b)
        until(lambda: tuner.statistics().explored >= 2)
        statistics = tuner.statistics()
        assert statistics.failed == 0, tuner.explain()
        print("done")
        """,
    )
    assert (ran.stdout, ran.stderr) == ("done\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_of_the_application_has_a_compiler_of_its_own(tmp_path):
    ran = run_application(
        tmp_path,
        """
        parents = background._process.pid
        child = os.fork()
        if child == 0:
            assert background._process is None and background.activity == 0
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert background._process is None or background._process.pid == parents
        until(lambda: sweep.tuner(3, a, b).statistics().explored >= 2)
        print("done")
        """,
    )
    assert (ran.stdout, ran.stderr) == ("done\n", "")


def test_nothing_of_what_is_compiled_beside_it_is_charged_to_a_call(tmp_path):
    ran = run_application(
        tmp_path,
        """
        until(lambda: sweep.tuner(3, a, b).statistics().explored >= 2)
        import json
        tuner = sweep.tuner(3, a, b)
        seen = {c["version"] for c, _ in tuner.ranking()}
        functions = {v.name: v.function for v in sweep.generated(3, a, b).module.VERSIONS}
        print(json.dumps([len(functions[name].stats.cache_misses) for name in seen]))
        """,
    )
    assert ran.stderr == ""
    misses = json.loads(ran.stdout)
    assert sorted(misses) == [0] * (len(misses) - 1) + [1], "only the first version is compiled in the application"
