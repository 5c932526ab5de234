"""isl's unions put together and taken apart.

isl's own way to take one apart is a callback for each part, out of which no exception comes safely; and within a
budget (:mod:`polytune.frontend.polyhedral.budget`) every operation may raise one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TypeVar

import islpy as isl

from polytune.frontend.scop import Scop, Statement

Relation = TypeVar("Relation", isl.Set, isl.Map, isl.UnionSet, isl.UnionMap)


def coalesced(relation: Relation) -> Relation:
    """The same set or relation in fewer pieces where isl finds such; as it is where isl fails over that.

    isl's `coalesce` has errors of its own ("total dimensionality changed unexpectedly"), and nothing depends on what it
    does but the time that all further operations take.  An exhausted budget is noticed by who gave it.
    """
    try:
        return relation.coalesce()
    except isl.Error:
        return relation


def joined(relations: Iterable[isl.UnionMap], scop: Scop) -> isl.UnionMap:
    """The union of relations as they are; the empty relation of the SCoP's parameters where there are none."""
    empty = isl.UnionMap.empty(scop.context.get_space())
    return reduce(lambda left, right: left.union(right), relations, empty)


def union_of(relations: Iterable[isl.UnionMap], scop: Scop) -> isl.UnionMap:
    """The union of relations, simplified."""
    return coalesced(joined(relations, scop))


def domain_of(scop: Scop, statements: Iterable[Statement] | None = None) -> isl.UnionSet:
    """The instances of statements, of all if none are named: ``[p] -> { S[i] : i in domain of S }``."""
    empty = isl.UnionSet.empty(scop.context.get_space())
    chosen = scop.statements if statements is None else statements
    domains = (isl.UnionSet.from_set(statement.domain) for statement in chosen)
    return reduce(lambda left, right: left.union(right), domains, empty)


def sets_of(union: isl.UnionSet) -> list[isl.Set]:
    """The sets of a union, one per space."""
    sets = union.get_set_list()
    return [sets.get_at(index) for index in range(sets.n_set())]


def maps_of(union: isl.UnionMap) -> list[isl.Map]:
    """The maps of a union, one per pair of spaces."""
    maps = union.get_map_list()
    return [maps.get_at(index) for index in range(maps.n_map())]


def number_of_constraints(relation: isl.UnionMap) -> int:
    """Return how many constraints the pieces of a relation have."""
    return sum(piece.n_constraint() for part in maps_of(relation) for piece in part.get_basic_maps())


def isl_id(context: isl.Context, name: str) -> isl.Id:
    """An identifier of any name: isl reads from text only those that its own language has."""
    return (
        isl.Space.params_alloc(context, 1).set_dim_name(isl.dim_type.param, 0, name).get_dim_id(isl.dim_type.param, 0)
    )


def parameter(context: isl.Set, name: str) -> isl.PwAff:
    """A parameter as an expression, ``[p, name] -> { [(name)] }``."""
    space = isl.Space.params_alloc(context.get_ctx(), 1).set_dim_name(isl.dim_type.param, 0, name)
    local = isl.LocalSpace.from_space(space)
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.param, 0))
