"""Dependences of a SCoP: which statement instance must come before which, and why.

Those of scalars that are assigned and read under one condition are as exact as without the condition.  The statements
of a loop that may end early are each under the test that it has not ended, and those of loops in ``if mask[i]: ...``
under that test, so that what they write may not happen, and a read of ``t`` in ``t = ...; use(t)`` seems to see all
earlier values of ``t``.  But where the read happens so does the write: both test one value of the same scalars, or the
same elements of arrays that nothing writes.

Let x be a scalar all of whose accesses are in statements ``if C: ...`` with one C over scalars and such elements G. The
dataflow analysis of x takes its assignments for certain. With F the flow that it finds, ``{ W[i] -> R[j] }``, and
``K = { S[i] -> V[v] }`` the assignment of each scalar g in G whose value an instance tests, ``{ S[i] -> A[a] }`` the
element where g is one, ``K(w) = K(r)`` has to hold for each pair (w, r) in F. Then w is executed where r is, so that r
sees no value from before w. The false dependences that the analysis leaves out, from a to a later write w' with the
certain write w between them, follow from those from a to w and from w to w', which hold for instances whether or not
the condition is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Any

import islpy as isl

from polytune.frontend.expression import (
    Assign,
    Branch,
    Compare,
    Constant,
    Element,
    Expression,
    Logical,
    Unary,
    walk,
)
from polytune.frontend.polyhedral.accesses import elements_in_order
from polytune.frontend.polyhedral.budget import within_budget
from polytune.frontend.scop import Access, AccessKind, ArrayRole, EarlyEnd, Scop, Statement
from polytune.records import dataclass
from polytune.schedule.analysis.array_dependences import (
    FLOW_BUDGET,
    ArrayDependences,
    Precision,
    array_dependences,
    live_range_order,
)
from polytune.schedule.unions import coalesced, domain_of, joined, maps_of, number_of_constraints, union_of


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
    def _of_one_copy(self) -> isl.UnionMap:
        """All flow, and the false dependences of arrays that keep one copy."""
        kept = [relation for array, relation in self.order.items() if array not in self.privatisable]
        return union_of([self.all_flow, *kept], self.scop)

    @cached_property
    def forced(self) -> isl.UnionMap:
        """Return what every schedule must respect: all flow, the false dependences of arrays that keep one copy, and
        those of the others between two writes of which one read may see either."""
        between = [self._between_writes_of_one_read(array) for array in self.order if array in self.privatisable]
        return union_of([self._of_one_copy, *between], self.scop)

    def _between_writes_of_one_read(self, array: str) -> isl.UnionMap:
        """``{ w -> v in order : w -> r and v -> r in flow }`` of an array to which some writes may happen, as far as v
        does not depend on w anyway.

        In the other order w would come between v and r, so that no schedule has that: ``C[k] = 1; C[l] = 2; B[:] = C``
        for indices k and l.  Of two writes that happen for certain no r sees both, and scalars are left in order by isl
        itself.
        """
        kinds = {access.kind for access in _accesses_of(array, self.scop)}
        if not self.scop.array(array).ndim or AccessKind.MAY_WRITE not in kinds:
            return isl.UnionMap.empty(self.scop.context.get_space())
        flow = self.flow[array]
        order = joined(
            (
                isl.UnionMap.from_map(part)
                for part in maps_of(self.order[array])
                if not part.is_subset(flow.extract_map(part.get_space()))
            ),
            self.scop,
        )
        return coalesced(order.intersect(flow.apply_range(flow.reverse())))

    @cached_property
    def everything(self) -> isl.UnionMap:
        """All flow and all false dependences."""
        return union_of([self.all_flow, *self.order.values()], self.scop)

    @cached_property
    def constraints(self) -> int:
        """Return the number of constraints of all dependences: how large a scheduling problem they are."""
        return number_of_constraints(self._of_one_copy) + number_of_constraints(self.everything)


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
    for end in scop.early_ends:
        if known is None or found[end.flag] is not known.of_arrays.get(end.flag):
            flag = found[end.flag]
            found[end.flag] = replace(flag, flow=flag.flow.union(_from_end(end, scop)))
    return {array.name: found[array.name] for array in scop.arrays if array.name in found}


def _from_end(end: EarlyEnd, scop: Scop) -> isl.UnionMap:
    """The dependences of all iterations of a loop that may end early on what may end it before them.

    ``{ E[c, i] -> S[c', i'] : c < c' }`` for its statements S, and those of them, E, that write the flag.
    """
    inside = [each for each in scop.statements if end.iterator in each.iterators]
    ending = [each for each in inside if any(access.array == end.flag for access in each.accesses)]
    values = {each.name: _iterator_of(each, end) for each in inside}
    pairs = (
        values[first.name].lex_lt_map(values[second.name]).intersect_domain(first.domain).intersect_range(second.domain)
        for first in ending
        for second in inside
    )
    return joined((isl.UnionMap.from_map(pair) for pair in pairs), scop)


def _iterator_of(statement: Statement, end: EarlyEnd) -> isl.MultiPwAff:
    """Return the value of a loop's iterator, or its negative where it counts down: ``{ S[c, i] -> [c] }``."""
    space = isl.LocalSpace.from_space(statement.domain.get_space())
    value = isl.Aff.var_on_domain(space, isl.dim_type.set, statement.iterators.index(end.iterator))
    return isl.MultiPwAff.from_pw_aff(isl.PwAff.from_aff(value if end.is_up else value.neg()))


def _observed_at_ends(scop: Scop) -> set[str]:
    """Return what is written in loops that may end early and used elsewhere: with whichever iteration these end, it is
    what the source has left, and so none of its writes may change places with others."""
    found: set[str] = set()
    for end in scop.early_ends:
        sides: dict[bool, set[str]] = {True: set(), False: set()}
        for statement in scop.statements:
            sides[end.iterator in statement.iterators] |= {access.array for access in statement.accesses}
        found |= {end.flag, *(sides[True] & sides[False])}
    return found


def _orders_of_live_ranges(
    scop: Scop,
    found: Mapping[str, ArrayDependences],
    relax_reductions: bool,
    of_elements: bool,
    known: Dependences | None,
) -> dict[str, isl.UnionMap]:
    """The privatisable arrays, those whose live ranges may be reordered, with the order between these."""
    kept = _scalars_of_result(scop) | _observed_at_ends(scop)
    times = scop.schedule.get_map()
    orders: dict[str, isl.UnionMap] = {}
    for name, each in found.items():
        array = scop.array(name)
        is_own = array.role in (ArrayRole.LOCAL, ArrayRole.SCALAR) and not array.zeroed and name not in kept
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


@dataclass(frozen=True)
class Guarded:
    """The accesses to a scalar under a condition.

    Attributes:
        accesses: all of them in source order, with the kinds that they have where the condition is true.
        guards: the scalars, and the elements of arrays that nothing writes, that the condition is over.
        statements: the statements that make the accesses.
    """

    accesses: tuple[Access, ...]
    guards: tuple[Element, ...]
    statements: tuple[Statement, ...]


def guarded_scalar(name: str, scop: Scop) -> Guarded | None:
    """The accesses to a scalar all of whose statements are under one condition over other scalars and elements that
    nothing writes; None where they are not, or where that makes no write certain.

    Args:
        name: the scalar.
        scop: its kernel.
    """
    if scop.array(name).role is not ArrayRole.SCALAR:
        return None
    statements = tuple(each for each in scop.statements if any(access.array == name for access in each.accesses))
    conditions = [_condition(statement) for statement in statements]
    if not conditions or conditions[0] is None or any(each != conditions[0] for each in conditions):
        return None
    guards = tuple(dict.fromkeys(_tested(conditions[0])))
    subscripted = {guard.array for guard in guards if guard.subscripts}
    if not guards or any(guard.array == name for guard in guards) or subscripted & _written(scop):
        return None
    accesses = [access for statement in statements for access in _accesses(statement, name)]
    if not any(access.kind is AccessKind.MUST_WRITE for access in accesses):
        return None
    return Guarded(tuple(accesses), guards, statements)


def sees_certain_writes(guarded: Guarded, flow: isl.UnionMap, flows: Mapping[str, isl.UnionMap], scop: Scop) -> bool:
    """Return whether under the condition each write that a read may depend on happens where the read does.

    Args:
        guarded: the accesses to a scalar.
        flow: from its writes to its reads, found with the kinds that the accesses have there.
        flows: those of the scalars that the condition is over, value-based, as far as each of their reads sees a value
            written inside the SCoP.
        scop: their kernel.
    """
    instances = domain_of(scop, guarded.statements).intersect_params(scop.context)
    for guard in guarded.guards:
        if guard.subscripts:
            tested = _elements_read(guard, guarded.statements, scop).intersect_domain(instances)
        elif guard.array not in flows or not _is_assigned_for_certain(guard.array, scop):
            return False
        else:
            tested = flows[guard.array].intersect_range(instances).reverse()
        if not tested.is_single_valued() or not instances.is_subset(tested.domain()):
            return False
        values = flow.apply_domain(tested).apply_range(tested)
        if any(not _is_identity(part) for part in maps_of(values)):
            return False
    return True


def _condition(statement: Statement) -> Expression | None:
    """The condition that all of a statement is under: over scalars, elements and constants, so that it has one value as
    long as none of these is assigned; None where there is none."""
    match statement.operations:
        case (Branch(condition, _, ()),) if _is_plain(condition):
            return condition
    return None


def _is_plain(condition: Expression) -> bool:
    """Return whether a condition is no more than comparisons of scalars, elements and constants: what is computed may
    be rounded in one place as it is not in another."""
    operands = _operands(condition)
    return all(map(_is_plain, operands)) if operands else isinstance(condition, Constant | Element)


def _tested(condition: Expression) -> Iterator[Element]:
    """The scalars and elements that a plain condition is over."""
    if isinstance(condition, Element):
        yield condition
    for operand in _operands(condition):
        yield from _tested(operand)


def _operands(condition: Expression) -> tuple[Expression, ...]:
    """The operands of what a plain condition is made of; none of anything else."""
    match condition:
        case Compare(left=left, right=right):
            return left, right
        case Logical(operands=operands):
            return operands
        case Unary("not", operand):
            return (operand,)
        case _:
            return ()


def _elements_read(element: Element, statements: Iterable[Statement], scop: Scop) -> isl.UnionMap:
    """``{ S[i] -> A[a] }``, the element of an array that an instance reads by a reference.

    Args:
        element: the reference, which each of the statements makes.
        statements: those whose instances are asked for.
        scop: their kernel.
    """
    return joined(
        (
            isl.UnionMap.from_map(access.relation)
            for statement in statements
            for (read, is_write), access in zip(
                elements_in_order(statement.operations), statement.accesses, strict=True
            )
            if read == element and not is_write
        ),
        scop,
    )


def _written(scop: Scop) -> frozenset[str]:
    """The arrays and scalars that statements write."""
    return frozenset(access.array for statement in scop.statements for access in statement.accesses if access.is_write)


def _accesses(statement: Statement, name: str) -> Sequence[Access]:
    """The accesses of a statement under a condition to a scalar, with the kinds that they have where it is true."""
    own = [access for access in statement.accesses if access.array == name]
    (branch,) = statement.operations
    assert isinstance(branch, Branch)
    writes = [access for access in own if access.is_write]
    is_assigned = all(isinstance(operation, Assign) for operation in branch.then) and len(writes) == 1
    if not is_assigned or not writes[0].relation.domain().is_equal(statement.domain):
        return own
    return [replace(access, kind=AccessKind.MUST_WRITE) if access.is_write else access for access in own]


def _is_assigned_for_certain(name: str, scop: Scop) -> bool:
    """Return whether no write to a scalar depends on data."""
    accesses = [access for statement in scop.statements for access in statement.accesses if access.array == name]
    return all(access.kind is not AccessKind.MAY_WRITE for access in accesses)


def _is_identity(relation: isl.Map) -> bool:
    """Return whether a relation is a part of the identity."""
    names = [relation.get_tuple_name(kind) for kind in (isl.dim_type.in_, isl.dim_type.out)]
    return names[0] == names[1] and relation.is_subset(isl.Map.identity(relation.get_space()))
