"""Budgets, and the file of results."""

import json
import math

import pytest

from benchmarks.gpu import phases
from benchmarks.gpu.phases import Deadline, Results, deadlines


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = [100.0]
    monkeypatch.setattr(phases.time, "monotonic", lambda: now[0])
    return now


def test_deadline_passes(clock):
    deadline = Deadline(10.0)
    clock[0] += 4.0
    assert (deadline.left, deadline.is_over) == (6.0, False)
    assert deadline.part(0.5).left == 3.0
    clock[0] += 7.0
    assert (deadline.left, deadline.is_over) == (0.0, True)


def test_phases_follow_one_another_and_inherit_what_is_left(clock):
    ends = deadlines(100.0, {"first": 1.0, "second": 3.0})
    assert [end.left for end in ends.values()] == [25.0, 100.0]
    clock[0] += 5.0  # the first is done early
    assert ends["second"].left == 95.0


def test_file_is_complete_after_every_result(tmp_path):
    file = tmp_path / "out.json"
    results = Results(file, device="one")
    assert json.loads(file.read_text())["device"] == "one"
    results.put("speed", "gemm", "seconds", value=1.5)
    results.put("speed", "gemm", "flops", value=math.inf)
    results.put("speed", "atax", value={"seconds": 2.0})
    assert json.loads(file.read_text())["speed"] == {
        "gemm": {"seconds": 1.5, "flops": None},
        "atax": {"seconds": 2.0},
    }
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.json"]
