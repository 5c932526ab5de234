"""Fusion of neighbouring sweeps: where it pays and is legal, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

import numpy as np
import pytest

from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.orders import grouped
from tests.schedule.kernels import polybench_case


def two_vectors(A, x, y):
    for i in range(len(x)):
        x[i] = y[i] + A[0, i]
    for i in range(len(x)):
        y[i] = x[i] * 2.0


def upside_down(A, x, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = x[i] * y[j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] += A[A.shape[0] - 1 - i, A.shape[1] - 1 - j]


def is_grouped(function: Callable) -> bool:
    assert isinstance(function, FunctionType)
    stages = Stages(function, signature_of(("A", "x", "y"), (np.ones((5, 5)), np.ones(5), np.ones(5))))
    return "grouped" in {candidate.name for candidate in stages.candidates}


def test_update_of_a_matrix_and_its_sums_are_one_sweep() -> None:
    stages = polybench_case("gemver").stages
    plan = next(plan for plan in stages.plans if plan.name == "grouped")
    assert is_proven_legal(plan.schedule, plan.dependences)
    assert [region.domain.n_set() for region in plan.regions] == [2, 1, 1]
    assert all(region.kind.value == "parallel" for region in plan.regions)


@pytest.mark.parametrize("function", [two_vectors, upside_down])
def test_nothing_is_fused_that_is_small_or_would_not_be_parallel(function: Callable) -> None:
    assert not is_grouped(function)


@pytest.mark.parametrize("name", ["2mm", "3mm", "jacobi-2d", "lu"])
def test_what_uses_an_array_again_and_again_is_left_alone(name: str) -> None:
    assert "grouped" not in {candidate.name for candidate in polybench_case(name).stages.candidates}


def diffused(A, x, y):
    B = A.copy()
    for i in range(A.shape[0] - 1):
        for j in range(A.shape[1] - 1):
            t = B[i, j] * 0.5
            B[i + 1, j + 1] += t
            B[i, j + 1] += t
    x[0] = B[1, 1]


def sorted_windows(A, x, y):
    B = A.copy()
    for i in range(1, A.shape[0] - 1):
        w = np.empty(9)
        for j in range(1, A.shape[1] - 1):
            k = 0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    v = A[i + a, j + b]
                    at = k
                    while at > 0 and w[at - 1] > v:
                        w[at] = w[at - 1]
                        at -= 1
                    w[at] = v
                    k += 1
            B[i, j] = w[4]
    return B


@pytest.mark.parametrize("function", [diffused, sorted_windows])
def test_isl_is_not_asked_for_what_is_known_not_to_be_parallel(
    function: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(grouped, "compute_schedule", lambda *given, **wanted: asked.append(given))
    assert not is_grouped(function)
    assert not asked
