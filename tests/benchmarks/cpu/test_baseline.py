"""The baseline is checked before it is timed."""

import numpy as np
import pytest

import polytune
from benchmarks.cpu.baseline import BaselineError, Extra, derive_baseline
from polybench.benchmark import Benchmark
from polybench.datasets import Dataset


@polytune.kernel
def every_second(y):
    for i in range(0, y.shape[0], 2):
        for j in range(y.shape[1]):
            y[i, j] += i + j


def initialise(tsteps, n):
    return (np.zeros((n, 3)),)


def add_indices(y):
    i, j = np.ogrid[: y.shape[0], : y.shape[1]]
    y[::2] += (i + j)[::2]


def derive(reference):
    benchmark = Benchmark("jacobi-1d", every_second, initialise, reference, ("y",), lambda tsteps, n: n)
    return derive_baseline(benchmark, every_second.stages(), frozenset(Extra), check_at=Dataset.MINI)


def test_a_loop_that_numba_cannot_run_in_parallel_gives_way_to_the_one_inside():
    baseline = derive(add_indices)
    outer, inner = every_second.stages().scop.loops
    assert baseline.loops == (f"j (line {inner.location.line})",)
    assert "for j in prange" in baseline.source
    (note,) = baseline.notes
    assert note.startswith(f"no prange on loop i (line {outer.location.line}): ")
    assert set(baseline.extras) == {"serial", "fastmath"}
    y = np.zeros((5, 2))
    baseline.extras["serial"](y)
    assert np.array_equal(y, [[0, 1], [0, 0], [2, 3], [0, 0], [4, 5]])


def test_loops_that_give_another_result_than_the_reference_are_no_baseline():
    with pytest.raises(BaselineError, match="the result is wrong at MINI"):
        derive(lambda y: y.fill(1.0))
