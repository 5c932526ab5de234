"""Dependences through one array, as exactly as isl can find them within its budget.

Where no two instances touch the same element, one of them writing, there are none, and no dataflow analysis is needed
to know that.  Else there are three ways, each a superset of the one before it, so that a schedule that respects the
dependences of any of them respects the exact ones:

1. *value-based*, by exact dataflow analysis: from the last write that must have happened before an access, and from
   all that came after that write (Feautrier, "Dataflow Analysis of Array and Scalar References", IJPP 1991).  Sets are
   subtracted for that, and isl may take exponential time to do so where relations have existential variables.
2. *memory-based*: from every earlier access of the element.  Relations are only joined and intersected.
3. *order-based*: from every earlier access of the array, whatever the element: the source order of its statements.

Only the first knows which value a read sees, so only then may the array be privatisable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial, reduce

import islpy as isl

from polytune.frontend.polyhedral.affine import AffineBuilder
from polytune.frontend.polyhedral.budget import PROOF_BUDGET, within_budget
from polytune.frontend.scop import Access, AccessKind, Array, ArrayRole, Scop, Statement
from polytune.records import dataclass
from polytune.schedule.analysis.blocks import blockwise_dataflow
from polytune.schedule.analysis.dataflow import computed_flow, tag, tagger
from polytune.schedule.analysis.rings import by_places
from polytune.schedule.unions import coalesced, domain_of, joined, maps_of, union_of

FLOW_BUDGET = 2 * PROOF_BUDGET
"""isl's budget for one array in each of the first two ways, in its own basic operations (half a second)."""

OPERATIONS_OF_AN_ACCESS = 20_000
"""The operations that each reference to the array adds for the dataflow analysis, which looks for the sources of each
reference among all others: in long programs the other ways take longer, and leave nothing parallel."""

OPERATIONS_WITH_DIVISIONS = 200_000
"""The same for the dataflow analysis of accesses with integer divisions.  Long ones lead isl to sets in which a
division stands twice, over which its lexicographic maximum crashes (``isl_basic_map_swap_div``, seen in 0.27)."""


class Precision(Enum):
    """The way in which the dependences through an array were found."""

    VALUE_BASED = "value-based"
    MEMORY_BASED = "memory-based"
    ORDER_BASED = "order-based"


@dataclass(frozen=True)
class ArrayDependences:
    """The dependences through one array, ``{ S[i] -> T[j] }``.

    Attributes:
        flow: from the write of a value to each read of it.
        order: the false dependences, from each access of a value to a later write.
        reductions: of both kinds, those among the references of one reduction; left out of the others if relaxed.
        tagged_flow, tagged_order: ``{ [S[i] -> ref[]] -> [T[j] -> ref'[]] }``, if every read sees a value written
            inside the SCoP for certain; else None.
    """

    precision: Precision
    flow: isl.UnionMap
    order: isl.UnionMap
    reductions: isl.UnionMap
    tagged_flow: isl.UnionMap | None = None
    tagged_order: isl.UnionMap | None = None


def array_dependences(
    accesses: Sequence[Access],
    scop: Scop,
    relax_reductions: bool,
    *,
    exact: bool = True,
    of_elements: bool = False,
) -> ArrayDependences:
    """The dependences through one array.

    Relaxing a reduction ``x op= e`` makes its writes non-killing, so that a value written before it, and a read after
    it, are ordered against each of its instances, and then drops the dependences among the instances.

    Args:
        accesses: all accesses to the array, in source order.
        scop: what they belong to.
        relax_reductions: whether the updates of a reduction may come in any order.
        exact: whether the first way is tried; where not, dependences are memory-based.
        of_elements: whether all statements that update an array by one operator are one reduction, which they are for
            each of its elements.
    """
    owner = _owners(scop, of_elements)
    accesses = by_places(accesses, scop)
    for way in (_without_conflicts, _value_based, _memory_based) if exact else (_memory_based,):
        work = partial(way, accesses, scop, owner, relax_reductions)
        operations = FLOW_BUDGET
        if way is _value_based:
            few = any(_has_divisions(access.relation) for access in accesses)
            more = OPERATIONS_OF_AN_ACCESS * len(accesses)
            operations = min(FLOW_BUDGET, OPERATIONS_WITH_DIVISIONS) if few else FLOW_BUDGET + more
        found = within_budget(scop.context.get_ctx(), operations, work)
        if found is not None:
            return found
    return _order_based(accesses, scop, owner, relax_reductions)


def live_range_order(
    accesses: Sequence[Access],
    scop: Scop,
    relax_reductions: bool,
    times: isl.UnionMap,
    *,
    of_elements: bool = False,
) -> isl.UnionMap | None:
    """The false dependences among all live ranges of an array, not only from one to the next; None where isl gives up.

    With T the source order, ``times``, A a reference and W one that writes, ``{ s -> t : A(s) = W(t), T(s) < T(t) }``.
    Those from a live range to the next one imply the others as long as all are respected.  Once live ranges are
    reordered others are next to one another, and nothing follows for them.

    Args:
        accesses: all accesses to the array, in source order.
        scop: what they belong to.
        relax_reductions: whether the updates of a reduction may come in any order.
        times: the source order, ``{ S[i] -> t }``.
        of_elements: as for `array_dependences`.
    """
    owner = _owners(scop, of_elements)

    def work() -> isl.UnionMap:
        earlier = _earlier(accesses, scop, times, [access for access in accesses if access.is_write])
        same: dict[tuple[str, str], isl.Map] = {}
        for source, sink in _conflicting(accesses):
            if sink.is_write and not (relax_reductions and _of_one_reduction(source, sink, owner)):
                same_element = source.relation.apply_range(sink.relation.reverse())
                between = (source.statement, sink.statement)
                known = same.setdefault(between, same_element)
                if not same_element.is_subset(known):
                    same[between] = known.union(same_element)
        order = (earlier.intersect(isl.UnionMap.from_map(each)) for each in same.values())
        return coalesced(joined(order, scop).intersect_params(scop.context))

    return within_budget(scop.context.get_ctx(), FLOW_BUDGET, work)


def _owners(scop: Scop, of_elements: bool) -> dict[str, str]:
    """Return what reduction each reference of one belongs to."""
    return {
        reference: statement.reduction.operator if of_elements else statement.name
        for statement in scop.statements
        if statement.reduction is not None
        for reference in (statement.reduction.read, statement.reduction.write)
    }


def _without_conflicts(
    accesses: Sequence[Access], scop: Scop, owner: Mapping[str, str], relax_reductions: bool
) -> ArrayDependences | None:
    """No dependences, where instances have all that they write to themselves; else None.

    With A, B two references of which one writes, each of ``{ s -> t : A(s) = B(t) }`` has to be a part of the identity.
    The times of instances do not matter, so that this stays easy where domains are unions of many pieces, of which the
    dataflow analysis subtracts each from each.
    """
    for source, sink in _conflicting(accesses):
        same_element = source.relation.apply_range(sink.relation.reverse())
        own = isl.Map.identity(same_element.get_space()) if source.statement == sink.statement else None
        if not (same_element.is_empty() if own is None else same_element.is_subset(own)):
            return None
    empty = isl.UnionMap.empty(scop.context.get_space())
    # Whatever is read was there before.
    tagged = None if any(not access.is_write for access in accesses) else empty
    return ArrayDependences(Precision.VALUE_BASED, empty, empty, empty, tagged, tagged)


def _value_based(
    accesses: Sequence[Access], scop: Scop, owner: Mapping[str, str], relax_reductions: bool
) -> ArrayDependences:
    """The dependences by isl's dataflow analysis: may-writes never kill, and neither do relaxed reductions."""
    killing = [
        access
        for access in accesses
        if access.kind is AccessKind.MUST_WRITE and not (relax_reductions and access.reference in owner)
    ]
    flow, order, is_written = _dataflow(accesses, killing, scop)
    own = _among_reductions(flow.union(order), accesses, owner, scop)
    if relax_reductions:
        flow, order = flow.subtract(own), order.subtract(own)
    flow, order = flow.intersect_params(scop.context), order.intersect_params(scop.context)
    renewed = _of_one_life(accesses, scop)
    if renewed is not None:
        flow = flow.intersect(renewed)
    certain = renewed is not None or is_written
    return ArrayDependences(
        Precision.VALUE_BASED,
        _untagged(flow),
        _untagged(order),
        _untagged(own),
        flow if certain else None,
        order if certain else None,
    )


def _dataflow(
    accesses: Sequence[Access], killing: Sequence[Access], scop: Scop
) -> tuple[isl.UnionMap, isl.UnionMap, bool]:
    """The flow and the false dependences between tagged instances, and whether each read sees a value that is written
    inside the SCoP.

    Args:
        accesses: all accesses to an array.
        killing: those of them that end the life of a value for certain.
        scop: what they belong to.
    """
    array = scop.array(accesses[0].array)
    # Of the statements that touch the array alone: in long programs these are few.
    own_schedule = scop.schedule.intersect_domain(_instances(accesses, scop))
    if not array.ndim:
        blockwise = partial(blockwise_dataflow, accesses, killing, own_schedule, scop)
        found = within_budget(scop.context.get_ctx(), PROOF_BUDGET, blockwise)
        if found is not None:
            return *found, True
    reads = [access for access in accesses if not access.is_write]
    writes = [access for access in accesses if access.is_write]
    schedule = own_schedule.pullback_union_pw_multi_aff(tagger(accesses, scop))
    values = computed_flow(reads, writes, killing, schedule, scop)
    ends = computed_flow(writes, [*reads, *writes], killing, schedule, scop)
    flow = values.get_may_dependence()
    return flow, ends.get_may_dependence(), _sees_written(values.get_may_no_source(), flow, array)


def _sees_written(unsure: isl.UnionMap, flow: isl.UnionMap, array: Array) -> bool:
    """Return whether each read sees a value that is written inside the SCoP.

    A variable that nothing can have assigned before a read has no value that the read could see: Python raises
    UnboundLocalError there.  Nor has a place outside of an array, as ``t[n - 1]`` is for n = 0: such calls are refused.

    Args:
        unsure: the reads before which no write is certain, tagged.
        flow: from writes to the reads that may see them, tagged.
        array: what is read.
    """
    if array.role is ArrayRole.SCALAR and array.initial is None:
        unsure = unsure.intersect_domain(flow.range())
    if array.ndim and not unsure.is_empty():
        unsure = unsure.intersect_range(isl.UnionSet.from_set(_elements(array, unsure.get_ctx())))
    return bool(unsure.is_empty())


def _elements(array: Array, context: isl.Context) -> isl.Set:
    """``[p] -> { A[a] : 0 <= a < extent }``, all elements of an array; unbounded along an axis whose extent is not
    affine."""
    affine = AffineBuilder(context=context)
    elements = isl.Set.universe(isl.Space.set_alloc(context, 0, 0))
    for extent in array.shape:
        along = isl.Set.universe(isl.Space.set_alloc(context, 0, 1))
        local = isl.LocalSpace.from_space(along.get_space())
        place = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, 0))
        if affine.is_function(extent):
            zero, end = (each.add_dims(isl.dim_type.in_, 1) for each in (affine.integer(0), affine.function(extent)))
            along = place.ge_set(zero).intersect(place.lt_set(end))
        elements = elements.flat_product(along)
    return elements.set_tuple_name(array.name)


def _of_one_life(accesses: Sequence[Access], scop: Scop) -> isl.UnionMap | None:
    """The pairs of tagged instances between which an array is not made anew, where the source makes it in a loop: what
    is in it has no meaning in the next iteration.  None where it does not, or where this is not plain to see.

    Each statement that uses the array has to be in the loop, and the first one to write to it: a name that is read
    before stands for what an earlier iteration made.
    """
    renewed = scop.array(accesses[0].array).renewed
    depth = len(renewed)
    names = {access.statement for access in accesses}
    users = [statement for statement in scop.statements if statement.name in names]
    if not renewed or any(statement.iterators[:depth] != renewed for statement in users):
        return None
    if not any(access.is_write for access in accesses if access.statement == users[0].name):
        return None
    around = union_of((isl.UnionMap.from_map(_iterators_of(each, depth)) for each in users), scop)
    tags = isl.UnionMap.from_union_pw_multi_aff(tagger(accesses, scop)).apply_range(around)
    return tags.apply_range(tags.reverse())


def _iterators_of(statement: Statement, depth: int) -> isl.Map:
    """``{ S[i] -> [i_0, ..., i_depth-1] }`` for the iterators of the outermost loops around a statement."""
    inner = len(statement.iterators) - depth
    every = isl.Map.identity(statement.domain.get_space().map_from_set())
    outer = every.project_out(isl.dim_type.out, depth, inner).intersect_domain(statement.domain)
    return outer.reset_tuple_id(isl.dim_type.out) if outer.has_tuple_id(isl.dim_type.out) else outer


def _memory_based(
    accesses: Sequence[Access], scop: Scop, owner: Mapping[str, str], relax_reductions: bool
) -> ArrayDependences:
    """All pairs of accesses of one element in source order of which one writes.

    With T the source order and A, B two references, ``{ s -> t : A(s) = B(t), T(s) < T(t) }``: flow where A writes and
    B reads, order where B writes.  The value-based dependences are those of the pairs that no certain write of the
    element lies between.
    """
    before = _of_statements(_earlier(accesses, scop))
    pairs = [
        (source, sink, isl.UnionMap.from_map(source.relation.apply_range(sink.relation.reverse()).intersect(earlier)))
        for source, sink in _conflicting(accesses)
        if (earlier := before.get((source.statement, sink.statement))) is not None
    ]
    found = _sorted_out(Precision.MEMORY_BASED, pairs, scop, owner, relax_reductions)
    return replace(
        found, flow=coalesced(found.flow), order=coalesced(found.order), reductions=coalesced(found.reductions)
    )


def _order_based(
    accesses: Sequence[Access], scop: Scop, owner: Mapping[str, str], relax_reductions: bool
) -> ArrayDependences:
    """The same without the equality of elements, ``{ s -> t : T(s) < T(t) }`` for the statements of two references.

    This has no budget, as something must be had, and needs none: the time of an instance is an affine function of its
    iterators, and nothing but times is compared.
    """
    before = _of_statements(_earlier(accesses, scop))
    alike = {
        (source.statement, sink.statement, sink.is_write, _of_one_reduction(source, sink, owner)): (source, sink)
        for source, sink in _conflicting(accesses)
        if (source.statement, sink.statement) in before
    }
    pairs = [
        (source, sink, isl.UnionMap.from_map(before[source.statement, sink.statement]))
        for source, sink in alike.values()
    ]
    return _sorted_out(Precision.ORDER_BASED, pairs, scop, owner, relax_reductions)


def _has_divisions(relation: isl.Map) -> bool:
    """Return whether integer divisions are in a relation: those of its subscripts, or of the domain of its
    statement."""
    return any(piece.dim(isl.dim_type.div) for piece in relation.get_basic_maps())


def _conflicting(accesses: Sequence[Access]) -> list[tuple[Access, Access]]:
    """The pairs of references of which one writes."""
    return [(source, sink) for source in accesses for sink in accesses if source.is_write or sink.is_write]


def _of_one_reduction(source: Access, sink: Access, owner: Mapping[str, str]) -> bool:
    statement = owner.get(source.reference)
    return statement is not None and statement == owner.get(sink.reference)


def _earlier(
    accesses: Iterable[Access],
    scop: Scop,
    order: isl.UnionMap | None = None,
    sinks: Iterable[Access] | None = None,
) -> isl.UnionMap:
    """``{ S[i] -> T[j] : S[i] before T[j] in source order }`` for the statements that make the accesses; the source
    order as a map may be given, and so may those of them that T has to make one of."""
    every = scop.schedule.get_map() if order is None else order
    times = every.intersect_domain(_instances(accesses, scop))
    later = times if sinks is None else every.intersect_domain(_instances(sinks, scop))
    return times.lex_lt_union_map(later)


def _instances(accesses: Iterable[Access], scop: Scop) -> isl.UnionSet:
    """The instances of the statements that make accesses."""
    names = {access.statement for access in accesses}
    return domain_of(scop, [statement for statement in scop.statements if statement.name in names])


def _of_statements(relation: isl.UnionMap) -> dict[tuple[str, str], isl.Map]:
    """The parts of a relation by the statements that they are between."""
    return {
        (part.get_tuple_name(isl.dim_type.in_), part.get_tuple_name(isl.dim_type.out)): part
        for part in maps_of(relation)
    }


def _sorted_out(
    precision: Precision,
    pairs: Iterable[tuple[Access, Access, isl.UnionMap]],
    scop: Scop,
    owner: Mapping[str, str],
    relax_reductions: bool,
) -> ArrayDependences:
    """The dependences from pairs of references, each with the instances that are ordered by it."""
    flow: list[isl.UnionMap] = []
    order: list[isl.UnionMap] = []
    reductions: list[isl.UnionMap] = []
    for source, sink, relation in pairs:
        within_reduction = _of_one_reduction(source, sink, owner)
        if within_reduction:
            reductions.append(relation)
        if not (within_reduction and relax_reductions):
            (order if sink.is_write else flow).append(relation)
    context = scop.context
    return ArrayDependences(
        precision,
        joined(flow, scop).intersect_params(context),
        joined(order, scop).intersect_params(context),
        joined(reductions, scop),
    )


def _untagged(relation: isl.UnionMap) -> isl.UnionMap:
    """``{ [S[i] -> r[]] -> [T[j] -> s[]] }`` to ``{ S[i] -> T[j] }``."""
    return coalesced(relation.factor_domain())


def _among_reductions(
    relation: isl.UnionMap, accesses: Sequence[Access], owner: Mapping[str, str], scop: Scop
) -> isl.UnionMap:
    """The pairs whose two references belong to one reduction."""
    found = isl.UnionMap.empty(scop.context.get_space())
    for statement in sorted({owner[access.reference] for access in accesses if access.reference in owner}):
        own = [access for access in accesses if owner.get(access.reference) == statement]
        tags = reduce(
            lambda left, right: left.union(right), (isl.UnionSet.from_set(tag(access).wrap()) for access in own)
        )
        found = found.union(relation.intersect_domain(tags).intersect_range(tags))
    return found
