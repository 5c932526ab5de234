"""Kernels tuned on either platform and on both."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import program
from benchmarks.cooperative import (
    WAYS,
    Tuned,
    app,
    first_with_the_same,
    shared_over_better,
    spaces,
    table,
    timed_in_turns,
    tune,
)
from benchmarks.gpu.phases import Deadline
from benchmarks.timing import Sample, Workload
from polytune import Kernel
from polytune.tuner import Configuration

ROOT = Path(__file__).parents[3]


def double(x, y):
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i]


@pytest.fixture
def generated(opencl, monkeypatch):
    monkeypatch.setenv("POLYTUNE_DEVICES", opencl.identity)
    return Kernel(double).generated(np.ones(64), np.ones(64))


def test_a_space_for_each_platform_and_one_for_both(generated, opencl):
    found = spaces(generated, opencl)
    assert tuple(found) == WAYS
    assert "partitioned" not in found["processor"]["version"].values
    assert found["device"]["platform_0"].values == (opencl.identity,)
    assert set(found["shared"]["version"].values) == {*found["processor"]["version"].values, "partitioned"}
    # The default of each platform alone is a choice where both are.
    assert found["shared"].contains(found["processor"].default())
    assert found["shared"].contains({**found["device"].default(), "tile_0": 32})


def test_search_ends_with_the_time_and_has_measured_something(generated, opencl):
    workload = Workload((np.ones(64), np.ones(64)))
    for space in spaces(generated, opencl).values():
        found = tune(generated, space, workload, Deadline(0.2))
        assert found.explored >= 1
        assert space.contains(found.configuration)


def test_a_configuration_that_two_searches_have_come_to_is_timed_once():
    one, other = (Tuned(Configuration({"version": name}), 3, 0, True) for name in ("tiled", "fused"))
    tuned = dict(zip(WAYS, (one, other, one), strict=True))
    assert first_with_the_same(tuned) == {"processor": "processor", "device": "device", "shared": "processor"}


def test_better_platform_alone_is_what_counts():
    timed = {"processor": Sample((2.0,)), "device": Sample((4.0, 6.0, 5.0)), "shared": Sample((3.0,))}
    assert shared_over_better(timed) == 1.5


def test_functions_are_called_in_turns_to_and_fro_each_with_calls_that_do_not_count():
    called = []
    functions = {"a": lambda x: called.append("a"), "b": lambda x: called.append("b")}
    clock = iter(range(1000))
    timed = timed_in_turns(functions, Workload((np.ones(1),), lambda: next(clock)), 2)
    assert "".join(called) == "aaaabbbb" + "bbbbaaaa"
    assert {name: sample.values for name, sample in timed.items()} == {"a": (1, 1), "b": (1, 1)}


def test_table_says_where_the_winner_runs(capsys):
    configuration = {"version": "partitioned", "split": 1, "ratio_0": 0.25, "platform_0": "cuda:0", "platform_1": "cpu"}
    entry = {
        "tuned": {way: {"configuration": configuration, "explored": 7} for way in WAYS},
        "seconds": {way: {"median": 0.25} for way in WAYS},
        "shared_over_better": 1.0,
    }
    made = table(
        {
            "gemm": entry,
            "mvt": {**entry, "tuned": {w: {"configuration": {"version": "tiled"}, "explored": 1} for w in WAYS}},
        }
    )
    assert list(made.columns[-1].cells) == ["cuda:0 | cpu at 0.25", "tiled"]
    assert list(made.columns[1].cells) == ["250 ms", "250 ms"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["nothing"], "nothing"), (["--device", "cuda:99"], "cuda:99"), (["--output", "/no/x"], "/no")],
)
@pytest.mark.filterwarnings("ignore::polytune.errors.DeviceWarning")
def test_bad_usage_is_told_apart(monkeypatch, capsys, arguments, said):
    monkeypatch.setenv("POLYTUNE_DEVICES", "none")
    with pytest.raises(SystemExit, match="2"):
        program.run(app, "cooperative", arguments)
    assert said in capsys.readouterr().err


def test_smallest_comparison(opencl, tmp_path):
    out = tmp_path / "out.json"
    sizes = ("--dataset", "MINI", "--seconds", "2", "--turns", "3", "--allowed", "1000")
    command = [sys.executable, "-m", "benchmarks.cooperative", "trisolv", "--device", opencl.identity]
    done = subprocess.run(
        [*command, *sizes, "--output", str(out)], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(out.read_text())["kernels"]["trisolv"]
    assert found["shared_over_better"] > 0
    assert "trisolv" in done.stdout


def test_what_is_far_behind_is_called_in_few_turns_alone():
    now = [0.0]

    def lasting(seconds):
        def function(x):
            now[0] += seconds

        return function

    functions = {"fast": lasting(1.0), "near": lasting(2.5), "slow": lasting(9.0)}
    timed = timed_in_turns(functions, Workload((np.ones(1),), lambda: now[0]), 5)
    assert {name: len(sample.values) for name, sample in timed.items()} == {"fast": 5, "near": 5, "slow": 3}
    assert timed["slow"].median == 9.0
