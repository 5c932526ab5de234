"""The analyses of variance of a designed experiment, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from polytune.cli.console import print_table, results

if TYPE_CHECKING:
    from polytune.tuner import DesignStep


def print_steps(about: str, steps: Sequence[DesignStep]) -> None:
    """Print each step: its table, what was predicted, and why which factor was fixed.

    Args:
        about: what was searched, for people.
        steps: of the experiment.
    """
    for number, step in enumerate(steps, start=1):
        transform = "none" if step.power == 1 else f"power {step.power:.3g}"
        title = f"{about}, step {number}: {step.points} points, {step.candidates} candidates, transform {transform}"
        results.print(Text(title), soft_wrap=True)
        table = Table(box=None, pad_edge=False)
        table.add_column("term")
        for column in ("Df", "Sum Sq", "Mean Sq", "F value", "Pr(>F)"):
            table.add_column(column, justify="right")
        table.add_column("")
        for row in step.table:
            mean = row.sum_of_squares / row.degrees if row.degrees else math.nan
            numbers = (format(value, ".4g") if not math.isnan(value) else "" for value in (mean, row.f, row.p))
            table.add_row(Text(row.term), str(row.degrees), f"{row.sum_of_squares:.4g}", *numbers, row.mark)
        print_table(table)
        predicted = ", ".join(f"{name}={value}" for name, value in step.predicted.items())
        results.print(Text(f"predicted to be the best: {predicted}"), soft_wrap=True)
        if step.left_out:
            results.print(Text(f"left out, as they mean nothing: {', '.join(step.left_out)}"), soft_wrap=True)
        results.print(Text(step.reason), soft_wrap=True)
        results.print()
