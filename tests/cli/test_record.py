"""``polytune tune --record``."""

from __future__ import annotations

import json

import numpy as np
import pytest

from polytune.cli.recording import choose, grid_of
from polytune.errors import CompilationError, SpaceError
from polytune.kernel import Kernel
from polytune.lab import load
from polytune.tuner import Integer, Is, Nominal, Ratio, Space


def record(run, kernels_file, file, *options):
    sizes = ("--size", "A_0=4", "--size", "A_1=3")
    return run("tune", f"{kernels_file}:scale", *sizes, "--record", file, *options, "--json")


def test_everything_is_recorded(run, kernels_file, tmp_path):
    file = tmp_path / "scale.jsonl"
    ran = record(run, kernels_file, file, "--exhaustive")
    assert ran.code == 0, ran.err
    recorded = load(file)
    assert recorded.name == ran.json["kernel"] == "scale"
    assert len(recorded) > 10
    assert len(recorded) == ran.json["recorded"] == ran.json["wanted"] == ran.json["size"]
    assert ran.json["failed"] == recorded.failed == 0
    assert ran.json["best"]["seconds"] == recorded.optimum
    assert ran.json["best"]["configuration"] == recorded.space.configuration(recorded.best)
    assert all(len(times) == 5 for times in recorded.measurements)


def test_a_recording_is_gone_on_with(run, kernels_file, tmp_path):
    file = tmp_path / "scale.jsonl"
    assert record(run, kernels_file, file, "--sample", "2").json["recorded"] == 2
    before = file.read_text()
    ran = record(run, kernels_file, file, "--sample", "3")
    assert ran.json["recorded"] == 3
    assert file.read_text().startswith(before)
    other = run("tune", f"{kernels_file}:shift", "--size", "n=32", "--record", file, "--sample", "1")
    assert other.code == 1
    assert "recording of something else" in other.err


def test_a_failure_is_recorded_with_its_reason(run, kernels_file, tmp_path, monkeypatch):
    file = tmp_path / "scale.jsonl"
    compiled = Kernel.run

    def fail_in_source_order(kernel, configuration, *arguments):
        if configuration["version"] == "source":
            raise CompilationError("no such machine")
        return compiled(kernel, configuration, *arguments)

    monkeypatch.setattr(Kernel, "run", fail_in_source_order)
    ran = record(run, kernels_file, file, "--exhaustive")
    assert ran.code == 0, ran.err
    assert ran.json["failed"] == 1
    entries = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    assert [e["reason"] for e in entries if e.get("status")] == ["CompilationError: no such machine"]


def test_an_interrupt_loses_nothing(run, kernels_file, tmp_path, monkeypatch):
    file = tmp_path / "scale.jsonl"
    compiled, calls = Kernel.run, []

    def interrupt(kernel, configuration, *arguments):
        calls.append(configuration)
        if len(set(calls)) == 3:
            raise KeyboardInterrupt
        return compiled(kernel, configuration, *arguments)

    monkeypatch.setattr(Kernel, "run", interrupt)
    ran = record(run, kernels_file, file, "--exhaustive")
    assert ran.code == 0
    assert ran.json["recorded"] == 2 < ran.json["wanted"]
    assert len(file.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--exhaustive",), "need --record"),
        (("--sample", "3"), "need --record"),
        (("--record", "f.jsonl"), "--record needs --exhaustive, or --sample N"),
        (("--record", "f.jsonl", "--exhaustive", "--sample", "3"), "give one of them"),
    ],
)
def test_bad_usage(run, kernels_file, options, message):
    ran = run("tune", f"{kernels_file}:shift", "--size", "n=16", *options)
    assert ran.code == 2
    assert message in ran.err


SPACE = Space(
    [
        Nominal("version", ("tiled", "source")),
        Integer("threads", 1, 3, when=Is("version", "tiled")),
        Integer("tile", 1, 4096, logarithmic=True, default=500, when=Is("version", "tiled")),
        Ratio("share", 0.0, 1.0, default=0.32),
    ]
)


def test_the_grid_has_few_values_for_each_number():
    grid = grid_of(SPACE, 100)
    assert grid["version"] == SPACE["version"]
    assert grid["threads"] == SPACE["threads"]
    assert tuple(grid["tile"].levels) == (1, 2, 4, 8, 16, 32, 64, 128)
    assert grid["tile"].default == 128
    assert len(grid["share"].levels) == 11
    assert grid["share"].default == pytest.approx(0.3)
    for configuration in grid.enumerate():
        SPACE.validate(configuration)


def test_the_choice_begins_with_the_default_and_repeats_nothing():
    grid = grid_of(SPACE, 100)
    everything = list(choose(grid, None))
    assert len(everything) == len(set(everything)) == grid.size()
    some = list(choose(grid, 20))
    assert len(some) == len(set(some)) == 20
    assert everything[0] == some[0] == grid.default()
    assert set(choose(grid, 10**6)) == set(everything)


def test_a_huge_space_can_only_be_sampled():
    huge = Space([Integer(f"p{i}", 0, 1000) for i in range(4)])
    assert len(list(choose(huge, 5))) == 5
    with pytest.raises(SpaceError, match="take a --sample"):
        next(choose(huge, None))


def test_counters_are_recorded_and_the_search_profile_goes_by_them(run, kernels_file, tmp_path):
    file, model = tmp_path / "scale.jsonl", tmp_path / "model.json"
    assert record(run, kernels_file, file, "--exhaustive").code == 0
    recorded = load(file)
    assert (recorded.counters["source__instances.sum"] == 12).all()
    assert len(set(recorded.counters["Global size"])) == 2
    assert all(np.isfinite(values).all() for values in recorded.counters.values())
    versions = [recorded.space.configuration(row)["version"] for row in range(len(recorded))]
    assert len(set(recorded.codes)) == len(set(versions))
    kept = run(
        "simulate", file, "--search", "profile", "--budget", "5", "--repeat", "3", "--save-model", model, "--json"
    )
    assert kept.code == 0, kept.err
    used = run(
        "simulate", file, "--search", "profile", "--budget", "5", "--repeat", "3", "--trained-on", model, "--json"
    )
    assert used.json["results"] == kept.json["results"]
