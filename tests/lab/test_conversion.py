"""Recorded spaces written for other tuners, and read back."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polytune.errors import RecordingError
from polytune.lab import load
from polytune.lab.conversion import convert, formats
from polytune.lab.place import Line
from polytune.lab.recording import Recorder

PLACE = Line("own", 1)


def own():
    """A kernel's recording: a parameter that some versions lack, truth values, failures, several times, counters."""
    recorder = Recorder("kernel", "machine", ("version", "tile", "packed"), code=("version",))
    for number, (version, tile, packed) in enumerate(
        [("source", None, False), ("tiled", 8, True), ("tiled", 8, False), ("tiled", 32, True), ("tiled", 64, True)]
    ):
        configuration = {"version": version, "tile": tile, "packed": packed}
        configuration = {name: value for name, value in configuration.items() if value is not None}
        counters = {"Global size": 2.0, "work__loops.sum": 10.0 * number, "expected__loops.ns": 0.1 + number}
        if tile == 64:
            recorder.add(configuration, (), "failed", place=PLACE)
        else:
            times = [1e-3 / 3 * (1 + number), 2e-3 / 7 * (1 + number)]
            recorder.add(configuration, times, "ok", counters, compilation=0.25, place=PLACE)
    return recorder.build("own")


def rows(recorded):
    """By configuration, what its row has."""
    return {
        frozenset(recorded.space.configuration(row).items()): (
            recorded.cost(row),
            recorded.measurements[row],
            recorded.counters_of(row) if recorded.counters else {},
        )
        for row in range(len(recorded))
    }


@pytest.mark.parametrize("format", ["kernel-tuner", "ktt-csv", "ktt-json", "t4"])
def test_what_is_written_is_read_back(format, tmp_path):
    recorded, file = own(), tmp_path / "space"
    assert convert(recorded, file, format) == (4 if format == "ktt-csv" else 5)
    found, again = rows(load(file)), load(file)
    for configuration, (cost, times, counters) in rows(recorded).items():
        values = dict(configuration)
        values.setdefault("tile", 0)
        if format == "ktt-csv" and math.isinf(cost):
            assert frozenset(values.items()) not in found
            continue
        cost_again, times_again, counters_again = found[frozenset(values.items())]
        assert cost_again == pytest.approx(cost, rel=1e-12)
        if format in ("t4", "kernel-tuner"):
            assert times_again == pytest.approx(times, rel=1e-12)
        elif math.isfinite(cost):
            assert counters_again == counters
    assert again.name in ("kernel", "space") and again.device in ("machine", "")


def test_every_format_is_tested():
    assert formats() == ["kernel-tuner", "ktt-csv", "ktt-json", "t4"]


@pytest.mark.parametrize(
    "name", ["2080-vectorAdd_output.csv", "2080Ti-pnpoly_output.csv.gz", "KTPnpolyOutput_3090.json.gz"]
)
def test_recordings_of_ktt_go_through_every_format(shared, name, tmp_path):
    recorded = load(shared / "ktt" / name)
    for format in formats():
        convert(recorded, tmp_path / "space", format)
        again = load(tmp_path / "space")
        assert np.sort(again.seconds)[: len(recorded) - recorded.failed] == pytest.approx(
            np.sort(recorded.seconds)[: len(recorded) - recorded.failed]
        )
        if format.startswith("ktt"):
            assert set(again.counters) == set(recorded.counters)


def test_what_a_format_cannot_hold_is_not_written(tmp_path):
    recorder = Recorder("mixed", "", ("lower", "UPPER"))
    recorder.add({"lower": 1, "UPPER": 2}, [1.0], "ok", {"plain": 3.0}, place=PLACE)
    recorded = recorder.build("mixed")
    with pytest.raises(RecordingError, match="cannot tell all parameters of mixed from counters"):
        convert(recorded, tmp_path / "mixed.csv", "ktt-csv")
    assert not (tmp_path / "mixed.csv").exists()
    assert convert(recorded, tmp_path / "mixed.json", "ktt-json") == 1
    with pytest.raises(RecordingError, match="there is no format 'xml'"):
        convert(recorded, tmp_path / "mixed.xml", "xml")


@pytest.mark.parametrize("format", ["kernel-tuner", "ktt-json", "t4"])
def test_how_long_compiling_took_is_kept(format, tmp_path):
    convert(own(), tmp_path / "space", format)
    again = load(tmp_path / "space")
    assert sorted(again.compilation) == pytest.approx([0.0, 0.25, 0.25, 0.25, 0.25])
