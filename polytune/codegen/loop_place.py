"""The place of a node among loops, and how subscripts go along these."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from polytune.codegen.loops import For, RegionCode, walk_nodes
from polytune.frontend.expression import Binary, Constant, Element, Expression, Iterator, walk
from polytune.records import dataclass

__all__ = ["LoopPlace", "pace_along", "step_along"]

_MOST_UNROLLED = 32


@dataclass(frozen=True)
class LoopPlace:
    """The place of a node: the names that each loop around it is known by, the outermost first, and the region."""

    loops: tuple[frozenset[str], ...] = ()
    region: RegionCode | None = None
    innermost: For | None = None
    position: int = -1

    def inside(self, loop: For | None) -> LoopPlace:
        """The place inside of a loop of the code, or, without one, of a loop of a statement."""
        if loop is None:
            return LoopPlace((*self.loops, frozenset()), self.region)
        place = LoopPlace((*self.loops, frozenset((loop.variable,))), self.region, self.innermost, self.position)
        if self.innermost is not None and _is_unrolled(loop):
            return place
        if _is_innermost(loop):
            return replace(place, innermost=loop, position=len(self.loops))
        return replace(place, innermost=None, position=-1)

    def positions(self, node: Expression) -> tuple[int, ...]:
        """Return which of the loops a subscript varies with."""
        used = {leaf.name for leaf in walk(node) if isinstance(leaf, Iterator)}
        return tuple(k for k, names in enumerate(self.loops) if names & used)

    def varying(self, element: Element) -> set[int]:
        """Return which of the loops the subscripts of an element vary with."""
        return {k for subscript in element.subscripts for k in self.positions(subscript)}


def step_along(subscript: Expression, names: frozenset[str]) -> int | None:
    """Return by how much a subscript grows in an iteration of a loop; None where that is not plain to see."""
    match subscript:
        case Iterator(name):
            return int(name in names)
        case Binary("+", left, right):
            first, second = step_along(left, names), step_along(right, names)
            return None if first is None or second is None else first + second
        case Binary("-", left, right):
            first, second = step_along(left, names), step_along(right, names)
            return None if first is None or second is None else first - second
        case Binary("*", Constant(factor), other) | Binary("*", other, Constant(factor)):
            step = step_along(other, names)
            return None if step is None else int(factor) * step
        case _:
            varies = any(isinstance(leaf, Iterator) and leaf.name in names for leaf in walk(subscript))
            return None if varies else 0


def pace_along(subscript: Expression, names: frozenset[str]) -> Fraction | None:
    """Return by how much a subscript grows in an iteration of a loop, on average: `step_along`, or a part of that where
    it is a quotient; None where that is not plain to see."""
    match subscript:
        case Binary("//", dividend, Constant(divisor)) if divisor:
            pace = pace_along(dividend, names)
            return None if pace is None else pace / int(divisor)
        case Binary("+" | "-" as operator, left, right):
            first, second = pace_along(left, names), pace_along(right, names)
            if first is None or second is None:
                return None
            return first + second if operator == "+" else first - second
        case _:
            step = step_along(subscript, names)
            return None if step is None else Fraction(step)


def _trips(loop: For) -> int | None:
    """Return how often a loop runs; None where that is no constant."""
    if isinstance(loop.start, Constant) and isinstance(loop.stop, Constant):
        return max(0, -((int(loop.start.value) - int(loop.stop.value)) // loop.step))
    return None


def _is_unrolled(loop: For) -> bool:
    """Return whether compilers write a loop out, with those inside."""
    trips = 1
    for node in walk_nodes(loop):
        if isinstance(node, For):
            found = _trips(node)
            if found is None:
                return False
            trips *= max(1, found)
    return trips <= _MOST_UNROLLED


def _is_innermost(loop: For) -> bool:
    """Return whether there are no loops in a loop but those that are written out."""
    return all(_is_unrolled(node) for node in walk_nodes(loop.body) if isinstance(node, For))
