"""How many threads a call may have: what Numba, the affinity and the container leave."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from polytune.history import machine_key
from polytune.runtime.machine import Machine, machine
from polytune.runtime.teams import threads as module
from polytune.runtime.teams.threads import current_threads, maximum_threads

ROOT = Path(__file__).parents[3]

PROGRAM = """
import json, os, sys
import numpy as np
import numba
import polytune
from polytune.errors import SpaceError
from polytune.history.store import default_store
from polytune.runtime.teams.threads import current_threads, maximum_threads

@polytune.kernel(background=False)
def twice(A):
    for i in range(A.shape[0]):
        A[i] *= 2.0

def look():
    A = np.ones(50)
    for _ in range(3):
        twice(A)
    assert (A == 8.0).all()
    team = [version.name for version in twice.generated(A).module.VERSIONS if version.team][0]
    threads = next(each for each in twice.space(A).parameters if each.name == "threads")
    run = {}
    for wanted in (1, 2):
        try:
            twice.run(twice.space(A).configuration(version=team, threads=wanted), A)
            run[wanted] = True
        except SpaceError:
            run[wanted] = False
    return {
        "maximum": maximum_threads(), "current": current_threads(), "space": threads.high,
        "cases": sorted({case.threads for case in twice.tuners}), "run": run,
        "explained": twice.explain().count("; on at most 1 thread"),
    }

found = [look()]
for number in json.loads(sys.argv[1]):
    numba.set_num_threads(number)
    found.append(look())
for tuner in twice.tuners.values():
    tuner.save()
machines = sorted(row[0] for row in __import__("sqlite3").connect(default_store().path).execute(
    "select distinct machine from measurements"))
print(json.dumps([found, machines]))
"""


def run(folder: Path, limits: list[int], **surroundings: str) -> tuple[list[dict[str, Any]], list[str]]:
    """What a process of its own finds, at first and after each of some calls of ``numba.set_num_threads``."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    env = {**os.environ, "POLYTUNE_CACHE_DIR": str(folder / "kept"), "PYTHONPATH": str(ROOT), **surroundings}
    env.pop("PYTEST_XDIST_WORKER_COUNT", None)  # unless a test says so
    env.pop("NUMBA_NUM_THREADS", None) if "NUMBA_NUM_THREADS" not in surroundings else None
    ran = subprocess.run(
        [sys.executable, str(script), json.dumps(limits)], env=env, capture_output=True, text=True, timeout=500
    )
    assert ran.returncode == 0, ran.stderr
    return tuple(json.loads(ran.stdout.splitlines()[-1]))


needs_two = pytest.mark.skipif(machine().cores < 2, reason="there is one core")


@pytest.mark.slow
@needs_two
def test_team_space_and_history_have_the_threads_that_numba_has(tmp_path):
    (found,), machines = run(tmp_path, [], NUMBA_NUM_THREADS="1")
    assert (found["maximum"], found["current"], found["space"], found["cases"]) == (1, 1, 1, [1])
    assert found["run"] == {"1": True, "2": False}
    assert [each.endswith(", 1 thread") for each in machines] == [True]


@needs_two
def test_calls_follow_what_numba_is_set_to(tmp_path):
    (first, one, two), machines = run(tmp_path, [1, 2])
    assert first["current"] == first["maximum"] >= 2
    assert (one["current"], one["space"], one["run"]) == (1, 1, {"1": True, "2": False})
    assert (two["current"], two["space"], two["run"]) == (2, 2, {"1": True, "2": True})
    assert 1 in one["cases"]
    assert (first["explained"], one["explained"]) == (0, 1)
    assert any(each.endswith(", 1 thread") for each in machines)
    assert any(not each.endswith(", 1 thread") for each in machines)


def test_no_more_threads_than_cores(monkeypatch):
    maximum_threads.cache_clear()
    try:
        monkeypatch.setattr(module.numba.config, "NUMBA_NUM_THREADS", machine().cores + 5)
        assert maximum_threads() == machine().cores
        maximum_threads.cache_clear()
        monkeypatch.setattr(module.numba.config, "NUMBA_NUM_THREADS", 1)
        assert maximum_threads() == current_threads() == 1
    finally:
        maximum_threads.cache_clear()


def test_key_names_threads_where_they_are_not_the_cores():
    plain = machine_key()
    cores = int(re.search(r", (\d+) cores?,", plain)[1])
    assert machine_key(cores) == plain
    assert machine_key(cores + 1) == f"{plain}, {cores + 1} threads"
    assert machine_key(1) == (plain if cores == 1 else f"{plain}, 1 thread")


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, None),
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": " 1,4 "}, 1),
        ({"OMP_NUM_THREADS": "1000"}, None),
        ({"OMP_NUM_THREADS": "all"}, None),
        ({"OMP_NUM_THREADS": "0"}, None),
        ({"PYTEST_XDIST_WORKER_COUNT": "64"}, 1),
        ({"PYTEST_XDIST_WORKER_COUNT": "1"}, None),
    ],
)
def test_what_others_say_about_threads_is_obeyed(monkeypatch, variables, wanted):
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(module.numba.config, "NUMBA_NUM_THREADS", 1000)
    monkeypatch.setattr(module, "machine", lambda: Machine("x", "", 6, 32, ()))
    maximum_threads.cache_clear()
    try:
        assert maximum_threads() == (wanted or 6)
    finally:
        maximum_threads.cache_clear()


@pytest.mark.parametrize(("variable", "wanted"), [(None, 2), ("NUMBA_NUM_THREADS", 6), ("OMP_NUM_THREADS", 6)])
def test_processes_of_xdist_share_the_cores_unless_something_is_said(monkeypatch, variable, wanted):
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, "6")
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    monkeypatch.setattr(module.numba.config, "NUMBA_NUM_THREADS", 1000 if variable is None else 6)
    monkeypatch.setattr(module, "machine", lambda: Machine("x", "", 7, 32, ()))
    maximum_threads.cache_clear()
    try:
        assert maximum_threads() == wanted
    finally:
        maximum_threads.cache_clear()
