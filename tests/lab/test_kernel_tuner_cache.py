"""Kernel Tuner's cache files, finished, under way and broken."""

from __future__ import annotations

import json
import math

import pytest

from polytune.errors import RecordingError, RecordingWarning
from polytune.lab import load
from tests.warned import of_the_code

HEADER = {
    "device_name": "Some GPU",
    "kernel_name": "convolve",
    "tune_params_keys": ["block", "unroll"],
    "tune_params": {"block": [16, 32], "unroll": [0, 1]},
    "objective": "time",
}
ENTRIES = {
    "16,0": {"block": 16, "unroll": 0, "time": 3.0, "times": [2.0, 2.0, 5.0], "GFLOP/s": 1.5},
    "16,1": {"block": 16, "unroll": 1, "time": "RuntimeFailedConfig"},
    "32,0": {"block": 32, "unroll": 0, "time": 4.0},
}


def live(entries=ENTRIES) -> str:
    """The file as Kernel Tuner writes it while it runs: an entry a line, and no end."""
    header = json.dumps({**HEADER, "cache": {}}, indent="").removesuffix("}\n}")
    return header + "".join(f'\n"{key}": {json.dumps(value)},' for key, value in entries.items())


def finished(entries=ENTRIES) -> str:
    return live(entries)[:-1] + "}\n}"


@pytest.mark.parametrize("text", [live(), live()[:-1], finished(), json.dumps({**HEADER, "cache": ENTRIES})])
def test_read_without_a_warning(write, text, recwarn):
    recorded = load(write("cache.json", text))
    assert (recorded.name, recorded.device) == ("convolve", "Some GPU")
    found = {tuple(recorded.space.configuration(i).values()): recorded.cost(i) for i in range(len(recorded))}
    assert found == {(16, 0): 0.002, (16, 1): math.inf, (32, 0): 0.004}
    assert sorted(recorded.status) == ["RuntimeFailedConfig", "ok", "ok"]
    assert not of_the_code(recwarn)


def test_a_file_cut_in_mid_line_keeps_what_is_complete(write):
    text = live()
    cut = text[: text.rindex('"time"') + 9]
    line = cut.count("\n") + 1
    with pytest.warns(RecordingWarning, match=rf"cut\.json:{line}: the file ends within this entry; the 2 before it"):
        assert len(load(write("cut.json", cut))) == 2


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"time": math.nan}, "time", "nan is no time"),
        ({"time": math.inf}, "time", "inf is no time"),
        ({"time": -1.0}, "time", "-1.0 is negative"),
        ({"time": "fast enough"}, "time", "'fast enough' stands where a number belongs"),
        ({"time": True}, "time", "True stands where"),
        ({"times": [1.0, "x"]}, "times.1", "'x' stands where a number belongs"),
        ({"times": 7}, "times", "'times' must be a list"),
        ({"block": 64}, "block", "64 is not among the values"),
        ({"block": "16"}, "block", "'16' is not among the values"),
        ({"unroll": True}, "unroll", "True is not among the values"),
    ],
)
def test_bad_values_name_file_line_and_field(write, change, field, message):
    entries = {**ENTRIES, "32,0": {**ENTRIES["32,0"], **change}}
    text = finished(entries)
    line = text[: text.index('"32,0"')].count("\n") + 1
    with pytest.raises(RecordingError) as refused:
        load(write("bad.json", text))
    assert f"bad.json:{line}, field '{field}': {message}" in str(refused.value)


@pytest.mark.parametrize(("missing", "message"), [("unroll", "no value of this parameter"), ("time", "no time")])
def test_missing_fields(write, missing, message):
    entry = {key: value for key, value in ENTRIES["32,0"].items() if key != missing}
    with pytest.raises(RecordingError, match=f"field '{missing}': .*{message}"):
        load(write("bad.json", finished({"32,0": entry})))


def test_a_header_without_values_is_refused(write):
    header = {**HEADER, "tune_params": {"block": [16, 32]}}
    with pytest.raises(RecordingError, match="'tune_params_keys' must list the parameters"):
        load(write("bad.json", json.dumps({**header, "cache": ENTRIES})))


def test_the_files_of_newer_versions(write):
    """A list of objectives, and an error in a field of its own."""
    entries = {**ENTRIES, "16,1": {"block": 16, "unroll": 1, "__error__": "CompilationFailedConfig"}}
    recorded = load(write("cache.json", json.dumps({**HEADER, "objective": ["time"], "cache": entries})))
    assert sorted(recorded.status) == ["CompilationFailedConfig", "ok", "ok"]
    with pytest.raises(RecordingError, match=r"field 'objective': there are 2 objectives"):
        load(write("cache.json", json.dumps({**HEADER, "objective": ["time", "energy"], "cache": entries})))


def test_another_objective_is_read(write):
    entries = {"16,0": {"block": 16, "unroll": 0, "time": 3.0, "kernel_time": 2.0, "times": [3.0]}}
    text = json.dumps({**HEADER, "objective": "kernel_time", "cache": entries})
    assert load(write("cache.json", text)).optimum == 0.002


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tune_params": {"block": 16, "unroll": [0, 1]}}, r"field 'tune_params\.block': 16 stands where a list"),
        ({"tune_params_keys": ["block", 3]}, "'tune_params_keys' must list the parameters"),
        ({"objective": {"time": 1}}, "field 'objective': {'time': 1} stands where text"),
    ],
)
def test_a_header_of_other_kinds_is_refused(write, change, message):
    with pytest.raises(RecordingError, match=message):
        load(write("bad.json", json.dumps({**HEADER, **change, "cache": ENTRIES})))


def test_a_time_too_large_for_any_number(write):
    entries = {**ENTRIES, "32,0": {**ENTRIES["32,0"], "time": 10**400}}
    with pytest.raises(RecordingError, match=r"field 'time': 1000.* is larger than any number"):
        load(write("bad.json", finished(entries)))
