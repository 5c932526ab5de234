"""``python -m benchmarks.applications``: programs of one to three seconds under polytune, and the same under Numba.

Exit code 0: done; 1: a process failed or a result was wrong; 2: the command line makes no sense.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from benchmarks import program
from benchmarks.applications.case import CORPORA, cases
from benchmarks.applications.comparison import Comparison, compare, geometric_mean
from benchmarks.first_result import ChildError
from benchmarks.timing import Sample

app = program.application("applications", "Compare whole programs under polytune with the same under Numba.")


@app.command()
def applications(
    kernels: Annotated[list[str] | None, typer.Argument(help="Which kernels; by default the whole corpus.")] = None,
    corpus: Annotated[str, typer.Option(help=f"Which corpus: {', '.join(CORPORA)}.")] = "loops",
    repeats: Annotated[int, typer.Option(min=1, help="How many processes of each kind are measured.")] = 3,
    seconds: Annotated[float, typer.Option(min=0, help="How long tuned processes go on; 0 for none of them.")] = 15,
    fastmath: Annotated[bool, typer.Option("--fastmath", help="Give polytune the flags that Numba has.")] = False,
    threads: program.Threads = None,
    output: program.Output = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Run each kernel's programs in turns, in new processes with empty caches.

    Numba has the loops as they are, parallel where prange says so, with fastmath, or what its author would write for
    it where that is another function; polytune has the function with the decorator swapped, and everything at its
    defaults, or the same fastmath.
    """
    program.limit_threads(threads)
    if corpus not in CORPORA:
        raise typer.BadParameter(f"there is no corpus {corpus!r}; there are {', '.join(CORPORA)}")
    found_cases = cases(corpus)
    for name in kernels or ():
        if name not in found_cases:
            raise typer.BadParameter(f"there is no kernel {name!r}; there are {', '.join(found_cases)}")
    found: list[Comparison] = []
    failures: list[str] = []
    surroundings = program.surroundings()
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=program.live, transient=True, disable=not program.live.is_terminal) as progress:
        task = progress.add_task("", total=None)
        for name in kernels or found_cases:
            try:
                found.append(
                    compare(
                        found_cases[name],
                        repeats,
                        seconds,
                        lambda text: progress.update(task, description=text),
                        fastmath=fastmath,
                    )
                )
            except ChildError as error:
                failures.append(str(error))
            if output is not None:
                output.write_text(json.dumps(_to_json(surroundings, found, failures), indent=1))
    if as_json:
        program.print_json(_to_json(surroundings, found, failures))
    else:
        program.results.print(program.describe_surroundings(surroundings), highlight=False)
        program.results.print(_table(found))
        for each in failures:
            program.results.print(each, highlight=False, markup=False)
    if failures or any(each.wrong for each in found):
        raise typer.Exit(1)


FIGURES = {
    "all calls": ("program", "all"),
    "a call after 300": ("program", "late"),
    "the last calls": ("program", "last"),
    "tuned": ("tuned", "last"),
}
"""The figures that are compared, as polytune's time over Numba's."""


def _to_json(surroundings: Any, found: Sequence[Comparison], failures: Sequence[str]) -> dict[str, Any]:
    means = {name: geometric_mean(each.ratio(*figure) for each in found) for name, figure in FIGURES.items()}
    return {
        **surroundings,
        "geometric_means": {name: None if math.isnan(mean) else mean for name, mean in means.items()},
        "failures": list(failures),
        "kernels": [each.to_json() for each in found],
    }


def _table(found: Sequence[Comparison]) -> Table:
    """A line per kernel, and the geometric means and medians."""
    headings = (*FIGURES, "first result, nothing cached", "of Numba", "warm cache", "tried", "first choice over best")
    table = Table(Column("over Numba"), *(Column(heading, justify="right") for heading in headings), Column(""))
    for each in found:
        ratios = [_ratio(each.ratio(*figure)) for figure in FIGURES.values()]
        starts = [Sample(tuple(run.start for run in runs)).median for runs in _starts(each)]
        tried = "" if each.program["polytune"][0].tried is None else str(each.program["polytune"][-1].tried)
        runs = each.tuned["polytune"] or each.program["polytune"]
        first = _ratio(Sample(tuple(run.first_choice or 1.0 for run in runs)).median)
        table.add_row(each.name, *ratios, *map(program.duration, starts), tried, first, each.wrong)
    if found:
        table.add_section()
        means = [_ratio(geometric_mean(each.ratio(*figure) for each in found)) for figure in FIGURES.values()]
        table.add_row("geometric mean", *means)
        worst = [_ratio(max(each.ratio(*figure) for each in found)) for figure in FIGURES.values()]
        table.add_row("largest", *worst)
        medians = [
            Sample(tuple(Sample(tuple(run.start for run in _starts(each)[kind])).median for each in found)).median
            for kind in range(3)
        ]
        table.add_row("median", *[""] * len(FIGURES), *map(program.duration, medians))
    return table


def _starts(found: Comparison) -> tuple[list[Any], list[Any], list[Any]]:
    return found.program["polytune"], found.program["numba"], found.warm


def _ratio(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.applications")
