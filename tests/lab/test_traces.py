"""Traces of online tuning, from the log of trials."""

from __future__ import annotations

import pytest

from polytune.errors import SearchError
from polytune.lab.traces import draw_traces, trace_of
from polytune.tuner import Configuration, OnlineTrial, OnlineTuner
from tests.tuner.landscape import SPACE, cost

NOTHING = Configuration({})


def test_calls_between_trials_are_those_of_the_best():
    trials = [
        OnlineTrial(1, NOTHING, 3.0, ""),
        OnlineTrial(2, NOTHING, 5.0, ""),
        OnlineTrial(4, NOTHING, None, "failed"),
        OnlineTrial(5, NOTHING, 2.0, ""),
        OnlineTrial(9, NOTHING, 1.0, "after the end"),
    ]
    trace = trace_of(trials, 7)
    assert trace.seconds.tolist() == [3, 5, 3, 3, 2, 2, 2]
    assert trace.best.tolist() == [3, 3, 3, 3, 2, 2, 2]
    assert trace.trials.tolist() == [True, True, False, False, True, False, False]
    assert trace.timeline.tolist() == [3, 8, 11, 14, 16, 18, 20]
    assert trace.last_trial == 5


def test_the_trace_of_a_tuner_is_what_its_calls_took():
    tuner, took = OnlineTuner(SPACE), []
    for _ in range(300):
        configuration = tuner.choose()
        took.append(cost(configuration))
        tuner.report(configuration, took[-1])
    trace = trace_of(tuner.trials(), 300)
    assert trace.timeline[-1] == pytest.approx(sum(took), rel=0.02)
    assert trace.best[-1] == pytest.approx(tuner.best[1])
    assert trace.last_trial < 300


@pytest.mark.parametrize("trials", [[], [OnlineTrial(1, NOTHING, None, "failed")]])
def test_there_is_no_trace_of_nothing(trials):
    with pytest.raises(SearchError, match="call the kernel first"):
        trace_of(trials, 10)


def test_traces_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    one = trace_of([OnlineTrial(1, NOTHING, 3.0, ""), OnlineTrial(3, NOTHING, 1.0, "")], 5)
    files = draw_traces({"online": one, "other": one}, tmp_path / "figures", "gemm")
    assert [file.name for file in files] == ["trace-gemm.png", "timeline-gemm.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
