"""``python -m benchmarks.search``: a command for each comparison.

Exit code 0: done; 1: the work failed; 2: the command line makes no sense.  Whether the goals are reached stands in the
result, under ``reached``.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from benchmarks import program
from benchmarks.search import against_kernel_tuner, against_opentuner, laplacian, live, profiling, sample_sizes
from benchmarks.search.collection import Collection
from benchmarks.search.foreign import ForeignError, ForeignTuner
from polybench.datasets import Dataset
from polybench.registry import UnknownKernelError, benchmark
from polytune.cli.options import ValueListCommand
from polytune.lab import RecordedSpace, load
from polytune.lab.profiling import CounterSource, profile_settings

app = program.application("search", "Searches on recorded spaces, beside other tuners and published findings.")

Keep = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Keep the runs there; made once, they are not made again.")
]
Seed = Annotated[int, typer.Option(min=0, help="What the random choices come from.")]
Jobs = Annotated[int, typer.Option(min=1, help="In how many processes.")]
Files = Annotated[list[Path], typer.Argument(metavar="SPACE...", help="Recorded spaces.")]
File = Annotated[Path, typer.Argument(metavar="SPACE", help="A recorded space.")]
Repeats = Annotated[int, typer.Option(min=1, help="How many runs of each.")]
Searches = Annotated[list[str] | None, typer.Option("--search", metavar="NAME...", help="Polytune's searches.")]
Python = Annotated[
    Path | None, typer.Option(metavar="PYTHON", help="The interpreter for which the other tuner is installed.")
]


def command(name: str) -> Any:
    return app.command(name, cls=ValueListCommand)


@command("laplacian")
def laplacian_command(
    space: File,
    repeats: Repeats = 50,
    search: Searches = None,
    keep: Keep = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """The design of experiments with 55 points, and every search with 120."""
    searches = search or laplacian.SEARCHES
    finish(laplacian.study(read(space), Collection(keep, seed, jobs), repeats, searches), as_json)


@command("kernel-tuner")
def kernel_tuner_command(
    spaces: Files,
    python: Python = None,
    search: Annotated[str, typer.Option("--search", metavar="NAME", help="Polytune's search.")] = "portfolio",
    strategy: Annotated[list[str] | None, typer.Option(metavar="NAME...", help="Kernel Tuner's; all.")] = None,
    budget: Annotated[list[int] | None, typer.Option(min=1, metavar="N...", help="How many evaluations.")] = None,
    repeats: Repeats = 50,
    screening: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="After N runs only the best strategies of a space and budget go on."),
    ] = None,
    keep: Keep = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """The default search against the best of Kernel Tuner's strategies on every space."""
    tuner = foreign(against_kernel_tuner, python, seed, jobs)
    recorded = [read(space) for space in spaces]
    runs = dict.fromkeys(budget or against_kernel_tuner.BUDGETS, repeats)
    strategies = strategy or against_kernel_tuner.STRATEGIES
    collection = Collection(keep, seed, jobs)
    finish(against_kernel_tuner.study(recorded, collection, tuner, search, strategies, runs, screening), as_json)


@command("sample-sizes")
def sample_sizes_command(
    spaces: Files,
    search: Searches = None,
    samples: Annotated[
        list[int] | None, typer.Option(min=1, metavar="N...", help="How many samples; 25, 50, 100, 200 and 400.")
    ] = None,
    share: Annotated[float, typer.Option(min=0.01, max=1.0, help="Of the study's 800 to 50 runs.")] = 1.0,
    plot: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Draw the study's figures, as PNG.")] = None,
    keep: Keep = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """The searches that are ahead of random search with 25 to 400 samples."""
    runs = {size: max(2, math.ceil(share * sample_sizes.runs_with(size))) for size in samples or sample_sizes.SIZES}
    searches = list(dict.fromkeys(["random", *(search or sample_sizes.SEARCHES)]))
    recorded = [read(space) for space in spaces]
    finish(sample_sizes.study(recorded, Collection(keep, seed, jobs), runs, searches, plot), as_json)


@command("profile")
def profile_command(
    space: File,
    cores: Annotated[int, typer.Option(min=1, help="The device's CUDA cores; a GeForce RTX 2080 Ti's.")] = 4352,
    counters: Annotated[CounterSource, typer.Option(help="What tells the counters of other configurations.")] = (
        CounterSource.EXACT
    ),
    trained_on: Annotated[Path | None, typer.Option(metavar="SPACE", help="What the model is trained on.")] = None,
    repeats: Repeats = 200,
    keep: Keep = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """The steps that a search guided by performance counters needs."""
    recorded = read(space)
    source = read(trained_on) if trained_on is not None else recorded
    settings = {"profile": profile_settings(recorded, cores, counters, source)}
    options = f"cores {cores}, {counters.value} counters of {source.name}"
    finish(profiling.study(recorded, Collection(keep, seed, jobs, settings, options), repeats), as_json)


@command("opentuner")
def opentuner_command(
    space: Annotated[str, typer.Argument(metavar="SPACE", help="A recorded space, or example:NAME.")],
    python: Python = None,
    search: Searches = None,
    repeats: Repeats = 50,
    keep: Keep = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """The cost of the first 100 iterations, beside OpenTuner."""
    tuner = foreign(against_opentuner, python, seed, jobs)
    if tuner is None:
        program.fail("nothing to compare with: --python names an interpreter with opentuner", 2)
    searches = search or against_opentuner.SEARCHES
    finish(against_opentuner.study(load(space), Collection(keep, seed, jobs), tuner, searches, repeats), as_json)


@command("opentuner-live")
def opentuner_live_command(
    kernel: Annotated[str, typer.Argument(metavar="KERNEL", help="One of PolyBench.")] = "gemm",
    dataset: Annotated[Dataset, typer.Option(case_sensitive=False, help="The suite's sizes.")] = Dataset.MEDIUM,
    python: Python = None,
    repeats: Repeats = 10,
    most_calls: Annotated[int, typer.Option(min=1, help="How many calls polytune has to converge in.")] = 1000,
    seed: Seed = 0,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """The cost of the first 100 calls of a kernel while it is tuned, beside OpenTuner on the same kernel."""
    try:
        entry = benchmark(kernel)
    except UnknownKernelError as error:
        program.fail(str(error), 2)
    if foreign(against_opentuner, python, seed, 1) is None or python is None:
        program.fail("nothing to compare with: --python names an interpreter with opentuner", 2)
    with program.live.status("") as status:
        finish(live.study(entry, dataset, python, repeats, seed, most_calls, status.update), as_json)


def read(space: Path) -> RecordedSpace:
    """A recorded space, with a line about it on standard error."""
    with program.live.status(f"reading {space}"):
        return load(space)


def foreign(study: Any, python: Path | None, seed: int, jobs: int) -> ForeignTuner | None:
    """The other tuner of a study; None, with a sentence, where no interpreter is named."""
    if python is None:
        program.live.print(f"without --python PYTHON, an interpreter with {study.MODULE}, it is left out")
        return None
    tuner = ForeignTuner(study.NAME, python, study.SCRIPT, seed, jobs)
    try:
        version = tuner.check(study.MODULE)
    except ForeignError as error:
        program.fail(str(error), 2)
    program.live.print(f"{study.MODULE} {version}")
    return tuner


def finish(report: dict[str, Any], as_json: bool) -> None:
    """Print what was found."""
    if as_json:
        program.print_json(report)
        return
    for name, rows in report.items():
        if not rows or name == "reached":
            continue
        if isinstance(rows, list):
            program.results.print(table(rows))
        elif isinstance(rows, dict) and all(isinstance(value, dict) for value in rows.values()):
            program.results.print(table([{name: key, **value} for key, value in rows.items()]))
        elif isinstance(rows, dict):
            program.results.print(table([{name: key, "": value} for key, value in rows.items()]))
    for goal, reached in report.get("reached", {}).items():
        program.results.print(Text(f"{'reached' if reached else 'missed '}  {goal}"))


def table(rows: list[dict[str, Any]]) -> Table:
    """Rows with the same fields; fields that are lists or dictionaries stand in the JSON only."""
    shown = [name for name, value in rows[0].items() if not isinstance(value, (list, dict))]
    found = Table(box=None, pad_edge=False)
    for name in shown:
        found.add_column(str(name).replace("_", " "), justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        found.add_row(*(Text(_cell(row[name])) for name in shown))
    return found


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 0.01 else f"{value:.3f}"
    return "-" if value is None else str(value)


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.search")
