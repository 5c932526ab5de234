"""What a surrogate is given, where it looks, and what the additive one learns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polytune.tuner import Integer, Nominal, Space
from polytune.tuner.models.additive import AdditiveModel, expected_best
from polytune.tuner.models.surrogate import candidate_rows, near_rows, response
from polytune.tuner.spaces.finite import FiniteSpace

SPACE = FiniteSpace.from_space(
    Space([Integer("a", 1, 9), Integer("b", 1, 9), Nominal("v", ("x", "y", "z")), Integer("c", 1, 5)])
)


def additive_cost(rows):
    a, b, v, c = rows.T.astype(float)
    return np.exp(0.1 * (a - 6) ** 2 + 0.05 * (b - 2) ** 2 + np.array([0.5, 0.0, 0.9])[v.astype(int)] + 0.02 * c)


def test_infeasible_rows_count_as_the_worst_and_zero_as_nearly_nothing():
    rows, costs = response({7: 2.0, 3: math.inf, 5: 0.0, 1: 8.0})
    assert rows.tolist() == [7, 3, 5, 1]
    assert costs.tolist() == [2.0, 8.0, 0.002, 8.0]


def test_without_a_feasible_row_there_is_nothing_to_learn():
    for costs in ({}, {3: math.inf}):
        rows, values = response(costs)
        assert rows.size == values.size == 0


def test_the_additive_model_finds_the_optimum_of_an_additive_cost():
    found, measured_best, optimum = [], [], additive_cost(SPACE.rows).min()
    for seed in range(10):
        measured = np.random.default_rng(seed).choice(len(SPACE), 60, replace=False)
        model = AdditiveModel(SPACE, measured, additive_cost(SPACE.rows[measured]))
        best = SPACE.rows[np.argmin(model.predict(SPACE.rows))]
        found.append(additive_cost(best[None])[0] / optimum)
        measured_best.append(additive_cost(SPACE.rows[measured]).min() / optimum)
    # The effect of c, 2 % a level, is hardly above what the model takes for noise.
    assert np.median(found) < 1.05 and max(found) < 1.15
    assert np.mean(found) < np.mean(measured_best) - 0.05


def test_the_additive_model_is_most_exact_where_it_matters():
    rng = np.random.default_rng(0)
    measured = rng.choice(len(SPACE), 80, replace=False)
    costs = additive_cost(SPACE.rows[measured]) * np.exp(0.3 * rng.normal(size=80))
    errors = np.abs(AdditiveModel(SPACE, measured, costs).predict(SPACE.rows[measured]) - np.log(costs))
    order = np.argsort(costs)
    assert errors[order[:20]].mean() < errors[order[-20:]].mean() / 2


def test_the_additive_model_agrees_with_kernel_ridge_regression():
    rng = np.random.default_rng(2)
    measured, others = rng.choice(len(SPACE), 30, replace=False), rng.choice(len(SPACE), 12)
    costs = additive_cost(SPACE.rows[measured])

    def covariance(left, right):
        total = np.zeros((len(left), len(right)))
        for column, ordered in enumerate(SPACE.ordered):
            apart = np.abs(SPACE.rows[left, column].astype(int)[:, None] - SPACE.rows[right, column].astype(int))
            total += np.exp(-apart.astype(float)) if ordered else apart == 0
        return total / len(SPACE.names)

    weights = (costs.min() / costs) ** 2
    mean = np.average(np.log(costs), weights=weights)
    dual = np.linalg.solve(covariance(measured, measured) + np.diag(0.01 / weights), np.log(costs) - mean)
    predicted = AdditiveModel(SPACE, measured, costs).predict(SPACE.rows[others])
    assert predicted == pytest.approx(mean + covariance(others, measured) @ dual)


def test_the_expected_best_is_a_row_that_has_not_been_told():
    rng = np.random.default_rng(0)
    told = {int(row): float(additive_cost(SPACE.rows[[row]])[0]) for row in rng.choice(len(SPACE), 60, replace=False)}
    measured, optimum = min(told.values()), additive_cost(SPACE.rows).min()
    for _ in range(10):
        row = expected_best(SPACE, told, rng)
        assert row not in told
        told[row] = float(additive_cost(SPACE.rows[[row]])[0])
    assert min(told.values()) < min(measured, 1.05 * optimum)
    assert expected_best(SPACE, {3: math.inf}, rng) is None
    assert expected_best(SPACE, dict.fromkeys(range(len(SPACE)), 1.0), rng) is None


def test_near_rows_differ_in_few_parameters_and_the_closest_come_first():
    centre = SPACE.index_of([4, 4, 1, 2])
    every = near_rows(SPACE, centre, {}, limit=10_000)
    differing = (SPACE.rows[every] != SPACE.rows[centre]).sum(axis=1)
    assert set(differing) == {1, 2, 3}
    assert len(every) == ((SPACE.rows != SPACE.rows[centre]).sum(axis=1) < 4).sum() - 1
    nearest = near_rows(SPACE, centre, dict.fromkeys(every[differing == 1].tolist()[:4], 1.0), limit=25)
    assert len(nearest) == 25
    closest = (SPACE.rows[nearest] != SPACE.rows[centre]).sum(axis=1)
    assert (closest == 1).sum() == (differing == 1).sum() - 4
    assert not set(nearest.tolist()) & set(every[differing == 1].tolist()[:4])


def test_candidates_are_all_unknown_rows_or_neighbours_and_random_ones():
    rng = np.random.default_rng(0)
    told = {index: float(index) for index in range(100, 400)}
    every = candidate_rows(SPACE, told, rng, limit=len(SPACE))
    assert every.tolist() == [index for index in range(len(SPACE)) if index not in told]
    some = candidate_rows(SPACE, told, rng, limit=80)
    assert len(np.unique(some)) == len(some) <= 80 and not set(some.tolist()) & told.keys()
    around = set(np.concatenate([SPACE.neighbours(index) for index in range(100, 108)]).tolist())
    assert len(around & set(some.tolist())) >= 15
    assert set(some.tolist()) - around


@pytest.mark.parametrize("limit", [1, 2])
def test_hardly_any_candidates(limit):
    assert len(candidate_rows(SPACE, {0: 1.0}, np.random.default_rng(0), limit=limit)) <= limit
