"""A Gaussian process in NumPy alone, quick enough to be asked between two measurements.

After Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006): algorithm 2.1 for the prediction,
section 5.4.1 for the likelihood.  The hyperparameters are not optimised anew for each observation but adapted by a
few random steps, which follows the optimum as observations come in.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_JITTER = 1e-8
_NOISE_RANGE = (math.log(1e-2), math.log(1.0))
_PRIOR_NOISE = math.log(0.05)
_STEP_RANGE = (0.1, 1.0)


class Kriging:
    """Predicts a real function of points in the unit cube from noisy values.

    The kernel is Matern 5/2 with an inverse length scale per dimension; the variance is the most likely one.  Inverse
    length scales have log-normal priors around 1, so that dimensions in which nothing was learned stay smooth; the
    noise, in units of the function's deviation, one around 0.05.

    Args:
        dimensions: of the points.
        rng: where the random steps come from.
    """

    def __init__(self, dimensions: int, rng: np.random.Generator):
        self._rng = rng
        self._log_inverse_lengths = np.zeros(dimensions)
        self._log_noise = _PRIOR_NOISE
        self._step = 0.5

    # ---- hyperparameters

    def adapt(self, points: np.ndarray, values: np.ndarray, steps: int) -> None:
        """Take random steps of the hyperparameters, keeping those that make the observations more likely.

        Args:
            points: (n, dimensions).
            values: (n,), of mean about 0 and deviation about 1.
            steps: how many are tried; each costs a Cholesky decomposition of n + 1 rows.
        """
        present = self._badness(points, values, self._log_inverse_lengths, self._log_noise)
        for _ in range(steps):
            moved = self._rng.random(len(self._log_inverse_lengths)) < 1 / 3
            lengths = self._log_inverse_lengths + moved * self._rng.normal(0, self._step, len(moved))
            noise = self._log_noise
            if self._rng.random() < 0.4:
                noise = min(max(noise + self._rng.normal(0, self._step), _NOISE_RANGE[0]), _NOISE_RANGE[1])
            badness = self._badness(points, values, lengths, noise)
            if badness < present:
                self._log_inverse_lengths, self._log_noise, present = lengths, noise, badness
                self._step = min(self._step * 1.3, _STEP_RANGE[1])
            else:
                self._step = max(self._step * 0.93, _STEP_RANGE[0])

    def _badness(self, points: np.ndarray, values: np.ndarray, lengths: np.ndarray, noise: float) -> float:
        """Minus the logarithm of the posterior of the hyperparameters, up to a constant."""
        n = len(points)
        # The last row of the factor of this bordered matrix is L^-1 y, which spares a triangular solution.
        bordered = np.empty((n + 1, n + 1))
        bordered[:n, :n] = self._covariance(points, points, lengths)
        bordered[np.arange(n), np.arange(n)] += math.exp(2 * noise) + _JITTER
        bordered[n, :n] = bordered[:n, n] = values
        bordered[n, n] = 1e9
        try:
            factor = np.linalg.cholesky(bordered)
        except np.linalg.LinAlgError:
            return math.inf
        whitened = factor[n, :n]
        variance = (whitened @ whitened + 1) / (n + 1)
        likelihood = 0.5 * n * math.log(variance) + float(np.log(factor.diagonal()[:n]).sum())
        return likelihood + 0.5 * float(lengths @ lengths) + 0.5 * (noise - _PRIOR_NOISE) ** 2

    @staticmethod
    def _covariance(left: np.ndarray, right: np.ndarray, log_inverse_lengths: np.ndarray) -> np.ndarray:
        scale = math.sqrt(5) * np.exp(log_inverse_lengths)
        left, right = left * scale, right * scale
        squares = (left * left).sum(axis=1)[:, None] + (right * right).sum(axis=1) - 2 * (left @ right.T)
        distance = np.sqrt(np.maximum(squares, 0))
        covariance: np.ndarray = (1 + distance + distance * distance / 3) * np.exp(-distance)
        return covariance

    # ---- prediction

    def fit(self, points: np.ndarray, values: np.ndarray) -> None:
        """Take over the observations from which `predict` predicts: (n, dimensions) points and their (n,) values."""
        self._points = points
        self._mean = float(values.mean())
        covariance = self._covariance(points, points, self._log_inverse_lengths)
        covariance[np.diag_indices(len(points))] += math.exp(2 * self._log_noise) + _JITTER
        self._inverse = np.linalg.inv(covariance)
        self._weights = self._inverse @ (values - self._mean)
        self._variance = float((values - self._mean) @ self._weights + 1) / (len(values) + 1)

    def predict(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the standard deviation of the value at each of some points, which have not been observed.

        The noise is part of the deviation: where measurements are exact, it is what a point has of its own, which none
        of the others tells of, and so is each unobserved point's chance to be better than its surroundings.

        Args:
            points: (n, dimensions) float64, in the unit cube.
        """
        covariance = self._covariance(points, self._points, self._log_inverse_lengths)
        explained = ((covariance @ self._inverse) * covariance).sum(axis=1)
        return (
            self._mean + covariance @ self._weights,
            np.sqrt(self._variance * (np.maximum(1 - explained, 0) + math.exp(2 * self._log_noise))),
        )

    # ---- state

    def state(self) -> dict[str, Any]:
        """The hyperparameters, as JSON keeps them."""
        return {
            "log_inverse_lengths": self._log_inverse_lengths.tolist(),
            "log_noise": self._log_noise,
            "step": self._step,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` returned."""
        self._log_inverse_lengths = np.array(state["log_inverse_lengths"], float)
        self._log_noise, self._step = state["log_noise"], state["step"]


def expected_improvement(mean: np.ndarray, deviation: np.ndarray, best: float) -> np.ndarray:
    """Return by how much a normally distributed value falls below `best` on average (Jones, Schonlau and Welch, 1998).

    Args:
        mean: float64, of any shape: the expected values.
        deviation: float64, of the shape of ``mean``: their standard deviations, above 0.
        best: the value to fall below.
    """
    distance = (best - mean) / deviation
    below = 0.5 * np.array([math.erfc(-z / math.sqrt(2)) for z in distance.tolist()])
    density = np.exp(-0.5 * distance * distance) / math.sqrt(2 * math.pi)
    improvement: np.ndarray = deviation * (distance * below + density)
    return improvement
