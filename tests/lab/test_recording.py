"""Recorded spaces: what the readers fill and the simulation looks up."""

from __future__ import annotations

import math

import pytest

from polytune.errors import RecordingError
from polytune.lab.place import Line
from polytune.lab.recording import Recorder

HERE = Line("file.csv", 7)


def test_rows_are_those_of_the_space():
    recorder = Recorder("k", "d", ("size", "kind"))
    times = {(4, "b"): 0.5, (1, "a"): 0.25, (4, "a"): 2.0, (1, "b"): 1.0}
    for (size, kind), seconds in times.items():
        recorder.add({"size": size, "kind": kind}, [seconds], place=HERE)
    recorded = recorder.build("file.csv")
    for index in range(len(recorded)):
        configuration = recorded.space.configuration(index)
        assert recorded.cost(index) == times[configuration["size"], configuration["kind"]]
    assert recorded.optimum == 0.25
    assert recorded.space.configuration(recorded.best) == {"size": 1, "kind": "a"}
    assert recorded.parameters["size"] == (1, 4)
    assert sorted(recorded.slowdowns) == [1, 2, 4, 8]


def test_a_failure_costs_infinitely_much_and_is_kept(recorded):
    failed = [i for i in range(len(recorded)) if recorded.space.configuration(i)["a"] == 7]
    assert recorded.failed == len(failed) == 8
    assert all(math.isinf(recorded.cost(i)) and recorded.status[i] == "failed" for i in failed)
    assert not any(recorded.measurements[i] for i in failed)


def test_the_median_of_all_measurements_counts():
    recorder = Recorder("k", "", ("a",))
    recorder.add({"a": 1}, [1.0, 9.0], place=HERE)
    recorder.add({"a": 1}, (), "failed", place=HERE)
    recorder.add({"a": 1}, [2.0], place=HERE)
    recorder.add({"a": True}, [3.0], place=HERE)  # another value than 1
    recorded = recorder.build("file.csv")
    assert sorted(recorded.seconds) == [2.0, 3.0]
    assert (1.0, 9.0, 2.0) in recorded.measurements
    assert recorded.status == ("ok", "ok")


def test_a_parameter_may_be_inactive():
    recorder = Recorder("k", "", ("version", "tile"))
    recorder.add({"version": "source"}, [2.0], place=HERE)
    recorder.add({"version": "tiled", "tile": 8}, [1.0], place=HERE)
    recorded = recorder.build("file.csv")
    assert recorded.space.configuration(recorded.best) == {"version": "tiled", "tile": 8}


def test_counters_by_row():
    recorder = Recorder("k", "", ("a",))
    recorder.add({"a": 2}, [1.0], counters={"reads": 5.0}, place=HERE)
    recorder.add({"a": 1}, [2.0], place=HERE)
    recorded = recorder.build("file.csv")
    assert recorded.counters_of(recorded.best) == {"reads": 5.0}
    assert math.isnan(recorded.counters_of(1 - recorded.best)["reads"])


def test_no_counters_is_a_sentence(recorded):
    with pytest.raises(RecordingError, match="bowl has no performance counters"):
        recorded.counters_of(0)


@pytest.mark.parametrize(
    ("configuration", "times", "message"),
    [
        ({"a": 1, "c": 2}, [1.0], "file.csv:7, field 'c': there is no such parameter; they are a, b"),
        ({"a": 1, "b": None}, [1.0], "field 'b': None is no value"),
        ({"a": 1, "b": math.nan}, [1.0], "field 'b': nan is no value"),
        ({"a": 1, "b": [2]}, [1.0], r"field 'b': \[2\] is no value"),
        ({"a": 1, "b": 2}, [], "file.csv:7: the configuration ran, but no time"),
    ],
)
def test_what_cannot_be_recorded(configuration, times, message):
    with pytest.raises(RecordingError, match=message):
        Recorder("k", "", ("a", "b")).add(configuration, times, place=HERE)


def test_nothing_that_ran():
    recorder = Recorder("k", "", ("a",))
    with pytest.raises(RecordingError, match=r"file\.csv: no configuration was recorded"):
        recorder.build("file.csv")
    recorder.add({"a": 1}, (), "failed", place=HERE)
    with pytest.raises(RecordingError, match="all 1 configurations failed"):
        recorder.build("file.csv")


def test_no_time_at_all():
    recorder = Recorder("k", "", ("a",))
    recorder.add({"a": 1}, [0.0], place=HERE)
    with pytest.raises(RecordingError, match="takes no time at all"):
        recorder.build("file.csv")
