"""Each port, as plain Python, does what its reference says."""

import inspect

import numpy as np
import pytest

from polybench.benchmark import copy_arguments
from polybench.data import odd_sizes, perturbed
from polybench.datasets import CATALOGUE, Dataset
from polybench.registry import benchmark, names


@pytest.fixture(params=names())
def found(request):
    return benchmark(request.param)


def run_both(found, initial):
    expected, actual = copy_arguments(initial), copy_arguments(initial)
    found.reference(*expected)
    with np.errstate(invalid="ignore"):
        found.kernel.__wrapped__(*actual)
    return expected, actual


def test_the_suites_problem_is_solved(found):
    initial = found.initialise(**found.sizes(Dataset.MINI))
    expected, actual = run_both(found, initial)
    assert found.error_of(initial, expected, actual) <= found.tolerance


def test_a_perturbed_problem_of_odd_size_is_solved_and_needs_the_kernel(found):
    sizes = odd_sizes(found.sizes(Dataset.MINI))
    initial = perturbed(found, found.initialise(**sizes), np.random.default_rng(0))
    expected, actual = run_both(found, initial)
    assert found.error_of(initial, expected, actual) <= found.tolerance
    # Data that the kernel leaves as they are would verify anything.
    assert not found.error_of(initial, expected, initial) <= 100 * found.tolerance


def test_outputs_are_just_the_arrays_that_change(found):
    initial = perturbed(found, found.initialise(**found.sizes(Dataset.MINI)), np.random.default_rng(0))
    actual = copy_arguments(initial)
    found.kernel.__wrapped__(*actual)
    changed = {
        name
        for name, before, after in zip(found.argument_names, initial, actual, strict=True)
        if not np.array_equal(before, after)
    }
    assert changed == set(found.outputs)


def test_sizes_name_what_the_benchmark_asks_for(found):
    parameters = CATALOGUE[found.name].parameters
    assert set(inspect.signature(found.initialise).parameters) == set(parameters)
    assert set(inspect.signature(found.operations).parameters) == set(parameters)


@pytest.mark.parametrize(
    ("name", "dtype"), [("floyd-warshall", np.int32), ("nussinov", np.int32), ("deriche", np.float32)]
)
def test_data_that_are_not_float64(name, dtype):
    found = benchmark(name)
    arguments = found.initialise(**found.sizes(Dataset.MINI))
    _, actual = run_both(found, arguments)
    assert {np.asarray(value).dtype for value in (*arguments, *actual)} == {np.dtype(dtype)}


def test_plain_deriche_computes_in_float32():
    # All in float32, the filter differs from its float64 reference; computed in float64 and rounded once, it would not.
    found = benchmark("deriche")
    initial = found.initialise(w=64, h=64)
    expected, actual = run_both(found, initial)
    assert not np.array_equal(expected[2], actual[2])
