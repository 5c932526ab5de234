"""Searches by the clock."""

from __future__ import annotations

import itertools
import math

import pytest

from polytune.lab.place import Line
from polytune.lab.real_time import TimedRun, histogram, histogram_text, timed_runs
from polytune.lab.recording import Recorder
from polytune.lab.run import Task

PLACE = Line("own", 1)


def own():
    """Two versions with two tiles each; compiling takes 10 s and 20 s, and one configuration fails."""
    recorder = Recorder("kernel", "machine", ("version", "tile"), code=("version",))
    for version, compilation, tile, times in [
        ("a", 10.0, 1, [1.0, 3.0]),
        ("a", 0.0, 2, [4.0]),
        ("b", 20.0, 1, [5.0]),
        ("b", 0.0, 2, []),
    ]:
        status = "ok" if times else "failed"
        recorder.add({"version": version, "tile": tile}, times, status, compilation=compilation, place=PLACE)
    return recorder.build("own")


def test_a_code_is_compiled_once_and_thinking_takes_time_too():
    recorded = own()
    ticks = itertools.count()  # each look at the clock is a second later
    (run,) = timed_runs(recorded, [Task("full", 4, 0)], 0, clock=lambda: float(next(ticks)))
    # In order: 1 s to think, 10 s to compile a, 1 + 3 s to measure; and so on.
    assert run.elapsed == (15.0, 20.0, 46.0, 47.0)
    assert run.best == (2.0, 2.0, 2.0, 2.0)
    assert run.best_at(14.9) == math.inf and run.best_at(15.0) == 2.0


def test_the_histogram_has_what_all_runs_know_at_each_moment():
    runs = [
        TimedRun(Task("s", 2, 0), (0.5, 2.5), (4.0, 1.0)),
        TimedRun(Task("s", 2, 1), (1.5, 2.0), (2.0, 2.0)),
        TimedRun(Task("t", 1, 0), (3.0,), (math.inf,)),
    ]
    first, second, third = histogram(runs)
    assert (first.seconds, first.mean, first.deviation, first.runs) == (1.0, 4.0, 0.0, 1)
    assert (second.mean, second.least, second.most, second.runs) == (3.0, 2.0, 4.0, 2)
    assert second.deviation == pytest.approx(math.sqrt(2))
    assert (third.mean, third.least, third.most) == (1.5, 1.0, 2.0)
    lines = histogram_text([second]).splitlines()
    assert lines == ["search,seconds,mean,standard deviation,minimum,maximum,runs", "s,2,3,1.41421356,2,4,2"]
    assert next(row.seconds for row in histogram(runs, 0.5)) == 0.5
