"""The analysis of variance of a linear model, and the steps of a designed experiment, for people to read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.tuner.extras import library

__all__ = ["RESIDUALS", "DesignStep", "VarianceRow", "analysis_of_variance"]

RESIDUALS = "Residuals"
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"), (0.1, "."))


@dataclass(frozen=True)
class VarianceRow:
    """A row of the table: a term of the model, or what is left.

    Attributes:
        term: what it is called; ``"Residuals"`` in the last row.
        degrees: its degrees of freedom, Df.
        sum_of_squares: what it explains beyond the terms before it, of the transformed response.
        f: that per degree of freedom, divided by what is left per degree of freedom; NaN where nothing is left to
            compare with, and in the last row.
        p: Pr(>F), the probability of so large an F by chance alone; NaN likewise.
    """

    term: str
    degrees: int
    sum_of_squares: float
    f: float = math.nan
    p: float = math.nan

    @property
    def mark(self) -> str:
        """Return the stars that R prints: ``***`` below 0.001, ``**`` below 0.01, ``*`` below 0.05, ``.`` below 0.1."""
        return next((mark for limit, mark in _MARKS if self.p < limit), "")

    def to_json(self) -> dict[str, Any]:
        """The row as a dictionary; what is NaN is None."""
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in asdict(self).items()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> VarianceRow:
        """The row that `to_json` wrote."""
        values: dict[str, Any] = {name: math.nan if value is None else value for name, value in document.items()}
        return cls(**values)


@dataclass(frozen=True)
class DesignStep:
    """One step of a designed experiment: a model, its analysis of variance, and what was concluded.

    Attributes:
        points: how many configurations had been measured.
        candidates: how many there are in the part of the space that the step is about.
        power: of the Box-Cox transform of the response; 0 is the logarithm, 1 none.
        table: the analysis of variance, term by term in their order.
        left_out: the terms that were eliminated then, as they mean nothing.
        predicted: the configuration predicted to be the best.
        fixed: the factor that keeps its value from here on; None where the experiment ends.
        reason: why this one, or why none.
    """

    points: int
    candidates: int
    power: float
    table: tuple[VarianceRow, ...]
    left_out: tuple[str, ...]
    predicted: Mapping[str, Any]
    fixed: str | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """The step as a dictionary."""
        rows = [row.to_json() for row in self.table]
        return {**vars(self), "table": rows, "left_out": list(self.left_out), "predicted": dict(self.predicted)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> DesignStep:
        """The step that `to_json` wrote."""
        table = tuple(VarianceRow.from_json(row) for row in document["table"])
        return cls(**{**document, "table": table, "left_out": tuple(document["left_out"])})


def analysis_of_variance(matrix: np.ndarray, response: np.ndarray, terms: Sequence[str]) -> tuple[VarianceRow, ...]:
    """The sequential analysis of variance of a linear model, as R's ``summary.aov`` makes it.

    Args:
        matrix: (n, terms) design matrix of independent columns, the constant first.
        response: (n,) what is explained.
        terms: per column what it is called.

    Returns:
        A row for each column but the constant, in their order, and the residuals.

    Raises:
        MissingLibraryError: SciPy is not installed.
    """
    stats = library("scipy.stats", "the analysis of variance")
    basis, _ = np.linalg.qr(matrix)
    squares = (basis.T @ response) ** 2
    degrees = matrix.shape[0] - matrix.shape[1]
    left = float(((response - basis @ (basis.T @ response)) ** 2).sum())
    rows = []
    for term, square in zip(terms[1:], squares[1:].tolist(), strict=True):
        f = square / (left / degrees) if degrees > 0 and left > 0 else math.nan
        rows.append(VarianceRow(term, 1, square, f, float(stats.f.sf(f, 1, degrees))))
    return (*rows, VarianceRow(RESIDUALS, degrees, left))
