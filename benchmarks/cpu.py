"""``python -m benchmarks.cpu``: PolyBench compiled and tuned by polytune, beside the same loops under Numba.

Exit code 0: done; 1: a kernel could not be compared, or the two results differ; 2: the command line makes no sense.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import program
from polybench.datasets import Dataset
from polybench.registry import UnknownKernelError, benchmark, check_name, names

app = program.application("cpu", "Compare PolyBench under polytune, tuned, with the same loops under Numba's prange.")


@app.command()
def cpu(
    kernels: Annotated[list[str] | None, typer.Argument(metavar="KERNEL", help="All 30 if none is named.")] = None,
    dataset: Annotated[Dataset, typer.Option(case_sensitive=False, help="The suite's sizes.")] = Dataset.LARGE,
    threads: program.Threads = None,
    seconds: Annotated[float, typer.Option(min=0, help="How long each kernel is tuned, unless it converges.")] = 60.0,
    repeats: Annotated[int, typer.Option(min=1, help="How often each contender is timed.")] = 7,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="serial|fastmath", help="A further baseline: no prange, or fastmath=True; repeatable."),
    ] = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Tune each kernel by calling it, then time it and its baseline in turns."""
    wanted = list(dict.fromkeys(kernels or names()))
    _check(wanted, also or [])
    program.limit_threads(threads)

    from benchmarks.baseline import BaselineError, Extra
    from benchmarks.comparison import Comparison, Plan, compare
    from benchmarks.summary import conclusion, summary, table, to_json
    from polytune.errors import PolytuneError

    plan = Plan(dataset, seconds, repeats, frozenset(map(Extra, also or [])))
    found: list[Comparison] = []
    failures: dict[str, str] = {}
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=program.live, transient=True, disable=not program.live.is_terminal) as progress:
        task = progress.add_task("", total=len(wanted))
        for name in wanted:

            def report(text: str, name: str = name) -> None:
                progress.update(task, description=f"{name}: {text}")

            try:
                found.append(compare(benchmark(name), plan, report))
                line = f"{name}: {found[-1].speedup:.2f} times as fast as Numba"
            except (PolytuneError, BaselineError) as problem:
                if debug:
                    raise
                line = failures[name] = f"{name}: {problem}"
            progress.advance(task)
            if not program.live.is_terminal:
                print(line, file=sys.stderr, flush=True)
    surroundings = program.surroundings()
    if as_json:
        program.print_json(
            {
                **surroundings,
                "dataset": dataset.value,
                "repeats": repeats,
                "tuning_seconds": seconds,
                "kernels": [to_json(comparison) for comparison in found],
                **summary(found),
                "failures": failures,
            }
        )
    else:
        program.results.print(program.describe_surroundings(surroundings), highlight=False)
        program.results.print(table(found))
        program.results.print("\n".join([conclusion(found), *failures.values()]), highlight=False, markup=False)
    if failures or not all(comparison.agrees for comparison in found):
        raise typer.Exit(1)


def _check(kernels: Sequence[str], extras: Sequence[str]) -> None:
    """End the process if a name is not known."""
    try:
        for name in kernels:
            check_name(name)
    except UnknownKernelError as error:
        program.fail(str(error), 2)
    for name in extras:
        if name not in ("serial", "fastmath"):
            program.fail(f"--also takes 'serial' or 'fastmath', not {name!r}.", 2)


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.cpu")
