"""Compile times of versions: what is measured, and how it is summed up."""

from __future__ import annotations

import pytest

from benchmarks import latency, program
from benchmarks.versions import CompileTimes, measure
from polybench.datasets import Dataset
from polybench.registry import benchmark


def test_every_version_of_a_kernel_is_compiled():
    entry = benchmark("jacobi-1d")
    space = entry.kernel.space(*entry.initialise(**entry.sizes(Dataset.MINI)))
    measured = measure("jacobi-1d")
    assert tuple(measured["versions"]) == space["version"].values
    assert all(seconds >= 0 for seconds in [measured["analysis"], *measured["versions"].values()])


def test_the_median_is_over_the_versions_of_all_kernels():
    times = CompileTimes({"a": 1.0, "b": 5.0}, {"a": {"x": 0.1, "y": 0.2}, "b": {"x": 0.3, "y": 0.7, "z": 0.9}})
    assert times.version.median == 0.3
    assert times.to_json()["versions"]["b"]["z"] == 0.9


def test_a_kernel_that_there_is_not_is_bad_usage(capsys):
    with pytest.raises(SystemExit) as ended:
        program.run(latency.app, "latency", ["gemn"])
    assert ended.value.code == 2
    assert "gemm" in capsys.readouterr().err
