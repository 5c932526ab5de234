"""Scalars that are assigned and read under one condition, as in loops that end early, or on both sides of one."""

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


def where_selected(A, x):
    """A loop inside of a condition on an element; each of its statements is under that condition."""
    for i in range(x.shape[0]):
        if A[i, 0] > 0.4:
            for j in range(A.shape[1]):
                place = int(A[i, j] * 7.0)
                x[place] += A[i, j]


def where_two_are_selected(A, x):
    """The condition is over two elements and a scalar that is assigned once."""
    least = 0.1 * x.shape[0]
    for i in range(x.shape[0]):
        if A[i, 0] > 0.2 and not (A[i, 1] < 0.3 or x[0] == least):
            for j in range(A.shape[1]):
                place = int(A[i, j] * 4.0)
                A[i, 4 - place] = 0.5
                x[i] += place


def where_columns_are_selected(A, x):
    """Each element is under a condition over its own row and column; what is read may be of another one."""
    for i in range(1, x.shape[0]):
        for j in range(A.shape[1]):
            if A[i, 0] > 0.4 and A[j, 1] > 0.4:
                t = A[i, j] * 2.0
                x[i] += t
            if A[i, 0] > 0.4 and A[0, 1] > 0.4:
                x[i] -= t


def where_another_is_selected(A, x):
    """The read is under the condition of another row than the write."""
    for i in range(1, x.shape[0]):
        for j in range(A.shape[1]):
            if A[i, 0] > 0.4:
                t = A[i, j] * 2.0
                x[i] += t
            if A[i - 1, 0] > 0.4:
                x[i] -= t


def where_the_mask_changes(A, x):
    """What the condition is over is written between the assignment and the read."""
    for i in range(x.shape[0]):
        t = 0.0
        if x[i] > 0.4:
            for j in range(A.shape[1]):
                t = A[i, j]
                A[i, j] = 2.0 * t
        x[i] = 1.0 - x[i]
        if x[i] > 0.4:
            for j in range(A.shape[1]):
                A[i, j] += t


def on_both_sides(A, x):
    """Two variables get values on all of the four ways through the branches."""
    for i in range(x.shape[0]):
        for j in range(1, A.shape[1]):
            if A[i, j] > 0.7:
                low = A[i, j]
                high = low + 1.0
            elif x[i] > 0.5:
                high = A[i, j] * 3.0
                low = x[i] + high
            elif j > 2 and A[i, j - 1] < 0.2:
                low = high = A[i, j - 1]
            else:
                low = 0.1
                high = x[i]
            x[i] = low * high if low < high else high - low


def on_one_side(A, x):
    """One of the variables keeps its value on one of the ways."""
    low = 0.5
    for i in range(x.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > 0.7:
                high = A[i, j]
                low = high * x[i]
            elif x[i] > 0.3:
                high = x[i]
                low += 0.5
            else:
                high = 0.25
            x[i] = low + high


def read_on_one_side(A, x):
    """A variable is read on one side before it gets a value on both."""
    last = 0.0
    for i in range(x.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > 0.5:
                x[i] += last
                last = A[i, j]
            else:
                last = x[i]
            x[i] += last * 0.5


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


@pytest.mark.parametrize(
    ("function", "variables"), [(where_selected, {"place"}), (on_both_sides, {"low", "high"}), (on_one_side, {"high"})]
)
def test_what_every_way_assigns_is_private(function: Callable[..., None], variables: set[str]) -> None:
    dependences = dependences_of(function)
    assert variables <= dependences.privatisable
    for name in variables:
        assert dependences.flow[name].reverse().is_single_valued() or function is on_both_sides


@pytest.mark.parametrize(
    "function", [where_another_is_selected, where_columns_are_selected, on_one_side, read_on_one_side]
)
def test_values_that_a_way_leaves_as_they_are_keep_loops_serial(function: Callable[..., None]) -> None:
    plans = stages_of(function, arguments()).plans
    assert plans
    assert not any(region.shared for plan in plans for region in plan.regions)


def test_rows_are_shared_out_where_both_sides_assign() -> None:
    plans = stages_of(on_both_sides, arguments()).plans
    assert any(region.shared for plan in plans for region in plan.regions)


FUNCTIONS = (
    *(roots, carried, read_after, carried_on, in_two_loops, where_selected, where_another_is_selected),
    *(where_two_are_selected, where_columns_are_selected),
    *(where_the_mask_changes, on_both_sides, on_one_side, read_on_one_side),
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_version_computes_what_the_source_does(function: Callable[..., None]) -> None:
    check_versions(function, stages_of(function, arguments()), arguments())
