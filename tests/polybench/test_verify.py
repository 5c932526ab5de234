"""``verify`` finds what is wrong, and the real kernels pass it."""

import numpy as np
import pytest

from polybench.datasets import Dataset
from polybench.registry import benchmark
from polybench.verify import verify


def test_a_right_kernel_is_verified_in_all_its_versions(make_benchmark):
    verdict = verify(make_benchmark(), Dataset.MINI)
    assert verdict.verified
    assert verdict.failures == ()
    assert verdict.versions == 4  # two, and as many strict ones
    assert verdict.max_error == 0.0


def test_strict_mode_may_be_left_out(make_benchmark):
    assert verify(make_benchmark(), Dataset.MINI, strict=False).versions == 2
    assert verify(make_benchmark(), Dataset.SMALL).versions == 2


def test_a_wrong_version_is_named_with_its_configuration_and_error(make_benchmark):
    def spoil(configuration, is_strict, x, y):
        if configuration["version"] == "tiled" and configuration["tile_0"] == 1 and not is_strict:
            y[0] += 1

    verdict = verify(make_benchmark(spoil), Dataset.MINI)
    assert not verdict.verified
    suite, perturbed = (f for f in verdict.failures if "threads=1, tile_0=1, tile_1=8" in f)
    assert suite.startswith("the suite's data (tsteps=20, n=30), version tiled (")
    assert perturbed.startswith("perturbed data (tsteps=23, n=31), version tiled (")
    assert verdict.max_error == pytest.approx(1 / (20 + 2 * 29))
    assert f"{verdict.max_error:.2g}" in suite


def test_a_changed_input_is_a_failure(make_benchmark):
    def spoil(configuration, is_strict, x, y):
        x[0] += 1e-3

    verdict = verify(make_benchmark(spoil), Dataset.MINI, strict=False)
    assert not verdict.verified
    assert verdict.to_json()["max_error"] is None


def test_a_last_bit_counts_in_strict_mode_only(make_benchmark):
    def spoil(configuration, is_strict, x, y):
        y[-1] = np.nextafter(y[-1], np.inf)

    verdict = verify(make_benchmark(spoil), Dataset.MINI)
    assert verdict.failures
    assert all(failure.startswith("strict, ") for failure in verdict.failures)
    assert "1 units in the last place" in verdict.failures[0]
    assert verdict.max_error < 1e-15


def test_the_sign_of_zero_counts_in_strict_mode(make_benchmark):
    def spoil(configuration, is_strict, x, y):
        y[y == 0.0] = -0.0

    found = make_benchmark(spoil)
    zeros = np.zeros(4)
    object.__setattr__(found, "initialise", lambda tsteps, n: (zeros, zeros.copy()))
    assert not verify(found, Dataset.MINI).verified


def test_a_version_that_raises_does_not_hide_the_others(make_benchmark):
    def spoil(configuration, is_strict, x, y):
        if configuration["version"] == "tiled":
            raise ValueError("no such thing")

    verdict = verify(make_benchmark(spoil), Dataset.MINI, strict=False)
    assert not verdict.verified
    assert verdict.versions == 2
    assert all("it did not run: ValueError: no such thing" in failure for failure in verdict.failures)


def test_a_kernel_that_cannot_be_analysed_is_not_verified(make_benchmark, monkeypatch):
    found = make_benchmark()

    def refuse(*arguments):
        raise ValueError("cannot")

    monkeypatch.setattr(found.kernel, "space", refuse)
    verdict = verify(found, Dataset.MINI, strict=False)
    assert not verdict.verified
    assert verdict.versions == 0
    assert "there is no space of versions: ValueError: cannot" in verdict.failures[0]


def test_what_is_checked_is_reported_beforehand(make_benchmark):
    reports = []
    found = make_benchmark()
    verify(found, Dataset.MINI, strict=False, report=reports.append)
    assert len(reports) == len(found.kernel.ran)
    assert reports[0] == "the suite's data (tsteps=20, n=30), source"


@pytest.mark.parametrize(("name", "strict"), [("gemm", False), ("nussinov", False), ("trisolv", True)])
def test_compiled_kernels_are_verified(name, strict):
    verdict = verify(benchmark(name), Dataset.MINI, strict=strict)
    assert verdict.failures == ()
    assert verdict.versions >= 2
