"""The source order of a SCoP as loops, without isl: what remains where isl fails over the loops of every schedule."""

from __future__ import annotations

from polytune.frontend.expression import Expression
from polytune.records import dataclass


@dataclass(frozen=True)
class SourceLoop:
    """``for iterator in range(start, stop, step)``; the step is a constant other than zero."""

    iterator: str
    start: Expression
    stop: Expression
    step: int
    body: tuple[SourceNode, ...]


@dataclass(frozen=True)
class SourceBranch:
    """``if condition: then else: otherwise`` with an affine condition."""

    condition: Expression
    then: tuple[SourceNode, ...]
    otherwise: tuple[SourceNode, ...]


SourceNode = SourceLoop | SourceBranch | str
"""A loop, a branch, or a statement of the SCoP, by its name."""
