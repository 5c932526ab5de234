"""The terms of a linear model over a finite space: what the design matrix of a set of configurations is.

A number x brings x and 1/x (x and its square where some value is not positive), an ordinal its rank likewise, a name
one indicator per level but the first.  Every term is coded: scaled to [-1, 1] over the levels it is about.
x and 1/x together bend to either side of an optimum, as the time of a kernel does with most of its parameters: too
small wastes overhead, too large wastes cache or parallelism.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.tuner.spaces.finite import FiniteSpace

_DEPENDENT = 1e-6


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a linear model, the constant first.

    Attributes:
        factors: per term the parameters (their positions in the space) that it is about; none for the constant.
        columns: per term, and per parameter of it, the term's factor at every level of the parameter.
        labels: per term what it is called, as ``threads`` and ``1/threads``.
    """

    factors: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[np.ndarray, ...], ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, space: FiniteSpace, rows: np.ndarray, *, curvature: bool = True, interactions: bool = False) -> Terms:
        """The terms that can be told apart on some rows: no term of them is a combination of earlier ones.

        Args:
            space: the space.
            rows: (n, parameters) rows of levels; terms are coded over the levels that occur here.
            curvature: with 1/x or squares.
            interactions: with the products of each two linear terms.
        """
        single: list[tuple[int, str, np.ndarray]] = []
        linear: list[tuple[int, str, np.ndarray]] = []
        for parameter in range(len(space.names)):
            present = np.unique(rows[:, parameter])
            own = _columns(space, parameter, present) if len(present) > 1 else []
            straight = own[:1] if space.ordered[parameter] else own
            single += [(parameter, label, column) for label, column in (own if curvature else straight)]
            linear += [(parameter, label, column) for label, column in straight]
        factors: list[tuple[int, ...]] = [(), *((parameter,) for parameter, _, _ in single)]
        columns: list[tuple[np.ndarray, ...]] = [(), *((column,) for _, _, column in single)]
        labels = ["1", *(label for _, label, _ in single)]
        if interactions:
            for (one, first, left), (other, second, right) in combinations(linear, 2):
                if one != other:
                    factors.append((one, other))
                    columns.append((left, right))
                    labels.append(f"{first}:{second}")
        every = cls(tuple(factors), tuple(columns), tuple(labels))
        kept = independent_columns(every.matrix(rows))
        return cls(
            tuple(factors[term] for term in kept),
            tuple(columns[term] for term in kept),
            tuple(labels[term] for term in kept),
        )

    def __len__(self) -> int:
        return len(self.factors)

    def matrix(self, rows: np.ndarray) -> np.ndarray:
        """The design matrix, (n, terms) float64, of some rows of levels, (n, parameters)."""
        matrix = np.ones((len(rows), len(self)))
        for term, (parameters, columns) in enumerate(zip(self.factors, self.columns, strict=True)):
            for parameter, column in zip(parameters, columns, strict=True):
                matrix[:, term] *= column[rows[:, parameter]]
        return matrix


def _columns(space: FiniteSpace, parameter: int, present: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """One column per term of a parameter, indexed by level, with what it is called; the linear one first where the
    parameter has an order."""
    name, levels, absence = space.names[parameter], space.levels[parameter], space.inactive[parameter]
    if not space.ordered[parameter]:
        return [
            (f"{name}={levels[level]}", _coded((np.arange(len(levels)) == level).astype(float), present))
            for level in present[1:]
        ]
    active = present[present != absence]
    values = _values(levels, absence)
    columns = []
    if len(active) > 1:
        columns.append((name, _coded(values, active)))
    if len(active) > 2:
        is_positive = (values[active] > 0).all()
        bent = 1 / values if is_positive else columns[0][1] ** 2
        columns.append((f"1/{name}" if is_positive else f"{name}^2", _coded(bent, active)))
    if absence is not None:
        for _, column in columns:
            column[absence] = 0.0  # neither high nor low
        if absence in present:
            exists = (np.arange(len(levels)) != absence).astype(float)
            columns.append((f"{name} exists", _coded(exists, present)))
    return columns


def _values(levels: tuple[Any, ...], absence: int | None) -> np.ndarray:
    """The levels as numbers: their values, or the ranks 1, 2, ... of levels that are not numbers."""
    active = [level for level in levels if level is not None]
    numeric = all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in active)
    values = [float(level) for level in active] if numeric else [1.0 + rank for rank in range(len(active))]
    return np.array(values + [np.nan] * (absence is not None))


def _coded(column: np.ndarray, present: np.ndarray) -> np.ndarray:
    """A column scaled so that it spans [-1, 1] on the levels present."""
    low, high = column[present].min(), column[present].max()
    scaled: np.ndarray = (2 * column - (low + high)) / (high - low)
    return scaled


def independent_columns(matrix: np.ndarray) -> list[int]:
    """The columns that are not, up to rounding, combinations of columns before them (Gram and Schmidt).

    Args:
        matrix: (n, columns) float64.

    Returns:
        Their numbers, ascending.
    """
    basis: list[np.ndarray] = []
    kept = []
    for number, column in enumerate(matrix.T):
        rest = column
        for _ in range(2):  # once more removes what rounding left
            for direction in basis:
                rest = rest - direction * (direction @ rest)
        length = np.linalg.norm(rest)
        if length > _DEPENDENT * max(float(np.linalg.norm(column)), 1e-300):
            basis.append(rest / length)
            kept.append(number)
    return kept
