"""Counters of configurations that have not been profiled: recorded, or predicted by a trained model.

How many instructions and transactions a configuration makes depends on the program far more than on the device: a
model trained on the recordings of one machine directs the search on another one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from polytune.errors import MeasurementError
from polytune.tuner.counters.encoding import Encoding
from polytune.tuner.extras import library
from polytune.tuner.spaces.finite import FiniteSpace

__all__ = ["NOTHING", "CounterModel", "LeastSquaresCounters", "RecordedCounters", "TreeCounters"]

_ABSENT = 1e-3
"""The value of a parameter that a configuration lacks where all those recorded had it, with values above 0."""

NOTHING: Mapping[str, Any] = MappingProxyType({})

Configurations = Sequence[Mapping[str, Any]]
Profiles = Sequence[Mapping[str, float]]


class CounterModel(ABC):
    """Tells the counters of configurations.

    Attributes:
        names: the counters.
        kind: the name of the kind of model, which files have it by; empty for one that is not kept in files.
        candidates: of how many configurations a search may ask it each time.
    """

    names: tuple[str, ...]
    kind: ClassVar[str] = ""
    candidates: ClassVar[int] = 100_000

    @abstractmethod
    def predict(self, space: FiniteSpace, rows: np.ndarray, given: Mapping[str, Any] = NOTHING) -> np.ndarray:
        """The counters of configurations.

        Args:
            space: the configurations.
            rows: (n,) int64, the indices of those that are asked for.
            given: values of parameters that are not in the space, for all of them.

        Returns:
            (n, names) float64; NaN where they are not known.
        """

    def to_json(self) -> dict[str, Any]:
        """Everything that was learned, as JSON keeps it.

        Raises:
            MeasurementError: this kind of model is not kept in files.
        """
        raise MeasurementError(f"the model {self} is made anew for each kernel and is not kept in files")

    def __str__(self) -> str:
        return self.kind or type(self).__name__


class RecordedCounters(CounterModel):
    """Counters as they were recorded, configuration by configuration.

    Args:
        configurations: what was profiled.
        profiles: per configuration the counters, of the same names throughout.

    Raises:
        MeasurementError: there is nothing, or the profiles have different counters.
    """

    kind = "exact"

    def __init__(self, configurations: Configurations, profiles: Profiles):
        self.names, values = _table(configurations, profiles)
        self._configurations = [dict(configuration) for configuration in configurations]
        self._values = {_key(configuration): row for configuration, row in zip(configurations, values, strict=True)}

    def predict(self, space: FiniteSpace, rows: np.ndarray, given: Mapping[str, Any] = NOTHING) -> np.ndarray:
        unknown = np.full(len(self.names), np.nan)
        found = [self._values.get(_key({**given, **space.configuration(int(row))}), unknown) for row in rows]
        return np.array(found).reshape(len(rows), len(self.names))

    def to_json(self) -> dict[str, Any]:
        values = [plain_numbers(self._values[_key(configuration)]) for configuration in self._configurations]
        return {"names": list(self.names), "configurations": self._configurations, "profiles": values}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RecordedCounters:
        """The model that `to_json` wrote."""
        names = document["names"]
        values = [numbers(row).tolist() for row in document["profiles"]]
        return cls(document["configurations"], [dict(zip(names, row, strict=True)) for row in values])


class TreeCounters(CounterModel):
    """Extremely randomised trees (Geurts, Ernst, Wehenkel, Machine Learning 63, 2006): good within what was recorded.

    Each leaf has the mean of the profiles that lead to it.

    Args:
        configurations: what was profiled.
        profiles: per configuration the counters, of the same names throughout.
        trees: how many trees are averaged.
        seed: of their random splits.

    Raises:
        MeasurementError: there is nothing, or the profiles have different counters.
        MissingLibraryError: scikit-learn, which trains them, is not installed.
    """

    kind = "trees"

    def __init__(self, configurations: Configurations, profiles: Profiles, *, trees: int = 10, seed: int = 0):
        self.names, self._values = _table(configurations, profiles)
        self._encoding = Encoding.of_configurations(configurations)
        ensemble = library("sklearn.ensemble", "a model of hardware counters")
        encoded = self._encoding.of(configurations)
        trained = ensemble.ExtraTreesRegressor(trees, random_state=seed, n_jobs=1).fit(encoded, self._values)
        self._trees = [
            _Tree(
                np.array(each.tree_.feature),
                np.array(each.tree_.threshold),
                np.array(each.tree_.children_left),
                np.array(each.tree_.children_right),
                np.array(each.apply(encoded)),
                self._values,
            )
            for each in trained.estimators_
        ]

    def predict(self, space: FiniteSpace, rows: np.ndarray, given: Mapping[str, Any] = NOTHING) -> np.ndarray:
        encoded = self._encoding.of_rows(space, rows, given)
        predicted = np.zeros((len(rows), len(self.names)))
        for tree in self._trees:
            predicted += tree.predict(encoded)
        return predicted / len(self._trees)

    def to_json(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "encoding": self._encoding.to_json(),
            "profiles": [plain_numbers(row) for row in self._values],
            "trees": [tree.to_json() for tree in self._trees],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> TreeCounters:
        """The model that `to_json` wrote; scikit-learn is not needed for it."""
        model = cls.__new__(cls)
        model.names = tuple(document["names"])
        model._encoding = Encoding.from_json(document["encoding"])
        model._values = np.array([numbers(row) for row in document["profiles"]]).reshape(-1, len(model.names))
        model._trees = [_Tree.from_json(tree, model._values) for tree in document["trees"]]
        if not model._trees:
            raise ValueError("there is no tree")
        return model


class _Tree:
    """A tree of splits.

    Args:
        feature: (nodes,) by which parameter each node splits.
        threshold: (nodes,) up to which value its left child is taken.
        left, right: (nodes,) the children; -1 for a leaf.
        leaf_of: (profiles,) the leaf that each profile leads to.
        values: (profiles, names) the profiles.
    """

    def __init__(
        self,
        feature: np.ndarray,
        threshold: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        leaf_of: np.ndarray,
        values: np.ndarray,
    ):
        self._feature, self._threshold, self._left, self._right, self._leaf_of = (
            feature,
            threshold,
            left,
            right,
            leaf_of,
        )
        sums = np.zeros((len(feature), values.shape[1]))
        np.add.at(sums, leaf_of, values)
        counts = np.bincount(leaf_of, minlength=len(feature))
        self._means = sums / np.maximum(counts, 1)[:, None]

    def predict(self, encoded: np.ndarray) -> np.ndarray:
        """(n, names) the means of the leaves that (n, parameters) lead to."""
        # Trees are trained on single precision; a double would fall on the other side of some thresholds.
        places = encoded.astype(np.float32)
        at = np.zeros(len(encoded), np.int64)
        inside = np.flatnonzero(self._left[at] >= 0)
        while len(inside):
            nodes = at[inside]
            goes_left = places[inside, self._feature[nodes]] <= self._threshold[nodes]
            at[inside] = np.where(goes_left, self._left[nodes], self._right[nodes])
            inside = inside[self._left[at[inside]] >= 0]
        found: np.ndarray = self._means[at]
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "feature": self._feature.tolist(),
            "threshold": self._threshold.tolist(),
            "left": self._left.tolist(),
            "right": self._right.tolist(),
            "leaf_of_profile": self._leaf_of.tolist(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], values: np.ndarray) -> _Tree:
        feature, left, right, leaf_of = (
            np.array(document[name], np.int64) for name in ("feature", "left", "right", "leaf_of_profile")
        )
        threshold = np.array(document["threshold"], float)
        nodes = np.arange(len(feature))
        is_leaf = left < 0
        # Children come after their parents, so that every way down ends.
        is_sound = (is_leaf | ((left > nodes) & (right > nodes))).all() and max(left.max(), right.max()) < len(nodes)
        if not is_sound or len(leaf_of) != len(values) or not is_leaf[leaf_of].all():
            raise ValueError("a tree does not hold together")
        return cls(feature, threshold, left, right, leaf_of, values)


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

    kind = "least_squares"
    _ARRAYS = ("positive", "binary", "low", "high", "combinations", "lowest", "highest", "coefficients")

    def __init__(self, configurations: Configurations, profiles: Profiles):
        self.names, values = _table(configurations, profiles)
        self._encoding = Encoding.of_configurations(configurations)
        parameters = self._encoding.of(configurations)
        self._positive = parameters.min(axis=0) > 0
        parameters = self._logarithms(parameters)
        self._binary = np.array([len(np.unique(column)) == 2 for column in parameters.T], bool)
        self._low, self._high = parameters.min(axis=0), parameters.max(axis=0)
        self._combinations, group = np.unique(parameters[:, self._binary], axis=0, return_inverse=True)
        terms, logarithms = self._terms(parameters), _compressed(values)
        self._lowest, self._highest = logarithms.min(axis=0), logarithms.max(axis=0)
        self._coefficients = np.array(
            [
                np.linalg.lstsq(terms[group.ravel() == number], logarithms[group.ravel() == number], rcond=None)[0]
                for number in range(len(self._combinations))
            ]
        )

    def predict(self, space: FiniteSpace, rows: np.ndarray, given: Mapping[str, Any] = NOTHING) -> np.ndarray:
        parameters = self._logarithms(self._encoding.of_rows(space, rows, given))
        differing = (parameters[:, None, self._binary] != self._combinations[None]).sum(axis=2)
        group = differing.argmin(axis=1)
        terms = self._terms(parameters)
        predicted = np.empty((len(rows), len(self.names)))
        for number, coefficients in enumerate(self._coefficients):
            predicted[group == number] = terms[group == number] @ coefficients
        return np.expm1(np.clip(predicted, self._lowest, self._highest))

    def to_json(self) -> dict[str, Any]:
        arrays = {name: getattr(self, f"_{name}").tolist() for name in self._ARRAYS}
        return {"names": list(self.names), "encoding": self._encoding.to_json(), **arrays}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> LeastSquaresCounters:
        """The model that `to_json` wrote."""
        model = cls.__new__(cls)
        model.names = tuple(document["names"])
        model._encoding = Encoding.from_json(document["encoding"])
        for name in cls._ARRAYS:
            setattr(model, f"_{name}", np.array(document[name], bool if name in ("positive", "binary") else float))
        binary = int(model._binary.sum())
        numeric = len(model._binary) - binary
        terms = 1 + numeric + numeric * (numeric + 1) // 2
        model._combinations = model._combinations.reshape(-1, binary)
        if model._coefficients.shape != (len(model._combinations), terms, len(model.names)):
            raise ValueError("the polynomials do not fit the parameters")
        return model

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


def plain_numbers(values: np.ndarray) -> list[float | None]:
    """Numbers as JSON has them, which knows no NaN."""
    return [value if np.isfinite(value) else None for value in values.tolist()]


def numbers(values: Sequence[float | None]) -> np.ndarray:
    """The numbers that `plain_numbers` wrote."""
    return np.array([np.nan if value is None else float(value) for value in values])


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
            f"{len(configurations)} configurations and {len(profiles)} profiles: a model of counters needs "
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
