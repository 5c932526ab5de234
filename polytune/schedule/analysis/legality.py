"""The exact check that every schedule has to pass before code is generated from it."""

from __future__ import annotations

import islpy as isl

from polytune.errors import LegalityError
from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.candidate import Candidate
from polytune.schedule.unions import maps_of, sets_of, union_of


def check_legality(candidate: Candidate) -> bool:
    """Return whether the candidate's schedule is proven legal, see ``violation``; False where isl gives up on the
    proof.

    Raises:
        LegalityError: the schedule is proven wrong; names the dependence that is violated.
    """
    found = _checked(candidate.schedule, candidate.dependences)
    if found:
        raise LegalityError(
            f"schedule {candidate.name!r} of kernel {candidate.dependences.scop.name!r} {found}\n"
            "This is a defect of polytune; please report it with the kernel's source."
        )
    return found is not None


def is_proven_legal(schedule: isl.Schedule, dependences: Dependences, *, copied: frozenset[str] = frozenset()) -> bool:
    """Return whether the exact check says that a schedule is legal, see ``violation``; not, where isl gives up on
    it.

    Args:
        schedule: of all statement instances.
        dependences: what it has to respect.
        copied: the arrays whose live ranges may be interleaved, as each has elements of its own.
    """
    return _checked(schedule, dependences, copied) == ""


def _checked(schedule: isl.Schedule, dependences: Dependences, copied: frozenset[str] = frozenset()) -> str | None:
    """Return what a schedule does wrong, nothing (``""``), or None: not known, as isl gave up."""
    # Plans often execute in the very order of the schedule that they are made of.
    key = (str(schedule.get_map()), copied)
    if key in dependences.kept_by:
        return ""
    context = schedule.get_ctx()
    found = within_budget(context, PHASE_BUDGET, lambda: violation(schedule, dependences, copied=copied) or "")
    if found == "":
        dependences.kept_by.add(key)
    return found


def violation(schedule: isl.Schedule, dependences: Dependences, *, copied: frozenset[str] = frozenset()) -> str | None:
    """Return what a schedule, executed in its sequential order, does wrong; None if it computes what the source
    computes.

    With T the schedule as one map to time: every forced dependence s -> t must have T(s) lexicographically before T(t).
    The false dependences of a privatisable array may be broken only if no live range is: for a flow w -> r and any
    other write v of the same element, never T(w) < T(v) < T(r).  What runs in parallel or tiled is checked per band
    (``bands.analyse_band``), on top of this order.

    Args:
        schedule: of all statement instances.
        dependences: what it has to respect.
        copied: the arrays whose live ranges may be interleaved, as each has elements of its own.
    """
    times = schedule.get_map()
    violated = not_forward(dependences.forced, times)
    if not violated.is_empty():
        return f"violates dependences: {violated}"
    for array in sorted(dependences.privatisable - copied):
        if not not_forward(dependences.order[array], times).is_empty() and _interleaves(array, dependences, times):
            return f"interleaves live ranges of {array!r}"
    return None


def not_forward(relation: isl.UnionMap, times: isl.UnionMap) -> isl.UnionMap:
    """``{ s -> t in relation : not T(s) < T(t) }``, restricted to the statement pairs that have such instances."""
    bad = isl.UnionMap.empty(relation.get_space())
    times_of: dict[str, isl.UnionMap] = {}
    for each in maps_of(times):
        name = each.get_tuple_name(isl.dim_type.in_)
        whole = isl.UnionMap.from_map(each)
        times_of[name] = times_of[name].union(whole) if name in times_of else whole
    for pair in maps_of(relation):
        single = isl.UnionMap.from_map(pair)
        before, after = (times_of.get(pair.get_tuple_name(end)) for end in (isl.dim_type.in_, isl.dim_type.out))
        if before is None or after is None:  # one of them has no instance for any sizes that fit
            continue
        steps = sets_of(single.apply_domain(before).apply_range(after).deltas())
        if not all(_lexicographically_positive(step) for step in steps):
            bad = bad.union(single)
    return bad


def _lexicographically_positive(steps: isl.Set) -> bool:
    """Return whether every member of a set of time differences is lexicographically greater than zero.

    That is so where, for each k, no member with zeros before place k is negative there, and none has zeros alone.  One
    place at a time, that is far less work for isl than the relation of all pairs in lexicographic order.
    """
    minus_one = isl.Val.one(steps.get_ctx()).neg()
    undecided = steps
    for place in range(steps.dim(isl.dim_type.set)):
        if undecided.is_empty():
            return True
        if not undecided.upper_bound_val(isl.dim_type.set, place, minus_one).is_empty():
            return False
        undecided = undecided.fix_val(isl.dim_type.set, place, isl.Val.zero(steps.get_ctx()))
    return undecided.is_empty()


def _interleaves(array: str, dependences: Dependences, times: isl.UnionMap) -> bool:
    """Return whether some write of an array falls, in time, strictly between a write of the same element and a read of
    its value."""
    scop = dependences.scop
    accesses = [a for s in scop.statements for a in s.accesses if a.array == array and a.is_write]
    writes = union_of((isl.UnionMap.from_map(a.relation) for a in accesses), scop)
    flow = dependences.flow[array]
    times = times.intersect_domain(writes.domain().union(flow.range()))
    # other : w -> v, two writes of one element, v later than w in the new order.
    other = writes.apply_range(writes.reverse()).intersect(times.lex_lt_union_map(times))
    # between : w -> r such that some v lies before r; compared with the flow w -> r.
    return not other.apply_range(times.lex_lt_union_map(times)).intersect(flow).is_empty()
