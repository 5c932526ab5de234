"""``polytune compare``: which of the searches is better, and whether that is more than chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from polytune.cli.console import print_json, print_table, progress, results
from polytune.cli.options import Debug, Json
from polytune.files import check_output_folder

if TYPE_CHECKING:
    from polytune.lab import Results
    from polytune.lab.statistics import Comparison

_INCOMPLETE = (
    "* a mean over some of the spaces and budgets only, which compares with no other; simulate --resume makes the rest"
)
_CORRECTION = (
    "p is that of the two-sided Mann-Whitney U test after Holm's correction for {tests} comparisons; a star where it "
    "is below 0.01"
)


def compare(
    files: Annotated[list[Path], typer.Argument(metavar="RESULTS...", help="What polytune simulate wrote.")],
    baseline: Annotated[str, typer.Option(metavar="SEARCH", help="What the others are compared with.")] = "random",
    plot: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Draw the figures, as PNG.")] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare searches with a baseline: medians, the Mann-Whitney test, the effect size, and an aggregated score.

    Files of the same space are taken together. The effect is the probability that a run of the search beats a run of
    the baseline; the score is 0 for the baseline and 1 for the optimum, see docs/replay.md.
    """
    check_output_folder(plot)
    from polytune.lab.merging import merge
    from polytune.lab.results_files import read_results
    from polytune.lab.score import aggregate

    with progress.status("comparing"):
        spaces = merge([read_results(path) for path in files])
        comparisons = compared(spaces, baseline)
        of_search = by_search(comparisons)
        scores = {name: aggregate(c.score for c in own) for name, own in of_search.items()}
        cells = {name: len(own) for name, own in of_search.items()}
        all_cells = sum(len(space.budgets) for space in spaces)
        figures = [] if plot is None else draw(spaces, comparisons, plot)
    if as_json:
        print_json(
            {
                "baseline": baseline,
                "comparisons": [comparison.to_json() for comparison in comparisons],
                "scores": _as_json(scores),
                "cells": cells,
                "all_cells": all_cells,
                "figures": [str(file) for file in figures],
            }
        )
        return
    for space in spaces:
        print_table(_table(space.setting.space, [c for c in comparisons if c.space == space.setting.space], baseline))
        results.print()
    print_table(_scores(scores, cells, all_cells, len(spaces)))
    tests = sum(c.search != baseline for c in comparisons)
    notes = [_INCOMPLETE] if any(count < all_cells for count in cells.values()) else []
    for note in (*notes, _CORRECTION.format(tests=tests)):
        results.print(Text(note), soft_wrap=True)
    for file in figures:
        results.print(Text(str(file)))


def compared(spaces: Sequence[Results], baseline: str) -> list[Comparison]:
    """Each search with a baseline, on each space and with each budget.

    Raises:
        typer.BadParameter: the baseline has no runs of a space and a budget.
    """
    from polytune.lab.statistics import compare as compare_search
    from polytune.lab.statistics import corrected

    found: list[Comparison] = []
    for space in spaces:
        check_baseline(space, baseline)
        for budget in space.budgets:
            searches = [search for search in space.searches if space.of_search(search, budget)]
            found += [compare_search(space, baseline, search, budget) for search in searches]
    return corrected(found)


def by_search(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """The comparisons of each search."""
    found: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        found.setdefault(comparison.search, []).append(comparison)
    return found


def draw(spaces: Sequence[Results], comparisons: Sequence[Comparison], folder: Path) -> list[Path]:
    """Draw the figures.

    Args:
        spaces: the results.
        comparisons: what was found of them.
        folder: where to.

    Returns:
        The files.
    """
    from polytune.lab.figures import draw_all

    return draw_all(spaces, comparisons, folder)


def _as_json(scores: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(score) else score for name, score in scores.items()}


def check_baseline(space: Results, baseline: str) -> None:
    """See to it that the baseline has runs with every budget of a space.

    Raises:
        typer.BadParameter: it has not.
    """
    name = space.setting.space
    if baseline not in space.searches:
        raise typer.BadParameter(f"--baseline {baseline}: on {name} there are only {', '.join(space.searches)}")
    for budget in space.budgets:
        if not space.of_search(baseline, budget):
            raise typer.BadParameter(f"--baseline {baseline}: on {name} it has no runs with {budget} evaluations")


def _table(space: str, comparisons: list[Comparison], baseline: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), title=Text(space), title_justify="left")
    table.add_column("budget", justify="right")
    table.add_column("search", no_wrap=True)
    for column in ("runs", "mean", "median", "% of optimum", "speedup", "effect", "p", "score", "pays after"):
        table.add_column(column, justify="right", overflow="fold")
    for c in comparisons:
        against = ("", "", "") if c.search == baseline else (_number(c.speedup), f"{c.effect:.2f}", _p_value(c))
        table.add_row(
            str(c.budget),
            Text(c.search),
            str(c.repeats),
            _number(c.mean_slowdown),
            _number(c.median_slowdown),
            f"{c.percentage_of_optimum:.1f}",
            *against,
            _number(c.score),
            f"{c.calls_to_pay:.0f}" if math.isfinite(c.calls_to_pay) else "never",
        )
    return table


def _scores(scores: dict[str, float], cells: dict[str, int], all_cells: int, spaces: int) -> Table:
    """The mean score of each search, the best first; those that lack some spaces or budgets come last, marked."""
    table = Table(box=None, pad_edge=False)
    table.add_column("search")
    table.add_column(f"score over {spaces} space{'s' if spaces != 1 else ''}", justify="right")
    table.add_column("of spaces and budgets", justify="right")
    for name, score in sorted(
        scores.items(), key=lambda pair: (cells[pair[0]] < all_cells, math.isnan(pair[1]), -pair[1])
    ):
        mark = " *" if cells[name] < all_cells else ""
        table.add_row(Text(name), _number(score) + mark, f"{cells[name]} of {all_cells}")
    return table


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"


def _p_value(comparison: Comparison) -> str:
    return f"{comparison.p_corrected:.2g}" + (" *" if comparison.is_significant else "")
