"""Profile-based search: what holds the profiled configuration up directs the search to those that do less of it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polytune.errors import MeasurementError, SearchError
from polytune.tuner.counters.bottlenecks import wanted_changes
from polytune.tuner.counters.expectation import ExpectedTimes
from polytune.tuner.counters.files import load_model
from polytune.tuner.counters.models import CounterModel
from polytune.tuner.counters.names import expected_times, vocabulary_of
from polytune.tuner.searchers.finite_searcher import FiniteSearcher, check_settings
from polytune.tuner.spaces.finite import FiniteSpace

_CUT_OFF = -0.25
_EXPONENT = 8
_LEAST_WEIGHT = 1e-4
_DOUBT = 0.1
"""The distance of expected times from the truth: the standard deviation of their logarithms."""

_DOUBT_OF_VALUES = 0.5
"""The same distance for all configurations with a value of a parameter of which none has been measured."""

_HOPEFUL = 4
"""Every so many evaluations what may be the fastest, by what is not known yet, is next."""

Profiler = Callable[[int], Mapping[str, float]]


class ProfileBased(FiniteSearcher):
    """Profiles a configuration, times five that its hardware counters recommend, profiles the fastest, and so on.

    A profile shows the bottlenecks of a configuration (`bottlenecks`) and with them which counters should be lower or
    higher (`wanted_changes`).  A model tells the counters of all configurations, on the same device or on another
    one; each is scored by how much nearer it comes to the wanted changes, and drawn with a weight that grows with the
    eighth power of its score.  Filipovič, Hozzová, Nezarat, Oľha, Petrovič, "Using hardware performance counters to
    speed up autotuning convergence on GPUs" (J. Parallel Distrib. Comput. 160, 2022).

    Profiles come from `counters`, or from the caller: whenever `wanted_profile` is a row, `tell_profile` is to be
    called before the next `ask`; where it is not, the model's prediction stands in for the profile.

    Counters of polytune's own kernels say how long each kind of work is expected to take, before anything has run.
    These can be added up: then what is timed next is what is expected to be the fastest, by a model that learns from
    each time how wrong it is about the values of the parameters (`ExpectedTimes`), and no profiles are needed.  It
    would never learn that values which seem slow are not: so every fourth evaluation is where times would be shortest
    if the model were as wrong as it may be about what has not been measured, at a lower confidence bound, as D. D. Cox
    and S. John, "SDO: a statistical method for global optimization", 1997, search.

    Args:
        model: the counters of the configurations, or the file that `save_model` has written one to; required, but for
            kernels, whose counters polytune knows.
        counters: profiles a configuration, given its index; the caller tells the profiles where it is not given.
        cores: CUDA cores of the device that is tuned for; required for counters of GPUs.
        memory_bound: whether the problem is known to be bound by memory rather than by computation.
        batch: how many configurations are timed between two profiles.

    Raises:
        SearchError: there is no model, or no number of cores.
        MeasurementError: the model, or a profile, lacks counters that the analysis needs, or the file has no model.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        model: CounterModel | str | os.PathLike[str] | None = None,
        counters: Profiler | None = None,
        cores: int | None = None,
        memory_bound: bool = False,
        batch: int = 5,
    ):
        super().__init__(space, rng, budget=budget)
        if model is None:
            raise SearchError(self.lacks({}))
        if not isinstance(model, CounterModel):
            model = load_model(model)
        if not expected_times(model.names):
            vocabulary_of(model.names)
            if cores is None:
                raise SearchError(
                    "the profile-based search needs cores=, the number of CUDA cores of the device, to read the "
                    "counters of a GPU"
                )
        check_settings("profile", 1, cores=cores, batch=batch)
        self._model, self._profiler, self._cores, self._memory_bound = model, counters, cores, memory_bound
        self._batch_size = batch
        self._candidates = np.arange(len(space))
        if len(space) > model.candidates:
            drawn = np.random.default_rng(0).choice(len(space), model.candidates, replace=False)
            self._candidates = np.sort(drawn)
        self._given: dict[str, Any] = {}
        self._predicted: np.ndarray | None = None
        self._names_of_times = expected_times(model.names)
        self._times: ExpectedTimes | None = None
        self._timed: list[int] = []
        self._wanted: int | None = None
        self._profile: tuple[int, dict[str, float]] | None = None
        self._weights: np.ndarray | None = None

    @property
    def wanted_profile(self) -> int | None:
        """The row whose counters are to be told next; None while more rows are to be timed first."""
        return self._wanted

    def tell_profile(self, index: int, counters: Mapping[str, float]) -> None:
        """Take in the hardware counters of a row.

        Raises:
            MeasurementError: counters that the analysis needs are missing or not finite.
        """
        for name in sorted(vocabulary_of(counters).names):
            if not math.isfinite(counters[name]):
                raise MeasurementError(f"the profile of row {index}: {name} is {counters[name]}, not a finite number")
        self._profile = (int(index), {name: float(value) for name, value in counters.items()})
        self._weights = None
        self._wanted = None
        self._timed = []

    @classmethod
    def lacks(cls, settings: Mapping[str, Any]) -> str:
        """Return that the model is missing, where it is."""
        if settings.get("model") is not None:
            return ""
        return (
            "the profile-based search needs model=, the recorded or predicted counters of the configurations (such as "
            "TreeCounters, or the file that save_model has written); only kernels of polytune's own have one"
        )

    @classmethod
    def check_files(cls, settings: Mapping[str, Any]) -> None:
        """Read the file of a model."""
        if isinstance(settings.get("model"), str | os.PathLike):
            load_model(settings["model"])

    def surround(self, values: Mapping[str, Any]) -> None:
        """Take in the values of parameters that are not in the space."""
        self._given = dict(values)

    def _propose(self) -> int | None:
        if self._names_of_times:
            return self._soonest()
        if self._wanted is None and self._profile is None and self._best is not None:
            self._wanted = self._best  # it was measured before the search began
        if self._wanted is not None:
            if self._profiler is not None:
                self.tell_profile(self._wanted, self._profiler(self._wanted))
            else:
                self._profile_by_model(self._wanted)
        if self._profile is None:
            return self._fresh_row()
        if self._weights is None:
            self._weights = self._weigh(*self._profile)
        weights = self._weights.copy()
        weights[np.isin(self._candidates, np.fromiter(self._costs, np.int64, len(self._costs)))] = 0.0
        total = weights.sum()
        return int(self._rng.choice(self._candidates, p=weights / total)) if total > 0 else None

    def _soonest(self) -> int | None:
        """The row that is expected to take the shortest time, of those that have not been told; None where there is
        none left among the candidates."""
        if self._times is None:
            predicted = self._model.predict(self.space, self._candidates, self._given)
            columns = [self._model.names.index(name) for name in self._names_of_times]
            self._times = ExpectedTimes(self.space, self._candidates, predicted[:, columns])
        expected = self._times.logarithms(self._costs)
        told = np.isin(self._candidates, np.fromiter(self._costs, np.int64, len(self._costs)))
        if told.all():
            return None
        if len(self._costs) % _HOPEFUL == _HOPEFUL - 1:
            expected = expected - _DOUBT_OF_VALUES * self._times.doubts(self._costs)
        drawn = expected + _DOUBT * self._rng.standard_normal(len(expected))
        return int(self._candidates[np.argmin(np.where(told, math.inf, drawn))])

    def _learn(self, index: int, cost: float) -> None:
        if self._names_of_times:
            return
        self._timed.append(index)
        if self._profile is None or len(self._timed) >= self._batch_size:
            fastest = min(self._timed, key=self._costs.__getitem__)
            # What is infeasible cannot be profiled.
            self._wanted = fastest if self._costs[fastest] < math.inf else None
            self._timed = []

    def _profile_by_model(self, index: int) -> None:
        values = self._model.predict(self.space, np.array([index]), self._given)[0]
        self._wanted, self._timed = None, []
        if np.isfinite(values).all():
            self.tell_profile(index, dict(zip(self._model.names, values.tolist(), strict=True)))

    def _weigh(self, index: int, counters: Mapping[str, float]) -> np.ndarray:
        """The weight of every candidate, given a profile."""
        assert self._cores is not None
        changes = wanted_changes(counters, cores=self._cores, memory_bound=self._memory_bound)
        if self._predicted is None:
            self._predicted = self._model.predict(self.space, self._candidates, self._given)
        here = self._model.predict(self.space, np.array([index]), self._given)[0]
        scores = np.zeros(len(self._candidates))
        for column, name in enumerate(self._model.names):
            if name in changes:
                scores += changes[name] * relative_difference(self._predicted[:, column], here[column])
        return weights_of(scores)

    def _rule_state(self) -> dict[str, Any]:
        return {
            "timed": list(self._timed),
            "wanted": self._wanted,
            "profile": None if self._profile is None else [self._profile[0], dict(self._profile[1])],
        }

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._timed, self._wanted = list(state["timed"]), state["wanted"]
        profile = state["profile"]
        self._profile = None if profile is None else (profile[0], dict(profile[1]))
        self._weights = None


def relative_difference(there: np.ndarray, here: float) -> np.ndarray:
    """The difference of counters by their mean, from -2 to 2; 0 where both are 0 or one is not known.

    Args:
        there: (n,) float64, the counters of n configurations; NaN where one is not known.
        here: the counter of the profiled one.
    """
    there = np.maximum(there, 0.0)  # a polynomial may predict less than nothing
    here = max(here, 0.0)
    total = there + here
    known = np.isfinite(total) & (total > 0)
    difference: np.ndarray = np.divide(2 * (there - here), total, out=np.zeros(len(there)), where=known)
    return difference


def weights_of(scores: np.ndarray) -> np.ndarray:
    """Return how likely a configuration is to be drawn, up to a factor: from about 0 to 2^8, and 1 for a score of 0.

    Args:
        scores: (n,) float64.
    """
    lowest, highest = min(float(scores.min()), -1e-12), max(float(scores.max()), 1e-12)
    relative = np.where(scores < 0, 1 - scores / lowest, 1 + scores / highest) ** _EXPONENT
    return np.where(scores < _CUT_OFF, _LEAST_WEIGHT, np.maximum(relative, _LEAST_WEIGHT))
