"""``python -m benchmarks.cpu``: PolyBench compiled and tuned by polytune, beside what else could be used instead.

Exit code 0: done; 1: a kernel could not be compared, or the results differ; 2: the command line makes no sense.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import program
from polybench.datasets import Dataset
from polybench.registry import names

PEERS = ("numba", "numpy", "gcc", "gcc-plain", "clang", "polly", "pluto", "ppcg", "pythran", "dace")
"""The names that can be asked for, ``benchmarks.cpu.peers.NAMES``; importing those would import Numba."""

app = program.application("cpu", "Compare PolyBench under polytune, tuned, with what else it could be compiled by.")


@app.command()
def cpu(
    kernels: Annotated[list[str] | None, typer.Argument(metavar="KERNEL", help="All 30 if none is named.")] = None,
    dataset: Annotated[Dataset, typer.Option(case_sensitive=False, help="The suite's sizes.")] = Dataset.LARGE,
    peers: Annotated[
        str, typer.Option(metavar="NAME,...", help="Among which; those that are not installed are left out.")
    ] = ",".join(PEERS),
    threads: program.Threads = None,
    seconds: Annotated[float, typer.Option(min=0, help="How long each kernel is tuned, unless it converges.")] = 60.0,
    repeats: Annotated[int, typer.Option(min=1, help="How often each contender is timed.")] = 7,
    call_seconds: Annotated[float, typer.Option(min=1, help="A peer whose call takes longer is left out.")] = 60.0,
    kernel_seconds: Annotated[float, typer.Option(min=10, help="How long one kernel may take in all.")] = 1800.0,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="serial|fastmath", help="A further Numba: no prange, or fastmath=True; repeatable."),
    ] = None,
    best: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV of kernel,ratio: how far the best is ahead of gcc.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw speedups and a roofline plot, .svg, .pdf or .png.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write times and machine as a table for a page of Markdown.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep each kernel's times there; the same command goes on.")
    ] = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Tune each kernel by calling it, then time it and its peers in turns, each kernel in a process of its own."""
    wanted = program.known_kernels(kernels or names())
    asked = list(dict.fromkeys(name.strip() for name in peers.split(",") if name.strip()))
    _check(asked, also or [], plot)
    if markdown is not None and not markdown.absolute().parent.is_dir():
        program.fail(f"--markdown: there is no folder {markdown.parent}.", 2)
    program.limit_threads(threads)

    from benchmarks.cpu.baseline import Extra
    from benchmarks.cpu.best_known import BestKnownError, read_best_known
    from benchmarks.cpu.comparison import Comparison, Plan, compare_by_name
    from benchmarks.cpu.isolation import IsolationError, isolated
    from benchmarks.cpu.kept import KeptComparisons
    from benchmarks.cpu.peers import absent
    from benchmarks.cpu.summary import conclusion, seconds_table, summary, table, to_json
    from polytune.runtime.teams.threads import maximum_threads

    try:
        known = None if best is None else read_best_known(best)
    except BestKnownError as problem:
        program.fail(f"--best: {problem}", 2)
    _limit_others(maximum_threads())
    missing = absent(asked)
    present = tuple(name for name in asked if name not in missing)
    extras = frozenset(map(Extra, also or []))
    plan = Plan(dataset, seconds, repeats, present, extras, call_seconds)
    kept = None if keep is None else KeptComparisons(keep, plan, program.surroundings())
    found: list[Comparison] = []
    failures: dict[str, str] = {}
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=program.live, transient=True, disable=not program.live.is_terminal) as progress:
        task = progress.add_task("", total=len(wanted))
        for name in wanted:

            def report(text: str, name: str = name) -> None:
                progress.update(task, description=f"{name}: {text}")

            try:
                comparison = None if kept is None else kept.get(name)
                if comparison is None:
                    comparison = isolated(
                        compare_by_name, name, plan, seconds=kernel_seconds, report=report, debug=debug
                    )
                    if kept is not None:
                        kept.put(comparison)
                found.append(comparison)
                over = ", ".join(f"{comparison.speedup_over(peer):.2f} {peer}" for peer in comparison.peers)
                line = f"{name}: {program.duration(comparison.seconds)}; times as fast as {over or 'nothing'}"
            except IsolationError as problem:
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
                "peers": list(present),
                "absent": missing,
                "kernels": [to_json(comparison, (known or {}).get(comparison.kernel)) for comparison in found],
                **summary(found, known),
                "failures": failures,
            }
        )
    else:
        program.results.print(program.describe_surroundings(surroundings), highlight=False)
        program.results.print(table(found, known))
        program.results.print(seconds_table(found))
        text = "\n".join([conclusion(found, missing, known), *failures.values()])
        program.results.print(text, highlight=False, markup=False)
    if markdown is not None:
        from datetime import date

        from benchmarks.cpu.summary import markdown as markdown_of

        text = markdown_of(found, dataset.value, surroundings, date.today().isoformat())
        markdown.write_text(text, encoding="utf-8")
    if plot is not None and found:
        from benchmarks.cpu.pictures import draw

        draw(found, plot, known)
    if failures or not all(comparison.agrees for comparison in found):
        raise typer.Exit(1)


def _check(peers: Sequence[str], extras: Sequence[str], plot: Path | None) -> None:
    """End the process if a name is not known, or the figure cannot be written."""
    for name in peers:
        if name not in PEERS:
            program.fail(f"--peers takes {', '.join(PEERS)}, not {name!r}.", 2)
    for name in extras:
        if name not in ("serial", "fastmath"):
            program.fail(f"--also takes 'serial' or 'fastmath', not {name!r}.", 2)
    if extras and "numba" not in peers:
        program.fail("--also is for Numba, which is not among --peers.", 2)
    if plot is not None:
        import importlib.util

        if plot.suffix not in (".pdf", ".png", ".svg"):
            program.fail(f"--plot: a figure is written as .pdf, .png or .svg, not as {plot.name}.", 2)
        if not plot.absolute().parent.is_dir():
            program.fail(f"--plot: there is no folder {plot.parent}.", 2)
        if importlib.util.find_spec("matplotlib") is None:
            program.fail("--plot needs Matplotlib: pip install matplotlib.", 2)


def _limit_others(threads: int) -> None:
    """Make BLAS and OpenMP, in the processes that are started from here, start as many threads as Numba, OpenMP's rest
    soon after their work, and BLAS be as fast as it can."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ.setdefault("KMP_BLOCKTIME", "20")
    # Some systems make OpenBLAS take another processor's code, so that results do not depend on the machine.
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.cpu")
