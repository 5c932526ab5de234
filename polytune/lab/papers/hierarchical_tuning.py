"""P. Pfaffe, T. Grosser and M. Tillmann, "Efficient Hierarchical Online-Autotuning", ICS 2019."""

from __future__ import annotations

import statistics
from pathlib import Path

from polytune.lab.figures import draw_results
from polytune.lab.papers.item import Effort, Item, Recordings, Reproduction, Table
from polytune.lab.results import Results, Setting
from polytune.lab.run import Task, make_run
from polytune.lab.statistics import calls_to_pay

__all__ = ["ITEMS"]

_PAPER = "Pfaffe et al., Efficient Hierarchical Online-Autotuning, ICS 2019"
_CALLS = 100
_SEARCHES = (
    "nelder_mead",
    "online",
    "online:epsilon=0.5",
    "online:epsilon=0.5,decay=0",
    "online:numeric=nelder_mead",
)


def _traces(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    rows: list[list[str]] = []
    figures: dict[str, Path] = {}
    paid: dict[str, list[float]] = {search: [] for search in _SEARCHES}
    for recorded in recordings.examples:
        runs = [
            make_run(recorded, Task(search, _CALLS, repeat), effort.seed)
            for search in _SEARCHES
            for repeat in range(max(effort.repeats // 10, 2))
        ]
        results = Results.ordered(Setting.of(recorded, effort.seed), runs, _SEARCHES)
        for search in _SEARCHES:
            mine = results.of_search(search, _CALLS)
            pays = statistics.median(calls_to_pay(run, results.setting.median) for run in mine)
            paid[search].append(pays)
            mean = statistics.fmean(run.slowdown for run in mine)
            spent = statistics.fmean(statistics.fmean(run.slowdowns) for run in mine)
            rows.append([recorded.name, search, f"{mean:.3f}", f"{spent:.3f}", f"{pays:.0f}"])
        figures |= draw_results(results, folder)
    if not rows:
        return None
    columns = ["kernel", "search", "slowdown of the best", "mean slowdown of a call", "calls until tuning has paid"]
    ours = f"the online tuner has paid after {max(paid['online']):.0f} calls at most, beside the median configuration"
    title = f"{_CALLS} calls on recorded spaces of polytune's own kernels"
    return Reproduction(ours, [Table(title, columns, rows)], figures)


ITEMS = (
    Item(
        "hierarchical-traces",
        _PAPER,
        "figures 7, 8",
        "Traces of hierarchical tuning beside the Nelder-Mead method, other epsilons, and when tuning has paid.",
        "converged after 100 iterations where Nelder-Mead needs 200; pays after 50; an unlucky epsilon is worse",
        "polytune simulate example:gemm --search nelder_mead online online:epsilon=0.5 -o R.json; "
        "polytune compare R.json --baseline nelder_mead --plot FOLDER",
        _traces,
    ),
)
