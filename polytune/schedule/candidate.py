"""A schedule that code may be generated from."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polytune.schedule.dependences import Dependences


@dataclass(frozen=True)
class Candidate:
    """A schedule tree with a name and the dependences that it was computed for and must respect."""

    name: str
    schedule: isl.Schedule
    dependences: Dependences
