"""Problems beside the suite's own."""

import numpy as np

from polybench.data import odd_sizes, perturbed
from polybench.registry import benchmark


def test_odd_sizes_are_the_next_primes():
    assert odd_sizes({"a": 20, "b": 22, "c": 23, "d": 2}) == {"a": 23, "b": 23, "c": 29, "d": 3}


def test_floating_point_arrays_are_changed_within_the_perturbation():
    found = benchmark("heat-3d")
    arguments = found.initialise(tsteps=2, n=6)
    before = arguments[1].copy()
    steps, A, B = perturbed(found, arguments, np.random.default_rng(0))
    assert steps == 2
    assert np.array_equal(arguments[1], before)
    ratio = A / before
    assert 0.75 <= ratio.min() < 0.8
    assert 1.2 < ratio.max() <= 1.25
    assert not np.array_equal(A, B)


def test_the_type_stays():
    found = benchmark("deriche")
    arguments = perturbed(found, found.initialise(w=4, h=5), np.random.default_rng(0))
    assert arguments[1].dtype == np.float32


def test_integers_and_ill_conditioned_problems_stay_as_they_are():
    for name in ("nussinov", "durbin", "trisolv", "lu"):
        found = benchmark(name)
        arguments = found.initialise(n=9)
        for before, after in zip(arguments, perturbed(found, arguments, np.random.default_rng(0)), strict=True):
            assert np.array_equal(before, after)
