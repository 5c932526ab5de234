"""``python -m benchmarks.payoff``: after how many calls tuning pays, beside always running the default configuration.

Exit code 0: done; 1: a process that was measured failed; 2: the command line makes no sense.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from benchmarks import program
from benchmarks.first_result import timed_child
from benchmarks.timing import Sample
from polybench.datasets import Dataset
from polybench.registry import UnknownKernelError, check_name

KERNELS = ("gemm", "jacobi-2d", "atax")

app = program.application("payoff", "Measure after how many calls tuning has saved more time than it cost.")


@dataclass(frozen=True)
class Trace:
    """The calls of a kernel in a process of its own, in seconds, from the second on.

    The first runs the default in any case, compiles it, and meets cold caches, tuned or not.

    Attributes:
        tuned: the tuned calls, without what was compiled in them.
        compiling: what was compiled in them.
        default: as many calls of the default configuration, made in turns with the tuned ones.
        explored: after each tuned call, how many configurations had been tried.
        on_devices: how many of them ran on a device, at least in part.
        best: the configuration that was the best known in the end.
        is_default: whether that is the default.
    """

    tuned: tuple[float, ...]
    compiling: tuple[float, ...]
    default: tuple[float, ...]
    explored: tuple[int, ...]
    on_devices: int
    best: dict[str, Any]
    is_default: bool

    @classmethod
    def of_child(cls, document: dict[str, Any]) -> Trace:
        """The lines that ``benchmarks.payoff_calls`` printed."""
        pairs = list(zip(document["tuned"], document["compiling"], strict=True))[1:]
        best = document["best_configuration"]
        return cls(
            tuned=tuple(seconds - compiling for seconds, compiling in pairs),
            compiling=tuple(document["compiling"][1:]),
            default=tuple(document["default"][1:]),
            explored=tuple(document["explored"][1:]),
            on_devices=document["on_devices"],
            best=best,
            is_default=best == document["default_configuration"],
        )

    @property
    def paid_after(self) -> int | None:
        """The number of calls from which on all tuned ones so far took no longer than as many of the default; None
        where that is not so in the end.
        """
        sums = list(zip(accumulate(self.tuned), accumulate(self.default), strict=True))
        behind = [number for number, (tuned, default) in enumerate(sums, 1) if tuned > default]
        paid = behind[-1] + 1 if behind else 1
        return paid if paid <= len(sums) else None

    @property
    def settled_after(self) -> int:
        """The number of calls after which no other configuration was tried any more."""
        return self.explored.index(self.explored[-1]) + 1

    @property
    def share(self) -> float:
        """The time of all tuned calls as a part of that of the default's."""
        return sum(self.tuned) / sum(self.default)

    @property
    def share_with_compiling(self) -> float:
        """The same with what had to be compiled besides the default."""
        return (sum(self.tuned) + sum(self.compiling)) / sum(self.default)


@dataclass(frozen=True)
class Payoff:
    """The results of the traces of one kernel at one of the suite's sizes."""

    kernel: str
    dataset: Dataset
    traces: tuple[Trace, ...]

    @property
    def paid_after(self) -> float | None:
        """The median over the traces; None where half of them or more have not paid."""
        ends = sorted(float("inf") if trace.paid_after is None else trace.paid_after for trace in self.traces)
        median = ends[len(ends) // 2]  # the upper one of two
        return None if median == float("inf") else median

    def to_json(self) -> dict[str, Any]:
        """The medians and every trace."""
        return {
            "kernel": self.kernel,
            "dataset": self.dataset.value,
            "calls": len(self.traces[0].tuned),
            "paid_after": self.paid_after,
            "share": Sample(tuple(trace.share for trace in self.traces)).to_json(),
            "share_with_compiling": Sample(tuple(trace.share_with_compiling for trace in self.traces)).to_json(),
            "settled_after": max(trace.settled_after for trace in self.traces),
            "tried_on_devices": sum(trace.on_devices for trace in self.traces),
            "default_is_best": sum(trace.is_default for trace in self.traces),
            "traces": [
                {
                    "paid_after": trace.paid_after,
                    "tuned": trace.tuned,
                    "compiling": trace.compiling,
                    "default": trace.default,
                    "explored": trace.explored,
                    "best": trace.best,
                }
                for trace in self.traces
            ],
        }


@app.command()
def payoff(
    kernels: Annotated[
        list[str] | None, typer.Argument(metavar="KERNEL", help=f"{', '.join(KERNELS)} if none is named.")
    ] = None,
    dataset: Annotated[
        list[Dataset] | None, typer.Option(case_sensitive=False, help="The suite's sizes: MEDIUM and LARGE.")
    ] = None,
    calls: Annotated[int, typer.Option(min=1, help="How many tuned calls there are.")] = 50,
    repeats: Annotated[int, typer.Option(min=1, help="How often, each time with nothing compiled or learned.")] = 5,
    compiled: Annotated[bool, typer.Option("--compiled", help="All versions are compiled beforehand.")] = False,
    against: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Compare with always running this version, not the default.")
    ] = None,
    threads: program.Threads = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Make tuned calls and calls of the default in turns, and compare how long all of them took.

    What is compiled beyond the default while a call waits is shown apart: it is kept on disk for the next process.
    ``--compiled`` begins as that process does, but for what was learned: it is the tuner's choices alone that count.

    Where the default is the best there is, tuning has nothing to gain; ``--against parallel`` asks what an application
    gains over plain parallel loops.
    """
    wanted = list(dict.fromkeys(kernels or KERNELS))
    try:
        for kernel in wanted:
            check_name(kernel)
    except UnknownKernelError as error:
        program.fail(str(error), 2)
    program.limit_threads(threads)
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=program.live, transient=True, disable=not program.live.is_terminal) as progress:
        task = progress.add_task("", total=None)
        found = [
            measured(
                kernel, size, calls, repeats, compiled, against, lambda text: progress.update(task, description=text)
            )
            for size in dataset or (Dataset.MEDIUM, Dataset.LARGE)
            for kernel in wanted
        ]
    surroundings = program.surroundings()
    if as_json:
        program.print_json({**surroundings, "payoffs": [each.to_json() for each in found]})
        return
    program.results.print(program.describe_surroundings(surroundings), highlight=False)
    program.results.print(table(found))


def measured(
    kernel: str,
    dataset: Dataset,
    calls: int,
    repeats: int,
    compiled: bool,
    against: str | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Payoff:
    """Measure one kernel in processes of their own, each with an empty cache directory.

    Raises:
        ChildError: a process failed.
    """
    traces = []
    for repetition in range(1, repeats + 1):
        report(f"{kernel} {dataset}, {repetition} of {repeats}")
        with tempfile.TemporaryDirectory(prefix="polytune-benchmark-") as cache:
            document = timed_child(
                "benchmarks.payoff_calls",
                cache,
                kernel,
                dataset.value,
                str(calls + 1),
                str(int(compiled)),
                *([against] if against else []),
            )
        traces.append(Trace.of_child(document))
    return Payoff(kernel, dataset, tuple(traces))


def table(found: Sequence[Payoff]) -> Table:
    """A line for each kernel and size: medians, of the times with the quartiles in parts of them."""
    names = (
        "default call",
        "last tuned calls",
        "pays after",
        "of the default's time",
        "and compiling",
        "tried",
        "best",
    )
    result = Table("kernel", *(Column(name, justify="right") for name in names))
    for each in found:
        traces = each.traces
        default = Sample(tuple(statistics.median(trace.default) for trace in traces))
        last = Sample(tuple(statistics.median(trace.tuned[-10:]) for trace in traces))
        share = Sample(tuple(trace.share for trace in traces))
        low, high = share.quartiles
        result.add_row(
            f"{each.kernel} {each.dataset}",
            program.spread(default),
            program.spread(last),
            "not yet" if each.paid_after is None else f"{each.paid_after:g} calls",
            f"{share.median:.0%} ({low:.0%} to {high:.0%})",
            f"+ {program.duration(statistics.median(sum(trace.compiling) for trace in traces))}",
            f"{statistics.median(trace.explored[-1] for trace in traces):g}, "
            f"{sum(trace.on_devices for trace in traces)} on devices",
            f"{sum(not trace.is_default for trace in traces)} of {len(traces)} not the default",
        )
    return result


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.payoff")
