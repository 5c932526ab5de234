"""Telling formats apart, and the recordings that come with polytune."""

from __future__ import annotations

import pytest

from polytune.errors import RecordingError
from polytune.lab import load
from polytune.lab.loading import examples


def test_examples_are_there_and_sound():
    assert "gemm" in examples()
    for name in examples():
        recorded = load(f"example:{name}")
        assert recorded.name == name
        assert len(recorded) >= 50
        assert recorded.slowdowns[~(recorded.slowdowns == float("inf"))].max() > 1.2


def test_an_unknown_example_names_those_there_are():
    with pytest.raises(RecordingError, match=r"there is no example 'gem'; there are .*gemm"):
        load("example:gem")


def test_no_file():
    with pytest.raises(FileNotFoundError):
        load("no/such/file.csv")


def test_json_of_something_else(write):
    with pytest.raises(RecordingError, match=r"p\.json is in no format of recorded spaces"):
        load(write("p.json", '{"name": "a package"}'))


def test_options_of_other_formats_are_refused(write):
    cache = write("c.json", '{"tune_params_keys": [], "tune_params": {}, "cache": {}}')
    with pytest.raises(RecordingError, match="says itself what its times are"):
        load(cache, unit="s")
    with pytest.raises(RecordingError, match="is no T4 result file"):
        load(cache, description=cache)
