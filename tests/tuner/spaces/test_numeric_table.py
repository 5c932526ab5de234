"""Tables of numeric subspaces: whole where they fit, thinned where they do not."""

from __future__ import annotations

import pytest

from polytune.errors import SpaceError
from polytune.tuner import Constraint, Integer, Ordinal, Ratio
from polytune.tuner.hierarchy.subspace import table_around


def test_what_fits_is_whole():
    parameters = [Integer("a", 1, 50), Ordinal("b", (3, 1, 2)), Ratio("r", 0, 1)]
    table = table_around(parameters, [Constraint("a < 40")], {"a": 7, "b": 1, "r": 0.5})
    assert len(table) == 39 * 3 * 33


def test_what_does_not_fit_has_the_ends_the_start_and_values_between():
    start = {"a": 777, "b": 12_345, "c": 3}
    parameters = [Integer("a", 1, 10**12, logarithmic=True), Integer("b", 0, 10**5, step=5), Integer("c", 1, 8)]
    table = table_around(parameters, [Constraint("b >= 5 * c")], start)
    a, b, c = table.levels
    assert (a[0], a[-1], b[0], b[-1], c) == (1, 10**12, 0, 10**5, tuple(range(1, 9)))
    assert start["a"] in a and start["b"] in b and list(a) == sorted(a) and list(b) == sorted(b)
    assert sum(value < 10**6 for value in a) == pytest.approx(len(a) / 2, abs=5)  # by ratio
    assert sum(value < 50_000 for value in b) == pytest.approx(len(b) / 2, abs=5)  # by difference
    assert 10_000 < len(table) <= 1 << 20
    assert all(v["b"] >= 5 * v["c"] for v in map(table.configuration, range(0, len(table), 997)))


def test_more_parameters_than_a_table_can_have():
    parameters = [Integer(f"p{i}", 1, 4) for i in range(25)]
    with pytest.raises(SpaceError, match="more than the"):
        table_around(parameters, [], {p.name: 1 for p in parameters})
