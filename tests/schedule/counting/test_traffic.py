"""The operations and bytes of a call, as the roofline model counts them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cpu.roofline import parameter_values
from polybench.datasets import Dataset
from polybench.registry import benchmark
from polytune.pipeline import Stages, stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.counting.traffic import least_bytes, operations_of
from tests.schedule.kernels import polybench_case

SAME = ("3mm", "atax", "mvt", "trmm", "cholesky", "durbin", "lu", "floyd-warshall", "heat-3d", "jacobi-1d", "trisolv")
"""Kernels of which the suite counts the operations as they are written."""


@pytest.mark.parametrize("name", SAME)
def test_operations_are_those_that_the_suite_counts(name):
    found, made = benchmark(name), polybench_case(name).stages
    sizes = found.sizes(Dataset.MINI)
    arguments = dict(zip(found.argument_names, found.initialise(**sizes), strict=True))
    assert operations_of(made.scop, parameter_values(made.scop, arguments)) == found.operations(**sizes)


def analysed(function, *arguments) -> Stages:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return stages(function, signature_of(names, arguments))


def choices(x, y):
    for i in range(len(x)):
        if x[i] > 0.5:  # depends on data: both branches count, and the choice
            y[i] = x[i] * 2.0 + 1.0
        else:
            y[i] = -x[i]


def powers(x, y):
    for i in range(len(x)):
        y[2 * i] = x[i] ** 5 + math_free(x[i + 0])


def math_free(value):
    return value if value > 1.0 else 1.0


def while_loop(x):
    for i in range(len(x)):
        while x[i] > 1.0:
            x[i] = x[i] / 2.0


def test_operations_of_branches_and_powers():
    x, y = np.ones(10), np.ones(20)
    made = analysed(choices, x, y[:10])
    assert operations_of(made.scop, dict.fromkeys((p.name for p in made.scop.parameters), 10)) == 10 * (2 + 1)
    made = analysed(powers, x, y)
    # Five is two squares and a product; the sum and the choice are one each; subscripts are none.
    values = {p.name: 20 if "y" in p.name else 10 for p in made.scop.parameters}
    assert operations_of(made.scop, values) == 10 * (3 + 1 + 1)


def test_operations_of_what_depends_on_data_are_not_known():
    made = analysed(while_loop, np.ones(4))
    assert operations_of(made.scop, {p.name: 4 for p in made.scop.parameters}) is None


def test_bytes_of_what_is_returned():
    def doubled(x):
        y = np.empty(len(x))
        for i in range(len(x)):
            y[i] = 2.0 * x[i]
        return y

    made = analysed(doubled, np.ones(6))
    assert least_bytes(made.scop, made.counts, {p.name: 6 for p in made.scop.parameters}) == 6 * 8 * 2
