"""Plans: what is shared out, and that nothing is left out or done twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytune
from polytune.frontend import infer_signature
from polytune.pipeline import TRANSFORMS, Stages
from polytune.schedule.plan_transform import PARALLEL
from polytune.schedule.planning import plan_parallel
from polytune.schedule.regions import MARK, Plan, RegionKind
from polytune.schedule.unions import domain_of, sets_of
from polytune.signature import Signature, parse_type
from polytune.versions import make_plans, order_plans
from tests.schedule.kernels import POLYBENCH, SMALL, Case, polybench_case


def case_of(name: str) -> Case:
    return SMALL[name] if name in SMALL else polybench_case(name)


def marked_domains(plan: Plan) -> list[tuple[int, isl.UnionSet]]:
    """Per mark its region's number and the instances below it; no mark lies below another."""
    found: list[tuple[int, isl.UnionSet]] = []

    def visit(node: isl.ScheduleNode) -> bool:
        if node.get_type() != isl.schedule_node_type.mark:
            return True
        found.append((int(node.mark_get_id().get_name().removeprefix(MARK)), node.get_domain()))
        return False

    plan.schedule.foreach_schedule_node_top_down(visit)
    return found


@pytest.mark.parametrize("name", [*SMALL, *POLYBENCH])
def test_every_instance_is_in_exactly_one_region(name: str) -> None:
    case = case_of(name)
    for plan in case.stages.plans:
        everything = domain_of(plan.dependences.scop)
        marks = marked_domains(plan)
        assert sorted(number for number, _ in marks) == [region.index for region in plan.regions]
        union = isl.UnionSet.empty(everything.get_space())
        for number, domain in marks:
            assert domain.is_equal(plan.regions[number].domain), plan.name
            assert union.is_disjoint(domain), plan.name
            union = union.union(domain)
        assert union.intersect_params(case.stages.scop.context).is_equal(
            everything.intersect_params(case.stages.scop.context)
        ), plan.name


def sorted_rows(A, passes: int):
    n, m = A.shape
    for i in range(n):
        for _ in range(passes):
            for j in range(m - 1):
                if A[i, j] > A[i, j + 1]:
                    A[i, j], A[i, j + 1] = A[i, j + 1], A[i, j]


def escapes(out, iterations: int):
    n, m = out.shape
    for i in range(n):
        for j in range(m):
            x = 0.0
            count = 0
            for _ in range(iterations):
                if x <= 4.0:
                    t = x * x + out[i, j]
                    x = t
                    count += 1
            out[i, j] = count


@pytest.mark.parametrize("function", [sorted_rows, escapes])
def test_variables_of_one_branch_do_not_serialise_loops(function: Callable[..., Any]) -> None:
    """What a branch on data assigns before it reads it has no value from before."""
    plans = Stages(function, infer_signature(function)).plans
    parallel = {plan.name: plan for plan in plans}["parallel"]
    assert [region.kind for region in parallel.regions] == [RegionKind.PARALLEL]


def normalised(x):
    mean = x.mean(axis=(0, 2), keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=(0, 2), keepdims=True) + 1.0)


def first_row_alone(A, B):
    for i in range(1):
        for j in range(1, A.shape[1]):
            A[i, j] = A[i, j - 1] + B[j]
    for i in range(A.shape[0]):
        B[i] += A[i, 0]


def test_a_loop_of_one_iteration_is_not_what_is_shared_out() -> None:
    """That over an axis of extent 1 is the outermost one of ``mean[0, j, 0]``: one worker would have all of it."""
    types = Signature((("x", parse_type("float64[:, :, :]")),))
    plan = {plan.name: plan for plan in Stages(normalised, types).plans}["parallel"]
    assert all(region.kind is RegionKind.PARALLEL and region.outer_depth == 0 for region in plan.regions)
    for region in plan.regions:
        assert region.band is not None
        values = isl.UnionMap.from_multi_union_pw_aff(region.band).range()
        assert not any(part.is_singleton() for part in sets_of(values))


def test_what_a_loop_of_one_iteration_has_inside_may_be_serial() -> None:
    types = Signature((("A", parse_type("float64[:, :]")), ("B", parse_type("float64[:]"))))
    plan = {plan.name: plan for plan in Stages(first_row_alone, types).plans}["parallel"]
    assert [region.kind for region in plan.regions] == [RegionKind.SERIAL, RegionKind.PARALLEL]


def test_results_of_loops_of_one_iteration() -> None:
    generator = np.random.default_rng(7)
    for shape in ((5, 40, 3), (1, 1, 1), (2, 0, 3)):
        x = generator.uniform(size=shape)
        x.flat[:1] = np.nan
        kernel = polytune.kernel(normalised)
        for configuration in each_version(kernel, x):
            np.testing.assert_allclose(kernel.run(configuration, x), normalised(x), rtol=1e-12)
    start = generator.uniform(size=(9, 30)), generator.uniform(size=30)
    theirs = [each.copy() for each in start]
    first_row_alone(*theirs)
    kernel = polytune.kernel(first_row_alone)
    for configuration in each_version(kernel, *start):
        ours = [each.copy() for each in start]
        kernel.run(configuration, *ours)
        for mine, his in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, his, rtol=1e-12)


def each_version(kernel: Any, *arguments: Any) -> list[Any]:
    """A configuration of each version of a kernel."""
    space = kernel.space(*arguments)
    names = next(parameter.values for parameter in space.parameters if parameter.name == "version")
    return [space.configuration(version=name) for name in names]


@pytest.mark.parametrize("name", [*SMALL, *POLYBENCH])
def test_shape_of_regions(name: str) -> None:
    for plan in case_of(name).stages.plans:
        for region in plan.regions:
            if region.kind is RegionKind.SERIAL:
                assert region.band is None and region.shared == region.depth == 0
            else:
                assert 1 <= region.shared <= region.depth
            if region.kind is RegionKind.WAVEFRONT:
                # Tiles of one wave run at once: only what never leaves a point may have copies.
                assert region.shared == max(2, region.depth - 1) and region.private == region.local
            assert region.local <= region.private


KINDS = {
    "product_of_sums": {"tiled": ["parallel"], "parallel": ["parallel"]},
    "two_live_ranges": {"parallel": ["parallel"]},
    "row_buffer": {"parallel": ["parallel"]},
    "in_place_stencil": {"tiled": ["wavefront"], "coincident": ["parallel"]},
    "stencil": {"tiled": ["wavefront"], "coincident": ["parallel", "parallel"]},
    "scalar_out_of_loop": {},
    "returned_scalar": {},
    "last_above": {},
}
"""The kinds of the regions of each version that shares work out; versions that are not listed here are not looked
at."""


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_regions(name: str) -> None:
    plans = {plan.name: plan for plan in SMALL[name].stages.plans}
    if not KINDS[name]:
        assert not any(plan.team for plan in plans.values())
    for version, kinds in KINDS[name].items():
        assert [region.kind.value for region in plans[version].regions] == kinds


def test_scalar_of_a_point_is_local_and_row_is_private() -> None:
    scalar = next(plan for plan in SMALL["two_live_ranges"].stages.plans if plan.name == "parallel")
    assert scalar.regions[0].local == scalar.regions[0].private == {"t"}
    row = next(plan for plan in SMALL["row_buffer"].stages.plans if plan.name == "parallel")
    assert row.regions[0].private == {"row"}
    assert row.regions[0].shared == 1


def test_contiguous_member_is_innermost() -> None:
    """In C[i, j] += A[i, k] B[k, j] only j moves along the memory of all three arrays."""
    stages = polybench_case("gemm").stages
    plan = next(plan for plan in stages.plans if plan.name == "tiled")
    region = plan.regions[0]
    assert region.band is not None and region.contiguous is not None
    member = isl.UnionMap.from_union_pw_aff(region.band.get_union_pw_aff(region.contiguous))
    deepest = next(s for s in stages.scop.statements if len(s.iterators) == 3)
    instances = isl.UnionSet.from_set(deepest.domain)
    assert str(member.intersect_domain(instances).gist_domain(instances)).endswith("S1[i, k, j] -> [j] }")


def test_source_order_is_always_there_and_last() -> None:
    for case in SMALL.values():
        plans = case.stages.plans
        assert not plans[-1].team and plans[-1].name == "source"
        assert all(plan.team for plan in plans[:-1])


def test_team_without_loops_around_comes_first() -> None:
    """A plan whose workers meet once comes before one whose workers meet in every time step."""
    plans = [plan for plan in SMALL["stencil"].stages.plans if plan.team]
    around = [sum(region.prefix is not None for region in plan.regions) for plan in plans]
    assert around[0] == 0 and around == sorted(around) and around[-1] > 0


def test_serial_loop_tells_what_keeps_it_from_being_parallel() -> None:
    stages = SMALL["stencil"].stages
    plan = plan_parallel(stages.candidates[0], (PARALLEL,))
    assert len(plan.serial) == 1
    assert {obstacle.array for obstacle in plan.serial[0].obstacles} == {"A", "B"}


def test_plans_are_made_for_every_candidate_that_shares_work() -> None:
    stages = SMALL["in_place_stencil"].stages
    names = [plan.name for plan in make_plans(stages.candidates, TRANSFORMS).made]
    assert names[0] == "source" and "tiled" in names
    assert sorted(plan.name for plan in order_plans(make_plans(stages.candidates, TRANSFORMS).made)) == sorted(names)
