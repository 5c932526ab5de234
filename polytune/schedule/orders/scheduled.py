"""The orders that isl's scheduler makes of all statement instances, a strategy each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.candidate import REASSOCIATION, Attempted, Candidate, Known, Need, Order
from polytune.schedule.orders.further import is_too_large, updates_own_scalars
from polytune.schedule.scheduler import LEAST_FUSED, MOST_FUSED, Strategy, legal_schedule
from polytune.schedule.unions import maps_of


def has_reductions(dependences: Dependences) -> bool:
    """Return whether updates of a reduction depend on one another; so too where isl does not know within its budget."""
    context = dependences.scop.context.get_ctx()
    return not within_budget(context, PHASE_BUDGET, dependences.reductions.is_empty)


def is_strongly_connected(dependences: Dependences) -> bool:
    """Return whether every statement depends on every other, directly or not, so that all of them have to share a
    loop."""
    follows: dict[str, set[str]] = {statement.name: set() for statement in dependences.scop.statements}

    for relation in (*dependences.flow.values(), *dependences.order.values()):
        for part in maps_of(relation):
            follows[part.get_tuple_name(isl.dim_type.in_)].add(part.get_tuple_name(isl.dim_type.out))
    for start in follows:
        reached, frontier = set(), {start}
        while frontier:
            reached |= frontier
            frontier = set().union(*(follows[name] for name in frontier)) - reached
        if len(reached) < len(follows):
            return False
    return True


REDUCTIONS = Need("updates of a reduction, which depend on one another", has_reductions)
SEPARATE_PARTS = Need(
    "statements that need not share a loop", lambda dependences: not is_strongly_connected(dependences)
)


def has_parallel_loops_outermost(known: Known) -> bool:
    """Return whether the order that was found first has independent iterations in all of its outermost loops."""
    return len(known.found) > 1 and _is_coincident(known.found[1].schedule.get_root())


def _is_coincident(node: isl.ScheduleNode) -> bool:
    """Return whether the outermost bands at and below a node begin with a coincident member."""
    if node.get_type() == isl.schedule_node_type.band:
        return bool(node.band_member_get_coincident(0))
    return all(_is_coincident(node.child(position)) for position in range(node.n_children()))


def scheduled(
    name: str,
    strategy: Strategy,
    *,
    meaning: str,
    relaxed: bool = False,
    unless: Callable[[Known], bool] = lambda known: False,
    known_already: Callable[[Known], isl.Schedule | None] = lambda known: None,
    **about: Any,
) -> Order:
    """The order that isl's scheduler makes under a strategy.

    Args:
        name: what it is called.
        strategy: the scheduler's settings.
        meaning: what people are told of it.
        relaxed: whether the updates of reductions need not keep their order.
        unless: whether the orders that are known have already what it is looked for.
        known_already: gives the schedule where isl's scheduler need not be asked for it.
        about: what else is said of the order.
    """

    def find(known: Known) -> Attempted[Candidate]:
        if unless(known):
            return Attempted((), ())
        if relaxed and is_too_large(known):
            return Attempted((), (name,))
        dependences = known.relaxed if relaxed else known.dependences
        schedule = known_already(known) or legal_schedule(known.scop, dependences, strategy)
        return Attempted((), (name,)) if schedule is None else Attempted((Candidate(order, schedule, dependences),), ())

    order = Order(name=name, meaning=meaning, is_seen=True, find=find, **about)
    return order


TILED = scheduled(
    "tiled",
    Strategy(),
    known_already=lambda known: known.nest,
    meaning="loops that may be interchanged in one band as deep as there is, with loops over time in it",
    for_devices=2,
)
COINCIDENT = scheduled(
    "coincident",
    Strategy(outer_coincidence=True),
    meaning="loops of independent iterations outermost, where tiled has others",
    unless=has_parallel_loops_outermost,
    for_devices=1,
)
DISTRIBUTED = scheduled(
    "distributed",
    LEAST_FUSED,
    meaning="statements that need not share a loop in loops of their own",
    needs=(SEPARATE_PARTS,),
    for_devices=0,
)
FUSED = scheduled(
    "fused",
    MOST_FUSED,
    meaning="as many statements in one loop as may be",
    needs=(SEPARATE_PARTS,),
    for_devices=4,
)
REASSOCIATED = scheduled(
    "reassociated",
    Strategy(),
    relaxed=True,
    unless=updates_own_scalars,
    meaning="as tiled, with the updates of a reduction in any order",
    needs=(REASSOCIATION, REDUCTIONS),
    for_devices=4,
)
