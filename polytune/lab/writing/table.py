"""The table of a space as other tuners have it: in it each configuration has a value of every parameter."""

from __future__ import annotations

import math
from typing import Any

from polytune.lab.recording import RecordedSpace

__all__ = ["complete", "finite_counters"]

_NO_NUMBER, _NO_TEXT = 0, "none"


def complete(recorded: RecordedSpace) -> list[dict[str, Any]]:
    """The configurations, row by row; a parameter that one does not have is 0 in it, false, or ``none``, as its values
    are numbers, truth values or texts."""
    absent: dict[str, Any] = {}
    for name, levels in zip(recorded.space.names, recorded.space.levels, strict=True):
        values = [level for level in levels if level is not None]
        if all(isinstance(value, bool) for value in values):
            absent[name] = False
        elif all(isinstance(value, int | float) for value in values):
            absent[name] = _NO_NUMBER
        else:
            absent[name] = _NO_TEXT
    return [{**absent, **recorded.space.configuration(row)} for row in range(len(recorded))]


def finite_counters(recorded: RecordedSpace, row: int) -> dict[str, float]:
    """The counters of a row that are known."""
    if not recorded.counters:
        return {}
    return {name: value for name, value in recorded.counters_of(row).items() if math.isfinite(value)}
