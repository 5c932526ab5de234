"""The kernels of the gallery, plain and compiled, and their command line."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from gallery.datasets import CATALOGUE
from gallery.registry import SUITE, benchmark, names
from polybench.benchmark import copy_arguments
from polybench.command_line import application
from polybench.data import odd_sizes, perturbed
from polybench.datasets import Dataset
from polytune.kernel import Kernel
from polytune.schedule.counting.traffic import operations_of

AT_MOST = {"fourier", "mandelbrot"}
"""The kernels whose results depend on data."""


@pytest.fixture(params=names())
def found(request):
    return benchmark(request.param)


def problems(found):
    """The suite's own problem, and another of odd sizes with other data."""
    small = found.initialise(**found.sizes(Dataset.MINI))
    odd = found.initialise(**odd_sizes(found.sizes(Dataset.MINI)))
    return small, perturbed(found, odd, np.random.default_rng(0))


def test_plain_python_does_what_the_reference_says_and_writes_just_the_outputs(found):
    for initial in problems(found):
        expected, actual = copy_arguments(initial), copy_arguments(initial)
        found.reference(*expected)
        found.kernel.__wrapped__(*actual)
        assert found.error_of(initial, expected, actual) <= found.tolerance
        # Data that the kernel leaves as they are would verify anything.
        assert not found.error_of(initial, expected, initial) <= 100 * found.tolerance
        changed = [not np.array_equal(before, after) for before, after in zip(initial, actual, strict=True)]
        assert {name for name, is_changed in zip(found.argument_names, changed, strict=True) if is_changed} == set(
            found.outputs
        )


def test_what_is_compiled_does_too(found):
    for initial in problems(found):
        expected, actual = copy_arguments(initial), copy_arguments(initial)
        found.reference(*expected)
        space = found.kernel.space(*actual)
        found.kernel.run(space.default(), *actual)
        assert found.error_of(initial, expected, actual) <= found.tolerance


def test_operations_are_those_that_the_compiler_counts(found):
    assert isinstance(found.kernel, Kernel)
    sizes = found.sizes(Dataset.SMALL)
    arguments = found.initialise(**found.sizes(Dataset.MINI))
    case = found.kernel.prepared({"version": "source"}, *arguments).case
    scop = found.kernel.stages(case.signature).scop
    values = dict(zip((parameter.name for parameter in scop.parameters), case.parameters, strict=True))
    counted = operations_of(scop, values)
    stated = found.operations(**found.sizes(Dataset.MINI))
    assert (counted is None) == (found.name == "mandelbrot")
    if found.name in AT_MOST:
        assert counted is None or counted == stated
    else:
        assert counted == stated
    assert set(sizes) == set(inspect.signature(found.operations).parameters)


def test_the_command_line_lists_and_verifies(monkeypatch):
    runner, app = CliRunner(), application(SUITE)
    listed = json.loads(runner.invoke(app, ["list", "--json"]).stdout)["kernels"]
    assert [entry["kernel"] for entry in listed] == list(CATALOGUE)
    verified = runner.invoke(app, ["verify", "transpose", "--no-strict", "--json"])
    assert verified.exit_code == 0, verified.output
    (verdict,) = json.loads(verified.stdout)["kernels"]
    assert verdict["verified"] and verdict["versions"] > 1
    unknown = runner.invoke(app, ["run", "convolve"])
    assert unknown.exit_code == 2 and "did you mean 'convolution'" in unknown.stderr
