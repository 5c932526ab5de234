"""Finite spaces as tables: members, indices, neighbours, nearest rows, features; against the plain definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytune.errors import SpaceError
from polytune.tuner import Constraint, Integer, Is, Nominal, Ordinal, Ratio, Space
from polytune.tuner.spaces.finite import FiniteSpace
from polytune.tuner.spaces.tabulation import nearest_row
from tests.tuner.random_spaces import brute_force, spaces

GRID = FiniteSpace.from_space(
    Space([Integer("a", 1, 4, default=1), Integer("b", 0, 30, step=10, default=0), Nominal("c", ("x", "y", "z"))])
)
VERSIONS = FiniteSpace.from_space(
    Space(
        [
            Nominal("version", ("plain", "tiled", "vector")),
            Integer("tile", 8, 64, powers_of_two=True, when=Is("version", "tiled", "vector")),
            Integer("width", 1, 3, when=Is("version", "vector")),
        ],
        [Constraint("tile * width <= 64")],
    )
)


def configurations(space):
    return [space.configuration(index) for index in range(len(space))]


@settings(max_examples=60, deadline=None)
@given(spaces())
def test_its_rows_are_the_members_of_the_space_in_order(space):
    finite = FiniteSpace.from_space(space)
    members = configurations(finite)
    assert len(members) == space.size()
    assert {tuple(member.items()) for member in members} == {tuple(member.items()) for member in brute_force(space)}
    rows = finite.rows.tolist()
    assert rows == sorted(rows)


@settings(max_examples=40, deadline=None)
@given(spaces())
def test_a_row_of_levels_is_found_if_and_only_if_it_is_valid(space):
    finite = FiniteSpace.from_space(space)
    rows = {tuple(row): index for index, row in enumerate(finite.rows.tolist())}
    for row in itertools.islice(itertools.product(*(range(len(levels)) for levels in finite.levels)), 3000):
        assert finite.index_of(row) == rows.get(row)


@settings(max_examples=40, deadline=None)
@given(spaces(), st.integers(1, 3), st.booleans(), st.data())
def test_neighbours_are_the_rows_that_near_without_conditions(space, hamming, adjacent, data):
    finite = FiniteSpace.from_configurations(
        [p.name for p in space.parameters],
        [dict(c) for c in brute_force(space) if len(c) == len(space.parameters)] or [{}],
    )
    index = data.draw(st.integers(0, len(finite) - 1))
    row = finite.rows[index].astype(int)

    def is_near(other):
        differs = other != row
        steps_are_small = all(abs(other[c] - row[c]) <= 1 for c in np.flatnonzero(differs) if finite.ordered[c])
        return 1 <= differs.sum() <= hamming and (steps_are_small or not adjacent)

    expected = [other for other in range(len(finite)) if is_near(finite.rows[other].astype(int))]
    assert finite.neighbours(index, hamming, adjacent).tolist() == expected


def test_a_change_that_activates_parameters_has_one_neighbour():
    plain = VERSIONS.index_of([0, 4, 3])
    found = [VERSIONS.configuration(index) for index in VERSIONS.neighbours(plain)]
    # The middle levels, 32 and 2, are valid together.
    assert found == [{"version": "tiled", "tile": 32}, {"version": "vector", "tile": 32, "width": 2}]
    tiled = VERSIONS.index_of([1, 3, 3])
    found = [VERSIONS.configuration(index) for index in VERSIONS.neighbours(tiled, adjacent=True)]
    # With the tile of 64, which is kept, only the width 1 is valid.
    assert found == [
        {"version": "plain"},
        {"version": "tiled", "tile": 32},
        {"version": "vector", "tile": 64, "width": 1},
    ]


@settings(max_examples=40, deadline=None)
@given(spaces())
def test_conditions_do_not_cut_a_space_apart(space):
    """Every row can be reached from every other by way of neighbours, where no constraint forbids it."""
    finite = FiniteSpace.from_space(Space(space.parameters))
    reached, front = {0}, [0]
    while front:
        front = sorted({int(n) for index in front for n in finite.neighbours(index)} - reached)
        reached |= set(front)
    assert reached == set(range(len(finite)))


@settings(max_examples=60, deadline=None)
@given(spaces(), st.data())
def test_the_nearest_row_is_found_by_enough_search_and_any_row_by_none(space, data):
    finite = FiniteSpace.from_space(space)
    target = np.array([data.draw(st.floats(-1, len(levels), width=32)) for levels in finite.levels])
    distances = [abs(np.arange(len(levels)) - wanted) for levels, wanted in zip(finite.levels, target, strict=True)]
    totals = np.abs(finite.rows - target).sum(axis=1)
    assert totals[nearest_row(finite.rows, distances, expansions=100_000)] == pytest.approx(totals.min())
    assert 0 <= nearest_row(finite.rows, distances, expansions=0) < len(finite)


@settings(max_examples=40, deadline=None)
@given(spaces())
def test_a_valid_row_is_its_own_nearest(space):
    finite = FiniteSpace.from_space(space)
    assert [finite.nearest(row) for row in finite.rows] == list(range(len(finite)))


def test_the_nearest_row_rounds_clips_and_leaves_open():
    assert GRID.configuration(GRID.nearest([1.4, 0.6, 2.2])) == {"a": 2, "b": 10, "c": "z"}
    assert GRID.configuration(GRID.nearest([-7, 9, 0])) == {"a": 1, "b": 30, "c": "x"}
    assert GRID.configuration(GRID.nearest([np.nan, 2, np.nan]))["b"] == 20
    # 64 x 3 breaks the constraint; the nearest that satisfies it keeps the version and gives way in both.
    near = VERSIONS.configuration(VERSIONS.nearest([2, 3, 2]))
    assert near["version"] == "vector" and near["tile"] * near["width"] <= 64


def test_features_are_ranks_and_names_between_zero_and_one():
    features = GRID.features()
    assert features.shape == (48, 5)
    assert features[GRID.index_of([3, 1, 2])].tolist() == [1.0, pytest.approx(1 / 3), 0.0, 0.0, 1.0]
    # version: three names; tile: rank and whether it is active; width: the same.
    assert VERSIONS.encode(np.array([[0, 4, 3], [1, 3, 3], [2, 0, 1]])).tolist() == [
        [1.0, 0.0, 0.0, 0.5, 0.0, 0.5, 0.0],
        [0.0, 1.0, 0.0, 1.0, 1.0, 0.5, 0.0],
        [0.0, 0.0, 1.0, 0.0, 1.0, 0.5, 1.0],
    ]


@settings(max_examples=40, deadline=None)
@given(spaces())
def test_features_tell_configurations_apart(space):
    features = FiniteSpace.from_space(space).features()
    assert ((features >= 0) & (features <= 1)).all()
    assert len({tuple(row) for row in features.tolist()}) == len(features)


def test_configurations_may_come_in_any_order_and_with_absent_values():
    space = FiniteSpace.from_configurations(
        ["n", "flag", "kind"],
        [
            {"n": 8, "flag": True, "kind": "b"},
            {"n": 2, "flag": False, "kind": "a"},
            {"n": 4, "flag": True, "kind": None},
        ],
    )
    assert space.levels == ((2, 4, 8), (True, False), ("b", "a", None))
    assert space.ordered == (True, False, False)
    assert configurations(space) == [
        {"n": 2, "flag": False, "kind": "a"},
        {"n": 4, "flag": True},
        {"n": 8, "flag": True, "kind": "b"},
    ]
    assert FiniteSpace.from_configurations(["v"], [{"v": 1}, {"v": True}]).levels == ((1, True),)


def test_rows_with_more_combinations_than_an_integer_holds():
    """Forty parameters of four levels: numbers of 80 bits, found by hashing."""
    rng = np.random.default_rng(0)
    names = [f"p{index}" for index in range(40)]
    table = rng.integers(4, size=(500, 40))
    table[250:] = table[:250]
    table[250:, 7] = (table[250:, 7] + 1) % 4
    space = FiniteSpace(tuple(names), ((0, 1, 2, 3),) * 40, (True,) * 40, table)
    assert [space.index_of(row) for row in space.rows] == list(range(500))
    assert space.index_of(np.zeros(40, int)) is None
    for index in range(0, 500, 50):
        (other,) = space.neighbours(index)
        assert np.flatnonzero(space.rows[index] != space.rows[other]).tolist() == [7]
        assert other in space.neighbours(index, 2) and other in space.neighbours(index, 3)


def test_the_table_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        GRID.rows[0, 0] = 1


def test_a_ratio_parameter_is_listed_on_a_grid():
    space = Space([Ratio("share", 0.0, 1.0)])
    assert FiniteSpace.from_space(space, levels=5).levels == ((0.0, 0.25, 0.5, 0.75, 1.0),)
    with pytest.raises(SpaceError, match="'share', a real number, cannot be listed; pass levels="):
        FiniteSpace.from_space(space)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FiniteSpace.from_configurations(["a"], []), "the space is empty"),
        (lambda: FiniteSpace.from_configurations(["a"], [{"a": 1}, {"a": 1}]), r"\{'a': 1\} is there more than once"),
        (lambda: FiniteSpace.from_configurations(["a"], [{"a": 1}, {"b": 1}]), "configuration 1 has the parameter 'b'"),
        (lambda: FiniteSpace(("a",), ((1, 2),), (True,), np.array([[2]])), "'a' has 2 levels, but level 2 in a row"),
        (lambda: FiniteSpace(("a",), ((1, 2),), (True,), np.array([[0, 1]])), r"rows of the shape \(1, 2\)"),
        (lambda: FiniteSpace.from_space(Space([Integer("a", 1, 70_000)])), "70000 values, more than 65534"),
        (
            lambda: FiniteSpace.from_space(Space([Integer(f"t{i}", 1, 100) for i in range(4)])),
            "100000000 combinations of the parameters up to 't3'",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(SpaceError, match=message):
        make()


def test_ordinals_keep_their_order():
    space = FiniteSpace.from_space(Space([Ordinal("level", ("low", "middle", "high"))]))
    assert space.ordered == (True,) and space.levels == (("low", "middle", "high"),)
    assert space.neighbours(0, adjacent=True).tolist() == [1]
