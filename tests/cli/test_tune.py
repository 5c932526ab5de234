"""``polytune tune``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import typer

from polytune.cli import console, tuning
from polytune.cli.commands.tune import parse_size
from polytune.cli.signature import complete_signature
from polytune.cli.target import load_kernel
from polytune.cli.tuning import Arguments, TuningOutcome
from polytune.environment import DEVICES
from polytune.history import default_store
from polytune.runtime.devices import discovery
from polytune.tuner import Configuration, DesignStep, VarianceRow


def test_finds_configurations_and_reports_them(run, kernels_file):
    ran = run("tune", f"{kernels_file}:shift", "--size", "n=1000", "--calls", "12", "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["kernel"], found["sizes"]) == ("shift", {"n": 1000})
    assert 1 <= found["calls"] <= 12
    durations = [entry["seconds"] for entry in found["ranking"]]
    assert durations == sorted(durations)
    assert durations[0] > 0
    assert all("version" in entry["configuration"] for entry in found["ranking"])
    assert found["default_seconds"] in durations
    assert found["speedup"] == pytest.approx(found["default_seconds"] / durations[0])


def test_table_has_the_default_once(run, kernels_file):
    ran = run("tune", f"{kernels_file}:shift", "--size", "n=500", "--calls", "5")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].split() == ["configuration", "ms", "speedup"]
    assert [line.split()[-1] for line in lines if "(the default)" in line] == ["1.00"]
    assert "calls in" in lines[-1]


def test_the_course_of_tuning_is_drawn(run, kernels_file, tmp_path):
    pytest.importorskip("matplotlib")
    options = "--size", "n=700", "--calls", "6", "--plot", str(tmp_path / "figures")
    ran = run("tune", f"{kernels_file}:shift", *options, "--json")
    assert ran.code == 0, ran.err
    names = [Path(file).name for file in ran.json["figures"]]
    assert names == ["trace-shift.png", "timeline-shift.png"]
    assert all(Path(file).stat().st_size > 1000 for file in ran.json["figures"])
    ran = run("tune", f"{kernels_file}:shift", *options, "--record", str(tmp_path / "r.jsonl"), "--sample", "3")
    assert ran.code == 2 and "--plot draws how a kernel is tuned" in ran.err


def test_unknown_size_is_refused(run, kernels_file):
    ran = run("tune", f"{kernels_file}:shift", "--size", "nn=1000")
    assert ran.code == 2
    assert "--size: shift has the sizes n; unknown: nn" in ran.err


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "has the sizes A_0, A_1; missing: A_0, A_1"),
        (["--size", "A_0=3", "--size", "A_1=-3"], "A_1 is an extent and cannot be -3"),
    ],
)
def test_sizes_that_are_missing_or_impossible_are_refused(run, kernels_file, sizes, message):
    ran = run("tune", f"{kernels_file}:scale", *sizes)
    assert ran.code == 2
    assert message in ran.err


def test_arrays_for_which_there_is_no_memory(run, kernels_file):
    ran = run("tune", f"{kernels_file}:scale", "--size", f"A_0={2**40}", "--size", f"A_1={2**16}")
    assert ran.code == 1
    assert ran.err.startswith("error: there is not enough memory: ") and "defect" not in ran.err


@pytest.mark.parametrize(
    ("text", "size"), [("n=1000", ("n", 1000)), (" C_0 = 7 ", ("C_0", 7)), ("n=0", ("n", 0)), ("n=-1", ("n", -1))]
)
def test_size(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["n", "n=", "=3", "n=x", "n=--1", "n=1.5", "2n=1", "n=²"])
def test_bad_size(text):
    with pytest.raises(typer.BadParameter, match="is not NAME=VALUE"):
        parse_size(text)


def test_bad_size_is_found_before_anything_is_imported(run, tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("1 / 0\n")
    assert run("tune", f"{file}:k", "--size", "n=many").code == 2


def test_arguments_are_put_back_before_each_call():
    array = np.arange(4.0)
    arguments = Arguments([2, array])
    seen = []

    def double(factor, values):
        seen.append(values.copy())
        values *= factor

    assert arguments.timed(double) > 0
    arguments.timed(double)
    assert np.array_equal(seen[0], seen[1])
    assert arguments.values[1] is array


def test_a_search_with_settings_and_a_seed(run, kernels_file):
    options = ("--size", "n=700", "--calls", "12", "--json")
    by_node = ("--search", "nominal=random", "--search", "numeric=genetic:population=4")
    for search in (("--search", "annealing:temperature=0.2"), by_node, ("--search", "tpe", "--seed", "7")):
        ran = run("tune", f"{kernels_file}:shift", *options, *search)
        assert ran.code == 0, ran.err
        assert ran.json["ranking"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--search", "gentic"], 1, "there is no search 'gentic'; did you mean 'genetic'"),
        (["--search", "genetic:size=3"], 1, "has no setting 'size'; it has population, mutation"),
        (["--search", "genetic", "--search", "random"], 2, "give one search for everything, or one for each node"),
        (["--search", "numeric=tpe", "--search", "numeric=random"], 2, "or one for each node, as"),
        (["--seed", "3", "--record", "x.jsonl", "--exhaustive"], 2, "--record measures without a search"),
    ],
)
def test_searches_that_make_no_sense(run, kernels_file, options, code, message):
    ran = run("tune", f"{kernels_file}:shift", "--size", "n=700", *options)
    assert (ran.code, message in " ".join(ran.err.split())) == (code, True), ran.err


def test_designed_experiments_tell_their_steps(run, kernels_file, monkeypatch):
    row = VarianceRow("tile_0", 1, 3.5, 12.25, 0.004)
    residuals = VarianceRow("Residuals", 7, 2.0)
    reason = "tile_0 keeps 32, its value in the best prediction"
    step = DesignStep(12, 400, 0.0, (row, residuals), ("1/tile_0",), {"tile_0": 32, "threads": 2}, "tile_0", reason)
    default, about = Configuration({"version": "source"}), Configuration({"version": "tiled"})
    outcome = TuningOutcome(((default, 0.5),), default, 3, 1.0, True, [(about, [step])])
    monkeypatch.setattr(tuning, "tune_kernel", lambda *arguments: outcome)
    command = ("tune", f"{kernels_file}:scale", "--size", "A_0=6", "--size", "A_1=7", "--search", "numeric=dlmt")
    lines = run(*command).out.splitlines()
    assert lines[0].strip() == "version=tiled, step 1: 12 points, 400 candidates, transform power 0"
    assert lines[2].split() == ["tile_0", "1", "3.5", "3.5", "12.25", "0.004", "**"]
    assert lines[3].split() == ["Residuals", "7", "2", "0.2857"]
    assert lines[4:7] == [
        "predicted to be the best: tile_0=32, threads=2",
        "left out, as they mean nothing: 1/tile_0",
        reason,
    ]
    (experiment,) = run(*command, "--json").json["experiments"]
    assert experiment["about"] == {"version": "tiled"} and experiment["steps"] == [step.to_json()]


@pytest.mark.parametrize(("between", "lines"), [(0.0, 3), (1000.0, 1)])
def test_progress_goes_to_standard_error_where_it_is_no_terminal(
    run, kernels_file, tmp_path, monkeypatch, between, lines
):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))  # nothing is known of it
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", between)
    ran = run("tune", f"{kernels_file}:shift", "--size", "n=500", "--calls", "4", "--json")
    assert ran.code == 0 and ran.json["calls"] <= 4
    told = ran.err.splitlines()
    assert told[0] == "shift: compiling"
    assert len(told) == 1 if lines == 1 else len(told) >= lines
    assert all(re.match(r"shift: call \d of 4, this one [\d.]+ ms, best [\d.]+ ms$", line) for line in told[1:])


def test_types_can_be_given(run, kernels_file):
    sizes = ("--size", "A_0=20", "--size", "A_1=30")
    ran = run("tune", f"{kernels_file}:scale", *sizes, "--signature", "A: float32[:, ::1]", "--calls", "3", "--json")
    assert ran.code == 0, ran.err
    tuned = [entry.kernel for entry in default_store().all() if entry.shape == "A_0=20, A_1=30"]
    kernel = load_kernel(f"{kernels_file}:scale")
    types = complete_signature(kernel.__wrapped__, "A: float32[:, ::1]")
    assert kernel.name_in_history(types) in tuned and kernel.name_in_history() not in tuned


def test_types_that_are_none_are_refused(run, kernels_file):
    ran = run("tune", f"{kernels_file}:scale", "--size", "A_0=2", "--size", "A_1=3", "--signature", "B: float32[:]")
    assert ran.code == 2 and "--signature: there is no argument 'B'" in ran.err


def test_types_go_with_recordings(run, kernels_file, tmp_path):
    command = ["tune", f"{kernels_file}:scale", "--size", "A_0=20", "--size", "A_1=30", "--sample", "2"]
    file = tmp_path / "scale.jsonl"
    assert run(*command, "--record", str(file), "--signature", "A: float32[:, ::1]").code == 0
    assert "A: float32[:, ::1]" in file.read_text()
    assert run(*command, "--record", str(file)).code == 1  # of other types


def test_devices_can_be_chosen(run, kernels_file, monkeypatch):
    monkeypatch.setenv("POLYTUNE_DEVICES", "none")  # and put back
    seen = []
    monkeypatch.setattr(discovery, "devices", lambda: seen.append(DEVICES.text) or ())
    ran = run("tune", f"{kernels_file}:shift", "--size", "n=500", "--calls", "2", "--device", "cuda:7")
    assert ran.code == 0, ran.err
    assert seen[0] == "cuda:7"


def test_devices_that_are_not_there_are_refused(run, kernels_file, monkeypatch):
    monkeypatch.setenv("POLYTUNE_DEVICES", "none")
    ran = run("tune", f"{kernels_file}:shift", "--size", "n=500", "--device", "abacus:3")
    assert ran.code == 2
    assert "--device abacus:3: POLYTUNE_DEVICES='abacus:3' names 'abacus:3'; say none, " in ran.err
