"""The streams that the program writes to: results on standard output, progress on standard error."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polytune.environment import JPY_PARENT_PID

_IS_TERMINAL = False if JPY_PARENT_PID.is_set else None
"""A cell of a notebook seems to be a terminal, and keeps every state of a line that changes."""

results = Console(force_terminal=_IS_TERMINAL)
progress = Console(stderr=True, force_terminal=_IS_TERMINAL)
"""Its live lines show on a terminal only, so a log or a pipe holds no half-drawn ones."""


_WIDEST = 10_000  # characters


def print_table(table: Table) -> None:
    """Print a table: as wide as the terminal at most, and as wide as it is where the output goes elsewhere.

    Nothing is cut off: what is too long for its column goes on in the next line of it.
    """
    console = results
    if not results.is_terminal:
        natural = Console(width=_WIDEST).measure(table).maximum
        console = Console(width=max(results.width, natural))
    # Columns that do not wrap are spared as long as the others can give way.
    is_tight = sum(console.measure(cell).maximum for cell in _unwrapped(table)) > console.width // 2
    for column in table.columns:
        column.overflow = "fold"
        column.no_wrap = column.no_wrap and not is_tight
    if results.is_terminal:
        console.print(table)
    else:
        with console.capture() as captured:
            console.print(table)
        print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _unwrapped(table: Table) -> Iterator[Any]:
    """The longest cell of each column that does not wrap."""
    for column in table.columns:
        if column.no_wrap:
            yield max(column.cells, key=lambda cell: len(str(cell)), default="")


def kernel_table(machines: Collection[str], numbers: Sequence[str]) -> Table:
    """A table about kernels and shapes, still without rows; further columns may follow.

    Args:
        machines: those of all rows; a single one is the title, several have a column.
        numbers: the headings of columns of numbers.
    """
    table = Table(box=None, pad_edge=False, title=Text(f"on {min(machines)}") if len(machines) == 1 else None)
    table.title_justify = "left"
    table.add_column("kernel", no_wrap=True)
    table.add_column("shape", overflow="fold")
    if len(machines) > 1:
        table.add_column("machine", overflow="fold")
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    return table


class ProgressText(Protocol):
    """A text that says what a command is doing."""

    def update(self, text: str) -> None:
        """Say something else."""


SECONDS_BETWEEN_LINES = 5.0
"""The seconds without a line in a log or a pipe after a line of progress."""


class _LineProgress:
    """Writes a line every few seconds, for logs and pipes."""

    def __init__(self, text: str) -> None:
        self._text, self._written = text, ""
        self._next = time.monotonic() + SECONDS_BETWEEN_LINES

    def update(self, text: str) -> None:
        self._text = text
        if time.monotonic() >= self._next:
            self.write()

    def write(self) -> None:
        """Write what was said last, unless that was written before."""
        self._next = time.monotonic() + SECONDS_BETWEEN_LINES
        if self._text != self._written:
            progress.print(Text(self._text), soft_wrap=True)
            self._written = self._text


@contextmanager
def progress_text(text: str) -> Iterator[ProgressText]:
    """Say on standard error what is being done: on a terminal in one line that changes, elsewhere a line at the
    beginning and one every few seconds.

    Args:
        text: what is said first.
    """
    if progress.is_terminal:
        with progress.status(text) as line:
            yield line
    else:
        lines = _LineProgress(text)
        lines.write()
        yield lines


def print_json(value: Any) -> None:
    """Print ``value`` as JSON; what JSON does not know (a NumPy number, a path) becomes a number or text."""
    print(json.dumps(value, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
