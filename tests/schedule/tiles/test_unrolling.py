"""How many iterations of a loop may run statement by statement: no more than dependences leave room for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.tiles.distribution import Unrolling
from tests.schedule.kernels import polybench_case, three_behind


def one_behind(steps, A, B):
    for _t in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = A[i - 1, j] + A[i + 1, j] - B[i - 1, j]
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i - 1, j] + B[i, j + 1] - B[i + 1, j]


def unrolling_in(stages: Stages) -> list[Unrolling | None]:
    return [region.unrolling for plan in stages.plans if plan.name == "tiled" for region in plan.regions]


@pytest.mark.parametrize("name", ["jacobi-2d", "fdtd-2d", "heat-3d"])
def test_iterations_of_time_tiled_stencils_may_be_unrolled(name: str) -> None:
    assert unrolling_in(polybench_case(name).stages) == [Unrolling(depth=1, most=4)]


def test_steps_in_time_may_not() -> None:
    assert unrolling_in(polybench_case("jacobi-1d").stages) == [None]


@pytest.mark.parametrize(("function", "expected"), [(three_behind, Unrolling(1, 2)), (one_behind, None)])
def test_elements_that_are_needed_soon_are_waited_for(function: Callable, expected: Unrolling | None) -> None:
    arguments = (2, np.zeros((6, 6)), np.zeros((6, 6)))
    stages = Stages(function, signature_of(("steps", "A", "B"), arguments))
    assert unrolling_in(stages) == [expected]
