"""Footprints: how many lines of the caches accesses touch in the loops around them."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
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
        found, product = [0.0] * (depth + 1), 1.0
        for outer in range(depth, -1, -1):
            if outer in loops:
                product *= self.trips[outer]
            is_inside = goes_along and along >= outer
            near, elements = self.trips[along] if is_inside else 1.0, product
            for subscript in combined:
                values = self._values(subscript, outer, along)
                elements *= values
                near = values if any(k == along for k, _ in subscript) else near
            if combined:
                elements = min(elements, math.prod([self.trips[k] * self.steps[k] for k in varying if k >= outer]))
            side_by_side = max(within if is_inside else vectors, beside)
            found[outer] = side_by_side * max(1.0, elements / min(max(near, 1.0), of_line))
        return found

    def _values(self, subscript: Sequence[tuple[int, int]], outer: int, along: int) -> float:
        """Return how many values a subscript takes that varies with several variables; of that along which elements lie
        next to one another, how many iterations go along as many elements.

        Args:
            subscript: the loops that it varies with, and by how much it moves in each.
            outer: how many of the loops around are left out.
            along: the loop along which elements lie next to one another.
        """
        extent, most, unit = 1.0, 1.0, 1
        for k, step in subscript:
            if k >= outer:
                extent += step * self.spans[k] * (self.trips[k] - 1)
                most *= self.trips[k]
            extent += step * (self.steps[k] - 1)
            most *= self.steps[k]
            if k == along:
                unit = step * self.steps[k]
                most *= step
        return min(extent, most) / unit


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
