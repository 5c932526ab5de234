"""D-optimal designs: which configurations to measure so that a linear model is estimated best.

Of all designs of a given size, the D-optimal one has the largest determinant of its information matrix X'X and with it
the smallest confidence ellipsoid of the coefficients.  It is approached by Fedorov's exchange (V. V. Fedorov, "Theory
of Optimal Experiments", 1972): as long as some row of the design can be exchanged for a candidate with gain, the
exchange of the largest gain is made.
"""

from __future__ import annotations

import numpy as np

_LEAST_GAIN = 1e-6
_MOST_EXCHANGES = 400
_PRIOR = 1e-6
"""Weight of a prior information matrix, the identity: it makes a start that is not estimable one that can be improved
(DuMouchel and Jones, "A simple Bayesian modification of D-optimal designs", Technometrics 36, 1994)."""


def d_optimal_design(
    candidates: np.ndarray, size: int, rng: np.random.Generator, *, known: np.ndarray | None = None
) -> np.ndarray:
    """Choose `size` distinct rows of `candidates` that, together with `known`, nearly maximise the determinant of X'X.

    The result is a local optimum of the exchange from a random start.  Each step costs (number of candidates) x
    `size` x (number of terms) multiplications.

    Args:
        candidates: the model's terms at every configuration that may be measured; shape (candidates, terms).
        size: how many rows to choose; all candidates are returned where there are not more.
        rng: draws the start.
        known: the model's terms at configurations that have been measured already; shape (any, terms).

    Returns:
        Indices into `candidates`, ascending.
    """
    count, terms = candidates.shape
    if size >= count:
        return np.arange(count)
    design = rng.choice(count, size, replace=False)
    if size == 0:
        return design
    information = _PRIOR * np.eye(terms) + candidates[design].T @ candidates[design]
    if known is not None:
        information += known.T @ known
    for _ in range(_MOST_EXCHANGES):
        gains = _exchange_gains(candidates, design, np.linalg.inv(information))
        leaving, entering = np.unravel_index(np.argmax(gains), gains.shape)
        if gains[leaving, entering] < _LEAST_GAIN:
            break
        old, new = candidates[design[leaving]], candidates[entering]
        information += np.outer(new, new) - np.outer(old, old)
        design[leaving] = entering
    return np.sort(design)


def _exchange_gains(candidates: np.ndarray, design: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
    """Return by how much the determinant grows, as a share of itself, for every (row of the design, candidate)
    exchanged.

    With d(x, y) = x' (X'X)^-1 y, the determinant is multiplied by
    1 + d(new, new) - d(old, old) + d(old, new)^2 - d(old, old) d(new, new).
    """
    projected = candidates @ dispersion
    variance = np.einsum("ij,ij->i", projected, candidates)
    covariance = projected[design] @ candidates.T
    old, new = variance[design][:, None], variance[None, :]
    gains: np.ndarray = new - old + covariance**2 - old * new
    gains[:, design] = -np.inf  # a configuration is measured once
    return gains
