"""D-optimal designs against known optima and against all designs there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from polytune.tuner.models.fedorov import d_optimal_design


def d_efficiency(terms):
    """How much information about each coefficient a row of a design brings: det(X'X / n) ^ (1 / terms).

    1 for an orthogonal design whose terms are -1 and 1; 0 where some coefficient cannot be estimated.
    """
    rows, columns = terms.shape
    sign, logarithm = np.linalg.slogdet(terms.T @ terms / rows)
    return np.exp(logarithm / columns) if sign > 0 else 0.0


def determinant(matrix):
    return np.linalg.det(matrix.T @ matrix)


def test_the_corners_are_the_design_of_a_plane():
    grid = np.array([(1, x, y) for x in np.linspace(-1, 1, 5) for y in np.linspace(-1, 1, 5)])
    for seed in range(5):
        design = grid[d_optimal_design(grid, 4, np.random.default_rng(seed))]
        assert sorted(map(tuple, design)) == [(1, -1, -1), (1, -1, 1), (1, 1, -1), (1, 1, 1)]
        assert d_efficiency(design) == pytest.approx(1)


def test_ends_and_middle_are_the_design_of_a_parabola():
    x = np.linspace(-1, 1, 21)
    chosen = d_optimal_design(np.column_stack([np.ones(21), x, x**2]), 3, np.random.default_rng(0))
    assert x[chosen].tolist() == [-1, 0, 1]


def test_two_factors_of_three_levels_in_five_runs():
    """The example of Bruel's slides (2018): AlgDesign's optFederov reaches D = 0.2."""
    levels = np.array([(0, 0), (1, 0), (0, 1)])
    candidates = np.array([(1, *one, *other) for one in levels for other in levels], float)
    design = d_optimal_design(candidates, 5, np.random.default_rng(1))
    assert d_efficiency(candidates[design]) == pytest.approx(0.2)


@pytest.mark.parametrize("seed", range(6))
def test_no_exchange_improves_it_and_hardly_any_design_is_better(seed):
    rng = np.random.default_rng(seed)
    candidates = np.column_stack([np.ones(11), rng.normal(size=(11, 2))])
    known = np.column_stack([np.ones(2), rng.normal(size=(2, 2))]) if seed % 2 else np.zeros((0, 3))
    chosen = d_optimal_design(candidates, 4, rng, known=known)

    def value(design):
        return determinant(np.vstack([known, candidates[list(design)]]))

    assert len(set(chosen.tolist())) == 4
    others = set(range(11)) - set(chosen.tolist())
    exchanged = [[*(set(chosen.tolist()) - {old}), new] for old in chosen.tolist() for new in others]
    assert max(map(value, exchanged)) <= value(chosen) * (1 + 1e-5)
    assert value(chosen) >= 0.8 * max(map(value, itertools.combinations(range(11), 4)))


def test_what_is_known_is_not_measured_in_another_way_again():
    corners = np.array([(1, x, y) for x in (-1, 1) for y in (-1, 1)], float)
    design = d_optimal_design(corners, 2, np.random.default_rng(0), known=corners[[0, 1]])
    assert design.tolist() == [2, 3]


def test_few_candidates_and_no_runs():
    candidates = np.array([(1.0, 0.0), (1.0, 1.0)])
    assert d_optimal_design(candidates, 5, np.random.default_rng(0)).tolist() == [0, 1]
    assert d_optimal_design(candidates, 0, np.random.default_rng(0)).size == 0


def test_a_design_that_estimates_nothing_has_no_efficiency():
    assert d_efficiency(np.ones((4, 2))) == 0
