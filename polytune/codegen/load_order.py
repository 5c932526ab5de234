"""Arrays of which loads under conditions have to stay before the stores behind them.

Of ``p = 0.5; if c: p = w[i]; w[i] = 0.0`` LLVM makes a masked load, a masked store and a choice between what is loaded
and 0.5.  LLVM 22 joins the load and the choice, where the choice stands: behind the store, so that it loads 0.0.  It
leaves alone a choice of a value that is frozen, which costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from polytune.codegen.loops import Compute, For, If, Let, Node, Store, nodes_below
from polytune.frontend.expression import (
    Assign,
    Branch,
    Checked,
    Element,
    Logical,
    Loop,
    Select,
    While,
    arrays_written,
    walk,
)
from polytune.records import dataclass

__all__ = ["arrays_in_order"]


@dataclass
class _Accesses:
    """The arrays that code accesses where it may be under a condition, but in no loop there."""

    loaded: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)

    def operations(self, operations: Iterable[Any], conditional: bool) -> None:
        for operation in operations:
            match operation:
                case Branch(condition, then, otherwise):
                    self.loads(condition, conditional)
                    self.operations((*then, *otherwise), True)
                case While(condition, body):
                    self.loads(condition, conditional)
                    self.operations(body, False)
                case Loop(start=start, stop=stop, body=body):
                    self.loads(start, conditional)
                    self.loads(stop, conditional)
                    self.operations(body, False)
                case Checked(violation, body=body):
                    self.loads(violation, conditional)
                    self.operations(body, conditional)
                case Assign(target, value):
                    self.loads(value, conditional)
                    for subscript in target.subscripts:
                        self.loads(subscript, conditional)
                    if conditional:
                        self.stored.add(target.array)
                case _:
                    self.loads(operation, conditional)
                    if conditional:
                        self.stored.update(arrays_written(operation))

    def loads(self, expression: Any, conditional: bool) -> None:
        choices = (expression,) if conditional else _choices(expression)
        self.loaded.update(each.array for choice in choices for each in walk(choice) if isinstance(each, Element))

    def node(self, node: Node, conditional: bool) -> None:
        match node:
            case Compute(operations=operations):
                self.operations(operations, conditional)
            case Let(value=value):
                self.loads(value, conditional)
            case Store(element=element, value=value):
                self.loads(value, conditional)
                if conditional:
                    self.stored.add(element.array)
            case If(condition=condition):
                self.loads(condition, conditional)
            case _:
                pass
        for child in nodes_below(node):
            self.node(child, isinstance(node, If) or (conditional and not isinstance(node, For)))


def _choices(expression: Any) -> Iterator[Any]:
    """The parts of an expression of which some are computed under a condition."""
    return (each for each in walk(expression) if isinstance(each, Select | Logical))


def arrays_in_order(bodies: Iterable[Node]) -> frozenset[str]:
    """Return the arrays, and scalars in memory, that are both loaded and stored to under conditions.

    An iteration of a loop is vectorised as a whole, so what stands in a loop in a branch is not under the condition.

    Args:
        bodies: loops and statements that one function has.
    """
    found = _Accesses()
    for body in bodies:
        found.node(body, False)
    return frozenset(found.loaded & found.stored)
