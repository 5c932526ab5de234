"""``python -m benchmarks.npbench``: the kernels of a checkout of NPBench under polytune and other frameworks.

Exit code 0: done; 1: polytune failed or its results were wrong; 2: the command line makes no sense.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from benchmarks import program
from benchmarks.npbench.comparison import FRAMEWORKS, KernelComparison, compare, installed
from benchmarks.npbench.folder import BenchKernel, FolderError, chosen, read_folder

app = program.application("npbench", "Compare the kernels of NPBench under polytune with NumPy and other compilers.")

SHORTEST_LIMIT = 30.0
"""Seconds after which a process is ended at the soonest, however little time there is for all of them."""


@app.command()
def npbench(
    kernels: Annotated[list[str] | None, typer.Argument(help="Which kernels; by default all of them.")] = None,
    directory: Annotated[
        Path | None, typer.Option("--npbench", metavar="DIR", help="The checkout of NPBench.", envvar="NPBENCH")
    ] = None,
    size: Annotated[str, typer.Option(help="S, M, L or paper.")] = "S",
    seconds: Annotated[float, typer.Option(min=0, help="How long calls go on after the first one.")] = 5,
    limit: Annotated[float, typer.Option(min=1, help="Seconds after which a process is ended.")] = 300,
    frameworks: Annotated[
        list[str] | None, typer.Option("--framework", help="Which frameworks; by default all that are installed.")
    ] = None,
    builds: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where Numba, Pythran and DaCe keep what they compile; else nowhere."),
    ] = None,
    within: Annotated[
        float, typer.Option(min=0, metavar="MINUTES", help="How long all of it may take, shared out to the kernels.")
    ] = math.inf,
    resume: Annotated[
        bool, typer.Option("--resume", help="Leave out the kernels that --output has already, of the same size.")
    ] = False,
    threads: program.Threads = None,
    output: program.Output = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Run each form of each kernel in a process of its own with empty caches.

    Polytune has the NumPy form with its decorator and nothing else; the other frameworks have their own forms, Numba
    the best of several.
    """
    ends = time.monotonic() + 60 * within
    program.limit_threads(threads)
    program.check_output(output)
    if directory is None:
        raise typer.BadParameter("pass --npbench DIR, a checkout of github.com/spcl/npbench, or set NPBENCH")
    for name in frameworks or ():
        if name not in FRAMEWORKS:
            raise typer.BadParameter(f"there is no framework {name!r}; there are {', '.join(FRAMEWORKS)}")
    root = directory.resolve()
    wanted = _wanted(root, kernels or (), size)
    compared = installed(frameworks or list(FRAMEWORKS))
    if resume and output is None:
        raise typer.BadParameter("--resume goes on with a file: pass it as --output FILE")
    known = _known(output, size, compared) if resume and output is not None else {}
    found = [known[kernel.name] for kernel in wanted if kernel.name in known]
    not_reached: list[str] = []
    surroundings = {**program.surroundings(), "size": size, "frameworks": compared, "not_reached": not_reached}
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=program.live, transient=True, disable=not program.live.is_terminal) as progress:
        task = progress.add_task("", total=None)
        waiting = [kernel for kernel in wanted if kernel.name not in known]
        for place, kernel in enumerate(waiting):
            share = (ends - time.monotonic()) / (len(waiting) - place)
            if share <= 0:
                not_reached.append(kernel.name)
                continue
            forms = 1 + sum(len(kernel.forms(framework)) for framework in {"numpy", *compared})
            found.append(
                compare(
                    root,
                    kernel,
                    compared,
                    size,
                    min(seconds, share / (2 * forms)),
                    min(limit, max(2 * share, SHORTEST_LIMIT)),
                    lambda text: progress.update(task, description=text),
                    None if builds is None else builds.resolve(),
                )
            )
            if output is not None:
                output.write_text(json.dumps(program.finite(_to_json(surroundings, found)), indent=1))
    if as_json:
        program.print_json(_to_json(surroundings, found))
    else:
        _print(surroundings, found)
    if any(each.failures for each in found):
        raise typer.Exit(1)


def _wanted(root: Path, names: Sequence[str], size: str) -> list[BenchKernel]:
    """The kernels of these names, or all of them, which all have the size."""
    try:
        wanted = chosen(read_folder(root), names)
        for kernel in wanted:
            if size not in kernel.sizes:
                raise FolderError(f"{kernel.name} has no size {size!r}; it has {', '.join(kernel.sizes)}")
    except FolderError as error:
        raise typer.BadParameter(str(error)) from None
    return wanted


def _known(file: Path, size: str, frameworks: Sequence[str]) -> dict[str, KernelComparison]:
    """The kernels of a file that was written before, by name; none where it does not exist."""
    if not file.exists():
        return {}
    try:
        document = json.loads(file.read_text())
        if (document["size"], document["frameworks"]) != (size, list(frameworks)):
            raise typer.BadParameter(f"{file} has another size or other frameworks: remove it, or name another file")
        return {each["kernel"]: KernelComparison.from_json(each) for each in document["kernels"]}
    except (KeyError, TypeError, ValueError):
        raise typer.BadParameter(f"{file} is not what this program wrote: remove it, or name another file") from None


def _print(surroundings: dict[str, Any], found: Sequence[KernelComparison]) -> None:
    """Print a table, and what went wrong below it."""
    program.results.print(program.describe_surroundings(surroundings), highlight=False)
    program.results.print(_table(found, surroundings["frameworks"]))
    for each in found:
        for framework, runs in each.runs.items():
            for run in runs:
                if run.problem:
                    text = f"{each.name}, {framework} ({run.form}): {run.problem}"
                    program.results.print(text, highlight=False, markup=False)
    if surroundings["not_reached"]:
        program.results.print(f"not reached in time: {', '.join(surroundings['not_reached'])}", highlight=False)


def _to_json(surroundings: dict[str, Any], found: Sequence[KernelComparison]) -> dict[str, Any]:
    return {
        **surroundings,
        "geometric_means": {"best of numpy and numba": mean(each.ratio for each in found), **_means(found)},
        "accepted": sum(each.best("polytune") is not None for each in found),
        "kernels": [each.to_json() for each in found],
    }


def _means(found: Sequence[KernelComparison]) -> dict[str, float]:
    others = dict.fromkeys(framework for each in found for framework in each.runs if framework != "polytune")
    return {framework: mean(each.ratio_to(framework) for each in found) for framework in others}


def mean(ratios: Any) -> float:
    """The geometric mean of the ratios that there are."""
    return program.geometric_mean(ratio for ratio in ratios if not math.isnan(ratio))


def _table(found: Sequence[KernelComparison], frameworks: Sequence[str]) -> Table:
    """A line per kernel: the first and a late call of each framework, and how many times as fast polytune is."""
    others = [name for name in dict.fromkeys(("numpy", *frameworks)) if name != "polytune"]
    headings = ("polytune, first", "late", *(h for name in others for h in (f"{name}, first", "late")), "ratio")
    table = Table(Column("kernel"), *(Column(heading, justify="right") for heading in headings))
    for each in found:
        cells = [cell for name in ("polytune", *others) for cell in _cells(each, name)]
        table.add_row(each.name, *cells, "" if math.isnan(each.ratio) else f"{each.ratio:.2f}")
    table.add_section()
    means = _means(found)
    cells = [cell for name in others for cell in ("", _ratio(means.get(name, math.nan)))]
    table.add_row("geometric mean", "", "", *cells, _ratio(mean(each.ratio for each in found)))
    return table


def _cells(found: KernelComparison, framework: str) -> tuple[str, str]:
    best = found.best(framework)
    if best is not None:
        return program.duration(best.first), program.duration(best.late)
    runs = found.runs.get(framework, ())
    return ("refused" if any(run.refused for run in runs) else "failed" if runs else ""), ""


def _ratio(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.npbench")
