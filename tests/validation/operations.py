"""The operations of statements as functions, which note what they write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from polytune.frontend import expression as ir
from tests.validation.expressions import Expressions

Action = Callable[[], object]
Write = tuple[str, int, int]
"""The array, the number of an element in it, and the value that is written."""

MOST_TURNS = 60
"""After how many turns a loop whose condition depends on data ends: random numbers might never end it."""


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
        raise AssertionError(f"no operation: {operation!r}")

    def _repeat(self, test: Callable[[], bool], turn: list[Action]) -> None:
        for _ in range(MOST_TURNS):
            if not test():
                return
            for action in turn:
                action()
