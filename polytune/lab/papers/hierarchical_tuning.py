"""P. Pfaffe, T. Grosser and M. Tillmann, "Efficient Hierarchical Online-Autotuning", ICS 2019."""

from __future__ import annotations

import math
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from polytune.lab.figures import draw_results, file_name, plain_text, save
from polytune.lab.papers.item import Effort, Item, Recordings, Reproduction, Table
from polytune.lab.results import Results, Setting
from polytune.lab.run import Task
from polytune.lab.simulation import make_runs
from polytune.lab.statistics import calls_to_pay

__all__ = ["ITEMS"]

_PAPER = "Pfaffe et al., Efficient Hierarchical Online-Autotuning, ICS 2019"
_CALLS = 100
_NEAR, _TWICE = 1.1, 2.0  # slowdowns that the paper's figure 6 marks
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
        tasks = [Task(search, _CALLS, repeat) for search in _SEARCHES for repeat in range(max(effort.repeats // 10, 2))]
        made = make_runs(recorded, tasks, effort.seed, effort.jobs)
        runs = effort.watched(made, f"{recorded.name}, runs", len(tasks))
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


def _densities(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    rows: list[list[str]] = []
    figures: dict[str, Path] = {}
    near: list[float] = []
    for recorded in [*recordings.examples, *recordings.counted]:
        slowdowns = recorded.slowdowns[np.isfinite(recorded.slowdowns)]
        near.append(float((slowdowns <= _NEAR).mean()))
        twice = float((slowdowns >= _TWICE).mean())
        median = float(np.median(slowdowns))
        rows.append([recorded.name, str(len(slowdowns)), f"{median:.2f}", f"{near[-1]:.2%}", f"{twice:.0%}"])
        file = folder / f"density-{file_name(recorded.name)}.png"
        figures[f"{recorded.name}: density"] = save(
            file, partial(_draw_density, slowdowns=slowdowns, title=recorded.name)
        )
    if not rows:
        return None
    columns = ["kernel", "configurations that ran", "median slowdown", "within 10 %", "at least twice as slow"]
    ours = f"{min(near):.2%} to {max(near):.1%} of the configurations are within 10 % of the best"
    return Reproduction(ours, [Table("How times are distributed in spaces of polytune's own", columns, rows)], figures)


def _draw_density(axes: Any, slowdowns: np.ndarray, title: str) -> None:
    """Draw the density of the slowdowns' logarithms, with both areas of the paper's figure and the median."""
    count = math.ceil(math.log(max(float(slowdowns.max()), _TWICE)) / math.log(_NEAR)) + 1
    edges = np.union1d(_NEAR ** np.arange(count + 1), [_TWICE])
    shares, _ = np.histogram(slowdowns, edges)
    colours = ["tab:green" if low < _NEAR else "tab:red" if low >= _TWICE else "tab:grey" for low in edges[:-1]]
    density = shares / len(slowdowns) / np.diff(np.log(edges))
    axes.bar(edges[:-1], density, width=np.diff(edges), align="edge", color=colours)
    axes.axvline(float(np.median(slowdowns)), color="black", linestyle="--", label="median")
    axes.set(xscale="log", xlabel="slowdown", ylabel="density, by the slowdown's logarithm", title=plain_text(title))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend()


ITEMS = (
    Item(
        "hierarchical-density",
        _PAPER,
        "figure 6",
        "How the times of a reduced space are distributed: green is within 10 % of the best, red at least twice as "
        "slow.",
        "gemm: 0.3 % of the configurations within 10 % of the best, 64 % at least twice as slow; the median 2.7 times",
        "polytune simulate SPACE --output R.json; polytune compare R.json --plot FOLDER (spaces.png)",
        _densities,
    ),
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
