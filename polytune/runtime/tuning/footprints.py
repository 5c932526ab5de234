"""Footprints: how many lines of the caches accesses touch in the loops around them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from polytune.records import dataclass

__all__ = ["LINE_BYTES", "AccountedAccess", "LoopStack", "groups_of", "pitch_of"]

LINE_BYTES = 64
"""The bytes of a line of the caches."""

AccountedAccess = (
    tuple[int, int, tuple[int, ...], str]
    | tuple[int, int, tuple[int, ...], str, int]
    | tuple[int, int, tuple[int, ...], str, int, int]
    | tuple[int, int, tuple[int, ...], str, int, int, tuple[tuple[tuple[int, int], ...], ...]]
)
"""An access as accounts have it (`Account.add`)."""


@dataclass
class LoopStack:
    """The loops around what is entered into an account, the outermost first.

    Attributes:
        trips: how many iterations each has.
        steps: how many iterations of the source are written out side by side in each of these.
        spans: how many there are from one iteration to the next.
        places: a number for each, which no other loop has.
        cut: of each that goes along a tile, the size of that and the extent that is cut so.
        entered: how many loops there have been.
    """

    trips: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    spans: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    cut: list[tuple[float, float] | None] = field(default_factory=list)
    entered: int = 0

    def push(self, trips: float, step: int = 1, span: int = 1, cut: tuple[float, float] | None = None) -> None:
        """Enter a loop.

        Args:
            trips: how many iterations it has.
            step: how many iterations of the source are written out side by side in each.
            span: how many there are from one to the next.
            cut: where it goes along a tile, the size of that and the extent that is cut so.
        """
        self.trips.append(trips)
        self.steps.append(step)
        self.spans.append(span)
        self.cut.append(cut)
        self.entered += 1
        self.places.append(self.entered)

    def pop(self) -> None:
        """Leave the innermost loop."""
        self.trips.pop()
        self.steps.pop()
        self.spans.pop()
        self.cut.pop()
        self.places.pop()

    def iterations(self) -> float:
        """Return how often what is inside of all of them is done."""
        return math.prod(self.trips)

    def lines(self, group: Sequence[AccountedAccess]) -> list[float]:
        """Return how many lines accesses of an array touch that vary with the same loops, by how many of the loops
        around are left out, from none to all.

        Args:
            group: the accesses.
        """
        first, depth = group[0], len(self.trips)
        along, varying, pitch = first[1], first[2], pitch_of(first)
        combined = first[6] if len(first) > 6 else ()
        shared = {k for subscript in combined for k, _ in subscript}
        loops = [k for k in varying if k not in shared]
        # Iterations that are written out side by side have elements of their own, as many as there are accesses.
        beside = min(len(group), math.prod([self.steps[k] for k in loops if k != along]))
        vectors = max([each[4] for each in group if len(each) > 4], default=1)
        goes_along = along in varying
        step = self.steps[along] if goes_along else 1
        # The next iteration reaches into vectors that are more than a step.
        within = min(vectors, max(1, math.ceil(step * pitch / LINE_BYTES)))
        of_line = max(1.0, LINE_BYTES / (pitch * step))
        subscripts = [_Values.at_one_place(subscript, self.steps, along) for subscript in combined]
        found, product, most = [0.0] * (depth + 1), 1.0, 1.0
        for outer in range(depth, -1, -1):
            if outer < depth:
                if outer not in varying:
                    found[outer] = found[outer + 1]
                    continue
                for each in subscripts:
                    each.take_in(outer, self.spans, self.trips)
                if outer in loops:
                    product *= self.trips[outer]
                most *= self.trips[outer] * self.steps[outer]
            is_inside = goes_along and along >= outer
            near, elements = self.trips[along] if is_inside else 1.0, product
            for each in subscripts:
                values = each.number
                elements *= values
                near = values if each.goes_along else near
            if combined:
                elements = min(elements, most)
            side_by_side = max(within if is_inside else vectors, beside)
            found[outer] = side_by_side * max(1.0, elements / min(max(near, 1.0), of_line))
        return found


class _Values:
    """The number of values of a subscript that varies with several variables, as one loop after the other is taken in,
    the innermost first; of that along which elements lie next to one another, how many iterations go along as many.

    Attributes:
        goes_along: whether elements lie next to one another along one of its loops.
    """

    def __init__(self, moves: Mapping[int, int], extent: float, most: float, unit: int, goes_along: bool):
        self.goes_along = goes_along
        self._moves, self._extent, self._most, self._unit = moves, extent, most, unit

    @classmethod
    def at_one_place(cls, subscript: Sequence[tuple[int, int]], steps: Sequence[int], along: int) -> _Values:
        """Those of one iteration of all loops around.

        Args:
            subscript: the loops that it varies with, and by how much it moves in each.
            steps: of each loop, how many iterations of the source are written out side by side.
            along: the loop along which elements lie next to one another.
        """
        moves = dict(subscript)
        extent = 1.0 + sum([move * (steps[k] - 1) for k, move in subscript])
        unit = moves[along] * steps[along] if along in moves else 1
        return cls(
            moves, extent, float(math.prod([steps[k] for k in moves]) * moves.get(along, 1)), unit, along in moves
        )

    def take_in(self, loop: int, spans: Sequence[int], trips: Sequence[float]) -> None:
        """Add the iterations of another loop.

        Args:
            loop: which one.
            spans: of each loop, how many iterations there are from one to the next.
            trips: how many each has.
        """
        move = self._moves.get(loop)
        if move is not None:
            self._extent += move * spans[loop] * (trips[loop] - 1)
            self._most *= trips[loop]

    @property
    def number(self) -> float:
        """Return how many there are."""
        return min(self._extent, self._most) / self._unit


@functools.lru_cache(4096)
def groups_of(accesses: tuple[AccountedAccess, ...]) -> list[list[AccountedAccess]]:
    """Return the accesses by arrays and the loops that they vary with; the same object for the same accesses."""
    found: dict[tuple[Any, ...], list[AccountedAccess]] = {}
    for access in accesses:
        found.setdefault((access[3], access[2], access[6:]), []).append(access)
    return list(found.values())


def pitch_of(access: AccountedAccess) -> int:
    """Return by how many bytes an access moves in an iteration of the loop along which it goes."""
    return access[5] if len(access) > 5 else access[0]
