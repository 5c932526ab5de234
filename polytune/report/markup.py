"""HTML that is safe by construction: whatever is no ``Markup`` is text, and is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["Markup", "definitions", "element", "folded", "joined", "listed", "named", "table"]

_EMPTY = frozenset({"br", "col", "hr", "img", "input", "link", "meta"})


class Markup(str):
    """HTML that may stand on a page as it is."""

    __slots__ = ()


def escaped(content: object) -> Markup:
    """The text of anything, as HTML shows it; what is ``Markup`` is left as it is."""
    return content if isinstance(content, Markup) else Markup(html.escape(str(content)))


def joined(parts: Iterable[object], separator: str = "") -> Markup:
    """Some parts one after the other, with a text between them."""
    return Markup(html.escape(separator).join(escaped(part) for part in parts))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element of HTML.

    Args:
        name: its name.
        children: what is in it, text unless it is ``Markup``.
        attributes: its attributes; a trailing underscore is left out (``class_``), other underscores become hyphens.
            None and False leave an attribute out, True gives it no value.
    """
    written = []
    for key, value in attributes.items():
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            written.append(f" {label}")
        elif value is not None and value is not False:
            written.append(f' {label}="{html.escape(str(value))}"')
    opening = f"<{name}{''.join(written)}>"
    return Markup(opening if name in _EMPTY else f"{opening}{joined(children)}</{name}>")


def table(
    headings: Sequence[object], rows: Iterable[Sequence[object]], *, caption: object = None, numbers: Sequence[int] = ()
) -> Markup:
    """A table that scrolls by itself where the page is narrow.

    Args:
        headings: of the columns.
        rows: the cells of each row; the first one is its heading.
        caption: what it shows, if that is to be said.
        numbers: the columns that hold numbers, which are set flush right.
    """

    def cell(name: str, position: int, content: object, scope: str | None) -> Markup:
        return element(name, content, scope=scope, class_="number" if position in numbers else None)

    head = element("tr", *(cell("th", k, heading, "col") for k, heading in enumerate(headings)))
    body = (
        element("tr", *(cell("td" if k else "th", k, each, None if k else "row") for k, each in enumerate(row)))
        for row in rows
    )
    shown = element("table", element("thead", head), element("tbody", *body))
    # Beside the table and not in it: a caption would be as wide as that.
    above = "" if caption is None else element("p", caption, class_="muted")
    return joined([above, element("div", shown, class_="scrolls", tabindex=0)])


def definitions(pairs: Iterable[tuple[object, object]]) -> Markup:
    """A list of terms, each with what it is."""
    return element(
        "dl", *(element("div", element("dt", term), element("dd", value)) for term, value in pairs), class_="facts"
    )


def named(name: str) -> Markup:
    """A name as code, which may be broken where it has an underscore."""
    return element("code", Markup("_<wbr>".join(map(escaped, name.split("_")))))


def listed(items: Iterable[object]) -> Markup:
    """An unordered list."""
    return element("ul", *(element("li", item) for item in items))


def folded(summary: object, *children: object) -> Markup:
    """An element that shows only a summary until somebody asks for the rest."""
    return element("details", element("summary", summary), *children)
