"""The dependences of the kernel, in words."""

from __future__ import annotations

from polytune.report.distances import DependenceInWords, dependences_in_words
from polytune.report.facts import Subject
from polytune.report.markup import Markup, element, folded, joined, table
from polytune.report.section import Section

_SHOWN = 12  # rows


def _render(subject: Subject) -> Markup | None:
    found = dependences_in_words(subject.stages.dependences)
    if not found:
        return element("p", "No iteration needs anything of another one: nothing has to keep its order.")
    words = element(
        "p",
        "Which line has to wait for which. The distance says in which iteration of the loops around both the line is "
        "that waits: ",
        element("code", "i+1"),
        " is the one in which ",
        element("code", "i"),
        " is greater by 1; loops that are not named are in the same iteration. Every order of execution below "
        "respects what binds, which is proven before code is made of it.",
        class_="muted",
    )
    if len(found) <= _SHOWN + 3:
        return joined([words, _table(found)])
    rest = found[_SHOWN:]
    return joined([words, _table(found[:_SHOWN]), folded(f"{len(rest)} more", _table(rest))])


def _table(rows: tuple[DependenceInWords, ...]) -> Markup:
    cells = [
        (
            element("code", each.array),
            each.sentence,
            element("code", each.distance),
            each.binds,
        )
        for each in rows
    ]
    return table(("Array", "Dependence", "Distance", "Binds"), cells)


SECTION = Section("dependences", "Dependences", 30, _render)
