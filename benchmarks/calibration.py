"""``python -m benchmarks.calibration``: how far the model of the first choice is right, and rates that fit better.

Runs every version of many kernels in some sizes of tiles on one thread, and compares what the model expects of them
(``polytune.runtime.tuning.prediction``).  Exit code 0: done; 1: a kernel failed; 2: the command line makes no sense.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Column, Table

from benchmarks import program

app = program.application("calibration", "Hold the model of the first choice against measurements, and fit its rates.")

NEAR = 1.15
"""The most times longer than the best that a first choice may take and count as good."""

_SECONDS = 0.06  # of measuring a configuration
_MOST = 0.6  # seconds, after which a configuration is measured no more
_OTHERS = 3  # random sizes of tiles of each version
_PRIOR_WEIGHT = 0.15  # of a rate's logarithm, beside a measurement's
_LEVEL_WEIGHT = 0.4  # of how right the times of a kernel are altogether, beside how right their order is


@dataclass(frozen=True)
class Measurement:
    """A configuration of a kernel, and what a call took.

    Attributes:
        kernel, version, sizes: which.
        own: whether the sizes are those that the version begins with.
        seconds: the shortest time of a call.
        counts: by ``polytune.runtime.tuning.work.Kind``, what it has to do.
    """

    kernel: str
    version: str
    sizes: tuple[int, ...]
    own: bool
    seconds: float
    counts: tuple[float, ...]


Kernels = Mapping[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]]
"""Functions and what makes their arguments, by name."""


def kernels_of(names: Sequence[str], *, polybench: bool) -> Kernels:
    """The kernels of the corpus of applications, and PolyBench's at MEDIUM; all where no names are given.

    Raises:
        typer.BadParameter: there is no kernel of a name.
    """
    from benchmarks.applications.case import cases
    from polybench.datasets import Dataset
    from polybench.registry import benchmark
    from polybench.registry import names as suite

    found: dict[str, Any] = {name: (case.function, case.arguments) for name, case in cases().items()}
    if polybench:
        for name in suite():
            port = benchmark(name)
            found[name] = (port.kernel.__wrapped__, _initialiser(port, Dataset.MEDIUM))
    missing = [name for name in names if name not in found]
    if missing:
        raise typer.BadParameter(f"there is no kernel {missing[0]!r}; there are {', '.join(found)}")
    return {name: each for name, each in found.items() if not names or name in names}


def _initialiser(port: Any, dataset: Any) -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(port.initialise(**port.sizes(dataset)))


def measure(name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Iterator[Measurement]:
    """Measure the versions of a kernel on one thread.

    Args:
        name: the kernel's.
        function: the kernel, as plain Python.
        arguments: of a call; the arrays are as they were before each call.
    """
    import polytune
    from polytune.errors import PolytuneError

    rng = random.Random(name)
    kernel = polytune.Kernel(function)
    accepted = kernel._accept(arguments, {})
    generated = kernel.generated(*arguments)
    invocation = generated.prepare(accepted.values, {})
    begin = [each.copy() if isinstance(each, np.ndarray) else each for each in accepted.values]
    arrays = [(now, first) for now, first in zip(accepted.values, begin, strict=True) if isinstance(now, np.ndarray)]
    for version in generated.module.VERSIONS:
        for sizes in _sizes_of(version.sizes, rng):
            configuration = generated.space.configuration(version=version.name, **sizes)
            if version.team:
                configuration = generated.space.configuration(**{**configuration, "threads": 1})
            try:
                generated.run(configuration, invocation)
            except PolytuneError:
                break
            times: list[float] = []
            began = time.perf_counter()
            while len(times) < 3 or (time.perf_counter() - began < _SECONDS and sum(times) < _MOST):
                for now, first in arrays:
                    np.copyto(now, first)
                times.append(generated.run(configuration, invocation).seconds)
            counts = generated.first_choices.prediction(invocation.parameters).counts(configuration)
            if counts is not None:
                own = sizes == version.sizes
                yield Measurement(name, version.name, tuple(sizes.values()), own, min(times), counts)
        for now, first in arrays:
            np.copyto(now, first)


def _sizes_of(own: Mapping[str, int], rng: random.Random) -> list[dict[str, int]]:
    """A version's own sizes, and some others."""
    found = [dict(own)]
    if own and not any(name.startswith("outer") for name in own):
        found += [
            {name: min(4096, max(1, int(size * 2 ** rng.uniform(-3, 3)))) for name, size in own.items()}
            for _ in range(_OTHERS)
        ]
        found.append({name: 4096 if name == list(own)[-1] else 64 for name in own})
    return found


# ---- the model


def expected(rates: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The seconds that rates (nanoseconds, by kind) expect of configurations, a row of counts each."""
    return np.maximum(counts @ rates, 1.0) * 1e-9


def fitted(measurements: Sequence[Measurement], prior: np.ndarray) -> np.ndarray:
    """Rates for which the order of a kernel's configurations is most nearly right, and little less their times.

    Residuals are logarithms: of each time against the kernel's mean, of that mean, and of each rate against the
    prior's.
    """
    from scipy.optimize import least_squares

    counts = np.array([each.counts for each in measurements])
    seconds = np.array([each.seconds for each in measurements])
    names = sorted({each.kernel for each in measurements})
    kernel = np.array([names.index(each.kernel) for each in measurements])
    sizes = np.bincount(kernel, minlength=len(names))

    def residuals(logarithms: np.ndarray) -> np.ndarray:
        errors = np.log(expected(np.exp(logarithms), counts)) - np.log(seconds)
        means = np.bincount(kernel, weights=errors, minlength=len(names)) / sizes
        within = (errors - means[kernel]) / np.sqrt(sizes[kernel])
        return np.concatenate([within, _LEVEL_WEIGHT * means, _PRIOR_WEIGHT * (logarithms - np.log(prior))])

    return np.exp(least_squares(residuals, np.log(prior), loss="soft_l1", f_scale=0.3, max_nfev=80).x)


def losses(measurements: Sequence[Measurement], rates: np.ndarray) -> dict[str, float]:
    """The time of what the rates choose over that of the best measured, by kernel."""
    found: dict[str, float] = {}
    for name in {each.kernel for each in measurements}:
        of_kernel = [each for each in measurements if each.kernel == name]
        times = expected(rates, np.array([each.counts for each in of_kernel]))
        found[name] = of_kernel[int(np.argmin(times))].seconds / min(each.seconds for each in of_kernel)
    return found


def validated(measurements: Sequence[Measurement], prior: np.ndarray, parts: int = 6) -> dict[str, float]:
    """The loss of a choice by rates that were fitted to other kernels, by kernel."""
    names = sorted({each.kernel for each in measurements})
    random.Random(0).shuffle(names)
    found: dict[str, float] = {}
    for part in range(min(parts, len(names))):
        left_out = set(names[part::parts])
        others = [each for each in measurements if each.kernel not in left_out]
        rates = fitted(others, prior) if others else prior
        found |= losses([each for each in measurements if each.kernel in left_out], rates)
    return found


# ---- the command


@app.command()
def calibration(
    kernels: Annotated[list[str] | None, typer.Argument(help="Which kernels; by default all.")] = None,
    polybench: Annotated[bool, typer.Option("--polybench", help="PolyBench's kernels at MEDIUM too.")] = False,
    fit: Annotated[bool, typer.Option("--fit", help="Fit rates to what was measured, and print them.")] = False,
    measurements: Annotated[
        Path | None, typer.Option(help="A file that --output has written: nothing more is measured.")
    ] = None,
    output: program.Output = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Measure versions of kernels on one thread, and say how far the model's choices are from the best."""
    program.check_output(output)
    if measurements is None:
        program.limit_threads(1)  # before anything imports Numba
    from polytune.runtime.tuning.prediction import RATES
    from polytune.runtime.tuning.work import Kind

    found: list[Measurement] = []
    failures: list[str] = []
    if measurements is not None:
        entries = json.loads(measurements.read_text())["measurements"]
        found = [Measurement(**{**each, "sizes": tuple(each["sizes"])}) for each in entries]
    else:
        for name, (function, arguments) in kernels_of(kernels or [], polybench=polybench).items():
            try:
                found += measure(name, function, arguments())
            except Exception as error:
                failures.append(f"{name}: {type(error).__name__}: {error}")
            if output is not None:
                output.write_text(json.dumps({"measurements": [asdict(each) for each in found]}))
    if not found:
        program.fail("; ".join(failures) or "nothing was measured", 1)
    rates = np.array([RATES[kind] for kind in Kind])
    now = losses(found, rates)
    result: dict[str, Any] = {"losses": now, "failures": failures, "measured": len(found)}
    if fit:
        result["rates"] = dict(zip((kind.name for kind in Kind), fitted(found, rates).tolist(), strict=True))
        result["validated"] = validated(found, rates)
    if as_json:
        program.print_json(result)
    else:
        program.results.print(_table(found, now), highlight=False)
        program.results.print(f"the model now: {_summary(now)}", highlight=False)
        if fit:
            program.results.print(f"rates fitted to other kernels: {_summary(result['validated'])}", highlight=False)
            for name, rate in result["rates"].items():
                program.results.print(f"    Kind.{name}: {rate:.3g},", highlight=False)
        for each in failures:
            program.results.print(each, highlight=False, markup=False)
    if failures:
        raise typer.Exit(1)


def _summary(found: Mapping[str, float]) -> str:
    good = sum(loss <= NEAR for loss in found.values())
    mean = math.exp(sum(map(math.log, found.values())) / len(found))
    return f"{good} of {len(found)} first choices within {NEAR - 1:.0%} of the best, geometric mean {mean:.3f}"


def _table(measurements: Sequence[Measurement], found: Mapping[str, float]) -> Table:
    table = Table("kernel", Column("first choice over best", justify="right"), "best", Column("", justify="right"))
    for name, loss in sorted(found.items(), key=lambda entry: -entry[1]):
        best = min((each for each in measurements if each.kernel == name), key=lambda each: each.seconds)
        sizes = ", ".join(map(str, best.sizes))
        table.add_row(name, f"{loss:.2f}", f"{best.version} {sizes}", program.duration(best.seconds))
    return table


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.calibration")
