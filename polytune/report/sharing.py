"""The loops of the source that each version shares out among workers."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polytune.frontend.scop import ReportedLoop
from polytune.pipeline import Stages
from polytune.schedule.recipe import Recipe
from polytune.schedule.regions import Plan, Region, RegionKind

__all__ = ["Sharing", "sharing_of"]

Sharing = Mapping[RegionKind, tuple[str, ...]]
"""The versions that share out a loop's iterations in a way, in parallel or along diagonals, by that way."""


def sharing_of(stages: Stages) -> dict[ReportedLoop, Sharing]:
    """The versions in which the iterations of each loop of the source are shared out.

    A version does so where the loop's variable is in a member of a band that workers share; the variables of a
    rewritten kernel are not those of the source, and nothing is said of them.
    """
    versions: dict[Recipe, list[str]] = {}
    for program in stages.programs:
        versions.setdefault(program.recipe.of_plan, []).append(program.name)
    found: dict[ReportedLoop, dict[RegionKind, tuple[str, ...]]] = {loop: {} for loop in stages.scop.loops}
    for plan in stages.plans:
        names = tuple(versions.get(plan.recipe, ()))
        for loop, kinds in found.items():
            for kind in _kinds(plan, loop):
                kinds[kind] = tuple(dict.fromkeys((*kinds.get(kind, ()), *names)))
    return {loop: {kind: each for kind, each in kinds.items() if each} for loop, kinds in found.items()}


def _kinds(plan: Plan, loop: ReportedLoop) -> list[RegionKind]:
    return [region.kind for region in plan.regions if region.kind is not RegionKind.SERIAL and _shares(region, loop)]


def _shares(region: Region, loop: ReportedLoop) -> bool:
    if region.band is None:
        return False
    for member in range(region.shared):
        parts: list[isl.PwAff] = []
        region.band.get_union_pw_aff(member).foreach_pw_aff(parts.append)
        for part in parts:
            domain = part.domain()
            if domain.get_tuple_name() not in loop.statements or domain.dim(isl.dim_type.set) <= loop.depth:
                continue
            # The conditions under which the expression holds are those of the domain: they share nothing out.
            if part.gist(domain).involves_dims(isl.dim_type.in_, loop.depth, 1):
                return True
    return False
