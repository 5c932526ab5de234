"""The transformed regression finds planted effects, leaves out what is noise, and tests factors as textbooks do."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.tuner.models.regression import box_cox_power, fit

pytest.importorskip("statsmodels")
scipy_special = pytest.importorskip("scipy.special")
scipy_stats = pytest.importorskip("scipy.stats")


def planted(power, noise, seed=0, count=60):
    """A matrix of a constant and four factors, of which the first two act, linearly under a power transform."""
    rng = np.random.default_rng(seed)
    matrix = np.column_stack([np.ones(count), rng.uniform(-1, 1, (count, 4))])
    transformed = 6 + 2 * matrix[:, 1] - 1.5 * matrix[:, 2] + noise * rng.normal(size=count)
    return matrix, scipy_special.inv_boxcox(transformed, power)


FACTORS = ((), (0,), (1,), (2,), (3,))


@pytest.mark.parametrize("power", [-0.1, 0.0, 0.5, 1.0])
def test_the_power_is_found(power):
    matrix, costs = planted(power, noise=0.05)
    assert box_cox_power(matrix, costs / np.exp(np.log(costs).mean())) == pytest.approx(power, abs=0.15)


def test_no_power_of_a_grid_is_more_likely():
    matrix, costs = planted(0.3, noise=0.5, seed=3)
    costs = costs / np.exp(np.log(costs).mean())

    def residual(power):
        transformed = scipy_special.boxcox(costs, power)
        return np.sum((transformed - matrix @ np.linalg.lstsq(matrix, transformed, rcond=None)[0]) ** 2)

    assert residual(box_cox_power(matrix, costs)) <= min(map(residual, np.linspace(-2, 2, 401))) * (1 + 1e-6)


def test_planted_effects_are_found_and_noise_is_left_out():
    kept = []
    for seed in range(20):
        matrix, costs = planted(0.0, noise=0.1, seed=seed)
        model = fit(matrix, costs, FACTORS, elimination=0.01)
        assert model.significance[0] < 1e-10 and model.significance[1] < 1e-10
        kept += [factor for factor in (2, 3) if factor in model.significance]
        assert model.coefficients[1] > 0 > model.coefficients[2]
        assert np.corrcoef(model.predict(matrix), np.log(costs))[0, 1] > 0.99
    assert len(kept) <= 3  # about 0.4 expected of 40


def test_what_is_left_out_predicts_nothing():
    matrix, costs = planted(0.0, noise=0.1)
    model = fit(matrix, costs, FACTORS, elimination=1e-6)
    assert model.coefficients[3:].tolist() == [0, 0] and set(model.significance) == {0, 1}


def test_the_significance_of_a_factor_is_the_textbook_f_test():
    matrix, costs = planted(0.0, noise=1.0, seed=5)
    factors = ((), (0,), (0,), (1,), (1,))
    model = fit(matrix, costs, factors, elimination=1.1)
    transformed = scipy_special.boxcox(costs / np.exp(np.log(costs).mean()), model.power)

    def residual(columns):
        part = matrix[:, columns]
        return np.sum((transformed - part @ np.linalg.lstsq(part, transformed, rcond=None)[0]) ** 2)

    full = residual([0, 1, 2, 3, 4])
    for factor, others in ((0, [0, 3, 4]), (1, [0, 1, 2])):
        statistic = (residual(others) - full) / 2 / (full / 55)
        assert model.significance[factor] == pytest.approx(scipy_stats.f.sf(statistic, 2, 55), rel=1e-6)


def test_too_few_costs_test_nothing_but_predict():
    matrix, costs = planted(0.0, noise=0.1, count=4)
    model = fit(matrix, costs, FACTORS)
    assert set(model.significance.values()) <= {1.0}
    assert np.isfinite(model.predict(matrix)).all()


def test_equal_costs_have_no_significant_factor():
    matrix, _ = planted(0.0, noise=0.1)
    assert all(value > 0.05 for value in fit(matrix, np.full(60, 2.5), FACTORS).significance.values())


def test_a_column_that_the_costs_cannot_tell_is_left_out():
    matrix, costs = planted(0.0, noise=0.1)
    doubled = np.column_stack([matrix, matrix[:, 1]])
    model = fit(doubled, costs, (*FACTORS, (4,)))
    assert model.coefficients[5] == 0 and model.coefficients[1] != 0
