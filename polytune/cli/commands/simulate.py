"""``polytune simulate``: run searches on a recorded space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from polytune.cli.analysis import print_steps
from polytune.cli.console import print_json, print_table, progress
from polytune.cli.interrupts import Interrupts
from polytune.cli.options import Debug, Json, ValueListCommand
from polytune.cores import count_of_cores
from polytune.errors import SearchError
from polytune.files import check_output
from polytune.records import dataclass

if TYPE_CHECKING:
    from polytune.lab import RecordedSpace
    from polytune.lab.results import Results, Setting
    from polytune.lab.run import Run, Task
    from polytune.lab.simulation import SimulationPlan
    from polytune.tuner import DesignStep


class Counters(StrEnum):
    """The source from which the search ``profile`` has the counters of configurations that it has not profiled."""

    EXACT = "exact"
    TREES = "trees"
    LEAST_SQUARES = "least_squares"


COMMAND_CLASS = ValueListCommand

Unit = Annotated[str | None, typer.Option(metavar="UNIT", help="Of a plain table, the unit: s, ms, us or ns.")]
TimeColumn = Annotated[str | None, typer.Option("--time", metavar="COLUMN", help="Of a plain table, the times.")]
Description = Annotated[Path | None, typer.Option(metavar="T1.json", help="The T1 file that belongs to T4 results.")]


def simulate(
    space: Annotated[str, typer.Argument(metavar="SPACE", help="A recorded space, or example:NAME.")],
    search: Annotated[
        list[str] | None, typer.Option(metavar="NAME...", help="As genetic:population=30; portfolio and random.")
    ] = None,
    budget: Annotated[list[int] | None, typer.Option(min=1, metavar="N...", help="How many evaluations; 100.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="How many runs of each search and budget.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="What the random choices come from.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="In how many processes; one for each core.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write .json or .csv.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what --output has already.")] = False,
    time: TimeColumn = None,
    unit: Unit = None,
    description: Description = None,
    cores: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="For the search profile on a GPU: its CUDA cores.")
    ] = None,
    counters: Annotated[
        Counters, typer.Option(help="For the search profile: where other configurations' counters come from.")
    ] = Counters.EXACT,
    trained_on: Annotated[
        str | None,
        typer.Option(metavar="SPACE", help="For the search profile: what the model is trained on, or a saved model."),
    ] = None,
    save_model: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="For the search profile: keep the model.")
    ] = None,
    memory_bound: Annotated[
        bool, typer.Option("--memory-bound", help="For the search profile: memory is the kernel's bound.")
    ] = False,
    remeasure: Annotated[
        int, typer.Option(min=0, metavar="N", help="Evaluate by single measurements, and measure the best N times.")
    ] = 0,
    strategies: Annotated[
        bool, typer.Option("--strategies", help="The twelve searches of the design-of-experiments slides.")
    ] = False,
    analysis: Annotated[
        bool, typer.Option("--analysis", help="Show the analyses of variance of the first run of dlmt, step by step.")
    ] = False,
    histogram: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="By the clock: what is known each second, compiling included."),
    ] = None,
    step: Annotated[float, typer.Option(min=0.001, help="With --histogram: seconds between two lines.")] = 1.0,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Run searches on a recorded space and print how close to its optimum they come.

    Every evaluation is looked up instead of measured, so that a thousand runs take seconds. An interrupt (Ctrl-C)
    keeps the runs made so far, and --resume goes on with them.
    """
    check_files(output, histogram, resume=resume, remeasure=remeasure)
    for file in (output, histogram, save_model):
        check_output(file)
    from polytune.lab.strategies import STRATEGIES, named

    searches = search or ([] if strategies else ["portfolio", "random"])
    if strategies:
        searches += [written for written in STRATEGIES.values() if written not in searches]
    profiles = any(each.partition(":")[0] == "profile" for each in searches)
    profile = _Profile(cores, counters, trained_on, save_model, memory_bound)
    if not profiles and profile.is_given:
        raise typer.BadParameter("--cores, --trained-on and --save-model belong to --search profile")
    from polytune.lab import load
    from polytune.lab.results import Setting
    from polytune.lab.simulation import SimulationPlan, make_runs, remeasured_option

    plan = SimulationPlan(searches, budget or [100], repeat, seed)
    settings: dict[str, dict[str, Any]] = {}
    options = remeasured_option(remeasure)
    with progress.status(f"reading {space}"):
        recorded = load(space, time=time, unit=unit, description=description)
        if profiles:
            settings["profile"], said = profile.settings(recorded, space)
            options = f"{options}, {said}" if options else said

    if histogram is not None:
        _write_histogram(recorded, plan, settings, histogram, step, as_json=as_json)
        return

    def make(tasks: list[Task]) -> Iterator[Run]:
        return make_runs(recorded, tasks, seed, jobs or usable_cores(), settings, remeasure)

    found, wanted = _run(Setting.of(recorded, seed, options), plan, make, output, resume)
    experiments = _experiments(recorded, plan, settings) if analysis else {}
    if as_json:
        print_json(_as_dict(found, experiments if analysis else None))
    elif found.runs:
        for name, steps in experiments.items():
            print_steps(name, steps)
        print_table(_table(found, named if strategies else {}))
    if len(found.runs) < wanted:
        _tell_interruption(len(found.runs), wanted, output)
        raise typer.Exit(1)


def check_files(output: Path | None, histogram: Path | None, *, resume: bool, remeasure: int) -> None:
    """See to it that the options about files go together.

    Args:
        output: the file of results; None where none is asked for.
        histogram: that of what is known by the clock.
        resume: whether to go on with the file of results.
        remeasure: how often the best is measured again.

    Raises:
        typer.BadParameter: they do not.
    """
    if output is not None and output.suffix not in (".json", ".csv"):
        raise typer.BadParameter(f"--output {str(output)!r} is neither .json nor .csv")
    if histogram is not None and (output is not None or remeasure):
        raise typer.BadParameter("--histogram is by the clock; --output and --remeasure are by evaluations")
    if resume and output is None:
        raise typer.BadParameter("--resume goes on with the file that --output names")


@dataclass(frozen=True)
class _Profile:
    """The options of the search ``profile``, as `simulate` has them."""

    cores: int | None
    counters: Counters
    trained_on: str | None
    save_model: Path | None
    memory_bound: bool

    @property
    def is_given(self) -> bool:
        """Return whether an option is given that has no meaning for other searches."""
        return self.cores is not None or self.trained_on is not None or self.save_model is not None

    def settings(self, recorded: RecordedSpace, space: str) -> tuple[dict[str, Any], str]:
        """The settings of the search, and what they are, for a file of results; the model is saved if that is asked.

        Args:
            recorded: the space.
            space: what the user calls it.
        """
        from polytune.lab.profiling import CounterSource, model_or_space, profile_settings
        from polytune.tuner.counters.files import save_model

        source = model_or_space(self.trained_on) if self.trained_on is not None else recorded
        prediction = CounterSource(self.counters.value)
        found = profile_settings(recorded, self.cores, prediction, source, memory_bound=self.memory_bound)
        if self.save_model is not None:
            save_model(self.save_model, found["model"])
        where = self.trained_on or space
        said = f"cores {self.cores}, {self.counters.value} counters of {where}, memory_bound {self.memory_bound}"
        return found, said


def _tell_interruption(made: int, wanted: int, output: Path | None) -> None:
    where = f", they are in {output}: --resume goes on" if output is not None else ""
    progress.print(Text(f"interrupted: {made} of {wanted} runs were made{where}"), soft_wrap=True)


def _as_dict(found: Results, experiments: Mapping[str, Sequence[DesignStep]] | None) -> dict[str, Any]:
    """The results as JSON has them, with the steps of experiments where these are asked for."""
    summary = found.summary()
    if experiments is not None:
        summary["analysis"] = {name: [step.to_json() for step in steps] for name, steps in experiments.items()}
    return summary


def _write_histogram(
    recorded: RecordedSpace,
    plan: SimulationPlan,
    settings: dict[str, dict[str, Any]],
    path: Path,
    step: float,
    *,
    as_json: bool,
) -> None:
    """Run the searches by the clock, write what they know at each moment, and print what they know at the last one.

    Args:
        recorded, plan, settings: what to run.
        path: the table.
        step: seconds between two lines.
        as_json: whether to print JSON.
    """
    from polytune.files import replace_text
    from polytune.lab.real_time import histogram, histogram_text, timed_runs

    tasks, runs = plan.tasks(), []
    with _bar() as bar:
        line = bar.add_task(recorded.name, total=len(tasks))
        for run in timed_runs(recorded, tasks, plan.seed, settings):
            runs.append(run)
            bar.advance(line)
    rows = histogram(runs, step)
    replace_text(path, histogram_text(rows))
    if as_json:
        print_json({"space": recorded.name, "optimum": recorded.optimum, "rows": [vars(row) for row in rows]})
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("search", no_wrap=True)
    for column in ("seconds", "mean ms", "sd", "min", "max", "runs"):
        table.add_column(column, justify="right")
    for row in {row.search: row for row in rows}.values():
        times = (f"{value * 1e3:.4g}" for value in (row.mean, row.deviation, row.least, row.most))
        table.add_row(Text(row.search), f"{row.seconds:g}", *times, str(row.runs))
    print_table(table)


def _run(
    setting: Setting,
    plan: SimulationPlan,
    make: Callable[[list[Task]], Iterator[Run]],
    output: Path | None,
    resume: bool,
) -> tuple[Results, int]:
    """The results, and how many runs there should be; fewer are there after an interrupt."""
    from polytune.lab.results import Results
    from polytune.lab.results_files import RunLog, read_results, write_results

    log_path = None if output is None else output.with_name(output.name + ".runs")
    opened = nullcontext() if log_path is None else RunLog(log_path, setting, resume=resume)
    with opened as log, Interrupts() as interrupts:
        if log is not None and resume and output is not None and output.exists():
            log.take_over(read_results(output))
        runs = list(log.runs) if log is not None else []
        made = {run.task for run in runs}
        missing = [task for task in plan.tasks() if task not in made]
        with _bar() as bar:
            line = bar.add_task(setting.space, total=len(missing))
            try:
                for run in make(missing):
                    with interrupts.held():  # a run is in both or in neither
                        runs.append(run)
                        if log is not None:
                            log.add(run)
                    bar.advance(line)
            except KeyboardInterrupt:
                interrupts.served()
                bar.update(line, description="interrupted")
            except SearchError as error:
                if output is None:
                    raise
                raise SearchError(f"{error}; --resume goes on with the {len(runs)} runs in {log_path}") from None
        found = Results.ordered(setting, runs, plan.searches)
        wanted = len(made) + len(missing)
        if output is not None and log_path is not None:
            with interrupts.held():
                write_results(output, found)
                if len(runs) == wanted:
                    log_path.unlink()
    return found, wanted


def _bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=progress, transient=True, disable=not progress.is_terminal)


def _experiments(
    recorded: RecordedSpace, plan: SimulationPlan, settings: dict[str, dict[str, Any]]
) -> dict[str, Sequence[DesignStep]]:
    """The steps of the first run of each search that designs experiments, with the largest budget."""
    from polytune.lab.run import Task, run_search
    from polytune.tuner import Method

    found = {}
    for name in dict.fromkeys(plan.searches):
        if Method.of(name).name == "dlmt":
            with progress.status(f"{name}: the first run"):
                _, search = run_search(recorded, Task(name, max(plan.budgets), 0), plan.seed, settings)
            found[name] = search.steps
    return found


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return count_of_cores()


def _table(found: Results, names: Mapping[str, str]) -> Table:
    """The table of results.

    Args:
        found: the results.
        names: what searches are called besides.
    """
    setting = found.setting
    device = f", {setting.device}" if setting.device else ""
    title = f"{setting.space}{device}: {setting.configurations} configurations, {setting.failed} of them failed"
    table = Table(box=None, pad_edge=False, title=Text(title), title_justify="left")
    table.add_column("search", no_wrap=True)
    if names:
        table.add_column("strategy", no_wrap=True)
    for column in ("budget", "repeats", "min", "1st quartile", "median", "mean", "3rd quartile", "max", "evaluations"):
        table.add_column(column, justify="right")
    for row in found.summary()["results"]:
        least, first, median, third, most = row["quartiles"]
        table.add_row(
            Text(row["search"]),
            *([Text(names.get(row["search"], ""))] if names else []),
            str(row["budget"]),
            str(row["repeats"]),
            *map(_number, (least, first, median, row["mean_slowdown"], third, most)),
            f"{row['mean_evaluations']:.1f}",
        )
    return table


def _number(value: float | None) -> str:
    return "nothing ran" if value is None else f"{value:.4f}"
