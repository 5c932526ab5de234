"""Hardware counters of configurations that have not been profiled: recorded, or predicted by a trained model.

How many instructions and transactions a configuration makes depends on the program far more than on the device: a
model trained on the recordings of one GPU directs the search on another one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polytune.errors import MeasurementError
from polytune.tuner.extras import library
from polytune.tuner.spaces.finite import FiniteSpace

_ABSENT = 1e-3
"""What stands for a parameter that a configuration lacks where all those recorded had it, with values above 0."""

Configurations = Sequence[Mapping[str, Any]]
Profiles = Sequence[Mapping[str, float]]


class CounterModel(ABC):
    """Tells the hardware counters of configurations.

    Attributes:
        names: the counters.
    """

    names: tuple[str, ...]

    @abstractmethod
    def predict(self, space: FiniteSpace, rows: np.ndarray) -> np.ndarray:
        """The counters, (n, names) float64, of the configurations with these indices; NaN where they are not known."""


class RecordedCounters(CounterModel):
    """Counters as they were recorded, configuration by configuration.

    Args:
        configurations: what was profiled.
        profiles: per configuration the counters, of the same names throughout.

    Raises:
        MeasurementError: there is nothing, or the profiles have different counters.
    """

    def __init__(self, configurations: Configurations, profiles: Profiles):
        self.names, values = _table(configurations, profiles)
        self._values = {_key(configuration): row for configuration, row in zip(configurations, values, strict=True)}

    def predict(self, space: FiniteSpace, rows: np.ndarray) -> np.ndarray:
        unknown = np.full(len(self.names), np.nan)
        found = [self._values.get(_key(space.configuration(int(row))), unknown) for row in rows]
        return np.array(found).reshape(len(rows), len(self.names))


class TreeCounters(CounterModel):
    """Extremely randomised trees (Geurts, Ernst, Wehenkel, Machine Learning 63, 2006): good within what was recorded.

    Args:
        configurations: what was profiled.
        profiles: per configuration the counters, of the same names throughout.
        trees: how many trees are averaged.
        seed: of their random splits.

    Raises:
        MeasurementError: there is nothing, or the profiles have different counters.
    """

    def __init__(self, configurations: Configurations, profiles: Profiles, *, trees: int = 10, seed: int = 0):
        self.names, values = _table(configurations, profiles)
        self._encoding = _Encoding(configurations)
        ensemble = library("sklearn.ensemble", "a model of hardware counters")
        self._trees = ensemble.ExtraTreesRegressor(trees, random_state=seed, n_jobs=1)
        self._trees.fit(self._encoding.of(configurations), values)

    def predict(self, space: FiniteSpace, rows: np.ndarray) -> np.ndarray:
        predicted = self._trees.predict(self._encoding.of_rows(space, rows))
        return np.asarray(predicted).reshape(len(rows), len(self.names))


class LeastSquaresCounters(CounterModel):
    """Polynomials of degree 2 in the parameters, one for each combination of the binary ones.

    Counters are products: so many blocks times so many loads each.  Therefore the logarithms of the counters are
    fitted, in the logarithms of the parameters, coded to [-1, 1] over what was recorded; each parameter brings itself
    and its square, each two their product.  No prediction leaves the range of what was recorded.  A combination that
    was not recorded uses the polynomials of the one that differs least.

    Args:
        configurations: what was profiled.
        profiles: per configuration the counters, of the same names throughout.

    Raises:
        MeasurementError: there is nothing, or the profiles have different counters.
    """

    def __init__(self, configurations: Configurations, profiles: Profiles):
        self.names, values = _table(configurations, profiles)
        self._encoding = _Encoding(configurations)
        parameters = self._encoding.of(configurations)
        self._positive = parameters.min(axis=0) > 0
        parameters = self._logarithms(parameters)
        self._binary = np.array([len(np.unique(column)) == 2 for column in parameters.T], bool)
        self._low, self._high = parameters.min(axis=0), parameters.max(axis=0)
        self._combinations, group = np.unique(parameters[:, self._binary], axis=0, return_inverse=True)
        terms, logarithms = self._terms(parameters), _compressed(values)
        self._lowest, self._highest = logarithms.min(axis=0), logarithms.max(axis=0)
        self._coefficients = [
            np.linalg.lstsq(terms[group.ravel() == number], logarithms[group.ravel() == number], rcond=None)[0]
            for number in range(len(self._combinations))
        ]

    def predict(self, space: FiniteSpace, rows: np.ndarray) -> np.ndarray:
        parameters = self._logarithms(self._encoding.of_rows(space, rows))
        differing = (parameters[:, None, self._binary] != self._combinations[None]).sum(axis=2)
        group = differing.argmin(axis=1)
        terms = self._terms(parameters)
        predicted = np.empty((len(rows), len(self.names)))
        for number, coefficients in enumerate(self._coefficients):
            predicted[group == number] = terms[group == number] @ coefficients
        return np.expm1(np.clip(predicted, self._lowest, self._highest))

    def _logarithms(self, parameters: np.ndarray) -> np.ndarray:
        """The logarithms of parameters that are always above 0, and of one more than the others."""
        logarithms = _compressed(parameters)
        logarithms[:, self._positive] = np.log(np.maximum(parameters[:, self._positive], _ABSENT))
        return logarithms

    def _terms(self, parameters: np.ndarray) -> np.ndarray:
        span = np.where(self._high > self._low, self._high - self._low, 1.0)
        coded = (2 * parameters - self._low - self._high)[:, ~self._binary] / span[~self._binary]
        one, other = np.triu_indices(coded.shape[1])
        return np.column_stack([np.ones(len(coded)), coded, coded[:, one] * coded[:, other]])


class _Encoding:
    """Configurations as numbers: values that are none are numbered in the order of their first appearance."""

    def __init__(self, configurations: Configurations):
        self._names = list(dict.fromkeys(name for configuration in configurations for name in configuration))
        self._codes: dict[tuple[str, Any], float] = {}
        for configuration in configurations:
            for name, value in configuration.items():
                if not isinstance(value, (int, float)):
                    self._codes.setdefault((name, value), float(len(self._codes)))

    def of(self, configurations: Configurations) -> np.ndarray:
        """(n, parameters); a parameter that is absent, or has a name never seen, is -1."""
        numbers = [[self._number(name, c.get(name)) for name in self._names] for c in configurations]
        return np.array(numbers, float).reshape(len(configurations), len(self._names))

    def of_rows(self, space: FiniteSpace, rows: np.ndarray) -> np.ndarray:
        """The same of the configurations with these indices."""
        encoded = np.full((len(rows), len(self._names)), -1.0)
        for column, name in enumerate(self._names):
            if name in space.names:
                parameter = space.names.index(name)
                numbers = np.array([self._number(name, level) for level in space.levels[parameter]])
                encoded[:, column] = numbers[space.rows[rows, parameter]]
        return encoded

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        return self._codes.get((name, value), -1.0)


def _compressed(values: np.ndarray) -> np.ndarray:
    """The logarithms of values that may be 0 or negative."""
    logarithms: np.ndarray = np.sign(values) * np.log1p(np.abs(values))
    return logarithms


def _key(configuration: Mapping[str, Any]) -> frozenset[tuple[str, Any]]:
    return frozenset(configuration.items())


def _table(configurations: Configurations, profiles: Profiles) -> tuple[tuple[str, ...], np.ndarray]:
    """The counters' names and their values, (configurations, names)."""
    if not configurations or len(configurations) != len(profiles):
        raise MeasurementError(
            f"{len(configurations)} configurations and {len(profiles)} profiles: a model of hardware counters needs "
            "recordings, one profile for each configuration"
        )
    names = tuple(profiles[0])
    for number, profile in enumerate(profiles):
        if profile.keys() != set(names):
            odd = min(profile.keys() ^ set(names))
            raise MeasurementError(
                f"profile {number} has other counters than the first one: {odd} is in one of them only"
            )
    return names, np.array([[profile[name] for name in names] for profile in profiles], float)
