"""Candidates: the few legal orders of a kernel that are worth generating code from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polytune.frontend.budget import is_time_left
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.candidate import Attempted, Candidate, Known, Order


def candidate_schedules(
    dependences: Dependences, orders: Sequence[Order], is_proven: Callable[[Candidate], bool] = lambda candidate: True
) -> Attempted[Candidate]:
    """The schedules of all orders that a kernel has what it needs for.

    An order for which isl finds no legal schedule within its budget is given up, and so are those that no time is left
    for.  Schedules that an earlier order has
    too are left out; the source order, which is always there and always the first, does not count.

    Args:
        dependences: the kernel's.
        orders: in which order they are looked for; the source order is the first of them.
        is_proven: whether a schedule beside the source order may be used.  It is asked as soon as there is one, so that
            what was found is not lost where the time is used up by those that follow.
    """
    known = Known(dependences)
    given_up: list[str] = []
    for order in orders:
        if not all(need.is_met(dependences) for need in order.needs):
            continue
        if known.found and not is_time_left():
            # Not all that an order begins with has a budget: of dependences there must be some.
            given_up.append(order.name)
            continue
        attempted = order.find(known)
        given_up += attempted.given_up
        for candidate in attempted.made:
            extended = _with(candidate, known)
            if extended is known:
                continue
            if known.found and not is_proven(candidate):
                given_up.append(candidate.name)
            else:
                known = extended
    return Attempted(known.found, tuple(given_up))


def _with(candidate: Candidate, known: Known) -> Known:
    """Return what is known with one more candidate, if it is another one."""
    if not known.found or candidate.order.may_repeat:
        return known.with_found(*known.found, candidate)
    source, *others = known.found
    if candidate.order.is_second:
        return known.with_found(source, candidate, *(each for each in others if not _is_same(each, candidate)))
    if any(_is_same(each, candidate) for each in others if not each.order.may_repeat):
        return known
    return known.with_found(*known.found, candidate)


def _is_same(one: Candidate, other: Candidate) -> bool:
    return bool(one.schedule.plain_is_equal(other.schedule))
