"""The streams that the program writes to: results on standard output, progress on standard error."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

results = Console()
progress = Console(stderr=True)
"""Its live lines show on a terminal only, so a log or a pipe holds no half-drawn ones."""


_WIDEST = 10_000  # characters


def print_table(table: Table) -> None:
    """Print a table: as wide as the terminal at most, and as wide as it is where the output goes elsewhere."""
    console = results
    if not results.is_terminal:
        natural = Console(width=_WIDEST).measure(table).maximum
        console = Console(width=max(results.width, natural))
    console.print(table)


def print_json(value: Any) -> None:
    """Print ``value`` as JSON; what JSON does not know (a NumPy number, a path) becomes a number or text."""
    print(json.dumps(value, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
