"""Array expansion: where points get copies of their own, and where that would be wrong or is of no use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import islpy as isl
import numpy as np
import pytest

from polytune import versions
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.candidate import Candidate
from polytune.schedule.plan_transform import PlanTransform
from polytune.schedule.regions import Plan
from polytune.schedule.tiles.expansion import Expansion
from polytune.schedule.tree import below_mark
from tests.schedule.kernels import polybench_case, rows_times_matrix


def scalar_between(A, C):
    t = np.empty(A.shape[1])
    for i in range(A.shape[0]):
        factor = 2.0
        for p in range(A.shape[1]):
            t[p] = A[i, p] * C[p, p]
            factor = t[p]
        for p in range(A.shape[1]):
            A[i, p] = t[p] * factor


def used_by_the_next(A, C):
    t = np.zeros(A.shape[1])
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            A[i, p] = A[i, p] + t[p]
        for p in range(A.shape[1]):
            t[p] = A[i, p] * C[p, p]


def own_rows(A, C):
    t = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            t[i, p] = A[i, p] * C[p, p]
        for p in range(A.shape[1]):
            A[i, p] = t[i, A.shape[1] - 1 - p]


def expanded_plans(function: Callable) -> list[Plan]:
    assert isinstance(function, FunctionType)
    stages = Stages(function, signature_of(("A", "C"), (np.ones((4, 5)), np.ones((5, 5)))))
    return [plan for plan in stages.plans if plan.expands]


def bands_below(node: isl.ScheduleNode) -> list[int]:
    """The numbers of members of all bands, in the order of the tree."""
    own = [node.band_n_member()] if node.get_type() == isl.schedule_node_type.band else []
    return own + [members for position in range(node.n_children()) for members in bands_below(node.child(position))]


def test_loop_over_points_goes_inside() -> None:
    plan = expanded_plans(rows_times_matrix)[0]
    (region,) = plan.regions
    assert region.expansion == Expansion(frozenset({"t"}), 0, 2)
    below = below_mark(plan.schedule.get_root(), "region0")
    assert below is not None
    assert below.get_type() == isl.schedule_node_type.sequence
    assert bands_below(below) == [3, 2]


def test_only_the_last_of_several_members_goes_inside() -> None:
    plan = next(plan for plan in polybench_case("doitgen").stages.plans if plan.expands)
    (region,) = plan.regions
    assert region.expansion == Expansion(frozenset({"total"}), 1, 3)
    below = below_mark(plan.schedule.get_root(), "region0")
    assert below is not None
    assert bands_below(below) == [1, 3, 2]


def test_scalar_that_carries_a_value_from_loop_to_loop_keeps_them_together() -> None:
    assert not expanded_plans(scalar_between)


def test_array_that_the_next_iteration_uses_has_one_copy() -> None:
    assert not expanded_plans(used_by_the_next)


def test_array_with_elements_for_each_point_needs_no_copies() -> None:
    assert not expanded_plans(own_rows)


def between_loops(A, C):
    t = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            t[i, p] = A[i, p] + C[p, p]
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            A[i, p] = t[A.shape[0] - 1 - i, p] * 2.0


def no_loops_inside(A, C):
    for i in range(A.shape[0]):
        A[i, 0] = A[i, 1] * 2.0


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The transforms of all plans that are made from now on."""
    names: list[str] = []
    plan = versions.plan_parallel

    def seen(candidate: Candidate, transforms: Sequence[PlanTransform], *rest: Any) -> Plan | None:
        names.extend(transform.name for transform in transforms)
        return plan(candidate, transforms, *rest)

    monkeypatch.setattr(versions, "plan_parallel", seen)
    return names


def test_no_plan_is_made_where_workers_have_no_copies_of_arrays(made: list[str]) -> None:
    stages = Stages(between_loops, signature_of(("A", "C"), (np.ones((4, 5)), np.ones((5, 5)))))
    assert "t" in stages.dependences.privatisable
    assert stages.plans
    assert "interleaved" in made
    assert "expanded" not in made
    assert expanded_plans(scalar_between) == []
    assert "expanded" in made


def test_no_plan_has_points_side_by_side_that_have_no_loops(made: list[str]) -> None:
    stages = Stages(no_loops_inside, signature_of(("A", "C"), (np.ones((4, 5)), np.ones((5, 5)))))
    assert stages.plans
    assert "parallel" in made
    assert "interleaved" not in made
