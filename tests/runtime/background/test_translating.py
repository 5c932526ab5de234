"""What the application translates itself, in a thread, and what it then leaves to a process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from polytune.runtime.background import compiler as compiler_module
from polytune.runtime.background.priority import BackgroundPriority
from polytune.runtime.background.protocol import Answer
from polytune.runtime.native import translation
from polytune.runtime.teams.entries import caller, entry_of

ROOT = Path(__file__).parents[3]


class Started:
    """Stands in for the class of processes, and counts them."""

    def __init__(self) -> None:
        self.number, self.names = 0, []

    def __call__(self) -> Started:
        self.number += 1
        return self

    def wait_until_ready(self) -> None:
        pass

    def stand_behind(self, niceness: int) -> None:
        pass

    def compile(self, request) -> Answer:
        self.names.append(request.function)
        return Answer("", True)

    def end(self) -> str:
        return ""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    found = Started()
    monkeypatch.setattr(compiler_module, "WorkerProcess", found)
    return found


def test_a_function_that_can_be_translated_needs_no_process(
    load, compilers, started: Started, until: Callable[[Callable[[], bool]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, module = compilers(), load()
    compiler.expect()
    assert not compiler.provides([(module.double, 1), (module.add, 3)])
    until(lambda: compiler.provides([(module.double, 1), (module.add, 3)]))
    monkeypatch.setattr(translation, "object_code", None)
    assert caller(entry_of(module.add, 3), 3, returns=True)(1, 2, 3) == 6
    assert started.number == 0 and compiler.activity % 2 == 0


def test_a_function_that_cannot_is_left_to_a_process(
    load, compilers, started: Started, until: Callable[[Callable[[], bool]], None], caplog: pytest.LogCaptureFixture
) -> None:
    compiler, module = compilers(), load()
    caplog.set_level("INFO", "polytune")
    assert not compiler.provides([(module.double, 1), (module.impossible, 1)])
    until(lambda: compiler.provides([(module.double, 1), (module.impossible, 1)]))
    assert (started.number, started.names) == (1, ["impossible"])
    told = [record.getMessage().rpartition(" in ")[0] for record in caplog.records]
    assert told == ["compiled double beside the application", "compiled impossible beside the application"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads have one priority")
def test_it_stands_behind_the_application(
    load, compilers, started: Started, until: Callable[[Callable[[], bool]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        compiler_module, "has_address", lambda function: not seen.append(os.getpriority(os.PRIO_PROCESS, 0))
    )
    monkeypatch.setattr(compiler_module, "background_priority", BackgroundPriority())
    compiler, module = compilers(), load()
    own = os.getpriority(os.PRIO_PROCESS, 0)
    compiler.provides([(module.double, 1)], urgent=True)
    compiler.provides([(module.triple, 1)])
    until(lambda: len(seen) == 2)
    assert seen == [own, min(own + 5, 19)] and os.getpriority(os.PRIO_PROCESS, 0) == own


FORKING = """
import faulthandler, os, sys, time
import numpy as np
import polytune
from polytune.runtime.background.compiler import background


@polytune.kernel
def smoothed(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]


@polytune.kernel
def scaled(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] * 13.5 + i


def is_scaled():
    a = np.ones((40, 40))
    scaled(a)
    return a[3, 5] == 16.5


a, b = np.ones((40, 40)), np.zeros((40, 40))
smoothed(a, b)
functions = [(version.function, 3 if version.team else 1) for version in smoothed.generated(a, b).module.VERSIONS]
background.provides(functions)
for _ in range(8):
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(45, exit=True)
        os._exit(0 if is_scaled() else 1)
    assert os.waitpid(child, 0)[1] == 0
    time.sleep(0.02)
while not background.provides(functions):
    time.sleep(0.01)
assert is_scaled()
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork")
def test_a_process_that_forks_while_it_translates(tmp_path: Path) -> None:
    script = tmp_path / "application.py"
    script.write_text(textwrap.dedent(FORKING))
    surroundings = {**os.environ, "POLYTUNE_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=500,
        env=surroundings,
    )
    assert (ran.stdout, ran.returncode) == ("done\n", 0), ran.stderr


def test_what_fails_in_the_thread_costs_one_function(
    load,
    compilers,
    started: Started,
    until: Callable[[Callable[[], bool]], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The thread goes on: what is wanted next is compiled."""
    compiler, module = compilers(), load()
    caplog.set_level("INFO", "polytune")

    def has_address(function) -> bool:
        if function is module.double:
            raise KeyError("kind")
        return True

    monkeypatch.setattr(compiler_module, "has_address", has_address)
    monkeypatch.setattr(compiler, "_has_answered", True)
    assert not compiler.provides([(module.double, 1), (module.add, 3)])
    until(lambda: compiler.provides([(module.double, 1), (module.add, 3)]))
    assert compiler.failure_of(module.double, 1) == "KeyError: 'kind'" and compiler.failure_of(module.add, 3) == ""
    assert compiler.activity % 2 == 0
    assert any("gave up double beside the application" in record.getMessage() for record in caplog.records)
