"""The figures in which the literature compares searches, drawn by Matplotlib."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from polytune.lab.results import Results, curves
from polytune.lab.statistics import Comparison, time_per_call
from polytune.tuner.extras import library

_DPI = 150
_BOOTSTRAPS = 2000
_CALLS = 200  # points along the axis of calls
_HORIZON = 100  # how many times as many calls as evaluations the figure of the amortisation shows


def draw_all(results: Sequence[Results], comparisons: Sequence[Comparison], folder: Path) -> list[Path]:
    """Draw every figure that the results have the numbers for.

    Args:
        results: one for each space.
        comparisons: of every search with the baseline, on every space and with every budget.
        folder: where to; made if it is not there.

    Returns:
        The files, PNG.

    Raises:
        MissingLibraryError: Matplotlib is not installed.
        OSError: they cannot be written.
    """
    files: list[Path] = []
    for result in results:
        mine = [c for c in comparisons if c.space == result.setting.space]
        files += draw_results(result, folder).values()
        files += _draw(_drawings_of(mine), folder, result.setting.space).values()
    files.append(save(folder / "aggregate.png", partial(_aggregate, comparisons=comparisons)))
    files.append(save(folder / "spaces.png", partial(_violins, results=results), width=2 + 1.2 * len(results)))
    return files


def draw_results(results: Results, folder: Path) -> dict[str, Path]:
    """Draw the convergence and the amortisation of the searches on a space; by what each shows, the file."""
    drawings = {
        "convergence": partial(_convergence, results=results),
        "amortisation": partial(_amortisation, results=results),
    }
    return _draw(drawings, folder, results.setting.space)


def draw_comparisons(comparisons: Sequence[Comparison], folder: Path) -> dict[str, Path]:
    """Draw the heat maps of each space, and the aggregate of all; by what each shows, the file."""
    found: dict[str, Path] = {}
    for space in dict.fromkeys(c.space for c in comparisons):
        found |= _draw(_drawings_of([c for c in comparisons if c.space == space]), folder, space)
    return found | {"all spaces": save(folder / "aggregate.png", partial(_aggregate, comparisons=comparisons))}


def _drawings_of(comparisons: Sequence[Comparison]) -> dict[str, Callable[[Any], None]]:
    return {
        "optimum": partial(_percentage_heat_map, comparisons=comparisons),
        "effect": partial(_effect_heat_map, comparisons=comparisons),
        "speedup": partial(_speedup_heat_map, comparisons=comparisons),
    }


def _draw(drawings: Mapping[str, Callable[[Any], None]], folder: Path, space: str) -> dict[str, Path]:
    return {
        f"{space}: {kind}": save(folder / f"{kind}-{file_name(space)}.png", draw) for kind, draw in drawings.items()
    }


def save(file: Path, draw: Callable[[Any], None], width: float = 7.0) -> Path:
    """Draw a figure into a file, and return that.

    Args:
        file: where to, PNG; its folder is made if it is not there.
        draw: draws on the axes that it is given.
        width: of the figure, in inches.

    Raises:
        MissingLibraryError: Matplotlib is not installed.
    """
    library("matplotlib", "drawing figures").use("Agg")
    file.parent.mkdir(parents=True, exist_ok=True)
    pyplot = library("matplotlib.pyplot", "drawing figures")
    figure, axes = pyplot.subplots(figsize=(max(width, 5.0), 4.5), layout="constrained")
    try:
        draw(axes)
        figure.savefig(file, dpi=_DPI)
    finally:
        pyplot.close(figure)
    return file


def _convergence(axes: Any, results: Results) -> None:
    """Draw the best slowdown so far by evaluations: the mean over the runs, and between the quartiles a band."""
    budget = results.budgets[-1]
    for search in results.searches:
        runs = results.of_search(search, budget)
        if not runs:
            continue
        best = curves(runs)
        evaluations = np.arange(1, best.shape[1] + 1)
        finite = np.isfinite(best).all(axis=0)
        (line,) = axes.plot(evaluations[finite], best.mean(axis=0)[finite], label=search)
        low, high = np.quantile(best[:, finite], (0.25, 0.75), axis=0)
        axes.fill_between(evaluations[finite], low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set(
        xlabel="evaluations",
        ylabel="slowdown of the best so far",
        title=plain_text(results.setting.space),
        xscale="log",
        ylim=(1, None),
    )
    axes.legend()


def _amortisation(axes: Any, results: Results) -> None:
    """Draw what a call costs on average, tuning included, by the number of calls."""
    budget = results.budgets[-1]
    calls = np.unique(np.geomspace(1, _HORIZON * budget, _CALLS).round().astype(int))
    for search in results.searches:
        runs = results.of_search(search, budget)
        if runs:
            axes.plot(calls, time_per_call(runs, results.setting.median, calls), label=search)
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
    axes.set(xlabel="calls", ylabel="time per call / that of the median configuration", xscale="log")
    axes.set_title(plain_text(results.setting.space))
    axes.legend()


def _percentage_heat_map(axes: Any, comparisons: Sequence[Comparison]) -> None:
    _heat_map(axes, comparisons, lambda c: c.percentage_of_optimum, "% of the optimum, median", "viridis", None, ".1f")


def _effect_heat_map(axes: Any, comparisons: Sequence[Comparison]) -> None:
    title = f"probability of beating {comparisons[0].baseline}" if comparisons else ""
    _heat_map(axes, comparisons, lambda c: c.effect, title, "RdBu", (0.0, 1.0), ".2f")


def _speedup_heat_map(axes: Any, comparisons: Sequence[Comparison]) -> None:
    title = f"median speedup over {comparisons[0].baseline}" if comparisons else ""
    _heat_map(axes, comparisons, lambda c: c.speedup, title, "viridis", None, ".2f")


def _aggregate(axes: Any, comparisons: Sequence[Comparison]) -> None:
    """Draw the mean over the spaces of the percentage of the optimum that the median run reaches, by evaluations, with
    its 95 % confidence interval."""
    for search in dict.fromkeys(c.search for c in comparisons):
        budgets = sorted({c.budget for c in comparisons if c.search == search})
        lines = []
        for budget in budgets:
            mine = [c.percentage_of_optimum for c in comparisons if (c.search, c.budget) == (search, budget)]
            lines.append((statistics.fmean(mine), *confidence_interval(mine)))
        means, low, high = np.array(lines).T
        (line,) = axes.plot(budgets, means, marker="o", label=plain_text(search))
        axes.fill_between(budgets, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    spaces = len({c.space for c in comparisons})
    title = f"mean of {spaces} space{'s' if spaces != 1 else ''}, 95 % confidence"
    axes.set(xlabel="evaluations", ylabel="% of the optimum, median", xscale="log", title=title)
    axes.set_xticks(sorted({c.budget for c in comparisons}), minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend()


def confidence_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of a mean, by the percentiles of 2,000 bootstrap samples, always the same ones.

    Args:
        values: at least one; of one value the interval is that value.
    """
    rng = np.random.default_rng(0)
    means = rng.choice(np.array(values), (_BOOTSTRAPS, len(values))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def _heat_map(
    axes: Any,
    comparisons: Sequence[Comparison],
    value: Callable[[Comparison], float],
    title: str,
    colours: str,
    limits: tuple[float, float] | None,
    digits: str,
) -> None:
    """Draw a row for each search, a column for each budget."""
    searches = list(dict.fromkeys(c.search for c in comparisons))
    budgets = sorted({c.budget for c in comparisons})
    table = np.full((len(searches), len(budgets)), math.nan)
    for c in comparisons:
        table[searches.index(c.search), budgets.index(c.budget)] = value(c)
    low, high = limits or (None, None)
    image = axes.imshow(table, cmap=colours, vmin=low, vmax=high, aspect="auto")
    for (row, column), number in np.ndenumerate(table):
        if math.isfinite(number):
            red, green, blue, _ = image.cmap(image.norm(number))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            axes.text(column, row, format(number, digits), ha="center", va="center", color="white" if dark else "black")
    axes.set_xticks(range(len(budgets)), budgets)
    axes.set_yticks(range(len(searches)), searches)
    spaces = dict.fromkeys(plain_text(c.space) for c in comparisons)
    axes.set(xlabel="evaluations", title="\n".join([*spaces, title]))


def _violins(axes: Any, results: Sequence[Results]) -> None:
    """Draw how the slowdowns of each space are distributed, on a logarithmic axis."""
    # Evenly spaced quantiles are a sample of the distribution.
    samples = [np.log10(result.setting.distribution) for result in results]
    axes.violinplot(samples, showmedians=True)
    names = [plain_text(result.setting.space).replace(", ", ",\n") for result in results]
    axes.set_xticks(range(1, len(samples) + 1), names, rotation=30, ha="right")
    top = math.ceil(max(float(sample[-1]) for sample in samples)) or 1
    axes.set_yticks(range(top + 1), [f"{10**power:g}" for power in range(top + 1)])
    axes.set(ylabel="slowdown", title="all configurations that ran")


def plain_text(name: str) -> str:
    """A name as Matplotlib draws it, which takes what stands between dollar signs for a formula."""
    return name.replace("$", r"\$")


def file_name(space: str) -> str:
    return "".join(character if character.isalnum() or character in "-_." else "_" for character in space)
