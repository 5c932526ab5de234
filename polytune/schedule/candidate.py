"""Orders, the schedules found for them that code may be generated from, and how plans are made of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from typing import Generic, TypeVar

import islpy as isl

from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.analysis.dependences import Dependences, relaxed_dependences
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

    def with_found(self, *candidates: Candidate) -> Known:
        """The same with other candidates, and with what has been computed so far."""
        known = Known(self.dependences, candidates)
        if "relaxed" in self.__dict__:
            known.__dict__["relaxed"] = self.relaxed
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
