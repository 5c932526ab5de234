"""A schedule that code may be generated from."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polytune.frontend.scop import Scop
from polytune.schedule.analysis.dependences import Dependences


@dataclass(frozen=True)
class Origin:
    """How the instances of a rewritten kernel stand for those of the one that it was made of.

    Attributes:
        source: the kernel as it was.
        relation: ``[p] -> { S'[i'] -> S[i] }``.
        copies: the names of statements that stand for nothing, as they only move values.
    """

    source: Scop
    relation: isl.UnionMap
    copies: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Candidate:
    """A schedule tree with a name and the dependences that it was computed for and must respect.

    ``serial`` names statements that are too little work to be shared out.  ``origin`` says how the kernel that the
    dependences are of was made of the source's; None where it is the source's.
    """

    name: str
    schedule: isl.Schedule
    dependences: Dependences
    serial: frozenset[str] = frozenset()
    origin: Origin | None = None
