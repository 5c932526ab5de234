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
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Column, Table

from benchmarks import program
from benchmarks.rates import NEAR, Measurement, fitted, losses, mean_of, text_of, validated
from polybench.datasets import Dataset

app = program.application("calibration", "Hold the model of the first choice against measurements, and fit its rates.")

_ROUNDS = 3  # in which all configurations of a kernel are measured, for a machine is slower at times
_SECONDS = 0.03  # of measuring a configuration in each
_MOST = 0.4  # seconds, after which a configuration is measured no more
_OTHERS = 3  # random sizes of tiles of each version


RATES_FILE = Path(__file__).parent.parent / "polytune" / "runtime" / "tuning" / "rates.py"
"""The file in which polytune has its rates."""

Kernels = Mapping[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]]
"""Functions and what makes their arguments, by name."""


def kernels_of(names: Sequence[str], *, polybench: bool, dataset: Dataset = Dataset.MEDIUM) -> Kernels:
    """The kernels of the corpus of applications, and PolyBench's; all where no names are given.

    Args:
        names: of some of them.
        polybench: whether PolyBench's are among them.
        dataset: in which size these are.

    Raises:
        typer.BadParameter: there is no kernel of a name.
    """
    from benchmarks.applications.case import cases
    from polybench.registry import benchmark
    from polybench.registry import names as suite

    found: dict[str, Any] = {name: (case.function, case.arguments) for name, case in cases().items()}
    if polybench:
        for name in suite():
            port = benchmark(name)
            found[name] = (port.kernel.__wrapped__, _initialiser(port, dataset))
    missing = [name for name in names if name not in found]
    if missing:
        raise typer.BadParameter(f"there is no kernel {missing[0]!r}; there are {', '.join(found)}")
    return {name: each for name, each in found.items() if not names or name in names}


def _initialiser(port: Any, dataset: Any) -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(port.initialise(**port.sizes(dataset)))


def measure(
    name: str, function: Callable[..., Any], arguments: tuple[Any, ...], *, others: int = _OTHERS
) -> Iterator[Measurement]:
    """Measure the versions of a kernel on one thread.

    Args:
        name: the kernel's.
        function: the kernel, as plain Python.
        arguments: of a call; the arrays are as they were before each call.
        others: how many random sizes of tiles each version is measured in beside its own, with one of long rows; 0 for
            its own sizes alone.
    """
    from polytune.errors import PolytuneError

    rng = random.Random(name)
    values, generated, invocation = _prepared(function, arguments)
    prediction = generated.first_choices.prediction(invocation.parameters)
    begin = [each.copy() if isinstance(each, np.ndarray) else each for each in values]
    arrays = [(now, first) for now, first in zip(values, begin, strict=True) if isinstance(now, np.ndarray)]
    chosen = [
        (version, sizes) for version in generated.module.VERSIONS for sizes in _sizes_of(version.sizes, rng, others)
    ]
    found: dict[int, Measurement] = {}
    failed: set[str] = set()
    for number in (number for _ in range(_ROUNDS) for number in range(len(chosen))):
        version, sizes = chosen[number]
        configuration = _configuration(generated, version, sizes)
        counts = prediction.counts(configuration)
        if version.name in failed or counts is None:
            continue
        try:
            generated.run(configuration, invocation)
        except PolytuneError:
            failed.add(version.name)
            continue
        times: list[float] = []
        began = time.perf_counter()
        while len(times) < 3 or (time.perf_counter() - began < _SECONDS and sum(times) < _MOST):
            for now, first in arrays:
                np.copyto(now, first)
            times.append(generated.run(configuration, invocation).seconds)
        least = min(*times, found[number].seconds if number in found else math.inf)
        found[number] = Measurement(name, version.name, tuple(sizes.values()), sizes == version.sizes, least, counts)
    for now, first in arrays:
        np.copyto(now, first)
    yield from found.values()


def recounted(
    measurements: Sequence[Measurement], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> Iterator[Measurement]:
    """Count anew what a kernel's configurations have to do, for times that were measured before counts changed; those
    of versions that there are no more are left out.

    Args:
        measurements: of the kernel.
        function: the kernel, as plain Python.
        arguments: of a call.
    """
    _, generated, invocation = _prepared(function, arguments)
    prediction = generated.first_choices.prediction(invocation.parameters)
    versions = {version.name: version for version in generated.module.VERSIONS}
    for each in measurements:
        version = versions.get(each.version)
        if version is not None and len(version.sizes) == len(each.sizes):
            sizes = dict(zip(version.sizes, each.sizes, strict=True))
            counts = prediction.counts(_configuration(generated, version, sizes))
            if counts is not None:
                yield replace(each, counts=counts)


def _prepared(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Sequence[Any], Any, Any]:
    """The values of a kernel's arguments, its generated code, and a call of it."""
    import polytune

    kernel = polytune.Kernel(function)
    values = kernel._accept(arguments, {}).values
    generated = kernel.generated(*arguments)
    return values, generated, generated.prepare(values, {})


def _configuration(generated: Any, version: Any, sizes: Mapping[str, int]) -> Any:
    """A version in some sizes of tiles, on one thread."""
    threads = {"threads": 1} if version.team else {}
    return generated.space.configuration(version=version.name, **sizes, **threads)


def _sizes_of(own: Mapping[str, int], rng: random.Random, others: int) -> list[dict[str, int]]:
    """A version's own sizes, and some others."""
    found = [dict(own)]
    if others and own and not any(name.startswith("outer") for name in own):
        found += [
            {name: min(4096, max(1, int(size * 2 ** rng.uniform(-3, 3)))) for name, size in own.items()}
            for _ in range(others)
        ]
        found.append({name: 4096 if name == list(own)[-1] else 64 for name in own})
    return found


# ---- the command


@app.command()
def calibration(
    kernels: Annotated[list[str] | None, typer.Argument(help="Which kernels; by default all.")] = None,
    polybench: Annotated[bool, typer.Option("--polybench", help="PolyBench's kernels too.")] = False,
    dataset: Annotated[
        Dataset, typer.Option(help="The size of PolyBench's problems.", case_sensitive=False)
    ] = Dataset.MEDIUM,
    own: Annotated[
        bool, typer.Option("--own", help="Versions in their own sizes of tiles alone, which takes a fifth of the time.")
    ] = False,
    fit: Annotated[bool, typer.Option("--fit", help="Fit rates to what was measured, and print them.")] = False,
    measurements: Annotated[
        Path | None, typer.Option(help="A file that --output has written: nothing more is measured.")
    ] = None,
    recount: Annotated[
        bool, typer.Option("--recount", help="Count anew what the configurations in that file have to do.")
    ] = False,
    install: Annotated[
        bool,
        typer.Option("--install", help="Write the fitted rates into polytune, if they choose better than those now."),
    ] = False,
    output: program.Output = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Measure versions of kernels on one thread, and say how far the model's choices are from the best."""
    program.check_output(output)
    if measurements is None:
        program.limit_threads(1)  # before anything imports Numba
    from polytune.runtime.tuning.rates import RATES
    from polytune.runtime.tuning.work import Kind

    failures: list[str] = []
    found: list[Measurement] = []
    read = _read(measurements)
    if read and not recount:
        found = read
    else:
        chosen = kernels_of(kernels or [], polybench=polybench or recount, dataset=dataset)
        for each in _entered(chosen, read, failures, others=0 if own else _OTHERS):
            found += each
            if output is not None:
                output.write_text(json.dumps({"measurements": [asdict(entry) for entry in found]}))
    if not found:
        program.fail("; ".join(failures) or "nothing was measured", 1)
    rates = np.array([RATES[kind] for kind in Kind])
    now = losses(found, rates)
    result: dict[str, Any] = {"losses": now, "failures": failures, "measured": len(found)}
    is_better = False
    if fit or install:
        new = fitted(found, rates)
        result["rates"] = dict(zip((kind.name for kind in Kind), new.tolist(), strict=True))
        result["fitted"], result["validated"] = losses(found, new), validated(found, rates)
        is_better = mean_of(result["fitted"]) < mean_of(now) and mean_of(result["validated"]) <= mean_of(now)
    if install:
        result["installed"] = is_better
        if is_better:
            RATES_FILE.write_text(text_of(result["rates"]))
    if as_json:
        program.print_json(result)
    else:
        _print(found, result)
    if failures:
        raise typer.Exit(1)


def _read(file: Path | None) -> list[Measurement]:
    entries = json.loads(file.read_text())["measurements"] if file is not None else []
    return [Measurement(**{**each, "sizes": tuple(each["sizes"])}) for each in entries]


def _entered(
    kernels: Kernels, read: Sequence[Measurement], failures: list[str], *, others: int
) -> Iterator[list[Measurement]]:
    """The measurements of each kernel: those that were read, counted anew, or new ones where none were.

    Args:
        kernels: which.
        read: what a file has.
        failures: what went wrong is added to these.
        others: as in `measure`.
    """
    for name, (function, arguments) in kernels.items():
        known = [each for each in read if each.kernel == name]
        try:
            if known:
                yield list(recounted(known, function, arguments()))
            elif not read:
                yield list(measure(name, function, arguments(), others=others))
        except Exception as error:
            failures.append(f"{name}: {type(error).__name__}: {error}")


def _print(measurements: Sequence[Measurement], result: Mapping[str, Any]) -> None:
    lines = [f"the model now: {_summary(result['losses'])}"]
    if "rates" in result:
        lines.append(f"fitted rates: {_summary(result['fitted'])}")
        lines.append(f"rates fitted to other kernels: {_summary(result['validated'])}")
        lines += [f"    Kind.{name}: {rate:.3g}," for name, rate in result["rates"].items()]
    if "installed" in result:
        lines.append(f"written to {RATES_FILE}" if result["installed"] else "not written: they choose no better")
    program.results.print(_table(measurements, result["losses"]), highlight=False)
    for line in (*lines, *result["failures"]):
        program.results.print(line, highlight=False, markup=False)


def _summary(found: Mapping[str, float]) -> str:
    good = sum(loss <= NEAR for loss in found.values())
    return (
        f"{good} of {len(found)} first choices within {NEAR - 1:.0%} of the best, geometric mean {mean_of(found):.3f}"
    )


def _table(measurements: Sequence[Measurement], found: Mapping[str, float]) -> Table:
    table = Table("kernel", Column("first choice over best", justify="right"), "best", Column("", justify="right"))
    for name, loss in sorted(found.items(), key=lambda entry: -entry[1]):
        best = min((each for each in measurements if each.kernel == name), key=lambda each: each.seconds)
        sizes = ", ".join(map(str, best.sizes))
        table.add_row(name, f"{loss:.2f}", f"{best.version} {sizes}", program.duration(best.seconds))
    return table


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.calibration")
