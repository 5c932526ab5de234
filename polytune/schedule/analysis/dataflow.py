"""isl's dataflow analysis of accesses that are told apart by their references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import islpy as isl

from polytune.frontend.scop import Access, Scop
from polytune.schedule.unions import union_of


def tag(access: Access) -> isl.Map:
    """``{ S[i] -> ref[] }`` for the instances that make the access."""
    space = isl.Space.set_alloc(access.relation.get_ctx(), 0, 0).set_tuple_name(isl.dim_type.set, access.reference)
    domain = access.relation.domain()
    return isl.Map.from_domain_and_range(domain, isl.Set.universe(space.align_params(domain.get_space())))


def tagged(accesses: Iterable[Access], scop: Scop) -> isl.UnionMap:
    """``{ [S[i] -> ref[]] -> A[a] }`` for accesses."""
    relations = (tag(access).domain_map().apply_range(access.relation) for access in accesses)
    return union_of((isl.UnionMap.from_map(relation) for relation in relations), scop)


def tagger(accesses: Iterable[Access], scop: Scop) -> isl.UnionPwMultiAff:
    """``{ [S[i] -> ref[]] -> S[i] }``."""
    tags = (isl.UnionMap.from_map(tag(access).domain_map()) for access in accesses)
    return isl.UnionPwMultiAff.from_union_map(union_of(tags, scop))


def computed_flow(
    sinks: Sequence[Access], sources: Sequence[Access], kills: Sequence[Access], schedule: isl.Schedule, scop: Scop
) -> isl.UnionFlow:
    """The flow from sources to sinks since the last kill, between tagged instances.

    Args:
        sinks, sources, kills: accesses.
        schedule: the order of their tagged instances.
        scop: what they belong to.
    """
    information = isl.UnionAccessInfo.from_sink(tagged(sinks, scop)).set_may_source(tagged(sources, scop))
    return information.set_schedule(schedule).set_kill(tagged(kills, scop)).compute_flow()
