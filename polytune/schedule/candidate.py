"""Orders, and the schedules found for them that code may be generated from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import islpy as isl

from polytune.frontend.scop import Scop
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.attempted import Attempted
from polytune.schedule.plan_options import PlanOptions
from polytune.schedule.recipe import RecipePart


@dataclass(frozen=True)
class Origin:
    """How the instances of a rewritten kernel stand for those of the one that it was made of.

    Attributes:
        source: the kernel as it was.
        relation: ``[p] -> { S'[i'] -> S[i] }``.
        copies: the names of statements that stand for nothing, as they only move values.
    """

    source: Scop
    relation: isl.UnionMap
    copies: frozenset[str] = frozenset()


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
    """What a kernel must have for an order or a transform to be tried.

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
    """What is known of a kernel when an order is looked for.

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
        return compute_dependences(self.scop, relax_reductions=True)

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
