"""Loops of the source that no schedule moves: those that are one statement, in order, and those that NumPy runs."""

from __future__ import annotations

from collections.abc import Iterable

from polytune.errors import SourceLocation
from polytune.frontend.expression import Break, Element, LibraryCall, Loop, Operation, While, walk
from polytune.frontend.scop import Scop, Statement
from polytune.records import dataclass


@dataclass(frozen=True)
class LoopInStatement:
    """A loop of the source that is part of a statement.

    Attributes:
        location: where it stands.
        depth: the number of loops around it.
        text: its first line.
        how: how it is run, and why.
    """

    location: SourceLocation
    depth: int
    text: str
    how: str


def loops_in_statements(scop: Scop) -> tuple[LoopInStatement, ...]:
    """The loops that are statements, in the order of these, each once."""
    found: dict[int, LoopInStatement] = {}
    for statement in scop.statements:
        how = _how_it_is_run(statement)
        if how is not None:
            text = statement.text.split("\n")[0].rstrip(": ")
            made = LoopInStatement(statement.location, len(statement.iterators), text, how)
            found.setdefault(statement.location.line, made)
    return tuple(found.values())


def _how_it_is_run(statement: Statement) -> str | None:
    """Tell how the loop that a statement is is run, and why; None where it is none."""
    if not statement.text.startswith(("for ", "while ")):
        return None
    parts = [part for operation in statement.operations for part in walk(operation)]
    if any(isinstance(part, LibraryCall) and part.function.startswith("def ") for part in parts):
        return "run by NumPy as it stands, as arrays in it have other shapes from one iteration to the next"
    loops = [part for part in parts if isinstance(part, Loop | While)]
    if not loops:
        return None
    return f"one statement, its iterations in order, as {_why_in_order(loops[0], statement.operations)}"


def _why_in_order(loop: Loop | While, operations: Iterable[Operation]) -> str:
    if isinstance(loop, While):
        return "how often it runs depends on data"
    if any(isinstance(part, Break) for operation in operations for part in walk(operation)):
        return "it may end early"
    if any(isinstance(part, Element) for bound in (loop.start, loop.stop) for part in walk(bound)):
        return "its bounds depend on data"
    return "data decide what is done in it"
