"""Parameters, conditions and constraints: what they hold, refuse, and write."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from polytune.errors import SpaceError
from polytune.tuner import Constraint, Integer, Is, Nominal, Ordinal, Ratio
from polytune.tuner.spaces.condition import condition_from_json
from polytune.tuner.spaces.parameters import parameter_from_json

PARAMETERS = [
    Nominal("version", ("source_order", "tiled"), default="tiled"),
    Nominal("unroll", (1, 2, 4)),
    Nominal("shared", (True, False), when=Is("version", "tiled")),
    Ordinal("level", ("low", "mid", "high"), default="mid"),
    Integer("threads", 1, 8, default=8),
    Integer("chunk", 10, 35, step=10),
    Integer("tile", 8, 512, powers_of_two=True, when=Is("version", "tiled") & ~Is("unroll", 1)),
    Integer("block", 1, 1000, logarithmic=True),
    Ratio("share", 0.0, 1.0),
    Ratio("rate", 0.001, 10.0, logarithmic=True, when=Is("unroll", 1, 2) | Is("version", "tiled")),
]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.name)
def test_a_parameter_survives_json_pickle_and_its_own_repr(parameter):
    assert parameter_from_json(parameter.to_json()) == parameter
    assert pickle.loads(pickle.dumps(parameter)) == parameter
    assert eval(repr(parameter)) == parameter
    assert hash(parameter) == hash(parameter_from_json(parameter.to_json()))


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda parameter: parameter.name)
def test_defaults_and_samples_are_accepted(parameter):
    rng = np.random.default_rng(0)
    assert parameter.accepts(parameter.default)
    assert all(parameter.accepts(parameter.sample(rng)) for _ in range(50))


def test_levels():
    assert list(Integer("chunk", 10, 35, step=10).levels) == [10, 20, 30]
    assert list(Integer("tile", 8, 64, powers_of_two=True).levels) == [8, 16, 32, 64]
    assert list(Integer("tile", 5, 100, powers_of_two=True).levels) == [8, 16, 32, 64]
    assert list(Integer("tile", 1, 1, powers_of_two=True).levels) == [1]
    assert Ratio("share", 0, 1).grid(3) == (0.0, 0.5, 1.0)
    assert Ratio("rate", 1, 100, logarithmic=True).grid(3) == pytest.approx((1, 10, 100))


def test_default_is_the_first_or_the_middle_one():
    assert Nominal("version", ("a", "b")).default == "a"
    assert Integer("tile", 8, 128, powers_of_two=True).default == 32
    assert Integer("block", 1, 1000, logarithmic=True).default == 31
    assert Ratio("share", 0, 1).default == 0.5


def test_values_of_other_types_are_not_accepted():
    assert not Integer("threads", 0, 4).accepts(True)
    assert not Integer("threads", 0, 4).accepts(2.0)
    assert not Nominal("unroll", (1, 2)).accepts(True)
    assert not Nominal("shared", (True, False)).accepts(0)
    assert not Ratio("share", 0, 1).accepts("0.5")
    assert not Ratio("share", 0, 1).accepts(float("nan"))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Nominal("version", ()), "has no values"),
        (lambda: Nominal("version", ("a", "a")), "twice"),
        (lambda: Nominal("version", (1, True)), "twice"),
        (lambda: Nominal("version", ("a", None)), "None cannot be a value"),
        (lambda: Nominal("version", ("a", float("inf"))), "inf cannot be a value"),
        (lambda: Nominal("two words", ("a",)), "identifier"),
        (lambda: Nominal("version", ("a", "b"), default="c"), "'c' is not among"),
        (lambda: Integer("tile", 9, 15, powers_of_two=True), "no power of two from 9 to 15"),
        (lambda: Integer("tile", 4, 3), "no whole number from 4 to 3"),
        (lambda: Integer("tile", 0, 8, powers_of_two=True), "low >= 1"),
        (lambda: Integer("tile", 0, 8, logarithmic=True), "low >= 1"),
        (lambda: Integer("tile", 1, 8, step=0), "step must be at least 1"),
        (lambda: Integer("tile", 1, 8.5), "whole number"),
        (lambda: Integer("tile", 1, 9, step=2, default=4), "4 is not a whole number from 1 to 9 in steps of 2"),
        (lambda: Ratio("share", 1, 1), "not below high"),
        (lambda: Ratio("share", 0, 1, logarithmic=True), "low > 0"),
        (lambda: Ratio("share", 0, float("inf")), "finite"),
        (lambda: Ratio("share", 0, 1, default=2), "2.0 is not a number from 0.0 to 1.0"),
        (lambda: Is("version"), "names no value"),
        (lambda: parameter_from_json({"kind": "complex", "name": "z"}), "kind 'complex' is unknown"),
        (lambda: parameter_from_json({"kind": "ratio", "name": "z"}), "missing"),
        (lambda: condition_from_json({"xor": []}), "not a condition"),
    ],
)
def test_refusals_say_what_is_wrong(make, sentence):
    with pytest.raises(SpaceError, match=sentence.replace("(", r"\(")):
        make()


def test_numpy_scalars_become_plain_values():
    assert type(Integer("tile", np.int64(1), np.int32(8)).high) is int
    assert [type(value) for value in Nominal("n", np.array([1, 2])).values] == [int, int]
    assert type(Ratio("share", np.float32(0), 1).low) is float


def test_conditions_follow_boolean_algebra():
    gpu, tiled = Is("platform", "gpu"), Is("version", "tiled", "wavefront")
    for platform in ("gpu", "cpu"):
        for version in ("tiled", "wavefront", "plain"):
            values = {"platform": platform, "version": version}
            on_gpu, in_tiles = platform == "gpu", version != "plain"
            assert (gpu & tiled).holds(values) is (on_gpu and in_tiles)
            assert (gpu | tiled).holds(values) is (on_gpu or in_tiles)
            assert (~(gpu & ~tiled)).holds(values) is not (on_gpu and not in_tiles)


def test_a_condition_on_an_inactive_parameter_is_false():
    assert not Is("platform", "gpu").holds({})
    assert (~Is("platform", "gpu")).holds({})


def test_conditions_are_not_truth_values():
    with pytest.raises(TypeError, match="&"):
        bool(Is("platform", "gpu") and Is("version", "tiled"))


@pytest.mark.parametrize(
    ("expression", "values", "expected"),
    [
        ("tile_0 * tile_1 <= 4096", {"tile_0": 64, "tile_1": 64}, True),
        ("tile_0 * tile_1 <= 4096", {"tile_0": 128, "tile_1": 64}, False),
        ("min(a, b) % 2 == 0 and not a == b", {"a": 4, "b": 5}, True),
        ("version in ('tiled', 'wavefront')", {"version": "plain"}, False),
        ("1 < a < 3", {"a": 2}, True),
        ("(a if a > b else 2 * b) <= 4", {"a": 1, "b": 3}, False),
    ],
)
def test_constraints_compute(expression, values, expected):
    constraint = Constraint(expression)
    assert constraint.holds(values) is expected
    assert pickle.loads(pickle.dumps(constraint)).holds(values) is expected
    assert constraint.names == values.keys()


@pytest.mark.parametrize(
    "expression",
    ["a.real > 1", "a[0] > 1", "open('x')", "a ** 9 > 1", "a <", "(lambda: a)()", "3 > 2", "min > a", "[a for a in b]"],
)
def test_constraints_that_are_not_comparisons_are_refused(expression):
    with pytest.raises(SpaceError, match="constraint"):
        Constraint(expression)


def test_a_constraint_that_cannot_be_computed_says_so():
    with pytest.raises(SpaceError, match=r"a // b > 1.*\{'a': 1, 'b': 0\}"):
        Constraint("a // b > 1").holds({"a": 1, "b": 0})
