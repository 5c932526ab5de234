"""Mappings: all members once, the contiguous one as x, and only members without dependences shared out."""

from __future__ import annotations

import pytest

from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.platforms.mapping import MOST_AXES, Mapping, map_region
from polytune.schedule.regions import MARK, Plan, RegionKind
from polytune.schedule.tree import below_mark
from tests.schedule.platforms.test_partition import CASES, DEEP, plan_of


def mappings(plan: Plan) -> list[Mapping]:
    found = [map_region(plan, region) for region in plan.regions]
    assert [mapping is None for mapping in found] == [region.kind is not RegionKind.PARALLEL for region in plan.regions]
    return [mapping for mapping in found if mapping is not None]


@pytest.mark.parametrize("name", [*CASES, *DEEP, "heat-3d", "cholesky"])
def test_members_are_the_bands_in_another_order(name: str) -> None:
    plan = plan_of(name)
    for mapping in mappings(plan):
        region = mapping.region
        assert region.band is not None
        assert sorted(mapping.positions) == list(range(region.depth))
        for member, position in enumerate(mapping.positions):
            ours, theirs = mapping.band.get_union_pw_aff(member), region.band.get_union_pw_aff(position)
            assert ours.plain_is_equal(theirs)
        assert 1 <= mapping.axes <= MOST_AXES
        # The members that are split keep their limits on a device: they are mapped, or run through in order.
        assert set(range(region.shared)) <= set(mapping.positions)


@pytest.mark.parametrize("name", [*CASES, *DEEP, "heat-3d"])
def test_mapped_members_are_independent(name: str) -> None:
    """Asked of the schedule that the kernel is generated from, once more."""
    plan = plan_of(name)
    for mapping in mappings(plan):
        node = below_mark(mapping.schedule.get_root(), f"{MARK}{mapping.region.index}")
        assert node is not None
        coincident = analyse_band(node, plan.dependences).coincident
        assert all(coincident[mapping.sequential : mapping.members])


@pytest.mark.parametrize(
    ("name", "region", "x", "sequential"),
    [
        # C[i, j] += A[i, k] * B[k, j]: j is contiguous in two of three references, and k runs within a thread.
        ("gemm", 1, 1, (2,)),
        # y[j] += A[i, j] * tmp[i]: the sum runs over i.
        ("atax", 3, 0, (1,)),
        # The last of three members, each of which is independent.
        ("heat-3d", 0, 2, ()),
        ("transposed_copy", 1, 1, ()),
        ("triangular", 0, 0, (1,)),
    ],
)
def test_the_contiguous_member_is_x(name: str, region: int, x: int, sequential: tuple[int, ...]) -> None:
    plan = plan_of(name)
    mapping = map_region(plan, plan.regions[region])
    assert mapping is not None
    assert (mapping.positions[-1], mapping.positions[: mapping.sequential]) == (x, sequential)


def test_serial_region_is_not_mapped() -> None:
    plan = plan_of("descending")
    assert [region.kind for region in plan.regions] == [RegionKind.SERIAL, RegionKind.PARALLEL]
    assert map_region(plan, plan.regions[0]) is None
