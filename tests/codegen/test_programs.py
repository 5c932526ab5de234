"""Versions in the loop IR against plain Python, bit for bit, in every order that their regions allow.

Only a version whose schedule reassociates sums may differ, by rounding.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polybench.data import perturbed
from polybench.registry import benchmark
from polytune.codegen.loops import Program
from polytune.frontend.scop import Scop
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.orders.scheduled import REASSOCIATED
from polytune.schedule.rewrites.around_products import AROUND
from polytune.schedule.rewrites.library_products import LIBRARY
from polytune.versions import all_arrays
from tests.codegen.interpreter import Interpreter
from tests.frontend.test_semantics import CASES as FEATURES
from tests.schedule.instances import parameters_at
from tests.schedule.kernels import POLYBENCH, SMALL, Case, polybench_case

TILES = (1, 2, 3, 5)


def check_all_versions(case: Case, runs: int) -> None:
    """Run every version several times, each with other tile sizes in another order.

    Those with vectors are run as generated text, see ``test_register_tiles``.
    """
    expected = case.arguments()
    with np.errstate(all="ignore"):
        wanted = case.function(*expected.values())
    choose = random.Random(case.seed)
    for program in case.stages.programs:
        if program.has_vectors:
            continue
        scop = kernel_of(program, case.stages)
        interpreter = Interpreter(program, scop)
        for seed in range(runs if program.team else 1):
            tiles = [choose.choice(TILES) for _ in program.tiles]
            given = case.arguments()
            with np.errstate(all="ignore"):
                result = interpreter.run(given, tiles, seed)
            about = f"{case.name}, version {program.name}, tiles {tiles}, order {seed}"
            tolerance = 1e-10 if program.recipe.has(REASSOCIATED, LIBRARY, AROUND) else 0.0
            for name, value in (*expected.items(), ("result", wanted)):
                found = result if name == "result" else given[name]
                assert_close(found, value, tolerance, f"{about}: {name}")
            assert interpreter.executed == instances(scop, interpreter.names), about


def kernel_of(program: Program, stages: Stages) -> Scop:
    """The kernel that a version runs: some have copies of arrays, and statements that make them."""
    plan = next(plan for plan in stages.plans if plan.recipe == program.recipe.of_plan)
    return replace(plan.dependences.scop, arrays=all_arrays(stages.plans))


def assert_close(found: Any, wanted: Any, tolerance: float, about: str) -> None:
    """Compare exactly, or with a tolerance by the largest value: a difference of sums may be small beside them."""
    if tolerance and isinstance(wanted, float | np.ndarray):
        largest = np.abs(wanted).max(initial=0.0) if isinstance(wanted, np.ndarray) else abs(wanted)
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=tolerance * largest, err_msg=about)
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=about)


def instances(scop: Scop, names: Mapping[str, int]) -> dict[str, int]:
    """How many instances each statement has, of those that have any."""
    here = parameters_at(scop, names)
    counts = {s.name: s.domain.intersect_params(here).count_val().to_python() for s in scop.statements}
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("name", SMALL)
def test_small_kernels(name: str) -> None:
    check_all_versions(SMALL[name], runs=6)


@pytest.mark.parametrize("function", FEATURES, ids=lambda function: function.__name__)
def test_features_of_the_language(function: Callable[..., Any]) -> None:
    for number, arguments in enumerate(FEATURES[function]):
        check_all_versions(Case(f"{function.__name__} {number}", function, arguments), runs=3)


@pytest.mark.parametrize("name", POLYBENCH)
def test_polybench(name: str) -> None:
    case = polybench_case(name)
    suite = benchmark(name)
    varied = perturbed(suite, tuple(case.arguments().values()), np.random.default_rng(case.seed))
    check_all_versions(Case(name, case.function, varied), runs=2)


def three_sweeps(A, x):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] + x[0]
    for i in range(A.shape[0]):
        x[i] = x[i] + 1.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] * x[i]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] - x[0]


def test_workers_turn_round_where_they_go_through_a_matrix_again() -> None:
    """What they had last is what they begin with; a vector in between does not count."""
    stages = Stages(three_sweeps, signature_of(("A", "x"), (np.ones((4, 4)), np.ones(4))))
    program = next(program for program in stages.programs if program.name == "parallel")
    assert [region.descends for region in program.regions] == [False, False, True, False]
    assert "_workers - 1 - _worker" in stages.source or "workers - 1 - worker" in stages.source
