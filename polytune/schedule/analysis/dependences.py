"""Dependences of a SCoP: which statement instance must come before which, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property, partial
from typing import Any

import islpy as isl

from polytune.frontend.budget import within_budget
from polytune.frontend.expression import Element, walk
from polytune.frontend.scop import Access, ArrayRole, Scop
from polytune.records import dataclass
from polytune.schedule.analysis.array_dependences import (
    FLOW_BUDGET,
    ArrayDependences,
    Precision,
    array_dependences,
    live_range_order,
)
from polytune.schedule.analysis.guarded_writes import Guarded, guarded_scalar, sees_certain_writes
from polytune.schedule.unions import coalesced, joined, union_of


@dataclass(frozen=True)
class Dependences:
    """Dependences of a SCoP, per array, between statement instances: ``[p] -> { S[i] -> T[j] }``.

    They are value-based and exact, but for arrays for which ``precision`` says otherwise: there are more of those then.

    Attributes:
        flow: per array, from the write of a value to each read of it.
        order: per array, the false dependences: from each access of a value to the write that ends its life
            (read to next write, write to next write).
        all_order: the same, but of privatisable arrays to every later write: what a schedule that has reordered live
            ranges may still change.
        tagged_flow, tagged_order: the same over all private-able arrays with the references attached,
            ``{ [S[i] -> ref[]] -> [T[j] -> ref'[]] }``, as isl's conditional validity wants them.
        reductions: the self-dependences of reduction statements (both kinds); part of ``flow`` and ``order`` unless
            ``relaxed``.
        privatisable: scalars and local arrays whose every read sees a value written inside the SCoP and that nothing
            reads afterwards: their false dependences may be broken by giving each worker a copy (live-range
            reordering, Verdoolaege and Cohen, "Live-Range Reordering", IMPACT 2016).
        precision: per array, how its dependences were found.
        relaxed: whether reductions may be reassociated: then the self-dependences are left out, and every value
            before or after a reduction is ordered against all of its instances.
        of_arrays: the same as it was found, per array.
        of_bands: what ``bands.analyse_band`` has found so far: plans of one schedule ask for the same bands again.
        kept_by: the orders that are proven legal, each the text of its map to time and the arrays that have copies.
    """

    scop: Scop
    flow: dict[str, isl.UnionMap]
    order: dict[str, isl.UnionMap]
    all_order: dict[str, isl.UnionMap]
    tagged_flow: isl.UnionMap
    tagged_order: isl.UnionMap
    reductions: isl.UnionMap
    privatisable: frozenset[str]
    precision: Mapping[str, Precision]
    relaxed: bool
    of_arrays: Mapping[str, ArrayDependences] = field(default_factory=dict, repr=False, compare=False)
    of_bands: dict[tuple[str, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    kept_by: set[tuple[str, frozenset[str]]] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def approximations(self) -> tuple[str, ...]:
        """A sentence for each array of which there may be more dependences than there really are."""
        reasons = {
            Precision.MEMORY_BASED: "memory-based, as isl gave up on the exact analysis",
            Precision.ORDER_BASED: "between all accesses in source order, as isl gave up on telling elements apart",
        }
        return tuple(
            f"dependences of {array}: {reasons[precision]}"
            for array, precision in self.precision.items()
            if precision in reasons
        )

    @cached_property
    def all_flow(self) -> isl.UnionMap:
        """The union of ``flow`` over all arrays."""
        return union_of(self.flow.values(), self.scop)

    @cached_property
    def forced(self) -> isl.UnionMap:
        """Return what every schedule must respect: all flow, and the false dependences of arrays that keep one copy."""
        kept = [relation for array, relation in self.order.items() if array not in self.privatisable]
        return union_of([self.all_flow, *kept], self.scop)

    @cached_property
    def everything(self) -> isl.UnionMap:
        """All flow and all false dependences."""
        return union_of([self.all_flow, *self.order.values()], self.scop)


def relaxed_dependences(dependences: Dependences) -> Dependences:
    """Return the dependences of the same kernel where the updates of reductions need not keep their order.

    Those of an array that no reduction updates are the same, and not computed again.
    """
    return compute_dependences(dependences.scop, relax_reductions=True, known=dependences)


def compute_dependences(
    scop: Scop,
    relax_reductions: bool = False,
    *,
    exact: bool = True,
    of_elements: bool = False,
    known: Dependences | None = None,
) -> Dependences:
    """The dependences over the source order, one array at a time.

    A read depends on the last write before it that must have happened, and on every write that may have happened in
    between (may-writes never kill).  The false dependences of a write go back to every access since the last certain
    write.  Where that is too hard for isl, or exactness is not asked for, they go back to every access, see
    :mod:`polytune.schedule.analysis.array_dependences`.

    Args:
        scop: the kernel.
        relax_reductions: whether the updates of a reduction may come in any order.
        exact: whether isl looks for the last write; else dependences are memory-based.
        of_elements: whether reductions that are relaxed are those of elements, of which several statements may be
            updates.
        known: what is known of the kernel without relaxation, which is used for the arrays to which that makes no
            difference; nothing where it is None.
    """
    found = _of_arrays(scop, relax_reductions, exact, of_elements, known)
    order_between = _orders_of_live_ranges(scop, found, relax_reductions, of_elements, known)
    privatisable = [found[name] for name in order_between]
    return Dependences(
        scop,
        {name: each.flow for name, each in found.items()},
        {name: each.order for name, each in found.items()},
        {name: each.order for name, each in found.items()} | order_between,
        _simplified((each.tagged_flow for each in privatisable if each.tagged_flow is not None), scop),
        _simplified((each.tagged_order for each in privatisable if each.tagged_order is not None), scop),
        _simplified((each.reductions for each in found.values()), scop),
        frozenset(order_between),
        {name: each.precision for name, each in found.items()},
        relax_reductions,
        found,
    )


def _of_arrays(
    scop: Scop, relax_reductions: bool, exact: bool, of_elements: bool, known: Dependences | None
) -> dict[str, ArrayDependences]:
    """The dependences of each array that is written, those that are known already not computed again."""
    reducing = {
        reference
        for statement in scop.statements
        if statement.reduction is not None
        for reference in (statement.reduction.read, statement.reduction.write)
    }
    found: dict[str, ArrayDependences] = {}
    guarded: dict[str, Guarded] = {}
    dependences = partial(
        array_dependences, scop=scop, relax_reductions=relax_reductions, exact=exact, of_elements=of_elements
    )
    for array in scop.arrays:
        touching = _accesses_of(array.name, scop)
        if known is not None and not any(access.reference in reducing for access in touching):
            if array.name in known.of_arrays:
                found[array.name] = known.of_arrays[array.name]
        elif any(access.is_write for access in touching):
            under_condition = guarded_scalar(array.name, scop) if exact else None
            if under_condition is None:
                found[array.name] = dependences(touching)
            else:
                guarded[array.name] = under_condition
    certain = {name: each.flow for name, each in found.items() if each.tagged_flow is not None}
    for name, under_condition in guarded.items():
        each = dependences(under_condition.accesses)
        if not sees_certain_writes(under_condition, each.flow, certain, scop):
            each = dependences(_accesses_of(name, scop))
        found[name] = each
    return {array.name: found[array.name] for array in scop.arrays if array.name in found}


def _orders_of_live_ranges(
    scop: Scop,
    found: Mapping[str, ArrayDependences],
    relax_reductions: bool,
    of_elements: bool,
    known: Dependences | None,
) -> dict[str, isl.UnionMap]:
    """The privatisable arrays, those whose live ranges may be reordered, with the order between these."""
    in_result = _scalars_of_result(scop)
    times = scop.schedule.get_map()
    orders: dict[str, isl.UnionMap] = {}
    for name, each in found.items():
        array = scop.array(name)
        is_own = array.role in (ArrayRole.LOCAL, ArrayRole.SCALAR) and not array.zeroed and name not in in_result
        if not is_own or each.tagged_flow is None or each.tagged_order is None:
            continue
        if known is not None and each is known.of_arrays.get(name):
            if name in known.privatisable:
                orders[name] = known.all_order[name]
            continue
        between = live_range_order(_accesses_of(name, scop), scop, relax_reductions, times, of_elements=of_elements)
        if between is not None:
            orders[name] = between
    return orders


def _accesses_of(array: str, scop: Scop) -> list[Access]:
    return [access for statement in scop.statements for access in statement.accesses if access.array == array]


def _simplified(relations: Iterable[isl.UnionMap], scop: Scop) -> isl.UnionMap:
    """The union of relations, simplified if isl can do so within its budget."""
    union = joined(relations, scop)
    simple = within_budget(scop.context.get_ctx(), FLOW_BUDGET, partial(coalesced, union))
    return union if simple is None else simple


def _scalars_of_result(scop: Scop) -> set[str]:
    if scop.result is None:
        return set()
    return {node.array for node in walk(scop.result) if isinstance(node, Element)}
