"""Scalars that are assigned and read under one condition: dependences as exact as those without the condition.

The statements of a loop that may end early are each under the test that it has not ended, so that what they write may
not happen, and a read of ``t`` in ``t = ...; use(t)`` seems to see all earlier values of ``t``.  But where the read
happens so does the write: both test one value of the same scalars.

Let x be a scalar all of whose accesses are in statements ``if C: ...`` with one C over scalars G. The dataflow
analysis of x takes its assignments for certain. With F the flow that it finds, ``{ W[i] -> R[j] }``, and ``K = { S[i]
-> V[v] }`` the assignment of each g in G whose value an instance tests, ``K(w) = K(r)`` has to hold for each pair (w,
r) in F. Then w is executed where r is, so that r sees no value from before w. The false dependences that the analysis
leaves out, from a to a later write w' with the certain write w between them, follow from those from a to w and from w
to w', which hold for instances whether or not the condition is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polytune.frontend.expression import Assign, Branch, Compare, Constant, Element, Expression, Logical, walk
from polytune.frontend.scop import Access, AccessKind, ArrayRole, Scop, Statement
from polytune.records import dataclass
from polytune.schedule.unions import domain_of, maps_of

__all__ = ["Guarded", "guarded_scalar", "sees_certain_writes"]


@dataclass(frozen=True)
class Guarded:
    """The accesses to a scalar under a condition.

    Attributes:
        accesses: all of them in source order, with the kinds that they have where the condition is true.
        guards: the scalars that the condition is over.
        statements: the statements that make the accesses.
    """

    accesses: tuple[Access, ...]
    guards: frozenset[str]
    statements: tuple[Statement, ...]


def guarded_scalar(name: str, scop: Scop) -> Guarded | None:
    """The accesses to a scalar all of whose statements are under one condition over other scalars; None where they are
    not, or where that makes no write certain.

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
    leaves = [leaf for leaf in walk(conditions[0]) if isinstance(leaf, Element)]
    guards = frozenset(leaf.array for leaf in leaves)
    if not guards or name in guards or any(leaf.subscripts for leaf in leaves):
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
    for guard in sorted(guarded.guards):
        if guard not in flows or not _is_assigned_for_certain(guard, scop):
            return False
        tested = flows[guard].intersect_range(instances).reverse()
        if not tested.is_single_valued() or not instances.is_subset(tested.domain()):
            return False
        values = flow.apply_domain(tested).apply_range(tested)
        if any(not _is_identity(part) for part in maps_of(values)):
            return False
    return True


def _condition(statement: Statement) -> Expression | None:
    """The condition that all of a statement is under: over scalars and constants, so that it has one value as long as
    none of these is assigned; None where there is none."""
    match statement.operations:
        case (Branch(condition, _, ()),):
            plain = all(_is_plain(leaf) for leaf in walk(condition))
            return condition if plain else None
        case _:
            return None


def _is_plain(leaf: object) -> bool:
    """Return whether a part of a condition is no more than the operators and the scalars and constants it is of."""
    return isinstance(leaf, Compare | Logical | Constant | Element)


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
