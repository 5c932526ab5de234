"""Nests of independent points whose source order is taken as it is, and kernels that are none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polytune.pipeline import Stages
from polytune.schedule.analysis.legality import violation
from polytune.schedule.analysis.nests import nest_of_points
from tests.every_version import check_versions, stages_of


def window(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            total = 0.0
            weight = 1.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    v = A[i + a, j + b]
                    weight += 0.5 * v
                    total += v * A[i, j]
            B[i, j] = total + weight


def rows(A, B):
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s = 0.5 * s + A[i, j]
            B[i, j] = s


def points(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t = A[i, j] - 1.0
            B[i, j] = t * t


def updates_of_elements(A, B):
    """Another order of j and k may be better."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            for k in range(A.shape[1]):
                B[i, j] += A[i, k] * A[j % A.shape[0], k]


def independent_inside(A, B):
    """Of the second loop inside, iterations may come in any order."""
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j]
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] / s


def carried_outside(A, B):
    """Each row needs the one before."""
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            s = 0.0
            for k in range(3):
                s += A[i, j] * k
            B[i, j] = B[i - 1, j] + s


def two_nests(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] += A[i, 0]


def stages(function: Callable) -> Stages:
    return stages_of(function, arguments())


def arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.integers(0, 5, (7, 6)).astype(float), np.ones((7, 6))]


@pytest.mark.parametrize(("function", "around"), [(window, 2), (rows, 1), (points, 2)])
def test_the_source_order_is_taken_for_nests_of_points(function: Callable, around: int) -> None:
    made = stages(function)
    nest = nest_of_points(made.dependences)
    assert nest is not None
    band = nest.get_root().child(0)
    assert band.band_n_member() == around
    assert band.band_get_permutable()
    assert all(band.band_member_get_coincident(member) for member in range(around))
    assert nest.get_map().is_equal(made.scop.schedule.get_map())
    assert violation(nest, made.dependences) is None
    tiled = next(candidate for candidate in made.candidates if candidate.name == "tiled")
    assert tiled.schedule.plain_is_equal(nest)


@pytest.mark.parametrize("function", [updates_of_elements, independent_inside, carried_outside, two_nests])
def test_other_kernels_are_left_to_the_scheduler(function: Callable) -> None:
    assert nest_of_points(stages(function).dependences) is None


@pytest.mark.parametrize("function", [window, rows, points])
def test_versions_of_nests_compute_what_the_source_does(function: Callable) -> None:
    check_versions(function, stages(function), arguments())
