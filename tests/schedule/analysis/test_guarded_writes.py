"""Scalars that are assigned and read under one condition, as in loops that end early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polytune.schedule.analysis.dependences import Dependences
from tests.every_version import check_versions, stages_of


def roots(A, x):
    """Newton's steps, in each of which value and slope are computed anew."""
    for i in range(x.shape[0]):
        for _step in range(6):
            value = -A[i, 0]
            slope = 0.0
            for j in range(1, A.shape[1]):
                part = A[i, j] * x[i]
                value += part * x[i]
                slope += 2.0 * part
            if slope == 0.0:
                break
            x[i] -= value / slope
            if abs(value) < 0.5:
                break


def carried(A, x):
    """What an iteration reads is of the one before it."""
    for i in range(x.shape[0]):
        for j in range(A.shape[1]):
            if j > 0:
                x[i] += last  # noqa: F821
            last = A[i, j]
            if last < 0.3:
                break


def read_after(A, x):
    """The value of the last iteration that ran is read after the loop."""
    for i in range(x.shape[0]):
        seen = 0.0
        for j in range(A.shape[1]):
            seen = A[i, j] * 2.0
            if seen < 0.6:
                break
        x[i] = seen


def carried_on(A, x):
    """A row goes on with what the row before it has left, but for the first one."""
    level = 0.0
    for i in range(x.shape[0]):
        for j in range(A.shape[1]):
            level = 0.5 * level + A[i, j]
            x[i] += level
            if level > 1.1:
                break


def in_two_loops(A, x):
    """The conditions of the two loops are over scalars of their own."""
    for i in range(x.shape[0]):
        for j in range(A.shape[1]):
            t = A[i, j] * A[i, j]
            x[i] += t
            if t > 0.7:
                break
        for j in range(A.shape[1]):
            t = A[i, j] + 1.0
            x[i] -= t * t
            if t > 1.8:
                break


def arguments() -> list[Any]:
    generator = np.random.default_rng(11)
    return [generator.random((7, 5)), generator.random(7)]


def dependences_of(function: Callable[..., None]) -> Dependences:
    return stages_of(function, arguments()).dependences


def test_a_worker_may_have_copies_of_what_is_assigned_where_it_is_read() -> None:
    assert {"value", "slope", "part"} <= dependences_of(roots).privatisable


def test_a_read_sees_the_write_of_its_own_iteration() -> None:
    flow = dependences_of(roots).flow["part"]
    assert not flow.is_empty()
    assert flow.reverse().is_single_valued()


def test_rows_are_shared_out() -> None:
    """The loop over rows is parallel although each row ends its own loop early."""
    plans = stages_of(roots, arguments()).plans
    assert any(region.shared for plan in plans for region in plan.regions)


def test_values_of_other_iterations_stay_dependences() -> None:
    dependences = dependences_of(carried)
    assert not dependences.flow["last"].is_empty()
    assert "last" not in dependences.privatisable


@pytest.mark.parametrize("function", [roots, carried, read_after, carried_on, in_two_loops])
def test_every_version_computes_what_the_source_does(function: Callable[..., None]) -> None:
    check_versions(function, stages_of(function, arguments()), arguments())
