"""The command line of a suite: list, run and verify its kernels.

Exit code 0: done; 1: the work failed, or a kernel is not verified; 2: the command line makes no sense.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from polybench.datasets import Dataset
from polybench.measure import KernelTimes, measure
from polybench.suite import Suite, UnknownKernelError
from polybench.verify import Verification
from polybench.verify import verify as verify_kernel

# Results go to standard output, unabridged where no terminal limits their width.  What is live goes to standard error,
# on a terminal only, so that a log holds no half-drawn lines.
_results = Console(width=None if sys.stdout.isatty() else 160)
_live = Console(stderr=True)

_FAILURES_SHOWN = 3

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Size = Annotated[Dataset, typer.Option("--dataset", case_sensitive=False, help="The suite's sizes.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def _print_table(table: Table) -> None:
    """Print a table of which nothing is cut off, however narrow the terminal is."""
    for column in table.columns:
        column.overflow, column.no_wrap = "fold", False
    _results.print(table)


def application(suite: Suite) -> typer.Typer:
    """The commands of a suite."""
    app = typer.Typer(
        name=suite.program.split()[-1],
        help=suite.description,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.command("list")
    def list_kernels(as_json: Json = False, debug: Debug = False) -> None:
        """Name the kernels, by category, with their sizes."""
        _print_kernels(suite, as_json)

    @app.command()
    def run(
        kernel: Annotated[str, typer.Argument(metavar="KERNEL", help="The suite's name of a kernel.")],
        dataset: Size = Dataset.MEDIUM,
        calls: Annotated[
            int | None, typer.Option(min=1, help="How often to call it; by default for about ten seconds.")
        ] = None,
        threads: Annotated[
            int | None, typer.Option(min=1, help="At most so many threads; by default all cores.")
        ] = None,
        as_json: Json = False,
        debug: Debug = False,
    ) -> None:
        """Call a kernel again and again while it tunes itself, and compare it with NumPy."""
        _check_names(suite, [kernel])
        if threads is not None:
            _limit_threads(threads)
        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        with Progress(*columns, console=_live, transient=True, disable=not _live.is_terminal) as progress:
            task = progress.add_task(f"{kernel}: first call", total=calls)

            def report(call: int, seconds: float, fastest: float) -> None:
                text = f"{kernel}: call {call}, {_time(seconds)}, fastest {_time(fastest)}"
                progress.update(task, completed=call, description=text)

            measurement = measure(suite.benchmark(kernel), dataset, calls=calls, report=report)
        if as_json:
            _print_json(measurement.to_json())
        else:
            _print_measurement(measurement, f"{kernel} {dataset}")
        if not measurement.verified:
            raise typer.Exit(1)

    @app.command()
    def verify(
        kernels: Annotated[
            list[str] | None, typer.Argument(metavar="KERNEL", help="All of them if none is named.")
        ] = None,
        dataset: Size = Dataset.MINI,
        strict: Annotated[
            bool, typer.Option(help="At MINI, compare strict mode with plain Python, bit for bit, too.")
        ] = True,
        as_json: Json = False,
        debug: Debug = False,
    ) -> None:
        """Check every version of every kernel against its reference, at odd sizes too."""
        wanted = list(dict.fromkeys(kernels or suite.names))
        _check_names(suite, wanted)
        verdicts = []
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=_live, transient=True, disable=not _live.is_terminal) as progress:
            task = progress.add_task("", total=len(wanted))
            for name in wanted:

                def report(text: str, name: str = name) -> None:
                    progress.update(task, description=f"{name}: {text}")

                verdicts.append(verify_kernel(suite.benchmark(name), dataset, strict=strict, report=report))
                progress.advance(task)
                if not _live.is_terminal:
                    print(
                        f"{name}: {'verified' if verdicts[-1].verified else 'NOT verified'}",
                        file=sys.stderr,
                        flush=True,
                    )
        if as_json:
            _print_json({"kernels": [verdict.to_json() for verdict in verdicts]})
        else:
            _print_verdicts(verdicts, dataset)
        if not all(verdict.verified for verdict in verdicts):
            raise typer.Exit(1)

    return app


def main(suite: Suite, arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code.

    Args:
        suite: whose kernels.
        arguments: the command line without the program's name; ``sys.argv[1:]`` if None.

    Raises:
        SystemExit: always, unless ``--debug`` lets an error through.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        application(suite)(arguments, prog_name=suite.program)
    except Exception as error:
        if "--debug" in arguments:
            raise
        # No import of polytune stands at the top: it would bring Numba before --threads is read.
        from polytune.errors import PolytuneError

        expected = isinstance(error, (PolytuneError, OSError))
        _fail(str(error) if expected else f"{type(error).__name__}: {error} (a defect; --debug shows where)", 1)


def _check_names(suite: Suite, wanted: Sequence[str]) -> None:
    try:
        for name in wanted:
            suite.check_name(name)
    except UnknownKernelError as error:
        _fail(str(error), 2)


def _limit_threads(threads: int) -> None:
    """Numba reads how many threads it may start when it is imported, which the kernels do."""
    if "numba" in sys.modules:
        _fail("--threads must be given before Numba is imported; start a process of its own for it.", 2)
    os.environ["NUMBA_NUM_THREADS"] = str(threads)


def _fail(message: str, code: int) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(code)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _verdict(verified: bool) -> str:
    return "yes" if verified else "NO"


def _print_kernels(suite: Suite, as_json: bool) -> None:
    if as_json:
        entries = [
            {
                "kernel": name,
                "category": entry.category,
                "sizes": {dataset.value: entry.sizes(dataset) for dataset in Dataset},
            }
            for name, entry in suite.catalogue.items()
        ]
        _print_json({"kernels": entries})
        return
    table = Table(Column("kernel", no_wrap=True), "category", "sizes", *Dataset)
    for name, entry in suite.catalogue.items():
        values = (" ".join(map(str, values)) for values in entry.values)
        table.add_row(name, entry.category, " ".join(entry.parameters), *values)
    _print_table(table)


def _print_measurement(measurement: KernelTimes, title: str) -> None:
    table = Table("", title, show_header=True)
    table.add_row("first call", _time(measurement.first_call))
    table.add_row(f"tuned call (of {measurement.calls} calls, median of the last)", _time(measurement.tuned_call))
    table.add_row("NumPy reference", _time(measurement.reference_call))
    table.add_row("arithmetic", f"{measurement.gflops:.3g} GFLOP/s")
    table.add_row("largest error", f"{measurement.max_error:.1e}")
    table.add_row("verified", _verdict(measurement.verified))
    _print_table(table)


def _print_verdicts(verdicts: Sequence[Verification], dataset: Dataset) -> None:
    table = Table("kernel", "dataset", "versions", "largest error", "verified")
    for verdict in verdicts:
        error = f"{verdict.max_error:.1e}"
        table.add_row(verdict.kernel, dataset, str(verdict.versions), error, _verdict(verdict.verified))
    _print_table(table)
    for verdict in verdicts:
        for failure in verdict.failures[:_FAILURES_SHOWN]:
            print(f"{verdict.kernel}: {failure}")
        more = len(verdict.failures) - _FAILURES_SHOWN
        if more > 0:
            print(f"{verdict.kernel}: {more} more failures; --json has them all")
