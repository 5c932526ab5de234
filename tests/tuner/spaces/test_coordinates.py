"""Mirrored coordinates: in range, inverse, periodic, and without gaps."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytune.tuner import Integer, Ordinal, Ratio
from polytune.tuner.spaces.coordinates import LevelAxis, axis_of, mirror

PARAMETERS = [
    Integer("threads", 1, 8),
    Integer("one", 3, 3),
    Integer("chunk", 10, 95, step=10),
    Integer("tile", 8, 512, powers_of_two=True),
    Integer("block", 1, 1000, logarithmic=True),
    Ordinal("level", ("low", "mid", "high")),
    Ratio("share", -1.0, 2.0),
    Ratio("rate", 0.01, 100.0, logarithmic=True),
]
by_name = pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.name)
reals = st.floats(-1e6, 1e6)


@by_name
@given(coordinate=reals)
def test_every_real_number_stands_for_a_value(parameter, coordinate):
    assert parameter.accepts(axis_of(parameter).decode(coordinate))


@by_name
@given(data=st.data())
def test_encoding_is_inverted_by_decoding(parameter, data):
    axis = axis_of(parameter)
    value = data.draw(
        st.floats(parameter.low, parameter.high) if isinstance(parameter, Ratio) else st.sampled_from(parameter.levels)
    )
    coordinate = axis.encode(value)
    assert -1e-9 <= coordinate <= axis.extent + 1e-9
    decoded = axis.decode(coordinate)
    assert decoded == (pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(parameter, Ratio) else value)


@given(st.floats(-1e4, 1e4), st.floats(0.1, 100))
def test_mirrors_are_symmetric_and_periodic(coordinate, length):
    inside = mirror(coordinate, length)
    assert 0 <= inside <= length
    assert mirror(-coordinate, length) == inside
    assert mirror(coordinate + 2 * length, length) == pytest.approx(inside, abs=1e-7)
    assert mirror(length + coordinate, length) == pytest.approx(mirror(length - coordinate, length), abs=1e-7)


@by_name
@given(distance=st.integers(0, 300).map(lambda tenths: tenths / 10 + 0.05))  # away from where values meet
def test_a_step_across_a_bound_comes_back_inside(parameter, distance):
    axis = axis_of(parameter)
    margin = 0.5 if isinstance(axis, LevelAxis) else 0.0  # where the mirrors stand, outside of the outermost values
    above, below = axis.decode(axis.extent + margin + distance), axis.decode(axis.extent + margin - distance)
    assert above == (pytest.approx(below) if isinstance(parameter, Ratio) else below)
    above, below = axis.decode(distance - margin), axis.decode(-distance - margin)
    assert above == (pytest.approx(below) if isinstance(parameter, Ratio) else below)


def test_each_level_owns_an_interval_of_one_unit():
    axis = axis_of(Integer("tile", 8, 64, powers_of_two=True))
    assert [axis.decode(0.1 * step - 0.5) for step in range(1, 40)] == [8] * 9 + [16] * 10 + [32] * 10 + [64] * 10


def test_logarithmic_integers_go_to_the_nearest_level_by_ratio():
    axis = axis_of(Integer("block", 1, 1000, logarithmic=True))
    assert axis.decode(axis.encode(100) + 8) == 200
    assert axis.decode(8 * math.log2(1.39)) == 1 and axis.decode(8 * math.log2(1.43)) == 2
