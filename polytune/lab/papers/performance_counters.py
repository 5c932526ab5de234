"""J. Filipovič et al., the profile-based searcher of KTT, and the data for it (Data in Brief, 2022)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from polytune.errors import PolytuneError
from polytune.lab.figures import file_name, plain_text, save
from polytune.lab.papers.item import Effort, Item, Recordings, Reproduction, Table
from polytune.lab.profiling import CounterSource, profile_settings
from polytune.lab.real_time import HistogramRow, histogram, timed_runs
from polytune.lab.recording import RecordedSpace
from polytune.lab.run import Settings, Task, make_run

__all__ = ["ITEMS"]

_PAPER = "Filipovič et al., Performance counters, and KTT's data"
_CORES = 4352  # of the GeForce RTX 2080 Ti of KTT's data
_WITHIN = 1.1
_THIRD = 1 / 3
_BUDGET = 100  # evaluations of a run by the clock
_FEWER_RUNS = 4  # of those by the clock, in place of one
_STEP = 0.25  # seconds
_MOMENTS = (1.0, 2.0, 5.0, 10.0)  # seconds


def _steps(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    rows: list[list[str]] = []
    gains: list[float] = []
    left_out: list[str] = []
    for recorded in recordings.profiled:
        means = {"random": _mean_steps(recorded, "random", effort)}
        try:
            for source in (CounterSource.EXACT, CounterSource.TREES):
                settings = {"profile": profile_settings(recorded, _CORES, source, recorded)}
                means[source.value] = _mean_steps(recorded, "profile", effort, settings)
        except PolytuneError as error:  # counters of another profiler, or too few of them
            left_out.append(f"{recorded.name}: {error}")
            continue
        gains.append(means["random"] / means[CounterSource.EXACT.value])
        rows.append([recorded.name, str(len(recorded)), *(f"{mean:.1f}" for mean in means.values())])
    if not rows:
        return None
    columns = ["space", "configurations", "random", "profile, exact counters", "profile, trees"]
    ours = f"{min(gains):.1f} to {max(gains):.1f} times fewer steps than random search, with exact counters"
    tables = [Table(f"Mean steps of {effort.repeats} runs to within 1.1 of the best", columns, rows)]
    if left_out:
        tables.append(Table("Left out", ["recording and reason"], [[reason] for reason in left_out]))
    return Reproduction(ours, tables)


def _steps_of_own_kernels(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    rows: list[list[str]] = []
    ratios: list[float] = []
    for recorded in recordings.counted:
        settings = {"profile": profile_settings(recorded, None)}
        random = _mean_steps(recorded, "random", effort)
        profile = _mean_steps(recorded, "profile", effort, settings)
        ratios.append(profile / random)
        rows.append([recorded.name, str(len(recorded)), f"{random:.1f}", f"{profile:.1f}", f"{ratios[-1]:.2f}"])
    if not rows:
        return None
    few = sum(ratio <= _THIRD for ratio in ratios)
    ours = f"at most a third of random search's steps on {few} of {len(rows)} kernels"
    columns = ["kernel", "configurations", "random", "profile", "profile / random"]
    return Reproduction(ours, [Table(f"Mean steps of {effort.repeats} runs to within 1.1 of the best", columns, rows)])


def _real_time(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    rows: list[list[str]] = []
    figures: dict[str, Path] = {}
    ahead = 0
    for recorded in recordings.counted:
        settings = {"profile": profile_settings(recorded, None)}
        budget = min(_BUDGET, len(recorded))
        tasks = [
            Task(search, budget, repeat)
            for search in ("random", "profile")
            for repeat in range(max(effort.repeats // _FEWER_RUNS, 2))
        ]
        runs = list(timed_runs(recorded, tasks, effort.seed, settings))
        found = histogram(runs, _STEP)
        at = {(row.search, row.seconds): row.mean / recorded.optimum for row in found}
        # Until all runs of one of the searches have ended.
        last = min(max(row.seconds for row in found if row.search == search) for search in ("random", "profile"))
        moments = [seconds for seconds in _MOMENTS if seconds <= last] or [last]
        for seconds in moments:
            cells = (at.get((search, seconds)) for search in ("random", "profile"))
            shown = ("-" if cell is None else f"{cell:.3f}" for cell in cells)
            rows.append([recorded.name, f"{seconds:g}", *shown])
        ahead += at.get(("profile", moments[0]), math.inf) <= at.get(("random", moments[0]), math.inf)
        file = folder / f"real-time-{file_name(recorded.name)}.png"
        figures[recorded.name] = save(file, partial(_draw_histogram, found=found, recorded=recorded))
    if not rows:
        return None
    ours = f"ahead of random search after the first moment of the table on {ahead} of {len(figures)} kernels"
    columns = ["kernel", "seconds", "random", "profile"]
    title = "Time of the best configuration known so far, in multiples of the optimum, mean of the runs"
    return Reproduction(ours, [Table(title, columns, rows)], figures)


def _draw_histogram(axes: Any, found: Sequence[HistogramRow], recorded: RecordedSpace) -> None:
    """Draw the mean of the best times by seconds, with a band of one standard deviation."""
    for search in dict.fromkeys(row.search for row in found):
        mine = [row for row in found if row.search == search]
        seconds = [row.seconds for row in mine]
        means = np.array([row.mean for row in mine]) / recorded.optimum
        deviations = np.array([row.deviation for row in mine]) / recorded.optimum
        (line,) = axes.plot(seconds, means, label=search)
        low, high = np.maximum(means - deviations, 1.0), means + deviations
        axes.fill_between(seconds, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set(xlabel="seconds", ylabel="slowdown of the best so far", title=plain_text(recorded.name), ylim=(1, None))
    axes.legend()


def _mean_steps(recorded: RecordedSpace, search: str, effort: Effort, settings: Settings | None = None) -> float:
    steps = []
    for repeat in effort.watched(range(effort.repeats), f"{recorded.name}, runs of {search}", effort.repeats):
        run = make_run(recorded, Task(search, len(recorded), repeat), effort.seed, settings or {}, enough=_WITHIN)
        steps.append(run.evaluations)
    return statistics.fmean(steps)


ITEMS = (
    Item(
        "counters-steps",
        _PAPER,
        "convergence of the profile-based searcher",
        "The steps that the search needs when it is guided by performance counters, and without.",
        "fewer steps than random search on each of five benchmarks and four GPUs, mostly by factors of 2 to 10",
        "polytune simulate SPACE --search profile random --cores N; python -m benchmarks.search profile SPACE",
        _steps,
    ),
    Item(
        "counters-own-kernels",
        _PAPER,
        "convergence, on polytune's own kernels",
        "The steps of the search by counters on kernels of the paper's as polytune compiles them for processors, with "
        "the counters that it finds without a profiler.",
        "GPU kernels under NVIDIA's profilers",
        "polytune tune gallery/kernels/bicg.py --size m=800 --size n=900 --sample 500 --record bicg.jsonl; "
        "python -m benchmarks.search profile bicg.jsonl; the recordings that come with polytune: "
        "python -m benchmarks.search profile example:bicg",
        _steps_of_own_kernels,
    ),
    Item(
        "counters-real-time",
        _PAPER,
        "real-time convergence, histogram.py",
        "Convergence by elapsed time: the search's own, that of compiling, and that of measuring.",
        "fewer seconds than random search for most pairs of benchmarks and GPUs, with profiling in the time",
        "polytune simulate example:bicg --search profile random --budget 100 --histogram FILE.csv",
        _real_time,
    ),
)
