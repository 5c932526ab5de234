"""Verifies kernels: every version of each against its reference, and strict mode against plain Python, bit for bit."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polybench.benchmark import Arguments, Benchmark, copy_arguments
from polybench.data import odd_sizes, perturbed
from polybench.datasets import Dataset
from polybench.plan import configurations

Report = Callable[[str], None]
"""Called with what is checked next."""


@dataclass(frozen=True)
class Verification:
    """The findings of verifying one kernel.

    Attributes:
        kernel: the suite's name of it.
        dataset: at which sizes.
        versions: how many versions of the kernel were checked, strict ones counted apart.
        max_error: the largest error, relative to the largest value, of all runs that were compared with the reference;
            infinite where a result was not finite.
        failures: a sentence for each run that failed.
    """

    kernel: str
    dataset: Dataset
    versions: int
    max_error: float
    failures: tuple[str, ...]

    @property
    def verified(self) -> bool:
        """Return whether some version was checked and none failed."""
        return self.versions > 0 and not self.failures

    def to_json(self) -> dict[str, Any]:
        """Return plain values; an error that is not finite is None, which JSON can hold."""
        return {
            "kernel": self.kernel,
            "dataset": self.dataset.value,
            "versions": self.versions,
            "verified": self.verified,
            "max_error": self.max_error if np.isfinite(self.max_error) else None,
            "failures": list(self.failures),
        }


@dataclass(frozen=True)
class _Check:
    """A problem, the kernel to solve it, and how to tell from the arguments after a call that it has."""

    title: str
    kernel: Any
    initial: Arguments
    error: Callable[[Arguments], float]
    limit: float
    strict: bool

    @property
    def unit(self) -> str:
        return "units in the last place" if self.strict else "of the largest value"


def verify(
    benchmark: Benchmark, dataset: Dataset, *, strict: bool = True, report: Report = lambda _: None, seed: int = 0
) -> Verification:
    """Check every version of a kernel.

    It runs on the suite's sizes and data, and on perturbed data of sizes that no tile divides.  The result is compared
    with the reference's.  Where ``dataset`` is MINI, the versions of the kernel's strict mode are compared with plain
    Python too, bit for bit.  A run that fails costs the kernel its verdict, and the others are still checked.

    Args:
        benchmark: whose kernel.
        dataset: the suite's sizes.
        strict: whether strict mode is checked.
        report: called before each run.
        seed: of the random configurations and data.
    """
    generator = np.random.default_rng(seed)
    versions: set[tuple[bool, Any]] = set()
    errors, failures = [0.0], []
    for check in _checks(benchmark, dataset, strict, generator):
        try:
            planned = list(configurations(check.kernel.space(*check.initial), dataset, generator))
        except Exception as problem:
            failures.append(f"{check.title}: there is no space of versions: {_sentence(problem)}")
            continue
        for configuration in planned:
            report(f"{check.title}, {configuration['version']}")
            versions.add((check.strict, configuration["version"]))
            actual = copy_arguments(check.initial)
            try:
                check.kernel.run(configuration, *actual)
            except Exception as problem:
                failures.append(f"{check.title}, {_describe(configuration)}: it did not run: {_sentence(problem)}")
                continue
            error = check.error(actual)
            if not check.strict:
                errors.append(error)
            if not error <= check.limit:
                excess = f"the error is {error:.2g} {check.unit}, not at most {check.limit:g}"
                failures.append(f"{check.title}, {_describe(configuration)}: {excess}")
    return Verification(benchmark.name, dataset, len(versions), max(errors), tuple(failures))


def _checks(benchmark: Benchmark, dataset: Dataset, strict: bool, generator: np.random.Generator) -> Iterator[_Check]:
    suite = benchmark.sizes(dataset)
    odd = odd_sizes(suite)
    problems = {
        _title("the suite's data", suite): benchmark.initialise(**suite),
        _title("perturbed data", odd): perturbed(benchmark, benchmark.initialise(**odd), generator),
    }
    for title, initial in problems.items():
        expected = copy_arguments(initial)
        benchmark.reference(*expected)
        yield _against_reference(benchmark, title, initial, expected)
        if strict and dataset is Dataset.MINI:
            yield _against_plain_python(benchmark, f"strict, {title}", initial)


def _against_reference(benchmark: Benchmark, title: str, initial: Arguments, expected: Arguments) -> _Check:
    def error(actual: Arguments) -> float:
        return benchmark.error_of(initial, expected, actual)

    return _Check(title, benchmark.kernel, initial, error, benchmark.tolerance, strict=False)


def _against_plain_python(benchmark: Benchmark, title: str, initial: Arguments) -> _Check:
    expected = copy_arguments(initial)
    with np.errstate(all="ignore"):
        benchmark.kernel.__wrapped__(*expected)

    def error(actual: Arguments) -> float:
        return max(ulps(wanted, got) for wanted, got in zip(expected, actual, strict=True))

    return _Check(title, benchmark.kernel.strict, initial, error, benchmark.strict_ulps, strict=True)


def ulps(expected: Any, actual: Any) -> float:
    """The largest difference in units in the last place of the largest value, at least 1 where a bit differs.

    NaN equals NaN, whatever its bits.
    """
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.dtype.kind != "f":
        return 0.0 if np.array_equal(expected, actual) else np.inf
    both_nan = np.isnan(expected) & np.isnan(actual)
    same = both_nan | ((expected == actual) & (np.signbit(expected) == np.signbit(actual)))
    if same.all():
        return 0.0
    with np.errstate(invalid="ignore"):
        difference = np.abs(actual - expected)[~both_nan].max()
    units = float(difference / np.spacing(np.abs(expected[~both_nan]).max()))
    return max(units, 1.0) if np.isfinite(units) else np.inf


def _title(data: str, sizes: Mapping[str, int]) -> str:
    return f"{data} ({', '.join(f'{name}={size}' for name, size in sizes.items())})"


def _describe(configuration: Mapping[str, Any]) -> str:
    others = ", ".join(f"{name}={value!r}" for name, value in configuration.items() if name != "version")
    return f"version {configuration['version']} ({others})"


def _sentence(problem: Exception) -> str:
    return traceback.format_exception_only(problem)[-1].strip()
