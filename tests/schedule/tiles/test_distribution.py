"""Distribution of innermost loops: where it frees them of dependences, and nowhere else."""

from __future__ import annotations

import islpy as isl
import pytest

from polytune.pipeline import Stages
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.regions import Plan, RegionKind
from polytune.schedule.tiles.distribution import distribute_innermost
from polytune.signature import ArrayType, ScalarType, Signature
from tests.schedule.kernels import polybench_case


def plan_of(name: str, plan: str) -> Plan:
    return next(each for each in polybench_case(name).stages.plans if each.name == plan)


def innermost_bands(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    inner = [band for position in range(node.n_children()) for band in innermost_bands(node.child(position))]
    return inner or ([node] if node.get_type() == isl.schedule_node_type.band else [])


@pytest.mark.parametrize(("name", "statements"), [("jacobi-1d", 2), ("jacobi-2d", 2), ("fdtd-2d", 4)])
def test_time_tiled_stencil_has_a_loop_for_each_statement(name: str, statements: int) -> None:
    plan = plan_of(name, "tiled")
    assert [region.kind for region in plan.regions] == [RegionKind.WAVEFRONT]
    loops = innermost_bands(plan.schedule.get_root())
    assert len(loops) == statements
    for loop in loops:
        assert loop.band_n_member() == 1
        assert analyse_band(loop, plan.dependences).coincident == (True,)
    assert is_proven_legal(plan.schedule, plan.dependences)


def test_statements_of_a_stencil_in_space_have_planes_of_their_own() -> None:
    plan = plan_of("heat-3d", "tiled")
    planes = innermost_bands(plan.schedule.get_root())
    assert len(planes) == 2
    for plane in planes:
        assert plane.band_n_member() == 2
        assert analyse_band(plane, plan.dependences).coincident == (True, True)
    assert is_proven_legal(plan.schedule, plan.dependences)


def band_over(case: str, schedule: str) -> tuple[isl.ScheduleNode, Plan]:
    """A band node with a partial schedule over all instances of a kernel, and the kernel's serial plan."""
    plan = polybench_case(case).stages.plans[0]
    root = isl.Schedule.from_domain(plan.regions[0].domain).get_root()
    partial = isl.MultiUnionPwAff.read_from_str(root.get_ctx(), schedule)
    return root.child(0).insert_partial_schedule(partial), plan


def is_distributed(case: str, schedule: str) -> bool:
    node, plan = band_over(case, schedule)
    changed = distribute_innermost(node, plan.dependences)
    assert changed.get_type() == isl.schedule_node_type.band
    return not changed.get_schedule().plain_is_equal(node.get_schedule())


def test_a_loop_whose_statements_depend_on_one_another_in_turn_stays_whole() -> None:
    """With the time innermost, B needs the A of the step before and A the B of this one."""
    assert not is_distributed(
        "jacobi-1d",
        "[{ S0[t, i] -> [(2t + i)]; S1[t, i] -> [(2t + i + 1)] }, { S0[t, i] -> [(t)]; S1[t, i] -> [(t)] }]",
    )


def test_a_loop_without_dependences_stays_whole() -> None:
    assert not is_distributed(
        "jacobi-1d",
        "[{ S0[t, i] -> [(2t)]; S1[t, i] -> [(2t + 1)] }, { S0[t, i] -> [(i)]; S1[t, i] -> [(i)] }]",
    )


def test_a_single_loop_stays_whole() -> None:
    assert not is_distributed("jacobi-1d", "[{ S0[t, i] -> [(t)]; S1[t, i] -> [(t)] }]")


def exchanged(A, B, n):
    for i in range(n):
        for j in range(n - 1, i, -1):
            B[i + 3, j + 1], B[j, i + 1] = B[j, i + 1], B[i + 3, j + 1]
        B[i + 2, i] += 1.0 + A[5 - i, i + 2]
        A[i + 2, n - 2 * i + 4], A[i + 2, i + 4] = A[i + 1, i + 7], A[i + 2, n - 2 * i + 4]


def test_variable_of_each_iteration_keeps_its_loop_whole_where_live_ranges_are_reordered() -> None:
    """In a tile i is innermost, and the exchanges of one j follow one another, which in the source none does."""
    types = (("A", ArrayType("float64", 2)), ("B", ArrayType("float64", 2)), ("n", ScalarType("int64")))
    plans = Stages(exchanged, Signature(types), strict=True).plans
    wavefronts = [plan for plan in plans if any(region.kind is RegionKind.WAVEFRONT for region in plan.regions)]
    assert wavefronts
    for plan in plans:
        assert is_proven_legal(plan.schedule, plan.dependences), plan.name
