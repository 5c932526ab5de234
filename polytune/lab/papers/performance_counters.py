"""J. Filipovič et al., the profile-based searcher of KTT, and the data for it (Data in Brief, 2022)."""

from __future__ import annotations

import statistics
from pathlib import Path

from polytune.errors import PolytuneError
from polytune.lab.papers.item import Effort, Item, Recordings, Reproduction, Table
from polytune.lab.profiling import CounterSource, profile_settings
from polytune.lab.recording import RecordedSpace
from polytune.lab.run import Settings, Task, make_run

__all__ = ["ITEMS"]

_CORES = 4352  # of the GeForce RTX 2080 Ti of KTT's data
_WITHIN = 1.1


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


def _mean_steps(recorded: RecordedSpace, search: str, effort: Effort, settings: Settings | None = None) -> float:
    steps = []
    for repeat in range(effort.repeats):
        run = make_run(recorded, Task(search, len(recorded), repeat), effort.seed, settings or {}, enough=_WITHIN)
        steps.append(run.evaluations)
    return statistics.fmean(steps)


ITEMS = (
    Item(
        "counters-steps",
        "Filipovič et al., Performance counters, and KTT's data",
        "convergence of the profile-based searcher",
        "The steps that the search needs when it is guided by performance counters, and without.",
        "fewer steps than random search on each of five benchmarks and four GPUs, mostly by factors of 2 to 10",
        "polytune simulate SPACE --search profile random --cores N; python -m benchmarks.search profile SPACE",
        _steps,
    ),
)
