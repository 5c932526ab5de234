"""The text of private sums: a worker's copies to add up in, and how they are added to what they are copies of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polytune.codegen.loops import PrivateSum
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.storage import added_name, shared_name, summed_name
from polytune.frontend.scop import Scop
from polytune.records import dataclass


@dataclass(frozen=True)
class PrivateSums:
    """Writes what is around the tasks of a region; nothing where it has no private sums.

    ``polytune.runtime.private_sums`` says what the operations of a team mean here.  ``scopes`` names all views of the
    function.
    """

    writer: SourceWriter
    sums: Sequence[PrivateSum]
    scop: Scop
    scopes: str

    def allocate(self) -> None:
        """Memory for the copies, with the subscripts of what they are copies of."""
        for number, own in enumerate(self.sums):
            copy, name, dtype = added_name(own.array), summed_name(own.array), self.scop.array(own.array).dtype
            if own.elements is None:
                extent = "1"
            else:
                self.writer.line(f"$sum_from_{number} = {expression_text(own.elements.lower)}")
                self.writer.line(f"$sum_to_{number} = {expression_text(own.elements.upper)}")
                extent = f"$sum_to_{number}"
            self.writer.line(f"{copy} = $np.empty({extent}, $np.{dtype})")
            self.writer.line(f'{name} = $view({copy}, "{name}", "{self.scopes}")')
        if self.sums:
            self.writer.line("$claimed = 0")

    def clear(self) -> None:
        """Write what puts into all copies what adds nothing, if there is a task: zeros, or what any other number is
        less, or greater, than."""
        if not self.sums:
            return
        with self.writer.indented("if $task < $base + $total:"):
            for number, own in enumerate(self.sums):
                zero = _neutral(own.operator, self.scop.array(own.array).dtype)
                if own.elements is None:
                    self.writer.line(f"{summed_name(own.array)}[0] = {zero}")
                    continue
                with self.writer.indented(f"for $element in $range($sum_from_{number}, $sum_to_{number}):"):
                    self.writer.line(f"{summed_name(own.array)}[$element] = {zero}")

    def add_up(self) -> None:
        """Add the copies to what they are copies of, piece by piece, and complete all tasks of the worker."""
        if not self.sums:
            return
        writer = self.writer
        with writer.indented("if $claimed > 0:"):
            with writer.indented("for $turn in $range($pieces($workers)):"):
                writer.line("$piece = $enter($context, $worker, $workers, $turn)")
                for number, own in enumerate(self.sums):
                    self.add(number, own)
                writer.line("$leave($context, $piece)")
            writer.line("$complete_all($context, $claimed)")
        for own in self.sums:
            writer.line(f"$keep_alive({added_name(own.array)})")

    def add(self, number: int, own: PrivateSum) -> None:
        """Add what belongs to a piece; a scalar belongs to the first one."""
        if own.elements is None:
            place, added = f"{shared_name(own.array)}[0]", f"{summed_name(own.array)}[0]"
            with self.writer.indented("if $piece == 0:"):
                self.writer.line(f"{place} = {_joined(own.operator, place, added)}")
            return
        first, last = (
            f"$sum_from_{number} + $quotient(($sum_to_{number} - $sum_from_{number}) * {piece}, $pieces($workers))"
            for piece in ("$piece", "($piece + 1)")
        )
        with self.writer.indented(f"for $element in $range({first}, {last}):"):
            place = f"{own.array}[$element]"
            added = f"{summed_name(own.array)}[$element]"
            self.writer.line(f"{place} = {_joined(own.operator, place, added)}")


def _neutral(operator: str, dtype: str) -> str:
    """The number of a type that changes no result of an operator."""
    if operator == "+":
        return f"$np.{dtype}(0)"
    if dtype.startswith("float"):
        return f"$np.{dtype}({'' if operator == 'min' else '-'}$np.inf)"
    limits = np.iinfo(dtype)
    # The least number of 64 bits is no literal, but the negative of one that does not fit.
    return f"$np.{dtype}({limits.max if operator == 'min' else f'{limits.min + 1} - 1'})"


def _joined(operator: str, first: str, second: str) -> str:
    """An operation on what is in an element and what a copy has collected for it."""
    if operator == "+":
        return f"{first} + {second}"
    return f"${'least' if operator == 'min' else 'greatest'}({first}, {second})"
