"""The program between syntax tree and polyhedral model: loops, affine guards, and typed operations.

Names are resolved, functions inlined and types explicit; nothing polyhedral has been computed yet.
"""

from __future__ import annotations

from polytune.errors import SourceLocation
from polytune.frontend.expression import Element, Expression, Operation
from polytune.records import dataclass


@dataclass(frozen=True)
class Perform:
    """The operations that become one statement: one assignment, or several operations under data-dependent control."""

    operations: tuple[Operation, ...]
    location: SourceLocation
    text: str


@dataclass(frozen=True)
class Guard:
    """An ``if`` whose condition is affine."""

    condition: Expression
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...]
    location: SourceLocation


@dataclass(frozen=True)
class RangeLoop:
    """``for iterator in range(start, stop, step)``; ``variable`` is the iterator's name in the source."""

    variable: str
    iterator: str
    start: Expression
    stop: Expression
    step: int
    body: tuple[Node, ...]
    location: SourceLocation


Node = Perform | Guard | RangeLoop


class ElementLocations:
    """The places where each reference to an array stands in the source.

    Keyed by identity: equal references in different places are different references.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Element, SourceLocation]] = {}

    def __getstate__(self) -> dict[str, list[tuple[Element, SourceLocation]]]:
        return {"known": [*self._known.values()]}  # identities are others where this is read

    def __setstate__(self, state: dict[str, list[tuple[Element, SourceLocation]]]) -> None:
        self._known = {id(element): (element, location) for element, location in state["known"]}

    def record(self, element: Element, location: SourceLocation) -> Element:
        self._known[id(element)] = (element, location)
        return element

    def find(self, element: Element) -> SourceLocation | None:
        """Return where a reference stands, if that has been recorded."""
        found = self._known.get(id(element))
        return None if found is None else found[1]

    def of(self, element: Element, default: SourceLocation) -> SourceLocation:
        return self._known.get(id(element), (element, default))[1]
