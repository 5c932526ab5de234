"""Least squares on a Box-Cox transformed response, without the terms that mean nothing, and its analysis of variance.

The times of a tuning space spread over orders of magnitude, and their errors with them.  The power transform of Box
and Cox ("An analysis of transformations", J. R. Stat. Soc. B 26, 1964) that makes the residuals most likely normal
evens that out; it is monotone, so that the best prediction stays the best.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.tuner.extras import library
from polytune.tuner.models.terms import independent_columns

_POWERS = (-2.0, 2.0)
_EQUAL = 1e-9
_USER = "the linear model"


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted linear model.

    Attributes:
        power: of the Box-Cox transform; 0 is the logarithm.
        coefficients: per term of the design matrix; 0 for an eliminated one.
        significance: per factor that some term left is about, the probability that its terms explain what they do
            by chance alone: the p-value of the analysis of variance.
        response: (n,) the transformed costs.
        tried: the terms that the measurements can tell apart, by number; those with a coefficient are what is left of
            them.
    """

    power: float
    coefficients: np.ndarray
    significance: dict[int, float]
    response: np.ndarray
    tried: tuple[int, ...]

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        """The transformed response at the rows of a design matrix: smaller is better, the scale means nothing."""
        prediction: np.ndarray = matrix @ self.coefficients
        return prediction


def fit(
    matrix: np.ndarray,
    costs: np.ndarray,
    factors: Sequence[Sequence[int]],
    *,
    elimination: float = 0.1,
    transform: bool = True,
) -> Regression:
    """Fit a linear model to positive costs.

    Backward elimination: as long as some term's p-value is at least `elimination`, the term with the largest is left
    out; the constant stays, and a term that the measurements cannot tell from earlier ones goes first.  A factor is
    significant by the F-test of all terms left that are about it.  Where there are no more costs than terms, nothing
    can be tested: every term stays and no factor is significant (its p is 1).

    Args:
        matrix: (n, terms) design matrix, its first column the constant.
        costs: (n,) positive.
        factors: per term the factors, by number, that it is about.
        elimination: a p-value; 1 keeps all terms that are not wholly meaningless.
        transform: whether the costs are transformed; otherwise the power is 1.

    Returns:
        The model.  The costs are divided by their geometric mean before they are transformed.

    Raises:
        MissingLibraryError: statsmodels or SciPy is not installed.
    """
    models = library("statsmodels.regression.linear_model", _USER)
    scaled = costs / np.exp(np.log(costs).mean())
    kept = independent_columns(matrix)
    tried = tuple(kept)
    power = box_cox_power(matrix[:, kept], scaled) if transform else 1.0
    transformed = box_cox(scaled, power)
    if np.ptp(transformed) < _EQUAL:
        transformed = np.zeros(len(costs))  # lest rounding errors be explained
    with np.errstate(divide="ignore", invalid="ignore"):  # a perfect fit: no residuals to compare with
        result = models.OLS(transformed, matrix[:, kept]).fit()
        while len(kept) > 1:
            values = np.nan_to_num(result.pvalues[1:], nan=1.0) if result.df_resid > 0 else np.zeros(1)
            worst = int(np.argmax(values)) + 1
            if values[worst - 1] < elimination:
                break
            del kept[worst]
            result = models.OLS(transformed, matrix[:, kept]).fit()
        significance = {
            factor: _significance(result, [factor in factors[term] for term in kept])
            for factor in dict.fromkeys(factor for term in kept for factor in factors[term])
        }
    coefficients = np.zeros(matrix.shape[1])
    coefficients[kept] = result.params
    return Regression(power, coefficients, significance, transformed, tried)


def fit_quantile(matrix: np.ndarray, costs: np.ndarray, quantile: float) -> np.ndarray:
    """The coefficients of a linear model of a quantile of the costs, where least squares model their mean.

    A low quantile follows the lower edge of the measurements, which is what is looked for (R. Koenker and G. Bassett,
    "Regression quantiles", Econometrica 46, 1978).

    Args:
        matrix: (n, terms) design matrix, its first column the constant.
        costs: (n,) positive.
        quantile: above 0 and below 1.

    Returns:
        (terms,) the coefficients; 0 for terms that the measurements cannot tell from earlier ones.

    Raises:
        MissingLibraryError: statsmodels is not installed.
    """
    models = library("statsmodels.regression.quantile_regression", _USER)
    kept = independent_columns(matrix)
    coefficients = np.zeros(matrix.shape[1])
    scaled = costs / np.exp(np.log(costs).mean())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # that the iteration has not come to its end: it is near enough
        coefficients[kept] = models.QuantReg(scaled, matrix[:, kept]).fit(q=quantile, max_iter=200).params
    return coefficients


def _significance(result: Any, concerned: list[bool]) -> float:
    """The p-value of the hypothesis that all coefficients concerned are zero."""
    if result.df_resid <= 0:
        return 1.0
    value = float(np.squeeze(result.f_test(np.eye(len(concerned))[concerned]).pvalue))
    return 1.0 if np.isnan(value) else value


def box_cox(costs: np.ndarray, power: float) -> np.ndarray:
    """The transform of Box and Cox: (costs^power - 1) / power, or the logarithm where the power is 0.

    Args:
        costs: (n,) positive.
        power: as `box_cox_power` finds it.

    Returns:
        (n,) float64, in the order of the costs.

    Raises:
        MissingLibraryError: SciPy is not installed.
    """
    transformed: np.ndarray = library("scipy.special", _USER).boxcox(costs, power)
    return transformed


def box_cox_power(matrix: np.ndarray, costs: np.ndarray) -> float:
    """The power, from -2 to 2, under which the residuals of the regression are most likely normal.

    Args:
        matrix: (n, terms) design matrix.
        costs: (n,) positive, of geometric mean 1.

    Returns:
        The power; 0, the logarithm, where there are no more costs than terms, as every power fits these perfectly.

    Raises:
        MissingLibraryError: SciPy is not installed.
    """
    if matrix.shape[0] <= matrix.shape[1]:
        return 0.0  # every power fits perfectly
    transform = library("scipy.special", _USER).boxcox
    basis, _ = np.linalg.qr(matrix)

    def surprise(power: float) -> float:
        transformed = transform(costs, power)
        residual = transformed - basis @ (basis.T @ transformed)
        # The Jacobian of the transform drops out: the logarithms of the costs add up to 0.
        return float(np.log(residual @ residual + 1e-300))

    found = library("scipy.optimize", _USER).minimize_scalar(surprise, bounds=_POWERS, method="bounded")
    return float(found.x)
