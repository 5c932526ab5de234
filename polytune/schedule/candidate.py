"""A schedule that code may be generated from."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polytune.schedule.analysis.dependences import Dependences


@dataclass(frozen=True)
class Candidate:
    """A schedule tree with a name and the dependences that it was computed for and must respect.

    ``serial`` names statements that are too little work to be shared out.
    """

    name: str
    schedule: isl.Schedule
    dependences: Dependences
    serial: frozenset[str] = frozenset()
