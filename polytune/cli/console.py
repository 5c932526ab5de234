"""Where the program writes: results on standard output, progress on standard error."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

results = Console()
progress = Console(stderr=True)
"""Its live lines show on a terminal only, so a log or a pipe holds no half-drawn ones."""


def print_json(value: Any) -> None:
    """Print ``value`` as JSON; what JSON does not know (a NumPy number, a path) becomes a number or text."""
    print(json.dumps(value, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
