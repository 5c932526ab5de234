"""J. Tørring and A. Elster, "Analyzing search techniques for autotuning image-based GPU kernels", IPDPSW 2022."""

from __future__ import annotations

from pathlib import Path

from polytune.lab.figures import draw_comparisons
from polytune.lab.merging import named_apart
from polytune.lab.papers.item import Effort, Item, Recordings, Reproduction, Table
from polytune.lab.results import Results, Setting
from polytune.lab.run import Task
from polytune.lab.simulation import make_runs, remeasured_option
from polytune.lab.statistics import compare, corrected

__all__ = ["ITEMS"]

_SEARCHES = ("random", "random_forest", "genetic", "gaussian_process", "tpe")
_ALL_SAMPLES = 20_000
_MEASURED = 10


def _study(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    # The study has 800 runs with 25 samples down to 50 with 400; these are shares of them.
    sizes = (25, 50, 100) if effort.repeats < 100 else (25, 50, 100, 200, 400)
    spaces = [*recordings.spaces[:2], *recordings.examples[:2]]
    found = []
    for recorded in spaces:
        tasks = [
            Task(search, size, repeat)
            for size in sizes
            if size < len(recorded)
            for search in _SEARCHES
            for repeat in range(max(_ALL_SAMPLES // size * effort.repeats // 10_000, 3))
        ]
        made = make_runs(recorded, tasks, effort.seed, effort.jobs, remeasured=_MEASURED)
        runs = effort.watched(made, f"{recorded.name}, runs", len(tasks))
        found.append(Results.ordered(Setting.of(recorded, effort.seed, remeasured_option(_MEASURED)), runs, _SEARCHES))
    found = named_apart(found)
    comparisons = corrected(
        [compare(each, "random", search, size) for each in found for size in each.budgets for search in each.searches]
    )
    rows = [
        [
            c.space,
            str(c.budget),
            c.search,
            str(c.repeats),
            f"{c.percentage_of_optimum:.1f}",
            f"{c.speedup:.3f}",
            f"{c.effect:.2f}",
            f"{c.p_corrected:.2g}",
        ]
        for c in comparisons
    ]
    ahead = {
        search: sum(c.effect > 0.5 for c in comparisons if c.search == search)
        for search in _SEARCHES
        if search != "random"
    }
    cells = sum(c.search == "random" for c in comparisons)
    ours = "ahead of random search in " + ", ".join(f"{count} of {cells} ({name})" for name, count in ahead.items())
    columns = ["space", "samples", "search", "runs", "% of optimum", "speedup", "CLES", "p, Holm's"]
    figures = draw_comparisons(comparisons, folder)
    table = Table(f"Beside random search, the best measured {_MEASURED} times anew", columns, rows)
    return Reproduction(ours, [table], figures)


ITEMS = (
    Item(
        "sample-sizes",
        "Tørring, Elster, The impact of sample sizes, IPDPSW 2022",
        "figures 2 to 4",
        "Which search is best with 25 to 400 samples: percentage of the optimum, speedup over random search, and CLES.",
        "BO GP is ahead with 25 to 100 samples, by 10 to 40 %; the genetic algorithm with 200 and 400, by 3 to 14 %",
        "polytune simulate SPACE --search random random_forest genetic gaussian_process tpe --budget 25 50 100 200 400 "
        "--remeasure 10 -o R.json; polytune compare R.json --plot FOLDER",
        _study,
    ),
)
