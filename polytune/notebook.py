"""Pieces of HTML that notebooks show in place of text: tables, and text as it is.

They have no colours of their own, so that they suit light and dark pages alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["ShownText", "paragraph", "progress_bar", "table", "text"]

_LEFT = "text-align: left"


def _escaped(shown: str) -> str:
    from html import escape  # which takes a millisecond, and is needed in notebooks alone

    return escape(shown)


def text(shown: str) -> str:
    """Text in lines, as it is."""
    return f'<pre style="{_LEFT}; white-space: pre-wrap">{_escaped(shown)}</pre>'


def paragraph(shown: str, *, strong: bool = False) -> str:
    """One paragraph of text."""
    return f"<p><b>{_escaped(shown)}</b></p>" if strong else f"<p>{_escaped(shown)}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table of texts.

    Args:
        heads: the head of each column.
        rows: a cell for each column.
        caption: the title; none where it is empty.
    """
    parts = ["<table>"]
    if caption:
        parts.append(f'<caption style="{_LEFT}">{_escaped(caption)}</caption>')
    parts.append(_row("th", heads))
    parts += [_row("td", [str(cell) for cell in row]) for row in rows]
    return "".join([*parts, "</table>"])


def _row(kind: str, cells: Sequence[str]) -> str:
    written = "".join(f'<{kind} style="{_LEFT}">{_escaped(cell)}</{kind}>' for cell in cells)
    return f"<tr>{written}</tr>"


def progress_bar(done: float, shown: str) -> str:
    """A bar that is partly full, and a text beside it.

    Args:
        done: how much of it is full, from 0 to 1.
        shown: the text.
    """
    return f'<progress value="{min(max(done, 0.0), 1.0):.3f}" max="1"></progress> {_escaped(shown)}'


class ShownText(str):
    """A text that IPython and notebooks show in lines, as ``print`` does."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
