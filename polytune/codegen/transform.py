"""Transforms of the loop IR: rewrites of a version into another one that computes the same, for a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from polytune.codegen.loops import Program
from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.candidate import Need
from polytune.schedule.recipe import Recipe, RecipePart

BYTES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8}
"""The types of numbers that vectors are written of; loops over others are left to compilers."""


@dataclass(frozen=True)
class Target:
    """The vector registers of a processor.

    Code for wider registers, or for more of them, than a processor has is right there too, but slower.

    Attributes:
        vector_bytes: the width of a register.
        vector_registers: how many there are.
    """

    vector_bytes: int = 64
    vector_registers: int = 32

    def lanes(self, dtype: str) -> int:
        """Return how many numbers fit in a register."""
        return self.vector_bytes // BYTES[dtype]


VECTOR_TYPES = Need(
    "arrays of numbers of which the processor has vectors",
    lambda dependences: all(array.dtype in BYTES for array in dependences.scop.arrays),
)


@dataclass(frozen=True, kw_only=True)
class LoopTransform(RecipePart):
    """A rewrite of a program, declared where it is written.

    Attributes:
        rewrite: makes a program of a program, for a kernel and a target; None where there is nothing to rewrite.
        after: the parts of which a recipe has to have one; of transforms of the loop IR before it, this is the last.
            Empty where a recipe needs none of them, and then it comes first of the transforms of the loop IR.
        never_after: the parts of which a recipe may have none.
        needs: what a kernel must have for it to be tried.
        is_for_first: whether it is tried for the most promising version alone.
    """

    rewrite: Callable[[Program, Scop, Target], Program | None] = field(repr=False)
    after: tuple[RecipePart, ...] = ()
    never_after: tuple[RecipePart, ...] = ()
    needs: tuple[Need, ...] = ()
    is_for_first: bool = False
    is_of_loops: bool = True

    def follows(self, recipe: Recipe) -> bool:
        """Return whether it may come next in a recipe."""
        if recipe.order.stands_alone or recipe.has(*self.never_after) or (self.after and not recipe.has(*self.after)):
            return False
        last = recipe.parts[-1]
        return last in self.after or not last.is_of_loops

    def apply(self, program: Program, scop: Scop, target: Target) -> Program | None:
        """The program with the transform at the end of its recipe; None where it changes nothing.

        Args:
            program: a version that the transform may come after.
            scop: its kernel.
            target: the processor that it is for.
        """
        rewritten = self.rewrite(program, scop, target)
        if rewritten is None or rewritten == program:
            return None
        return replace(rewritten, recipe=program.recipe.then(self))
