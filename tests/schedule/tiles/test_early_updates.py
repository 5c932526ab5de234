"""Updates that come first in the rows of tiles: where they are proven to be able to, and that results are the source's.

Small registers make small problems have whole vectors; generated code is interpreted, and compared with the source.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polytune.pipeline import Stages
from polytune.schedule.analysis.dependences import compute_dependences
from polytune.schedule.analysis.legality import is_proven_legal
from tests.every_version import check_versions, stages_of

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
"""Sums are to wrap round."""


def folded(t, w):
    n = len(t)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            t[i, j] = max(t[i, j], t[i, j - 1])
            for k in range(i + 1, j):
                t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])


def bracketed(t, w):
    """A product of matrices in the cheapest order."""
    n = len(t)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            for k in range(i, j):
                t[i, j] = min(t[i, j], t[i, k] + t[k + 1, j] + w[i])


def counted(t, w):
    """Updates after the loop too, and by differences."""
    n = len(t)
    for i in range(n - 2, -1, -1):
        for j in range(i + 2, n):
            for k in range(i + 1, j):
                t[i, j] += t[i, k] * t[k, j]
            t[i, j] -= t[i, j - 1] + w[j]


def doubled_before(t, w):
    """A maximum of what has been doubled is another one than the double of a maximum."""
    n = len(t)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            t[i, j] = t[i, j] * 2 + t[i, j - 1]
            for k in range(i + 1, j):
                t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])


def of_the_neighbour(t, w):
    n = len(t)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            for k in range(i + 1, j):
                t[i, j] = max(t[i, j], t[i, j - 1] + w[k])


def read_between(t, w):
    """What the updates have come to so far is used."""
    n = len(t)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            t[i, j] = max(t[i, j], t[i, j - 1])
            w[j] = w[j] + t[i, j]
            for k in range(i + 1, j):
                t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])


EARLY = [folded, bracketed, counted]
OTHERS = [doubled_before, of_the_neighbour, read_between]


def early(stages: Stages) -> list[str]:
    return [program.name for program in stages.programs if program.name.endswith("_early")]


@pytest.mark.parametrize("function", [*EARLY, *OTHERS])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 2, 5, 13])
def test_every_version_is_right(function: Callable, dtype: str, size: int) -> None:
    """Whole numbers, of which every sum is exact, or wraps round whatever its order."""
    generator = np.random.default_rng(size)
    initial = [generator.integers(-2, 3, shape).astype(dtype) for shape in ((size, size), (size,))]
    check_versions(function, stages_of(function, initial), initial, tiles=((1, 1), (3, 2), (4, 5), (2, 64)))


def test_not_a_number() -> None:
    """Of a maximum it is left out where it is added, and kept where it was."""
    generator = np.random.default_rng(3)
    t = generator.integers(-9, 9, (12, 12)).astype(float)
    t[2, 5], t[4, 9], t[6, 7], t[0, 11] = np.nan, np.nan, np.inf, np.nan
    check_versions(folded, stages_of(folded, [t, np.zeros(12)]), [t, np.zeros(12)], tiles=((3, 4), (5, 2)))


@pytest.mark.parametrize("view", [lambda a: a[::-1, ::-1], lambda a: a[::2, ::2], np.asfortranarray])
def test_other_layouts(view: Callable) -> None:
    t = np.random.default_rng(4).integers(-9, 9, (18, 18)).astype(np.int32)
    initial = [view(t), np.zeros(18, np.int32)]
    check_versions(folded, stages_of(folded, initial), initial, tiles=[(3, 4)])


@pytest.mark.parametrize("function", EARLY)
def test_updates_that_wait_for_nothing_are_vectors(function: Callable) -> None:
    stages = stages_of(function, [np.zeros((9, 9), np.int32), np.zeros(9, np.int32)])
    assert early(stages) and stages.programs[0].name == early(stages)[0]
    assert stages.programs[0].has_vectors


@pytest.mark.parametrize("function", OTHERS)
def test_updates_that_others_wait_for_stay(function: Callable) -> None:
    assert not early(stages_of(function, [np.zeros((9, 9), np.int32), np.zeros(9, np.int32)]))


def test_strict_sums_keep_their_order() -> None:
    arguments = [np.zeros((9, 9)), np.zeros(9)]
    assert early(stages_of(counted, arguments)) and not early(stages_of(counted, arguments, strict=True))


def test_dependences_of_elements_leave_out_what_several_statements_update() -> None:
    """More orders are legal than with those of each statement's own reduction, and the source's still is."""
    scop = stages_of(folded, [np.zeros((9, 9)), np.zeros(9)]).scop
    own = compute_dependences(scop, relax_reductions=True)
    elements = compute_dependences(scop, relax_reductions=True, of_elements=True)
    assert own.reductions.is_subset(elements.reductions) and not elements.reductions.is_subset(own.reductions)
    assert is_proven_legal(scop.schedule, elements)
