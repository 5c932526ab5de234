"""Dependences of a SCoP: which statement instance must come before which, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

import islpy as isl

from polytune.frontend.scop import Access, AccessKind, ArrayRole, Scop


@dataclass(frozen=True)
class Dependences:
    """Value-based dependences of a SCoP, per array, between statement instances: ``[p] -> { S[i] -> T[j] }``.

    Attributes:
        flow: per array, from the write of a value to each read of it.
        order: per array, the false dependences: from each access of a value to the write that ends its life
            (read to next write, write to next write).
        tagged_flow, tagged_order: the same over all private-able arrays with the references attached,
            ``{ [S[i] -> ref[]] -> [T[j] -> ref'[]] }``, as isl's conditional validity wants them.
        reductions: the self-dependences of reduction statements (both kinds); part of ``flow`` and ``order`` unless
            ``relaxed``.
        privatisable: scalars and local arrays whose every read sees a value written inside the SCoP and that nothing
            reads afterwards: their false dependences may be broken by giving each worker a copy (live-range
            reordering, Verdoolaege and Cohen, "Live-Range Reordering", IMPACT 2016).
        relaxed: whether reductions may be reassociated: then the self-dependences are left out, and every value
            before or after a reduction is ordered against all of its instances.
    """

    scop: Scop
    flow: dict[str, isl.UnionMap]
    order: dict[str, isl.UnionMap]
    tagged_flow: isl.UnionMap
    tagged_order: isl.UnionMap
    reductions: isl.UnionMap
    privatisable: frozenset[str]
    relaxed: bool

    @cached_property
    def all_flow(self) -> isl.UnionMap:
        """The union of ``flow`` over all arrays."""
        return union_of(self.flow.values(), self.scop)

    @cached_property
    def forced(self) -> isl.UnionMap:
        """What every schedule must respect: all flow, and the false dependences of arrays that keep one copy."""
        kept = [relation for array, relation in self.order.items() if array not in self.privatisable]
        return union_of([self.all_flow, *kept], self.scop)

    @cached_property
    def everything(self) -> isl.UnionMap:
        """All flow and all false dependences."""
        return union_of([self.all_flow, *self.order.values()], self.scop)


def union_of(relations: Iterable[isl.UnionMap], scop: Scop) -> isl.UnionMap:
    """The union of relations; the empty relation of the SCoP's parameters where there are none."""
    empty = isl.UnionMap.empty(scop.context.get_space())
    return reduce(lambda left, right: left.union(right), relations, empty).coalesce()


def domain_of(scop: Scop) -> isl.UnionSet:
    """All statement instances: ``[p] -> { S[i] : i in domain of S }``."""
    empty = isl.UnionSet.empty(scop.context.get_space())
    domains = (isl.UnionSet.from_set(statement.domain) for statement in scop.statements)
    return reduce(lambda left, right: left.union(right), domains, empty)


def compute_dependences(scop: Scop, relax_reductions: bool = False) -> Dependences:
    """Dependences by exact dataflow analysis over the source order, one array at a time.

    A read depends on the last write before it that must have happened, and on every write that may have happened in
    between (may-writes never kill).  The false dependences of a write go back to every access since the last
    certain write.  Relaxing a reduction ``x op= e`` makes its writes non-killing, so that a value written before it,
    and a
    read after it, are ordered against each of its instances, and then drops the dependences among the instances.
    """
    reduction_of = {
        reference: statement.name
        for statement in scop.statements
        if statement.reduction is not None
        for reference in (statement.reduction.read, statement.reduction.write)
    }
    flow: dict[str, isl.UnionMap] = {}
    order: dict[str, isl.UnionMap] = {}
    tagged_flow: dict[str, isl.UnionMap] = {}
    tagged_order: dict[str, isl.UnionMap] = {}
    reductions = isl.UnionMap.empty(scop.context.get_space())
    privatisable = set()
    accesses = [access for statement in scop.statements for access in statement.accesses]
    result_scalars = _scalars_of_result(scop)
    for array in scop.arrays:
        touching = [access for access in accesses if access.array == array.name]
        reads = [access for access in touching if not access.is_write]
        writes = [access for access in touching if access.is_write]
        if not writes:
            continue
        killing = [
            access
            for access in writes
            if access.kind is AccessKind.MUST_WRITE and not (relax_reductions and access.reference in reduction_of)
        ]
        schedule = scop.schedule.pullback_union_pw_multi_aff(_tagger(touching, scop))
        values = _flow(reads, writes, killing, schedule, scop)
        ends = _flow(writes, [*reads, *writes], killing, schedule, scop)
        array_flow, array_order = values.get_may_dependence(), ends.get_may_dependence()
        own = _among_reductions(array_flow.union(array_order), touching, reduction_of, scop)
        reductions = reductions.union(_untagged(own))
        if relax_reductions:
            array_flow, array_order = array_flow.subtract(own), array_order.subtract(own)
        array_flow, array_order = array_flow.intersect_params(scop.context), array_order.intersect_params(scop.context)
        flow[array.name], order[array.name] = _untagged(array_flow), _untagged(array_order)
        if (
            array.role is not ArrayRole.ARGUMENT
            and not array.zeroed
            and array.name not in result_scalars
            and values.get_may_no_source().is_empty()
        ):
            privatisable.add(array.name)
            tagged_flow[array.name], tagged_order[array.name] = array_flow, array_order
    return Dependences(
        scop,
        flow,
        order,
        union_of(tagged_flow.values(), scop),
        union_of(tagged_order.values(), scop),
        reductions.coalesce(),
        frozenset(privatisable),
        relax_reductions,
    )


def _scalars_of_result(scop: Scop) -> set[str]:
    from polytune.frontend.expression import Element, walk

    if scop.result is None:
        return set()
    return {node.array for node in walk(scop.result) if isinstance(node, Element)}


def _tag(access: Access) -> isl.Map:
    """``{ S[i] -> ref[] }`` for the instances that make the access."""
    tag = isl.Space.set_alloc(access.relation.get_ctx(), 0, 0).set_tuple_name(isl.dim_type.set, access.reference)
    domain = access.relation.domain()
    return isl.Map.from_domain_and_range(domain, isl.Set.universe(tag.align_params(domain.get_space())))


def _tagged(access: Access) -> isl.Map:
    """``{ [S[i] -> ref[]] -> A[a] }``."""
    return _tag(access).domain_map().apply_range(access.relation)


def _tagger(accesses: Iterable[Access], scop: Scop) -> isl.UnionPwMultiAff:
    """``{ [S[i] -> ref[]] -> S[i] }``."""
    tags = (isl.UnionMap.from_map(_tag(access).domain_map()) for access in accesses)
    return isl.UnionPwMultiAff.from_union_map(union_of(tags, scop))


def _flow(
    sinks: list[Access], sources: list[Access], kills: list[Access], schedule: isl.Schedule, scop: Scop
) -> isl.UnionFlow:
    def tagged(accesses: list[Access]) -> isl.UnionMap:
        return union_of((isl.UnionMap.from_map(_tagged(access)) for access in accesses), scop)

    information = isl.UnionAccessInfo.from_sink(tagged(sinks)).set_may_source(tagged(sources)).set_schedule(schedule)
    try:
        return information.set_kill(tagged(kills)).compute_flow()
    except isl.Error:
        # isl fails on some relations with existential variables ("affine expression involves some of the domain
        # dimensions").  Without kills every earlier access is a source: more dependences, never fewer, and nothing is
        # privatisable.
        return information.compute_flow()


def _untagged(relation: isl.UnionMap) -> isl.UnionMap:
    """``{ [S[i] -> r[]] -> [T[j] -> s[]] }`` to ``{ S[i] -> T[j] }``."""
    return relation.factor_domain().coalesce()


def _among_reductions(
    relation: isl.UnionMap, accesses: list[Access], reduction_of: dict[str, str], scop: Scop
) -> isl.UnionMap:
    """The pairs whose two references belong to the reduction of one and the same statement."""
    found = isl.UnionMap.empty(scop.context.get_space())
    for statement in {reduction_of[access.reference] for access in accesses if access.reference in reduction_of}:
        own = [access for access in accesses if reduction_of.get(access.reference) == statement]
        tags = reduce(
            lambda left, right: left.union(right), (isl.UnionSet.from_set(_tag(access).wrap()) for access in own)
        )
        found = found.union(relation.intersect_domain(tags).intersect_range(tags))
    return found
