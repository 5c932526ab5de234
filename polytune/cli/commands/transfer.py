"""``polytune transfer``: what recorded spaces of one device or input tell of tuning on another."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from polytune.cli.console import print_json, print_table, progress, results
from polytune.cli.options import Debug, Json, ValueListCommand
from polytune.files import check_output_folder

if TYPE_CHECKING:
    from polytune.lab.historical import Convergence, Family

COMMAND_CLASS = ValueListCommand


def transfer(
    spaces: Annotated[list[str], typer.Argument(metavar="SPACE...", help="Recorded spaces, or example:NAME.")],
    threshold: Annotated[
        float, typer.Option(metavar="SHARE", help="Of the best performance, from which on one performs well.")
    ] = 0.9,
    probability: Annotated[
        float, typer.Option(metavar="P", help="With which a random search is to have met one that performs well.")
    ] = 0.9,
    method: Annotated[
        list[str] | None, typer.Option(metavar="NAME...", help="naive, aggressive or conservative; all of them.")
    ] = None,
    cutoff: Annotated[
        float, typer.Option(metavar="SHARE", help="Of the largest mutual information, below which one is pruned.")
    ] = 0.05,
    level: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which value a pruned parameter keeps: common, best or median.")
    ] = None,
    search: Annotated[
        list[str] | None, typer.Option(metavar="NAME...", help="Run these on full and conservatively pruned spaces.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="How many runs of each.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="What the random choices come from.")] = 0,
    plot: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Draw the figures, as PNG.")] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Say what recorded spaces tell of each other: the portion that performs well, how many steps a search needs, how
    much each parameter matters, and what is kept where the parameters that matter little are not searched elsewhere.

    Spaces with the same parameters are of one kernel. Each is pruned by what each other one says. The methods are
    described in docs/replay.md; --cutoff 0.2 --level median prunes as the paper does.
    """
    check_output_folder(plot)
    from polytune.lab import load
    from polytune.lab.historical import METHODS, check_pruning, families
    from polytune.lab.run import check_search

    methods = method or list(METHODS)
    for name in methods:
        check_pruning(name, level, cutoff=cutoff, threshold=threshold)
    for name in search or ():
        check_search(name)

    with progress.status("reading") as line:
        recordings = []
        for space in spaces:
            line.update(f"reading {space}")
            recordings.append(load(space))
        reports = []
        figures: list[str] = []
        for family in families(recordings):
            report, convergences = _report(
                family, threshold, probability, methods, cutoff, level, search or (), repeat, seed, line
            )
            reports.append(report)
            if plot is not None:
                from polytune.lab.historical.figures import draw_correlation, draw_family

                figures += map(str, draw_family(family, report["information"], convergences, plot))
                if len(family.members) > 1:
                    figures.append(str(draw_correlation(family, plot)))
    if as_json:
        print_json({"threshold": threshold, "probability": probability, "kernels": reports, "figures": figures})
        return
    for report in reports:
        for table in _tables(report, threshold, probability):
            print_table(table)
            results.print()
    for file in figures:
        results.print(Text(file))


def _report(
    family: Family,
    threshold: float,
    probability: float,
    methods: list[str],
    cutoff: float,
    level: str | None,
    searches: Any,
    repeats: int,
    seed: int,
    line: Any,
) -> tuple[dict[str, Any], dict[tuple[str, str], list[Convergence]]]:
    """Everything that is told of a kernel, as a dictionary, and the runs of searches by source and target."""
    from polytune.lab.historical import (
        convergence,
        mutual_information,
        portion,
        prune,
        retention,
        steps_to_find,
    )

    line.update(f"{family.kernel}: looking at parameters")
    portions = {}
    for name, recorded in family.members.items():
        share = portion(recorded, threshold)
        steps = steps_to_find(share, probability)
        portions[name] = {"configurations": len(recorded), "portion": share, "steps": steps}
    information = {name: mutual_information(recorded) for name, recorded in family.members.items()}
    prunings, runs = [], []
    convergences: dict[tuple[str, str], list[Convergence]] = {}
    for source, recorded in family.members.items():
        for method in methods:
            pruning = prune(recorded, method, cutoff=cutoff, threshold=threshold, level=level)
            for target, other in family.members.items():
                found = retention(other, pruning, threshold)
                row = {"source": source, "target": target, "method": method, "fixed": dict(pruning.fixed)}
                prunings.append({**row, **{key: _finite(value) for key, value in vars(found).items()}})
                if method != "conservative" or source == target:
                    continue
                for search in searches:
                    line.update(f"{family.kernel}: {search}, {source} to {target}")
                    ran = convergence(other, pruning, search, repeats, threshold=threshold, seed=seed)
                    convergences.setdefault((source, target), []).append(ran)
                    means = {"full": ran.full_mean, "pruned": _finite(ran.pruned_mean), "gain": ran.gain}
                    runs.append({"source": source, "target": target, "search": search, "repeats": repeats, **means})
    report = {
        "kernel": family.kernel,
        "portions": portions,
        "mean_portion": statistics.fmean(entry["portion"] for entry in portions.values()),
        "portion_deviation": statistics.stdev(entry["portion"] for entry in portions.values())
        if len(portions) > 1
        else None,
        "information": information,
        "prunings": prunings,
        "convergence": runs,
    }
    return report, convergences


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _tables(report: dict[str, Any], threshold: float, probability: float) -> list[Table]:
    made = [_portions(report, threshold, probability), _information(report), _prunings(report)]
    return [*made, _convergence(report)] if report["convergence"] else made


def _portions(report: dict[str, Any], threshold: float, probability: float) -> Table:
    rows = [
        [name, str(entry["configurations"]), f"{entry['portion']:.5f}", str(entry["steps"])]
        for name, entry in report["portions"].items()
    ]
    if report["portion_deviation"] is not None:
        rows.append(["average", "", f"{report['mean_portion']:.5f} ± {report['portion_deviation']:.5f}", ""])
    return _table(
        f"{report['kernel']}: what reaches {threshold:.0%} of the best performance",
        ["recording", "configurations", "portion", f"steps for {probability:.0%}"],
        rows,
    )


def _information(report: dict[str, Any]) -> Table:
    information = report["information"]
    names = list(information)
    parameters = sorted(information[names[0]], key=lambda p: -statistics.fmean(information[name][p] for name in names))
    return _table(
        f"{report['kernel']}: mutual information with the time, in bits",
        ["parameter", *names],
        [[parameter, *(f"{information[name][parameter]:.4f}" for name in names)] for parameter in parameters],
    )


def _prunings(report: dict[str, Any]) -> Table:
    return _table(
        f"{report['kernel']}: pruned by what one says, held against another",
        ["from", "to", "method", "SSR", "PP", "PR", "recall", "random steps", "pruned"],
        [
            [
                row["source"],
                row["target"],
                row["method"],
                _number(row["reduction"], ".1f"),
                f"{row['pruned']}/{row['parameters']}",
                f"{row['performance']:.3f}",
                f"{row['recall']:.2f}",
                _number(row["full_steps"], ".0f"),
                _number(row["pruned_steps"], ".0f"),
            ]
            for row in report["prunings"]
        ],
    )


def _convergence(report: dict[str, Any]) -> Table:
    return _table(
        f"{report['kernel']}: mean steps of {report['convergence'][0]['repeats']} runs to one that performs well",
        ["from", "to", "search", "full space", "pruned space", "gain"],
        [
            [
                row["source"],
                row["target"],
                row["search"],
                _number(row["full"], ".1f"),
                _number(row["pruned"], ".1f"),
                f"{row['gain']:.2f}",
            ]
            for row in report["convergence"]
        ],
    )


def _table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    table = Table(box=None, pad_edge=False, title=Text(title), title_justify="left")
    words = {"recording", "parameter", "from", "to", "method", "search"}
    for column in columns:
        table.add_column(Text(column), justify="left" if column in words else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _number(value: float | None, digits: str) -> str:
    return "never" if value is None else format(value, digits)
