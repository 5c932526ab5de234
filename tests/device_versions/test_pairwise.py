"""Covers of all pairs: complete, and much smaller than all combinations."""

from __future__ import annotations

import math
from itertools import combinations, product

import pytest

from tests.device_versions.pairwise import pairwise_cover
from tests.device_versions.versions import MANY_POINTS, REAL, TINY


@pytest.mark.parametrize("values", [TINY, REAL, {"a": (1, 2, 3), "b": "xy"}, {"a": (1, 2), "b": (1,), "c": (1, 2, 3)}])
def test_every_pair_is_covered(values) -> None:
    found = pairwise_cover(values)
    assert all(list(choice) == list(values) for choice in found)
    assert all(choice[name] in values[name] for choice in found for name in values)
    for first, second in combinations(values, 2):
        assert {(c[first], c[second]) for c in found} == set(product(values[first], values[second]))


def test_cover_is_small() -> None:
    # Two parameters of 2 and 3 values need six choices at least.
    assert len(pairwise_cover(REAL)) <= 12 < math.prod(map(len, REAL.values())) / 10
    assert len(pairwise_cover(TINY)) <= 10


@pytest.mark.parametrize("left_out", [(), ("depth",), ("depth", "shared", "unroll_copy"), ("depth", "unroll_copy")])
def test_what_takes_long_comes_once_among_no_more_choices(left_out: tuple[str, ...]) -> None:
    values = {name: each for name, each in REAL.items() if name not in left_out}
    found = pairwise_cover(values, once=[MANY_POINTS])
    for first, second in combinations(values, 2):
        assert {(c[first], c[second]) for c in found} == set(product(values[first], values[second]))
    assert sum(set(choice.items()) >= MANY_POINTS for choice in found) == 1
    assert len(found) <= len(pairwise_cover(values))


def test_one_parameter_or_none() -> None:
    assert pairwise_cover({"a": (1, 2)}) == [{"a": 1}, {"a": 2}]
    assert pairwise_cover({}) == []
