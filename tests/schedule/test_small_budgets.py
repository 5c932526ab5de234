"""Whole kernels with hardly any budget for isl: less is found, but what is found is right, and something always is.

Each in a process of its own, so that a crash inside isl would be seen as such.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from polytune import pipeline, versions
from polytune.explanation import explain_loops, explain_versions
from polytune.frontend.polyhedral.budget import ProcessorTime
from polytune.pipeline import Stages
from polytune.schedule import planning, scheduler
from polytune.schedule.analysis import array_dependences, dependences, legality, loop_report
from polytune.schedule.candidate import Attempted, Candidate, Known, candidate_schedules
from polytune.schedule.orders import grouped, scheduled, summed
from polytune.schedule.orders.scheduled import TILED
from polytune.schedule.orders.source import SOURCE
from polytune.schedule.rewrites import library_products
from tests.codegen.test_programs import check_all_versions
from tests.schedule.kernels import SMALL, Case, polybench_case

ORDERS = (scheduler, grouped, scheduled, summed)
REWRITES = (library_products,)
PHASES = (array_dependences, dependences, *ORDERS, *REWRITES, legality, planning, loop_report, versions, pipeline)
BUDGETS = {"PHASE_BUDGET", "FLOW_BUDGET"}
KERNELS = ("reductions", "guarded", "may_write", "stencil", "gemm", "symm", "trisolv", "jacobi-1d")


def check(case: Case, operations: int) -> None:
    """Compile with the same budget for each phase; all versions compute what plain Python computes."""
    for phase in PHASES:
        for name in BUDGETS & vars(phase).keys():
            setattr(phase, name, operations)
    stages: Stages = case.stages
    assert "source" in [program.name for program in stages.programs]
    assert compile(stages.source, "<generated>", "exec")
    assert explain_loops(stages) and explain_versions(stages)
    check_all_versions(case, runs=1)


@pytest.mark.parametrize("operations", [1, 300, 3_000, 30_000])
@pytest.mark.parametrize("name", KERNELS)
def test_versions_are_right_whatever_isl_gives_up_on(name: str, operations: int) -> None:
    case = SMALL[name] if name in SMALL else polybench_case(name)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            check(Case(f"{case.name} within {operations}", case.function, tuple(case.arguments().values())), operations)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_reason_for_no_device_is_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    small = SMALL["stencil"]
    made = Stages(small.stages.function, small.stages.signature)
    assert made.device_plan is not None
    monkeypatch.setattr(pipeline, "make_partitioned", lambda plan, candidate, scop, target: None)
    assert made.show("cuda").endswith("runs on the CPU only: isl could not generate code for devices within its budget")
    monkeypatch.setattr(planning, "PHASE_BUDGET", 500)
    planned = Stages(small.stages.function, small.stages.signature)
    assert planned.device_plan is None
    assert "; isl gave up on other schedules within its budget: " in planned.show("transfers")


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    small = SMALL["stencil"]
    whole = Stages(small.stages.function, small.stages.signature)
    assert whole.given_up == ()
    for phase, budget in ((planning, "PHASE_BUDGET"), (versions, "LOOPS_BUDGET")):
        with monkeypatch.context() as patch:
            patch.setattr(phase, budget, 500)
            stages = Stages(small.stages.function, small.stages.signature)
            assert [program.name for program in stages.programs] == ["source"]
            assert any(line.startswith("tiled: isl could not") for line in stages.given_up)
            assert set(stages.given_up) <= {line.strip() for line in explain_versions(stages).splitlines()}


@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "reductions"])
def test_without_processor_time_the_source_order_remains(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = SMALL[name] if name in SMALL else polybench_case(name)
    monkeypatch.setattr(pipeline, "SECONDS", 0.0)
    fresh = Case(f"{name} without time", case.function, tuple(case.arguments().values()))
    assert [program.name for program in fresh.stages.programs] == ["source"]
    assert any(line.startswith("parallel: ") for line in fresh.stages.given_up)
    assert compile(fresh.stages.source, "<generated>", "exec")
    check_all_versions(fresh, runs=1)


def test_plans_that_take_all_the_time_leave_the_loops_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is promising comes first among versions, but is not made first: over it isl may use up all the time."""
    small = SMALL["stencil"]
    plans = Stages(small.stages.function, small.stages.signature).plans
    orders = [plan.recipe.order.name for plan in plans]
    assert orders[0] != "source" and orders.count("source") >= 2, "the most promising plan is of another order"
    attempt, is_over = versions.attempt_program, False

    def attempted(plan, scop, trees=None):
        nonlocal is_over
        is_over |= plan.recipe.order.name != "source"
        return None if is_over and plan.team else attempt(plan, scop, trees)

    monkeypatch.setattr(versions, "attempt_program", attempted)
    made = Stages(small.stages.function, small.stages.signature)
    assert [program.name for program in made.programs] == ["parallel", "source"]
    assert all(any(line.startswith(f"{name}: ") for line in made.given_up) for name in set(orders) - {"source"})


def test_no_order_is_looked_for_when_the_time_is_used_up() -> None:
    """Dependences without reductions have no budget, as something must be had."""
    dependences_of_reductions = SMALL["reductions"].stages.dependences

    def sought(known: Known) -> Attempted[Candidate]:
        raise AssertionError("an order is looked for")

    orders = (SOURCE, replace(TILED, name="sought", find=sought))
    with ProcessorTime(0.0).running():
        found = candidate_schedules(dependences_of_reductions, orders)
    assert [candidate.name for candidate in found.made] == ["source"]
    assert found.given_up == ("sought",)


def test_what_takes_long_to_compile_is_not_first() -> None:
    programs = polybench_case("gemm").stages.programs
    sizes = [versions.size_of(program) for program in programs]
    assert sizes[0] > min(sizes)
    assert versions.compiled_in_time(programs, 1e6) == programs
    quick = versions.compiled_in_time(programs, (sizes[0] - 1) / versions.NODES_A_SECOND)
    assert versions.size_of(quick[0]) < sizes[0]
    assert quick[1:] == tuple(program for program in programs if program is not quick[0])
    assert versions.size_of(versions.compiled_in_time(programs, 0.0)[0]) == min(sizes)
