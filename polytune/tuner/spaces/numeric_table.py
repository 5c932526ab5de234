"""The table of a numeric subspace, for searches that need one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polytune.errors import SpaceError
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.constraint import Constraint
from polytune.tuner.spaces.finite import FiniteSpace
from polytune.tuner.spaces.parameters import Integer, Ordinal, Parameter, Ratio
from polytune.tuner.spaces.space import Space

__all__ = ["table_around"]

_GRID = 33  # values that stand for a real parameter
_FEWER = (129, 65, 33, 17, 9, 5, 3, 2)  # values of each parameter, where all of them together are too many
_ROWS = 1 << 20  # of such a table at most


def table_around(
    parameters: Sequence[Parameter], constraints: Sequence[Constraint], start: Mapping[str, Value]
) -> FiniteSpace:
    """The values of some numeric parameters together, of real ones a grid.

    Where these are more than a table holds, it has the ends of each parameter, the start, and as many values between
    them, evenly spaced (by ratio where the parameter is logarithmic), as make a table of a million rows or less.

    Args:
        parameters: not nominal.
        constraints: of these parameters alone.
        start: a configuration that satisfies the constraints; its values are in the table, but for real parameters.

    Raises:
        SpaceError: there are so many parameters that even two values of each are too many.
    """
    alone: list[Parameter] = []
    for parameter in parameters:
        default: Any = start[parameter.name]
        alone.append(replace(parameter, when=None, default=default))
    try:
        return FiniteSpace.from_space(Space(alone, constraints), levels=_GRID)
    except SpaceError:
        for most in _FEWER:
            fewer = [_thinned(parameter, most) for parameter in alone]
            grid = min(most, _GRID)
            if math.prod(grid if isinstance(p, Ratio) else len(p.levels) for p in fewer) <= _ROWS:
                return FiniteSpace.from_space(Space(fewer, constraints), levels=grid)
        raise


def _thinned(parameter: Parameter, most: int) -> Parameter:
    """A parameter with so many of its levels at most, and its default."""
    if isinstance(parameter, Ratio) or len(parameter.levels) <= most:
        return parameter
    last = len(parameter.levels) - 1
    shares = np.linspace(0.0, 1.0, most)
    if isinstance(parameter, Integer) and parameter.logarithmic and not parameter.powers_of_two:
        low, high = parameter.levels[0], parameter.levels[-1]
        shares = (low * (high / low) ** shares - low) / (high - low)
    positions = {round(share * last) for share in shares.tolist()} | {parameter.levels.index(parameter.default)}
    return Ordinal(parameter.name, tuple(parameter.levels[place] for place in sorted(positions)), parameter.default)
