"""The two command lines, each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments):
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_a_kernel_is_compared():
    done = run("benchmarks.cpu", "trisolv", "--dataset", "mini", "--seconds", "0", "--repeats", "3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (entry,) = found["kernels"]
    assert entry["kernel"] == "trisolv"
    assert entry["agrees"]
    assert entry["baseline"]["prange"] == []
    assert entry["tuning"]["calls"] + entry["tuning"]["remembered_calls"] >= 1
    assert {name: len(sample["values"]) for name, sample in entry["seconds"].items()} == {"polytune": 3, "numba": 3}
    assert entry["speedup"] == found["minimum"] == pytest.approx(found["geometric_mean"])
    assert "trisolv" in done.stderr


def test_an_unknown_kernel_is_bad_usage():
    done = run("benchmarks.cpu", "gem")
    assert done.returncode == 2
    assert "did you mean 'gemm'" in done.stderr


def test_an_unknown_baseline_is_bad_usage():
    done = run("benchmarks.cpu", "gemm", "--also", "openmp")
    assert done.returncode == 2
    assert "'openmp'" in done.stderr


def test_the_overhead_of_a_tuned_call_is_measured():
    done = run("benchmarks.call_overhead", "100", "0")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["call"]) == len(found["bare"]) == len(found["overhead"]) == 2
    assert min(found["bare"]) > 0
    for call, bare, overhead in zip(found["call"], found["bare"], found["overhead"], strict=True):
        assert overhead == call - bare
