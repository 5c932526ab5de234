"""Work that fails, crashes or never ends takes nothing else with it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.cpu.isolation import IsolationError, isolated
from tests.benchmarks.cpu import work

LONG = 120.0
ROOT = Path(__file__).parents[3]


def ends(number):
    """Whether a process is soon over."""
    status = Path("/proc", number, "status")
    end = time.monotonic() + 20
    while status.exists() and "Z (zombie)" not in status.read_text() and time.monotonic() < end:
        time.sleep(0.05)
    return not status.exists() or "Z (zombie)" in status.read_text()


def test_results_and_reports_come_back():
    reported = []
    assert isolated(work.double, 21, seconds=LONG, report=reported.append) == 42
    assert reported == ["doubling 21"]


def test_a_failure_is_told_in_a_line():
    with pytest.raises(IsolationError, match=r"^ValueError: no such number$"):
        isolated(work.fail, seconds=LONG)
    with pytest.raises(IsolationError, match="Traceback"):
        isolated(work.fail, seconds=LONG, debug=True)


def test_a_crash_is_told():
    with pytest.raises(IsolationError, match="ended by SIGSEGV"):
        isolated(work.die, seconds=LONG)


def test_what_never_ends_is_ended_with_all_that_it_started():
    started = []
    with pytest.raises(IsolationError, match="took longer than 3 s"):
        isolated(work.start_and_wait, seconds=3, report=started.append)
    assert ends(*started)


def test_nothing_is_left_when_the_process_that_waits_is_killed():
    program = "from benchmarks.cpu.isolation import isolated\nfrom tests.benchmarks.cpu import work\n"
    program += (
        "if __name__ == '__main__': isolated(work.start_and_wait, seconds=600, report=lambda t: print(t, flush=True))"
    )
    waiting = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    started = waiting.stdout.readline().strip()
    waiting.kill()
    waiting.wait()
    assert ends(started)


def test_processes_within_processes():
    assert isolated(work.nested, seconds=LONG) == "it took longer than 0.5 s"
