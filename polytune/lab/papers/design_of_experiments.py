"""P. Bruel, "Autotuning: a design of experiments approach", slides, 2018, with Bruel et al., CCGRID 2019."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

from polytune.lab.papers.item import Effort, Item, Recordings, Reproduction, Table
from polytune.lab.results import quartiles
from polytune.lab.run import Task, run_search
from polytune.lab.simulation import make_runs
from polytune.lab.strategies import STRATEGIES

__all__ = ["ITEMS"]

_PAPER = "Bruel, Autotuning: a design of experiments approach"
_POINTS, _MORE_POINTS = 55, 120
_PUBLISHED = {
    "RS": (1.00, 1.10, 1.39, 120),
    "LHS": (1.00, 1.17, 1.52, 98.92),
    "GS": (1.00, 6.46, 124.76, 22.17),
    "GSR": (1.00, 1.23, 3.16, 120),
    "GA": (1.00, 1.12, 1.65, 120),
    "LM": (1.01, 1.02, 3.77, 119),
    "LMB": (1.01, 1.03, 3.80, 104.81),
    "LMBT": (1.01, 1.03, 1.98, 104.89),
    "RQ": (1.01, 1.02, 2.06, 119),
    "DOPT": (1.38, 1.68, 2.91, 120),
    "DLM": (1.01, 1.01, 1.08, 54.85),
    "DLMT": (1.01, 1.01, 1.01, 54.84),
}
"""The published minimum, mean and maximum of the slowdown, and the mean number of points, by strategy."""


def _analysis(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    if recordings.laplacian is None:
        return None
    run, search = run_search(recordings.laplacian, Task("dlmt", _POINTS, 0), effort.seed)
    tables = []
    for number, step in enumerate(search.steps, start=1):
        rows = [
            [row.term, str(row.degrees), f"{row.sum_of_squares:.4g}", _number(row.f), _number(row.p), row.mark]
            for row in step.table
        ]
        title = f"Step {number}, {step.points} points, {step.candidates} candidates: {step.reason}"
        tables.append(Table(title, ["term", "Df", "Sum Sq", "F value", "Pr(>F)", ""], rows))
    fixed = ", ".join(step.fixed for step in search.steps if step.fixed)
    return Reproduction(
        f"factors fixed in the order {fixed}; slowdown {run.slowdown:.4f} at {run.evaluations} points", tables
    )


def _strategies(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    if recordings.laplacian is None:
        return None
    repeats = max(effort.repeats // 10, 2)
    budgets = {search: _POINTS if name in ("DLM", "DLMT") else _MORE_POINTS for name, search in STRATEGIES.items()}
    tasks = [Task(search, budget, repeat) for search, budget in budgets.items() for repeat in range(repeats)]
    running = make_runs(recordings.laplacian, tasks, effort.seed, effort.jobs)
    made = list(effort.watched(running, "runs", len(tasks)))
    rows, means = [], {}
    for name, search in STRATEGIES.items():
        runs = [run for run in made if run.task.search == search]
        slowdowns = [run.slowdown for run in runs]
        means[name] = statistics.fmean(slowdowns)
        points = statistics.fmean(run.evaluations for run in runs)
        least, mean, most, published = _PUBLISHED[name]
        numbers = [*quartiles(slowdowns), means[name]]
        rows.append(
            [
                name,
                search,
                *(f"{value:.3f}" for value in numbers),
                f"{points:.1f}",
                f"{least:.2f} / {mean:.2f} / {most:.2f}",
                f"{published:.1f}",
            ]
        )
    columns = ["strategy", "search", "min", "1st quartile", "median", "3rd quartile", "max", "mean", "points"]
    columns += ["paper: min / mean / max", "paper: points"]
    ours = f"DLMT {means['DLMT']:.3f} and DLM {means['DLM']:.3f} with {_POINTS} points, RS {means['RS']:.2f} with 120"
    return Reproduction(f"{ours} ({repeats} runs)", [Table("Twelve strategies on the Laplacian kernel", columns, rows)])


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"


ITEMS = (
    Item(
        "design-analysis",
        _PAPER,
        "slides of steps 1 to 3",
        "The analysis of variance of each step of DLMT on the Laplacian kernel, and which factors are fixed.",
        "vector_length and lws_y first, then y_component_number and threads_number, chosen by hand; slowdown 1.012",
        "polytune simulate SPACE --search dlmt --budget 55 --analysis",
        _analysis,
    ),
    Item(
        "design-strategies",
        _PAPER,
        "table 1",
        "Twelve strategies on the Laplacian kernel.",
        "DLMT 1.01 with 54.84 points, RS 1.10 and GA 1.12 with 120, greedy search 6.46",
        "polytune simulate SPACE --strategies --budget 55 120",
        _strategies,
    ),
)
