"""Orders, the schedules found for them that code may be generated from, and how plans are made of these.

The candidates of a kernel are the few legal ones among them that are worth generating code from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Generic, TypeVar

import islpy as isl

from polytune.frontend.polyhedral.budget import PROOF_BUDGET, is_time_left, within_budget
from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.analysis.dependences import Dependences, relaxed_dependences
from polytune.schedule.analysis.nests import nest_of_points
from polytune.schedule.recipe import RecipePart


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The goals of a planner; an order says where it begins, and each transform of a plan changes it.

    Attributes:
        team: share work out at all; the whole is one piece of serial work else.
        wavefront: make a permutable band of two members or more, none of them coincident, a wavefront.
        interchange: put the member innermost within a tile along which arrays are contiguous.
        accumulate: put that member innermost, where there is one, along which everything updates the same elements.
        interleave: advance the points of a tile together: sink its coincident members below the loops inside them, so
            that a chain of dependent operations in an inner loop becomes many independent ones side by side.
        expand: give the points of a tile each their own copy of an array where that lets loops over them go inside the
            loops that use it.
        sums: let workers add up in copies of their own where that lets them share out the rows of a sweep.
        early: begin each row of a tile of a wavefront with the updates that wait for nothing in it.
        look_inside: find out which innermost loops of regions carry no dependence.
    """

    team: bool = True
    wavefront: bool = True
    interchange: bool = True
    accumulate: bool = False
    interleave: bool = False
    expand: bool = False
    sums: bool = False
    early: bool = False
    look_inside: bool = False


Result = TypeVar("Result")


@dataclass(frozen=True)
class Attempted(Generic[Result]):
    """The results that a phase could make, and the names of what it left out because isl gave up."""

    made: tuple[Result, ...]
    given_up: tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """The correspondence of the instances of a rewritten kernel and those of the one that it was made of.

    Attributes:
        source: the kernel as it was.
        relation: ``[p] -> { S'[i'] -> S[i] }``.
        copies: the names of statements that stand for nothing, as they only move values.
        whole: the names of statements whose instances stand each for many, all of which they do at once.
    """

    source: Scop
    relation: isl.UnionMap
    copies: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Candidate:
    """The schedule tree of an order, and the dependences that it was computed for and must respect.

    ``serial`` names statements that are too little work to be shared out.  ``origin`` says how the kernel that the
    dependences are of was made of the source's; None where it is the source's.
    """

    order: Order
    schedule: isl.Schedule
    dependences: Dependences
    serial: frozenset[str] = frozenset()
    origin: Origin | None = None

    @property
    def name(self) -> str:
        """The order's name."""
        return self.order.name


@dataclass(frozen=True)
class Need:
    """A property that a kernel must have for an order or a transform to be tried.

    Attributes:
        what: the end of a sentence that begins with "It needs".
        is_met: tells by the kernel's dependences.
    """

    what: str
    is_met: Callable[[Dependences], bool] = field(repr=False)

    def __str__(self) -> str:
        return self.what


REASSOCIATION = Need("sums that may be reassociated", lambda dependences: not dependences.scop.strict)


@dataclass(frozen=True)
class Known:
    """The knowledge of a kernel when an order is looked for.

    Attributes:
        dependences: the kernel's.
        found: the candidates of the orders before, in the order of their promise; the source order is the first one.
    """

    dependences: Dependences
    found: tuple[Candidate, ...] = ()

    @property
    def scop(self) -> Scop:
        """The kernel."""
        return self.dependences.scop

    @cached_property
    def relaxed(self) -> Dependences:
        """The dependences without those among the updates of a reduction."""
        if all(statement.reduction is None for statement in self.scop.statements):
            return replace(self.dependences, relaxed=True)
        return relaxed_dependences(self.dependences)

    @cached_property
    def nest(self) -> isl.Schedule | None:
        """The source order as a nest of points that nothing else is better for; None where it is no such nest, or where
        isl gives up."""
        context = self.scop.context.get_ctx()
        return within_budget(context, PROOF_BUDGET, lambda: nest_of_points(self.dependences))

    def with_found(self, *candidates: Candidate) -> Known:
        """The same with other candidates, and with what has been computed so far."""
        known = Known(self.dependences, candidates)
        for name in ("relaxed", "nest"):
            if name in self.__dict__:
                known.__dict__[name] = getattr(self, name)
        return known


@dataclass(frozen=True, kw_only=True)
class Order(RecipePart):
    """An order of execution that may be legal for a kernel.

    Attributes:
        find: makes its schedules, none where the kernel has nothing for it.
        needs: what a kernel must have for it to be tried.
        options: how plans of it are made.
        is_second: whether it is the most promising one, after the source order, and takes the place of equal ones.
        may_repeat: whether a schedule that another order has too is kept.
        for_devices: its rank among the orders that devices may follow, of those that suit them equally.  None where no
            device may: where regions are too little work to start a device for, as pieces of split loops are; where
            all arrays would move between platforms, as transposed copies would; where the sums are the workers' own.
    """

    find: Callable[[Known], Attempted[Candidate]] = field(repr=False)
    needs: tuple[Need, ...] = ()
    options: PlanOptions = field(default_factory=PlanOptions)
    is_second: bool = False
    may_repeat: bool = False
    for_devices: int | None = None


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
