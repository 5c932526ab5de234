"""Which columns a linear model of a space has, and which of them are left out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from polytune.tuner import Integer, Is, Nominal, Ordinal, Space
from polytune.tuner.models.terms import Terms, independent_columns
from polytune.tuner.spaces.finite import FiniteSpace
from tests.tuner.random_spaces import spaces


def finite(*parameters):
    return FiniteSpace.from_space(Space(parameters))


def test_a_number_brings_itself_and_its_reciprocal():
    space = finite(Integer("tile", 1, 8, powers_of_two=True))
    terms = Terms.of(space, space.rows)
    assert terms.factors == ((), (0,), (0,))
    constant, value, reciprocal = terms.matrix(space.rows).T
    assert constant.tolist() == [1, 1, 1, 1]
    assert value == pytest.approx([-1, -5 / 7, -1 / 7, 1])
    assert reciprocal == pytest.approx([1, -1 / 7, -5 / 7, -1])


def test_a_number_that_can_be_zero_brings_its_square():
    space = finite(Integer("shift", -2, 2))
    squares = Terms.of(space, space.rows).matrix(space.rows)[:, 2]
    assert squares == pytest.approx([1, -0.5, -1, -0.5, 1])


def test_two_levels_names_and_ranks():
    space = finite(Nominal("version", ("a", "b", "c")), Integer("k", 1, 2), Ordinal("grade", ("low", "mid", "high")))
    terms = Terms.of(space, space.rows)
    assert [len(list(group)) for _, group in itertools.groupby(terms.factors)] == [1, 2, 1, 2]
    straight = Terms.of(space, space.rows, curvature=False)
    assert straight.factors == ((), (0,), (0,), (1,), (2,))
    assert np.abs(terms.matrix(space.rows)).max() == pytest.approx(1)


def test_interactions_are_products_of_the_linear_terms():
    space = finite(Integer("a", 1, 3), Nominal("v", ("x", "y", "z")))
    terms = Terms.of(space, space.rows, interactions=True)
    assert terms.factors == ((), (0,), (0,), (1,), (1,), (0, 1), (0, 1))
    matrix = terms.matrix(space.rows)
    assert matrix[:, 5] == pytest.approx(matrix[:, 1] * matrix[:, 3])


def test_a_parameter_with_one_level_left_brings_nothing():
    space = finite(Integer("a", 1, 4), Integer("b", 1, 4))
    rows = space.rows[space.rows[:, 0] == 2]
    assert Terms.of(space, rows).factors == ((), (1,), (1,))


def test_an_inactive_parameter_is_neither_high_nor_low():
    space = finite(Nominal("v", ("plain", "tiled")), Integer("tile", 1, 3, when=Is("v", "tiled")))
    terms = Terms.of(space, space.rows)
    # That the tile is there says the same as the version: it is not told twice.
    assert terms.factors == ((), (0,), (1,), (1,))
    assert terms.matrix(space.rows)[0, 2:].tolist() == [0, 0]


@settings(max_examples=60, deadline=None)
@given(space=spaces())
def test_the_terms_are_independent_and_say_what_all_terms_say(space):
    space = FiniteSpace.from_space(space)
    rows = space.rows[:200]
    terms = Terms.of(space, rows, interactions=True)
    matrix = terms.matrix(rows)
    assert np.isfinite(matrix).all()
    assert np.linalg.matrix_rank(matrix, tol=1e-9) == len(terms)


def test_dependent_columns_are_those_that_come_later():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 20))
    assert independent_columns(np.column_stack([a, 2 * a, b, a - b, np.zeros(20)])) == [0, 2]
