"""Partition: the leading coincident members of a band cut in two by parameters, each part for a platform of its own.

After Pfaffe, Grosser and Tillmann, "Efficient Hierarchical Online-Autotuning" (ICS 2019), section 3.2: a set node above
the band, whose filters bound the member by a parameter, once per member that is split; 2^d parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import islpy as isl

from polytune.errors import LegalityError
from polytune.schedule.bands import open_dependences
from polytune.schedule.candidate import Candidate
from polytune.schedule.regions import MARK, Plan, Region, below_mark, plan_parallel
from polytune.schedule.unions import sets_of, union_of

MOST_SPLITS = 2
"""How many members are split at most: four parts."""


def choose_plan(candidates: Sequence[Candidate]) -> Plan | None:
    """The plan that suits devices best; None where no schedule has a coincident band, or isl gives up on all of them.

    Devices want many independent points at a time, started seldom: of the heaviest regions, those with the fewest
    loops around, then those with the most coincident members; of equals, the schedule with the least fusion, whose
    regions are simplest.
    """
    best: tuple[tuple[int, ...], Plan] | None = None
    for candidate in candidates:
        plan = plan_parallel(candidate, wavefront=False, interchange=True, name=candidate.name)
        if plan is None:
            continue
        parallel = [region for region in plan.regions if split_depth(region)]
        if not parallel:
            continue
        work = {region.index: _loops(region) for region in plan.regions}
        heaviest = [region for region in parallel if work[region.index] == max(work.values())]
        cost = (
            not heaviest,
            max((region.outer_depth for region in heaviest), default=0),
            -min((min(region.shared, 3) for region in heaviest), default=0),
            _PREFERRED.index(candidate.name) if candidate.name in _PREFERRED else len(_PREFERRED),
        )
        if best is None or cost < best[0]:
            best = cost, plan
    return None if best is None else best[1]


_PREFERRED = ("distributed", "coincident", "tiled", "source")


def _loops(region: Region) -> int:
    """How many loops there are around the innermost statement of a region."""
    return max((part.dim(isl.dim_type.set) for part in sets_of(region.domain)), default=0)


def split_depth(region: Region) -> int:
    """How many members of a region's band may be split: leading coincident ones."""
    return min(region.shared, MOST_SPLITS) if region.kind.value == "parallel" else 0


def partition(plan: Plan, region: Region, depth: int) -> isl.Schedule:
    """The plan's schedule with a region split into ``2^depth`` parts.

    With split parameters ``R0, R1, ...`` the parts are ``{ x : B_d(x) < R_d }`` and ``{ x : B_d(x) >= R_d }`` for each
    of the first members B_d of the band, and all their combinations.  They are the children of a set node: in any
    order, at the same time, on different platforms.

    Raises:
        LegalityError: a dependence leads from one part to another.  It does not where the members are coincident.
    """
    node = below_mark(plan.schedule.get_root(), f"{MARK}{region.index}")
    assert node is not None, "every region of a plan has a mark in its schedule"
    assert region.band is not None and depth <= split_depth(region)
    parts = [node.get_domain()]
    for member in range(depth):
        position = isl.UnionMap.from_union_pw_aff(region.band.get_union_pw_aff(member))
        sides = [position.intersect_range(isl.UnionSet(side)).domain() for side in _sides(node.get_ctx(), member)]
        parts = [part.intersect(side) for part, side in product(parts, sides)]
    dependences = plan.dependences
    kept = [relation for array, relation in dependences.order.items() if array not in region.private]
    binding = open_dependences(union_of([dependences.all_flow, *kept], dependences.scop), node)
    for source, sink in product(range(len(parts)), repeat=2):
        crossing = binding.intersect_domain(parts[source]).intersect_range(parts[sink])
        if source != sink and not crossing.is_empty():
            raise LegalityError(
                f"the parts of region {region.index} of kernel {dependences.scop.name!r} depend on one another: "
                f"{crossing}\nThis is a defect of polytune; please report it with the kernel's source."
            )
    filters = isl.UnionSetList.alloc(node.get_ctx(), len(parts))
    for part in parts:
        filters = filters.add(part.gist(node.get_domain()))
    return node.insert_set(filters).get_schedule()


def _sides(context: isl.Context, member: int) -> tuple[isl.Set, isl.Set]:
    """``{ [b] : b < R }`` and ``{ [b] : b >= R }`` for the split parameter of a member."""
    space = isl.Space.set_alloc(context, 1, 1).set_dim_name(isl.dim_type.param, 0, f"R{member}")
    local = isl.LocalSpace.from_space(space)
    value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, 0))
    split = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.param, 0))
    return value.lt_set(split), value.ge_set(split)
