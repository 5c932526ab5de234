"""The operations of statements as functions, which note what they write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from polytune.frontend import expression as ir
from tests.validation.expressions import Expressions
from tests.validation.field import PRIME
from tests.validation.memory import Cells

Action = Callable[[], object]
Write = tuple[str, int, int]
"""The array, the number of an element in it, and the value that is written."""

MOST_TURNS = 60
"""The number of turns after which a loop whose condition depends on data ends: random numbers might never end it."""


@dataclass
class Operations:
    """Translates operations; ``written`` has what they wrote, until somebody takes it away."""

    expressions: Expressions
    written: list[Write] = field(default_factory=list)

    def actions(self, operations: Iterable[ir.Operation]) -> list[Action]:
        """A function for each operation."""
        return [self._action(operation) for operation in operations]

    def _action(self, operation: ir.Operation) -> Action:
        match operation:
            case ir.Assign(target, value):
                place, compute = self.expressions.place(target), self.expressions.value(value)

                def assign() -> None:
                    element = compute()
                    cells, number = place()
                    cells.write(number, element)
                    self.written.append((cells.name, number, element))

                return assign
            case ir.Branch(condition, then, otherwise):
                test, yes, no = self.expressions.value(condition), self.actions(then), self.actions(otherwise)
                return lambda: [action() for action in (yes if test() else no)]
            case ir.While(condition, body):
                test, turn = self.expressions.value(condition), self.actions(body)
                return lambda: self._repeat(test, turn)
            case ir.LibraryCall(ir.MATRIX_PRODUCT, (result,), (left, right)):
                return self._product(result, left, right)
        raise AssertionError(f"no operation: {operation!r}")

    def _product(self, result: ir.ArrayPart, left: ir.ArrayPart, right: ir.ArrayPart) -> Action:
        """The product of two matrices, written to a third one."""
        names = self.expressions.names
        places = [self.expressions.place(_with_names(part.element)) for part in (result, left, right)]
        sizes = [[self.expressions.index(extent) for extent in part.extents] for part in (result, left, right)]

        def at(which: int, *index: int) -> tuple[Cells, int]:
            part = (result, left, right)[which]
            names.update(zip((counter.name for counter in part.counters), index, strict=True))
            return places[which]()

        def multiply() -> None:
            (rows, columns), (height, inner), (depth, width) = ([size() for size in each] for each in sizes)
            assert (rows, columns, inner) == (height, width, depth), "these matrices have no product"
            for row, column in product(range(rows), range(columns)):
                element = 0
                for step in range(inner):
                    (ours, one), (theirs, other) = at(1, row, step), at(2, step, column)
                    element = (element + ours.read(one) * theirs.read(other)) % PRIME
                cells, number = at(0, row, column)
                cells.write(number, element)
                self.written.append((cells.name, number, element))

        return multiply

    def _repeat(self, test: Callable[[], bool], turn: list[Action]) -> None:
        for _ in range(MOST_TURNS):
            if not test():
                return
            for action in turn:
                action()


def _with_names(node: Any) -> Any:
    """An expression with variables in place of counters."""
    return ir.Iterator(node.name) if isinstance(node, ir.Counter) else ir.map_children(node, _with_names)
