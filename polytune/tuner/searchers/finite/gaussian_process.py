"""Bayesian optimisation with a Gaussian process."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from polytune.tuner.extras import library
from polytune.tuner.models.kriging import expected_improvement
from polytune.tuner.models.surrogate import candidate_rows, response
from polytune.tuner.searchers.finite_searcher import FiniteSearcher, check_settings
from polytune.tuner.spaces.finite import FiniteSpace

_USER = "the Gaussian process search"
_DIAGONAL = 1e-6
_REFIT_GROWTH = 1.15
_FIT_POINTS = 64
_FIT_STEPS = 15
_PREDICTION_WORK = 400_000
_FEWEST_CANDIDATES = 500
_MOST_CANDIDATES = 5000


class GaussianProcess(FiniteSearcher):
    """Runs the configuration with the largest expected improvement under a Gaussian process (BO-GP).

    A Matérn covariance (nu = 5/2) of one length scale per feature and a noise level, fitted by maximum likelihood to
    the standardised logarithms of the costs, cut off as far above their median as the best one lies below it; the
    first 8 % of the budget is random.  Improvement is sought among the valid configurations not measured yet, never
    beside them: all of them, or a choice of as many as can be predicted in tens of milliseconds, neighbours of the
    best ones among them.

    The covariance is fitted anew when the measurements have grown by 15 %, from where it was, in few steps, and to 64
    of them at most: the best half and random others.  So a proposal stays below 50 ms at 400 measurements.

    Args:
        initial: how many random configurations come first; 8 % of the budget, and twice the number of parameters
            where no budget is known, but three at least.
        exploration: by which share of the costs' spread a configuration has to be better to be an improvement.

    Raises:
        SearchError: a setting is out of its bounds.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        initial: int | None = None,
        exploration: float = 0.01,
    ):
        super().__init__(space, rng, budget=budget)
        check_settings("gaussian_process", 1, initial=initial)
        check_settings("gaussian_process", 0, exploration=exploration)
        planned = 2 * len(space.names) if budget is None else math.ceil(0.08 * budget)
        self._initial = max(planned, 3) if initial is None else initial
        self._exploration = exploration
        self._theta: list[float] | None = None
        self._fitted_at = 0

    def _propose(self) -> int | None:
        if len(self._costs) < self._initial:
            return self._fresh_row()
        measured, costs = response(self._costs)
        if not len(measured):
            return None
        features = self.space.encode(self.space.rows[measured])
        logarithms = np.log(costs)
        # How slow the slow ones are does not matter, and would stretch the scale on which the best ones differ.
        logarithms = np.minimum(logarithms, 2 * np.median(logarithms) - logarithms.min())
        targets = (logarithms - logarithms.mean()) / max(float(logarithms.std()), 1e-12)
        if self._theta is None or len(measured) >= _REFIT_GROWTH * self._fitted_at:
            self._theta, self._fitted_at = self._fit(features, targets), len(measured)
        process = self._process(self._theta, features.shape[1]).fit(features, targets)
        limit = min(max(_PREDICTION_WORK // len(measured), _FEWEST_CANDIDATES), _MOST_CANDIDATES)
        candidates = candidate_rows(self.space, self._costs, self._rng, limit=limit)
        mean, deviation = process.predict(self.space.encode(self.space.rows[candidates]), return_std=True)
        improvement = expected_improvement(mean, deviation, targets.min() - self._exploration)
        return int(candidates[np.argmax(improvement)])

    def _fit(self, features: np.ndarray, targets: np.ndarray) -> list[float]:
        """The logarithms of the covariance's parameters that make the costs most likely."""
        if len(targets) > _FIT_POINTS:
            order = np.argsort(targets, kind="stable")
            half = _FIT_POINTS // 2
            chosen = np.concatenate([order[:half], self._rng.choice(order[half:], _FIT_POINTS - half, replace=False)])
            features, targets = features[chosen], targets[chosen]
        process = self._process(self._theta, features.shape[1], optimizer=_climb)
        with warnings.catch_warnings():
            # A length scale at its bound is an answer (the parameter does not matter), not a failure.
            warnings.simplefilter("ignore")
            process.fit(features, targets)
        return [float(value) for value in process.kernel_.theta]

    def _process(self, theta: list[float] | None, columns: int, optimizer: Callable[..., Any] | None = None) -> Any:
        kernels = library("sklearn.gaussian_process.kernels", _USER)
        matern = kernels.Matern(np.ones(max(columns, 1)), (0.05, 20.0), nu=2.5)
        kernel = kernels.ConstantKernel(1.0, (0.05, 50.0)) * matern + kernels.WhiteKernel(1e-2, (1e-5, 0.5))
        if theta is not None:
            kernel = kernel.clone_with_theta(np.array(theta))
        regressor = library("sklearn.gaussian_process", _USER).GaussianProcessRegressor
        return regressor(kernel, alpha=_DIAGONAL, optimizer=optimizer)

    def _rule_state(self) -> dict[str, Any]:
        return {"theta": self._theta, "fitted_at": self._fitted_at}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._theta, self._fitted_at = state["theta"], state["fitted_at"]


def _climb(objective: Callable[..., Any], start: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, float]:
    """A few steps towards the most likely parameters; the next fit goes on from here."""
    minimize = library("scipy.optimize", _USER).minimize
    found = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds, options={"maxfun": _FIT_STEPS})
    return found.x, float(found.fun)
