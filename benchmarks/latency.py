"""``python -m benchmarks.latency``: the wait for the first result of a kernel and for each of its versions, and what
every call costs once it is tuned.

Exit code 0: done; 1: a process that was measured failed; 2: the command line makes no sense.
"""

from __future__ import annotations

import tempfile
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from benchmarks import program
from benchmarks.first_result import FirstResult, first_results, timed_child
from benchmarks.timing import Sample
from benchmarks.versions import CompileTimes, compile_times
from polybench.registry import UnknownKernelError, check_name, names

app = program.application("latency", "Measure first calls, compile times and the overhead of a tuned call.")


@app.command()
def latency(
    kernels: Annotated[
        list[str] | None, typer.Argument(help="Whose versions are compiled, one after the other; by default all 30.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How many processes of each kind are measured.")] = 5,
    calls: Annotated[int, typer.Option(min=1, help="How many tuned calls are measured.")] = 20_000,
    seconds: Annotated[float, typer.Option(min=0, help="How long the tiny kernel is tuned, unless it converges.")] = 60,
    threads: program.Threads = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Measure in processes of their own, each kind with a cache directory of its own."""
    program.limit_threads(threads)
    for name in kernels or ():
        try:
            check_name(name)
        except UnknownKernelError as error:
            raise typer.BadParameter(str(error)) from None
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=program.live, transient=True, disable=not program.live.is_terminal) as progress:
        task = progress.add_task("", total=None)

        def report(text: str) -> None:
            progress.update(task, description=text)

        cold, warm = first_results(repeats, report)
        report("overhead of a tuned call")
        with tempfile.TemporaryDirectory(prefix="polytune-benchmark-") as cache:
            overhead = timed_child("benchmarks.call_overhead", cache, str(calls), str(seconds))
        compiling = compile_times(kernels or names(), report)
    surroundings = program.surroundings()
    samples = {name: Sample(tuple(overhead[name])) for name in ("call", "bare", "overhead")}
    if as_json:
        program.print_json(
            {
                **surroundings,
                "nothing_cached": _to_json(cold),
                "warm_cache": _to_json(warm),
                "compiling": compiling.to_json(),
                "tuned_call": {
                    "configuration": overhead["configuration"],
                    "converged": overhead["converged"],
                    **{name: sample.to_json() for name, sample in samples.items()},
                },
            }
        )
        return
    program.results.print(program.describe_surroundings(surroundings), highlight=False)
    program.results.print(_table(cold, warm, samples))
    program.results.print(_compile_table(compiling))
    if not overhead["converged"]:
        program.results.print("The tuner had not converged when the time was up: the overhead is that of trials, too.")


def _to_json(found: FirstResult) -> dict[str, Any]:
    return {name: sample.to_json() for name, sample in vars(found).items()}


def _table(cold: FirstResult, warm: FirstResult, overhead: dict[str, Sample]) -> Table:
    rows = {
        "nothing cached: first call": cold.first_call,
        "nothing cached: from process start to first result": cold.process,
        "warm cache: from process start to first result": warm.process,
        "warm cache: imports": warm.imports,
        "warm cache: first call": warm.first_call,
        "tuned call on tiny arrays": overhead["call"],
        "bare compiled function": overhead["bare"],
        "overhead": overhead["overhead"],
    }
    table = Table(Column("gemm"), *(Column(name, justify="right") for name in ("median", "quartiles", "range", "of")))
    for name, sample in rows.items():
        low, high = map(program.duration, sample.quartiles)
        least, most = program.duration(min(sample.values)), program.duration(max(sample.values))
        table.add_row(
            name, program.duration(sample.median), f"{low} to {high}", f"{least} to {most}", str(len(sample.values))
        )
    return table


def _compile_table(compiling: CompileTimes) -> Table:
    """A line per kernel, and one for all versions of all kernels."""
    numbers = ("analysis", "versions", "median", "longest", "of version")
    table = Table(Column("compiling"), *(Column(name, justify="right") for name in numbers))
    for kernel, versions in compiling.versions.items():
        slowest = max(versions, key=lambda name: versions[name])
        median = program.duration(Sample(tuple(versions.values())).median)
        analysis, longest = program.duration(compiling.analysis[kernel]), program.duration(versions[slowest])
        table.add_row(kernel, analysis, str(len(versions)), median, longest, slowest)
    every = compiling.version
    table.add_section()
    analysis = program.duration(Sample(tuple(compiling.analysis.values())).median)
    counted, longest = str(len(every.values)), program.duration(max(every.values))
    table.add_row("all (medians)", analysis, counted, program.duration(every.median), longest, "")
    return table


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.latency")
