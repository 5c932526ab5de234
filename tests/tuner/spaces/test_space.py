"""Spaces: members, sampling, enumeration, size, JSON; against brute force on random spaces."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytune.errors import SpaceError
from polytune.tuner import Configuration, Constraint, Integer, Is, Nominal, Ratio, Space
from tests.tuner.random_spaces import brute_force, spaces

PLATFORM = Nominal("platform", ("cpu", "gpu"))
SPACE = Space(
    [
        PLATFORM,
        Integer("threads", 1, 8, default=8, when=Is("platform", "cpu")),
        Nominal("shared", (True, False), when=Is("platform", "gpu")),
        Integer("tile", 8, 128, powers_of_two=True, when=~Is("shared", False)),
        Integer("depth", 1, 4, default=1),
    ],
    [Constraint("tile * depth <= 256", "the tile must fit")],
)


@settings(max_examples=150, deadline=None)
@given(spaces())
def test_enumeration_is_unique_and_complete_and_its_length_is_the_size(space):
    enumerated = list(space.enumerate())
    assert len(set(enumerated)) == len(enumerated)
    assert {frozenset(c.items()) for c in enumerated} == {frozenset(values.items()) for values in brute_force(space)}
    assert space.size() == len(enumerated)


@settings(max_examples=150, deadline=None)
@given(spaces(), st.integers(0, 2**32))
def test_samples_the_default_and_nominal_combinations_are_members(space, seed):
    rng = np.random.default_rng(seed)
    members = set(space.enumerate())
    assert {space.sample(rng) for _ in range(10)} <= members
    assert space.default() in members
    nominal = list(space.enumerate_nominal())
    assert set(nominal) <= members
    # Each structural combination that has members at all is there once.
    names = [parameter.name for parameter in space.structural]
    combinations = [tuple(c.get(name) for name in names) for c in nominal]
    assert len(set(combinations)) == len(combinations)
    assert set(combinations) == {tuple(c.get(name) for name in names) for c in members}


@settings(max_examples=150, deadline=None)
@given(spaces(), st.data())
def test_contains_agrees_with_the_enumeration(space, data):
    members = set(space.enumerate())
    values = {}
    for parameter in space.parameters:
        if data.draw(st.booleans()):
            values[parameter.name] = data.draw(st.sampled_from([*parameter.levels, 99, "z"]))
    assert space.contains(values) == (Configuration(values) in members)


@settings(max_examples=100, deadline=None)
@given(spaces())
def test_spaces_and_configurations_survive_json_and_pickle(space):
    again = Space.from_json(space.to_json())
    assert again == space and hash(again) == hash(space) and again.fingerprint == space.fingerprint
    assert pickle.loads(pickle.dumps(space)) == space
    for configuration in list(space.enumerate())[:20]:
        assert Configuration.from_json(configuration.to_json()) == configuration
        copy = pickle.loads(pickle.dumps(configuration))
        assert copy == configuration and hash(copy) == hash(configuration) and list(copy) == list(configuration)


def test_configurations_are_mappings_in_parameter_order():
    configuration = SPACE.configuration(depth=2, platform="gpu", tile=16)
    assert dict(configuration) == {"platform": "gpu", "shared": True, "tile": 16, "depth": 2}
    assert list(configuration) == ["platform", "shared", "tile", "depth"]
    assert repr(configuration) == "Configuration(platform='gpu', shared=True, tile=16, depth=2)"
    assert configuration.get("threads", 1) == 1 and "threads" not in configuration and len(configuration) == 4
    assert json.loads(configuration.to_json()) == dict(configuration)
    with pytest.raises(TypeError):
        configuration["tile"] = 8


def test_given_values_take_the_space_s_own_type():
    space = Space([Nominal("unroll", (1, 2)), Ratio("share", 0, 1)])
    configuration = space.configuration(unroll=np.int64(2), share=1)
    assert repr(configuration) == "Configuration(unroll=2, share=1.0)"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"platfrom": "gpu"}, "there is no parameter 'platfrom'; did you mean 'platform'"),
        ({"platform": "gpu", "threads": 2}, "parameter 'threads' is inactive here: it exists only where Is"),
        ({"platform": "tpu"}, "platform = 'tpu' is not one of 'cpu', 'gpu'"),
        ({"threads": 9}, "threads = 9 is not a whole number from 1 to 8"),
        (
            {"platform": "gpu", "tile": 128, "depth": 3},
            r"breaks the constraint tile \* depth <= 256 \(the tile must fit",
        ),
    ],
)
def test_what_is_no_member_is_refused_with_the_reason(values, sentence):
    with pytest.raises(SpaceError, match=sentence):
        SPACE.configuration(**values)


def test_a_missing_value_is_refused():
    with pytest.raises(SpaceError, match="parameter 'depth' has no value; it must be a whole number"):
        SPACE.validate({"platform": "cpu", "threads": 1, "tile": 8})


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Space([PLATFORM, PLATFORM]), "two parameters are named 'platform'"),
        (lambda: Space([Integer("a", 1, 2, when=Is("b", 1))]), "looks at 'b', which is not a parameter"),
        (lambda: Space([Integer("a", 1, 2, when=Is("b", 1)), Integer("b", 1, 2)]), "does not come before it"),
        (lambda: Space([Ratio("a", 0, 1), Integer("b", 1, 2, when=Is("a", 0.5))]), "a real number"),
        (lambda: Space([PLATFORM, Integer("a", 1, 2, when=Is("platform", "tpu"))]), "for 'tpu', which is not one of"),
        (
            lambda: Space([PLATFORM, Integer("a", 1, 2, when=Is("platform", "cpu") & Is("platform", "gpu"))]),
            "'a' can never be active",
        ),
        (lambda: Space([PLATFORM], [Constraint("tile > 1")]), "looks at 'tile', which is not a parameter"),
        (lambda: Space([Integer("a", 1, 4, default=4)], [Constraint("a < 3")]), "default configuration .* breaks"),
        (lambda: Space.from_json("[]"), "not a space"),
        (lambda: Space.from_json("{"), "not a space"),
        (lambda: Configuration.from_json("[1]"), "not a configuration"),
        (lambda: SPACE["tiles"], "did you mean 'tile'"),
    ],
)
def test_malformed_spaces_are_refused(make, sentence):
    with pytest.raises(SpaceError, match=sentence):
        make()


def test_a_chain_of_conditions_that_contradict_is_found():
    """c needs b, b needs platform gpu, c needs platform cpu."""
    with pytest.raises(SpaceError, match="'c' can never be active"):
        Space(
            [
                PLATFORM,
                Nominal("b", (1, 2), when=Is("platform", "gpu")),
                Integer("c", 1, 2, when=Is("b", 1, 2) & Is("platform", "cpu")),
            ]
        )


def test_the_size_of_a_huge_space_is_exact_and_quick():
    space = Space(
        [PLATFORM, *(Nominal(f"flag_{i}", (True, False)) for i in range(40)), Integer("a", 1, 9), Integer("b", 1, 9)],
        [Constraint("a + b < 11")],
    )
    assert space.size() == 2**41 * sum(1 for a in range(1, 10) for b in range(1, 10) if a + b < 11)


def test_real_parameters_make_a_space_infinite_and_are_enumerated_as_a_grid():
    space = Space([PLATFORM, Ratio("share", 0, 1, when=Is("platform", "gpu"))])
    assert space.size() == math.inf
    with pytest.raises(SpaceError, match="share cannot be enumerated; pass levels="):
        space.enumerate()
    assert [dict(c) for c in space.enumerate(levels=3)] == [
        {"platform": "cpu"},
        *({"platform": "gpu", "share": share} for share in (0.0, 0.5, 1.0)),
    ]


def test_sampling_finds_members_where_they_are_one_in_a_million():
    space = Space([Integer(f"p{i}", 0, 99, default=0) for i in range(4)], [Constraint("p0 + p1 + p2 + p3 <= 3")])
    rng = np.random.default_rng(0)
    samples = [space.sample(rng) for _ in range(60)]
    assert all(space.contains(configuration) for configuration in samples)
    assert len(set(samples)) >= 15  # of 35


def test_a_parameter_that_others_depend_on_is_structural_whatever_its_kind():
    space = Space([Integer("depth", 1, 3, default=1), Integer("inner", 1, 9, when=Is("depth", 2, 3))])
    assert [p.name for p in space.structural] == ["depth"]
    assert [dict(c) for c in space.enumerate_nominal()] == [
        {"depth": 1},
        {"depth": 2, "inner": 5},
        {"depth": 3, "inner": 5},
    ]
    assert [p.name for p in space.active_numeric({"depth": 2})] == ["inner"]
    assert space.active_numeric({"depth": 1}) == ()


def test_samples_are_a_function_of_the_seed():
    first = [SPACE.sample(np.random.default_rng(5)) for _ in range(20)]
    assert first == [SPACE.sample(np.random.default_rng(5)) for _ in range(20)]
    rng = np.random.default_rng(5)
    assert len({SPACE.sample(rng) for _ in range(50)}) > 10


def test_conditions_on_many_values_are_counted_and_contradictions_found_at_once():
    numbers = [Integer(name, 1, 100_000) for name in "abc"]
    one = Is("a", 1) & Is("b", 2, 3) & Is("c", 3)
    space = Space([*numbers, Nominal("flag", (True, False), when=one)])
    assert space.size() == 10**15 + 2
    with pytest.raises(SpaceError, match="can never be active"):
        Space([*numbers, Nominal("flag", (True, False), when=one & ~Is("a", 1))])


def test_what_is_not_tied_together_is_counted_apart():
    switches = [Integer(f"n{i}", 1, 8) for i in range(12)]
    space = Space([*switches, *(Nominal(f"f{i}", (1, 2, 3), when=Is(f"n{i}", 1)) for i in range(12))])
    assert space.size() == 10**12


@pytest.mark.parametrize(
    ("parameters", "constraints", "message"),
    [
        (["a"], [], "'a' is no parameter"),
        (Integer("a", 1, 4), [], "must be a list of them"),
        ([Integer("a", 1, 4)], ["a > 0"], "'a > 0' is no constraint; write Constraint"),
        ([Integer("a", 1, 4)], "a > 0", "must be a list of them"),
        ([Integer("a", 1, 4), Integer("b", 1, 4, when="a == 1")], [], "parameter 'b': 'a == 1' is no condition"),
    ],
)
def test_what_is_no_part_of_a_space_is_a_sentence(parameters, constraints, message):
    with pytest.raises(SpaceError, match=message):
        Space(parameters, constraints)


@pytest.mark.parametrize("expression", ["(" * 500 + "a" + ")" * 500, "-" * 100_000 + "a", "+".join(["a"] * 20_000), 5])
def test_constraints_that_no_parser_takes_are_sentences(expression):
    with pytest.raises(SpaceError, match="constraint"):
        Constraint(expression)


@pytest.mark.parametrize("values", ["xyz", {"x", "y"}, 5])
def test_values_without_an_order_are_refused(values):
    with pytest.raises(SpaceError, match="parameter 'a': the values must be listed in an order"):
        Nominal("a", values)
