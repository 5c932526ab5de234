"""The page of what was made of the papers: HTML with the figures in it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from itertools import groupby

from polytune.lab.papers.item import Item, Reproduction, Table
from polytune.lab.papers.running_kernels import RUNNING_KERNELS

__all__ = ["page"]

_PIXELS_PER_EM = 31  # text in figures is then about as large as that around them
_PNG_WIDTH = slice(16, 20)  # bytes of the file: the first field of the chunk IHDR, PNG specification, section 11.2.2

_SHOWN_ROWS = 30  # of a table; a longer one is shown when its title is clicked

_STYLE = """
body { font-family: sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 0.5em 0 1.5em; font-size: 0.9em; }
th, td { padding: 0.15em 0.7em; border-bottom: 1px solid #ddd; text-align: left; }
caption { text-align: left; font-weight: bold; padding: 0.4em 0; }
figure { display: inline-block; margin: 0.5em; max-width: 100%; } img { max-width: 100%; }
dt, summary { font-weight: bold; } details { margin: 0.5em 0 1.5em; } code { background: #f3f3f3; }
"""


def page(found: Sequence[tuple[Item, Reproduction | None]], about: str) -> str:
    """The page as text.

    Args:
        found: the items with what was made of each; None where a recording was not at hand.
        about: how it was obtained, in a sentence.
    """
    parts = [
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>polytune and its papers</title>",
        f"<style>{_STYLE}</style></head><body><h1>The papers, made again</h1><p>{escape(about)}</p>",
        _overview(found),
    ]
    for paper, items in groupby(found, key=lambda pair: pair[0].paper):
        parts.append(f"<h2>{escape(paper)}</h2>")
        parts += [_section(item, reproduction) for item, reproduction in items]
    parts.append(f"<h2>Not from recordings</h2>{_table(RUNNING_KERNELS)}")
    return "\n".join([*parts, "</body></html>\n"])


def _overview(found: Sequence[tuple[Item, Reproduction | None]]) -> str:
    columns = "".join(f"<th>{name}</th>" for name in ("paper", "where", "the paper's", "ours"))
    rows = "".join(
        f"<tr><td>{escape(item.paper)}</td><td><a href='#{escape(item.name)}'>{escape(item.where)}</a></td>"
        f"<td>{escape(item.theirs)}</td><td>{escape(_ours(reproduction))}</td></tr>"
        for item, reproduction in found
    )
    return f"<table><caption>All of them</caption><tr>{columns}</tr>{rows}</table>"


def _ours(reproduction: Reproduction | None) -> str:
    return "left out: a recording that it needs is not at hand" if reproduction is None else reproduction.ours


def _section(item: Item, reproduction: Reproduction | None) -> str:
    told = {"What": item.what, "The paper's": item.theirs, "Ours": _ours(reproduction)}
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in told.items())
    head = f"<h3 id='{escape(item.name)}'>{escape(item.where)}</h3><dl>{listed}"
    head += f"<dt>Command</dt><dd><code>{escape(item.command)}</code></dd></dl>"
    if reproduction is None:
        return head
    figures = []
    for title, path in reproduction.figures.items():
        content = path.read_bytes()
        data = base64.b64encode(content).decode()
        figures.append(
            f"<figure><img alt='{escape(title)}' style='width: {_width(content):.1f}em' "
            f"src='data:image/png;base64,{data}'>"
            f"<figcaption>{escape(title)}</figcaption></figure>"
        )
    return "\n".join([head, *map(_table, reproduction.tables), *figures])


def _width(png: bytes) -> float:
    """Return how wide a figure is shown, in em: at one scale, so that text is as large in wide ones as in others."""
    return int.from_bytes(png[_PNG_WIDTH], "big") / _PIXELS_PER_EM


def _table(table: Table) -> str:
    columns = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    title = escape(table.title)
    if len(table.rows) > _SHOWN_ROWS:
        return f"<details><summary>{title}</summary><table><tr>{columns}</tr>{rows}</table></details>"
    return f"<table><caption>{title}</caption><tr>{columns}</tr>{rows}</table>"
