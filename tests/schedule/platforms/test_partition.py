"""Partitions against plain enumeration: every instance in one part, and no dependence between parts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import islpy as isl
import pytest

from polytune.errors import LegalityError
from polytune.schedule.plan_transform import PlanTransform
from polytune.schedule.planning import plan_parallel
from polytune.schedule.platforms.partition import MOST_SPLITS, Split, choose_plan, partition, splits_of
from polytune.schedule.regions import MARK, Plan, Region, RegionKind
from polytune.schedule.rewrites.factoring import FACTORED
from polytune.schedule.tree import below_mark
from tests.schedule.instances import Instance, Pair, Point, extents, pairs, parameters_at, times
from tests.schedule.kernels import SMALL, Case, polybench_case

SIZE = 5
CUTS = (-2, 0, 2, 3, 9)
"""Values of the split parameters: beyond both ends of every band, and within."""

NOT_SHARED = ("scalar_out_of_loop", "returned_scalar", "last_above", "two_sums_into_one")
"""Those of the small kernels that have no plan for devices, or one of partial sums, which are too many to be enumerated
and are split in tests of theirs."""

CASES = [name for name in SMALL if name not in NOT_SHARED]
"""Those that are shared with devices."""

DEEP = ("gemm", "atax", "trmm", "covariance")
"""Kernels of the suite with two members that can be split, with one, with a reduction, with several regions."""


def case_of(name: str) -> Case:
    return SMALL[name] if name in SMALL else polybench_case(name)


def plan_of(name: str) -> Plan:
    plan = case_of(name).stages.device_plan
    assert plan is not None
    return plan


def filters_of(schedule: isl.Schedule, region: Region) -> list[isl.UnionSet]:
    """The instances of each part, as the schedule says them."""
    below = below_mark(schedule.get_root(), f"{MARK}{region.index}")
    assert below is not None and below.get_type() == isl.schedule_node_type.set
    return [below.child(number).child(0).get_domain() for number in range(below.n_children())]


def at_cuts(part: isl.UnionSet, here: isl.Set, cuts: tuple[int, ...]) -> set[Instance]:
    """The instances of a part at a point of parameter space, for given values of the split parameters."""
    for number, cut in enumerate(cuts):
        here = here.intersect(isl.Set.read_from_str(here.get_ctx(), f"[R{number}] -> {{ : R{number} = {cut} }}"))
    return {instance for instance, _ in pairs(part.identity(), here)}


def positions_in(plan: Plan, region: Region, here: isl.Set) -> tuple[dict[Instance, Point], dict[Instance, Point]]:
    """The values of a region's band, and of the loops around it."""
    assert region.band is not None
    band = isl.UnionMap.from_multi_union_pw_aff(region.band).intersect_domain(region.domain)
    position = times(band, here)
    if region.prefix is None:
        return position, dict.fromkeys(position, ())
    prefix = isl.UnionMap.from_multi_union_pw_aff(region.prefix).intersect_domain(region.domain)
    return position, times(prefix, here)


@pytest.mark.parametrize("name", NOT_SHARED)
def test_kernels_that_are_left_out_have_nothing_to_share(name: str) -> None:
    plan = SMALL[name].stages.device_plan
    assert plan is None or plan.recipe.order == FACTORED


@pytest.mark.parametrize("name", [*CASES, *DEEP])
def test_parts_are_all_instances_and_nothing_crosses(name: str) -> None:
    plan = plan_of(name)
    scop = plan.dependences.scop
    here = parameters_at(scop, extents(scop, [SIZE, SIZE - 1, SIZE + 1] * len(scop.parameters), SIZE))
    dependent: set[Pair] = set()
    for array in plan.dependences.flow:
        dependent |= pairs(plan.dependences.flow[array], here)
    updates = pairs(plan.dependences.reductions, here)
    for region in plan.regions:
        splits = splits_of(plan, region)
        for depth in range(1, len(splits) + 1):
            chosen = splits[:depth]
            parts = filters_of(partition(plan, region, chosen), region)
            assert len(parts) == 2**depth
            position, around = positions_in(plan, region, here)
            order = set()
            for array, relation in plan.dependences.order.items():
                if array not in region.private:
                    order |= pairs(relation, here)
            for cuts in product(CUTS, repeat=depth):
                sides = [at_cuts(part, here, cuts) for part in parts]
                assert sorted(instance for side in sides for instance in side) == sorted(position)
                part_of = {instance: number for number, side in enumerate(sides) for instance in side}
                for instance, number in part_of.items():
                    digits = [position[instance][split.member] >= cut for split, cut in zip(chosen, cuts, strict=True)]
                    assert number == int("".join(str(int(digit)) for digit in digits), 2)
                combined = updates if any(split.reductions for split in chosen) else set()
                for source, sink in (dependent | order) - combined:
                    if source in part_of and sink in part_of and around[source] == around[sink]:
                        assert part_of[source] == part_of[sink], f"{source} -> {sink} at {cuts}"


def test_members_that_are_split() -> None:
    def found(name: str, strict: bool = False) -> list[tuple[int, tuple[tuple[str, str], ...]]]:
        (plan,) = choose_plan(replace(case_of(name).stages, strict=strict).candidates).made
        # Of the regions the one whose members are the most.
        region = max(plan.regions, key=lambda region: region.depth)
        return [(split.member, split.reductions) for split in splits_of(plan, region)]

    assert found("gemm") == [(0, ()), (1, ()), (2, (("C", "+"),))]
    assert found("gemm", strict=True) == [(0, ()), (1, ())]
    assert found("accumulated_from_zeros") == [(0, ()), (1, (("total", "+"),))]
    # A strict sum keeps its order.
    assert found("accumulated_from_zeros", strict=True) == [(0, ())]
    # Elements of later iterations are read, not only added to.
    assert found("triangular") == [(0, ())]


AS_IT_IS = PlanTransform(
    name="as_it_is",
    meaning="with wavefronts, and tiles in the order of the schedule",
    change=lambda options: replace(options, team=True, wavefront=True, interchange=False),
    is_for=lambda candidate, plans: True,
)


def test_three_coincident_members_are_split() -> None:
    plan = plan_of("heat-3d")
    assert [region.shared for region in plan.regions] == [3, 3]
    assert [len(splits_of(plan, region)) for region in plan.regions] == [MOST_SPLITS, MOST_SPLITS]


@pytest.mark.parametrize(
    ("name", "member"),
    [("in_place_stencil", 0), ("in_place_stencil", 1), ("stencil", 0), ("accumulated_from_zeros", 1), ("trmm", 1)],
)
def test_member_with_dependences_cannot_be_split(name: str, member: int) -> None:
    """By force: every wavefront or tiled band is taken for one of independent members."""
    refused = 0
    for candidate in case_of(name).stages.candidates:
        plan = plan_parallel(candidate, (AS_IT_IS,))
        assert plan is not None
        for region in plan.regions:
            if region.depth <= member or (member < region.shared and region.kind is RegionKind.PARALLEL):
                continue
            with pytest.raises(LegalityError, match=f"parts of region {region.index} of kernel"):
                partition(plan, region, [Split(member)])
            refused += 1
    assert refused


def test_reduction_that_is_not_combined_crosses() -> None:
    plan = plan_of("accumulated_from_zeros")
    region = plan.regions[0]
    split = splits_of(plan, region)[1]
    assert split.reductions
    partition(plan, region, [split])
    with pytest.raises(LegalityError, match="depend on one another"):
        partition(plan, region, [replace(split, reductions=())])


@pytest.mark.parametrize("name", ["scalar_out_of_loop", "returned_scalar", "last_above"])
def test_nothing_to_choose_where_nothing_is_independent(name: str) -> None:
    stages = SMALL[name].stages
    assert choose_plan(stages.candidates).made == ()
    assert stages.partitioned is None


def test_plan_with_the_most_independent_points_is_chosen() -> None:
    """Without loops around regions if there is any such plan, though others have deeper bands."""
    assert all(region.outer_depth == 0 for region in plan_of("gemm").regions)
    assert plan_of("gemm").regions[-1].shared == 2
    # Time must be around the regions of a stencil.
    assert {region.outer_depth for region in plan_of("stencil").regions} == {1}
