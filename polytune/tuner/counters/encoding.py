"""Configurations as numbers, for models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["Encoding"]

_UNKNOWN = -1.0


class Encoding:
    """Configurations as numbers: values that are none are numbered in the order of their first appearance.

    Args:
        names: the parameters.
        codes: the numbers of values that are none, by parameter and value.
    """

    def __init__(self, names: Sequence[str], codes: Mapping[tuple[str, Any], float]):
        self._names, self._codes = list(names), dict(codes)

    @classmethod
    def of_configurations(cls, configurations: Sequence[Mapping[str, Any]]) -> Encoding:
        """The encoding of all values in some configurations."""
        names = list(dict.fromkeys(name for configuration in configurations for name in configuration))
        codes: dict[tuple[str, Any], float] = {}
        for configuration in configurations:
            for name, value in configuration.items():
                if not isinstance(value, (int, float)):
                    codes.setdefault((name, value), float(len(codes)))
        return cls(names, codes)

    def of(self, configurations: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """(n, parameters); a parameter that is absent, or has a name never seen, is -1."""
        numbers = [[self._number(name, c.get(name)) for name in self._names] for c in configurations]
        return np.array(numbers, float).reshape(len(configurations), len(self._names))

    def of_rows(self, space: FiniteSpace, rows: np.ndarray, given: Mapping[str, Any]) -> np.ndarray:
        """The same of rows of a space.

        Args:
            space: the configurations.
            rows: (n,) int64, the indices of those that are encoded.
            given: values of parameters that are not in the space.
        """
        encoded = np.full((len(rows), len(self._names)), _UNKNOWN)
        for column, name in enumerate(self._names):
            if name in space.names:
                parameter = space.names.index(name)
                numbers = np.array([self._number(name, level) for level in space.levels[parameter]])
                encoded[:, column] = numbers[space.rows[rows, parameter]]
            else:
                encoded[:, column] = self._number(name, given.get(name))
        return encoded

    def to_json(self) -> dict[str, Any]:
        """The encoding as JSON keeps it."""
        return {"parameters": self._names, "codes": [[*key, code] for key, code in self._codes.items()]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Encoding:
        """The encoding that `to_json` wrote."""
        return cls(document["parameters"], {(name, value): float(code) for name, value, code in document["codes"]})

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        code: float = self._codes.get((name, value), _UNKNOWN)
        return code
