"""Transforms of plans: what may be shared out, and how tiles are ordered, otherwise than the order by itself has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from polytune.frontend.expression import Assign, Iterator, walk
from polytune.frontend.scop import Scop, Statement
from polytune.records import dataclass
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.candidate import Candidate, PlanOptions
from polytune.schedule.orders.source import SOURCE
from polytune.schedule.recipe import RecipePart
from polytune.schedule.regions import Plan, Region, RegionKind
from polytune.schedule.tiles.early_updates import updates_inside
from polytune.schedule.unions import sets_of

MOST_INTERLEAVED = 2_000
"""The largest kernel whose points are interleaved, by the constraints of its dependences."""


@dataclass(frozen=True, kw_only=True)
class PlanTransform(RecipePart):
    """A rewrite of the plan that is made of an order.

    Attributes:
        change: the options of plans that have it, of those that the recipe so far has.
        is_for: whether it is tried for a candidate, given the plans made of that so far.
        is_in: whether a plan that was made with it has anything of it; else it is left out.
        after: the transforms of plans that it comes after.
    """

    change: Callable[[PlanOptions], PlanOptions] = field(repr=False)
    is_for: Callable[[Candidate, Sequence[Plan]], bool] = field(repr=False)
    is_in: Callable[[Plan], bool] = field(default=lambda plan: True, repr=False)
    after: tuple[PlanTransform, ...] = ()


def options_of(candidate: Candidate, transforms: Sequence[PlanTransform]) -> PlanOptions:
    """Return how a candidate's plan is made with some transforms."""
    options = candidate.order.options
    for transform in transforms:
        options = transform.change(options)
    return options


def _with(**changes: Any) -> Callable[[PlanOptions], PlanOptions]:
    return lambda options: replace(options, **changes)


def _is_source(candidate: Candidate, plans: Sequence[Plan]) -> bool:
    return candidate.order == SOURCE


def _may_interleave(candidate: Candidate, plans: Sequence[Plan]) -> bool:
    # Loops of long programs take as long to generate again as all else, for the sake of a few.
    if candidate.order != SOURCE or candidate.dependences.constraints > MOST_INTERLEAVED:
        return False
    return not plans or any(map(_has_loops_inside, (region for plan in plans for region in plan.regions)))


def _has_loops_inside(region: Region) -> bool:
    """Return whether points of a region that is shared out by tiles have loops, in the order of the source."""
    return region.kind is RegionKind.PARALLEL and region.statement_depth > region.outer_depth + region.depth


def _is_scheduled(candidate: Candidate) -> bool:
    """Return whether a candidate is not the source order, nor one for sums of the workers' own."""
    return candidate.order != SOURCE and not candidate.order.options.sums


def _source_of(candidate: Candidate) -> Scop:
    """The kernel as the source has it."""
    return candidate.dependences.scop if candidate.origin is None else candidate.origin.source


def accumulates(statement: Statement) -> bool:
    """Return whether several instances of a statement update one element: only then can anything stay in registers."""
    return any(
        isinstance(operation, Assign)
        and operation.target in walk(operation.value)
        and not set(statement.iterators) <= {part.name for part in walk(operation.target) if isinstance(part, Iterator)}
        for operation in statement.operations
    )


def _may_accumulate(candidate: Candidate, plans: Sequence[Plan]) -> bool:
    return _is_scheduled(candidate) and any(map(accumulates, _source_of(candidate).statements))


def _has_wavefront(candidate: Candidate, plans: Sequence[Plan]) -> bool:
    regions = [region for plan in plans for region in plan.regions]
    return _is_scheduled(candidate) and any(region.kind is RegionKind.WAVEFRONT for region in regions)


def _has_private_arrays(candidate: Candidate, plans: Sequence[Plan]) -> bool:
    """Return whether workers have copies of arrays in a candidate's plans so far, or may have some if there is none."""
    if not _is_scheduled(candidate):
        return False
    private = frozenset(name for plan in plans for region in plan.regions for name in region.private)
    if not plans:
        private = candidate.dependences.privatisable
    return any(array.ndim and array.name in private for array in _source_of(candidate).arrays)


def _has_updates_inside(candidate: Candidate, plans: Sequence[Plan]) -> bool:
    own = candidate.dependences.scop
    regions = [region for plan in plans for region in plan.regions]
    return _is_scheduled(candidate) and any(has_updates_inside(region, own) for region in regions)


def has_updates_inside(region: Region, scop: Scop) -> bool:
    """Return whether points of a wavefront have a loop inside that updates elements."""
    names = {part.get_tuple_name() for part in sets_of(region.domain)}
    return region.kind is RegionKind.WAVEFRONT and updates_inside(scop, names, region.depth) is not None


PARALLEL = PlanTransform(
    name="parallel",
    meaning="the loops of the source shared out as they are",
    is_seen=True,
    is_needed=True,
    includes=(SOURCE,),
    change=_with(team=True),
    is_for=_is_source,
)

INTERLEAVED = PlanTransform(
    name="interleaved",
    meaning="the points of a tile side by side, inside the loops that they depend on",
    includes=(SOURCE, PARALLEL),
    change=_with(interleave=True),
    is_for=_may_interleave,
    # The members that are sunk go below loops that are not of their band: that has to be proven.
    is_in=lambda plan: plan.interleaves and is_proven_legal(plan.schedule, plan.dependences),
    after=(PARALLEL,),
)

INNER = PlanTransform(
    name="inner",
    meaning="no diagonals of tiles: independent iterations of loops inside are shared out",
    is_seen=True,
    change=_with(wavefront=False),
    is_for=_has_wavefront,
)

ACCUMULATED = PlanTransform(
    name="accumulated",
    meaning="the innermost loop is one that updates the same elements again and again",
    is_seen=True,
    change=_with(accumulate=True),
    is_for=_may_accumulate,
    is_in=lambda plan: plan.accumulates,
    is_whole=False,
    promise=1,
)

EXPANDED = PlanTransform(
    name="expanded",
    meaning="copies of what a point works in for each of the points that are computed side by side",
    change=_with(expand=True),
    is_for=_has_private_arrays,
    is_in=lambda plan: plan.expands,
    promise=1,
)

EARLY = PlanTransform(
    name="early",
    meaning="in each row of a tile, updates that wait for nothing there come first, side by side",
    change=_with(interchange=False, early=True),
    is_for=_has_updates_inside,
    is_in=lambda plan: plan.begins_early,
)

PARTITIONED = PlanTransform(
    name="partitioned",
    meaning="parts of regions on several platforms, without diagonals of tiles",
    is_seen=True,
    change=_with(team=True, wavefront=False, interchange=True),
    is_for=lambda candidate, plans: candidate.order.for_devices is not None,
)
