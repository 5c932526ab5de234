"""Bayesian optimisation with tree-structured Parzen estimators, by optuna."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from polytune.tuner.extras import library
from polytune.tuner.searchers.finite_searcher import FiniteSearcher, check_settings
from polytune.tuner.spaces.finite import FiniteSpace

_USER = "the TPE search"
_INFEASIBLE = 1e300
_MOST_GOOD_TRIALS = 25
_REDRAWS = 5


class TPE(FiniteSearcher):
    """Runs what is likely among the good configurations and unlikely among the others (BO-TPE).

    After 20 random configurations, a configuration is drawn from a Parzen estimator of the best quarter of the
    measurements (25 at most): of 24 draws, the one with the best ratio to the estimator of the others.  Bergstra,
    Bardenet, Bengio, Kégl, "Algorithms for hyper-parameter optimization" (NIPS 2011).

    The estimators are joint ones of all parameters, as those of Falkner, Klein, Hutter, "BOHB" (ICML 2018): what is
    good depends on parameters together where a space has constraints, and estimators of each alone draw the same few
    configurations again and again.

    Even so they know nothing of constraints.  A draw that is not valid, or known already, is made again; after five,
    a valid configuration close to the last one is taken, or a random unknown neighbour of it.

    Args:
        initial: how many random configurations come first.
        draws: how many draws the best one is chosen from.
        good: the share of the measurements that counts as good.

    Raises:
        SearchError: a setting is out of its bounds.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        initial: int = 20,
        draws: int = 24,
        good: float = 0.25,
    ):
        super().__init__(space, rng, budget=budget)
        check_settings("tpe", 1, initial=initial, draws=draws)
        check_settings("tpe", 0, 1, good=good)
        self._initial, self._draws, self._good = initial, draws, good
        self._distributions = _distributions(space)
        # The study holds nothing but the costs told, in their order; it is made anew where a state is restored.
        self._study: Any = None
        self._studied = 0

    def _propose(self) -> int | None:
        if len(self._costs) < self._initial or not self._distributions:
            return self._fresh_row()
        drawn = self._draw()
        return drawn if drawn not in self._costs else self._unknown_neighbour(drawn)

    def _draw(self) -> int:
        """A configuration drawn by the estimators, made valid."""
        study = self._updated_study()
        row: list[int] = []
        for _ in range(_REDRAWS):
            # A sampler of its own for every draw: what it draws is then a function of the costs and one random number.
            study.sampler = self._sampler(int(self._rng.integers(1 << 31)))
            trial = study.ask(self._distributions)
            study.tell(trial, state=library("optuna", _USER).trial.TrialState.FAIL)
            row = [trial.params.get(name, 0) for name in self.space.names]
            index = self.space.index_of(row)
            if index is not None and index not in self._costs:
                return index
        return self.space.nearest(row)

    def _unknown_neighbour(self, index: int) -> int | None:
        for distance in (1, 2):
            around = self.space.neighbours(index, hamming=distance)
            unknown = [int(row) for row in around if int(row) not in self._costs]
            if unknown:
                return unknown[int(self._rng.integers(len(unknown)))]
        return None

    def _updated_study(self) -> Any:
        optuna = library("optuna", _USER)
        if self._study is None:
            level = optuna.logging.get_verbosity()
            optuna.logging.set_verbosity(optuna.logging.WARNING)  # nobody wants to read that a study was created
            self._study = optuna.create_study(sampler=self._sampler(0))
            optuna.logging.set_verbosity(level)
        for index in list(self._costs)[self._studied :]:
            row = self.space.rows[index].tolist()
            params = {name: row[self.space.names.index(name)] for name in self._distributions}
            value = min(self._costs[index], _INFEASIBLE)
            trial = optuna.trial.create_trial(params=params, distributions=self._distributions, value=value)
            self._study.add_trial(trial)
        self._studied = len(self._costs)
        return self._study

    def _sampler(self, seed: int) -> Any:
        def good_trials(count: int) -> int:
            return min(math.ceil(self._good * count), _MOST_GOOD_TRIALS)

        with warnings.catch_warnings():
            # Neither joint estimators nor a share of one's own need be there in some future version.
            warnings.simplefilter("ignore")
            return _sampler_of(self._distributions)(
                n_startup_trials=0,
                n_ei_candidates=self._draws,
                gamma=good_trials,
                multivariate=True,
                seed=seed,
            )

    def _rule_state(self) -> dict[str, Any]:
        return {}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._study, self._studied = None, 0


def _sampler_of(distributions: dict[str, Any]) -> type[Any]:
    """Optuna's sampler for parameters that every trial has.

    By itself, it would find them by comparing all trials with each other, for every draw, at half of the draw's cost.
    """
    optuna = library("optuna", _USER)

    class Sampler(optuna.samplers.TPESampler):  # type: ignore[name-defined, misc]
        def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
            return distributions

    return Sampler


def _distributions(space: FiniteSpace) -> dict[str, Any]:
    """Return what optuna draws each parameter's level from: whole numbers where the levels have an order."""
    distributions = library("optuna.distributions", _USER)
    found: dict[str, Any] = {}
    for name, levels, ordered, absence in zip(space.names, space.levels, space.ordered, space.inactive, strict=True):
        if len(levels) > 1:
            whole = ordered and absence is None
            found[name] = (
                distributions.IntDistribution(0, len(levels) - 1)
                if whole
                else distributions.CategoricalDistribution(tuple(range(len(levels))))
            )
    return dict(sorted(found.items()))  # the order in which optuna draws them
