"""Statements of one loop body that the scheduler sees as one, because they share their iterations in every order.

A formula written over several lines, ``a = x[j] - x[i]``, ``s = a * a``, ``f[i] += s * a``, is as many statements, and
isl's scheduler solves a linear program with unknowns and constraints for each of them and for each pair.  What hands
values on in scalars of its own cannot be taken apart without copies of these for each iteration; so such neighbours
become one statement while the schedule is looked for, as PPCG's chains do (``--group-chains``), and its leaves are then
replaced by the neighbours in source order.  What comes of it is proven legal like every other schedule.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import islpy as isl

from polytune.frontend.scop import ArrayRole, Scop, Statement
from polytune.frontend.source_order import SourceBranch, SourceLoop, SourceNode
from polytune.records import dataclass
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.unions import coalesced, domain_of, joined, maps_of, sets_of

_PREFIX = "$cluster_"


@dataclass(frozen=True)
class Clustered:
    """The dependences that a schedule of clusters has to respect; relations are between instances of clusters, and of
    the statements that are in none.

    Attributes:
        domain: the instances.
        forced, everything, reductions: see ``Dependences``, less what an instance of a cluster has to do with itself.
        tagged_flow, tagged_order: likewise, of the scalars that live longer than an instance.
        contraction: from instances of statements to those of clusters, ``{ S[i] -> C[i] }``.
        statements: the names of the statements, in source order.
    """

    domain: isl.UnionSet
    forced: isl.UnionMap
    everything: isl.UnionMap
    reductions: isl.UnionMap
    tagged_flow: isl.UnionMap
    tagged_order: isl.UnionMap
    contraction: isl.UnionPwMultiAff
    statements: tuple[str, ...]

    def expanded(self, schedule: isl.Schedule) -> isl.Schedule:
        """The schedule of the statements that one of the clusters stands for: each of its leaves is the statements of
        a cluster in source order."""
        pulled_back = schedule.pullback_union_pw_multi_aff(self.contraction)
        return _with_sequences(pulled_back.get_root(), self.statements).get_schedule()


def clustered(dependences: Dependences) -> Clustered | None:
    """Return what is left to schedule when neighbours are one; None where no statement has such a neighbour."""
    scop = dependences.scop
    clusters = clusters_of(scop, dependences.privatisable)
    if not clusters:
        return None
    names = {member: f"{_PREFIX}{cluster[0]}" for cluster in clusters for member in cluster}

    def contracted(relation: isl.UnionMap) -> isl.UnionMap:
        return coalesced(joined((isl.UnionMap.from_map(part) for part in _contracted(relation, names)), scop))

    inner = {
        array
        for array in dependences.privatisable
        if contracted(dependences.flow.get(array, isl.UnionMap.empty(scop.context.get_space()))).is_empty()
    }
    order = {name: relation for name, relation in dependences.order.items() if name not in inner}
    outlive = {
        access.reference for statement in scop.statements for access in statement.accesses if access.array not in inner
    }
    context = scop.context.get_ctx()
    contraction = isl.UnionMap.empty(scop.context.get_space())
    for statement in scop.statements:
        same = isl.Map.identity(statement.domain.get_space().map_from_set())
        contraction = contraction.union(
            same.set_tuple_name(isl.dim_type.out, names.get(statement.name, statement.name))
        )
    tagged = [
        joined((_tagged(part, names, context) for part in maps_of(relation) if _reference(part) in outlive), scop)
        for relation in (dependences.tagged_flow, dependences.tagged_order)
    ]
    return Clustered(
        domain=domain_of(scop).apply(contraction),
        forced=contracted(dependences.forced),
        everything=contracted(joined([dependences.all_flow, *order.values()], scop)),
        reductions=contracted(dependences.reductions),
        tagged_flow=tagged[0],
        tagged_order=tagged[1],
        contraction=isl.UnionPwMultiAff.from_union_map(contraction),
        statements=tuple(statement.name for statement in scop.statements),
    )


def clusters_of(scop: Scop, privatisable: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    """The clusters, by the names of their statements in source order.

    Neighbours of equal domains are in one where a scalar is handed over the place between them, or where both write
    nothing but scalars.  Statements of the source that the kernel has no more, as those that a call stands for, come
    between those around them.

    Args:
        scop: the kernel.
        privatisable: the arrays and scalars that may have a copy for each worker.
    """
    scalars = {array.name for array in scop.arrays if array.name in privatisable and array.role is ArrayRole.SCALAR}
    statements = {statement.name: statement for statement in scop.statements}
    found: list[tuple[str, ...]] = []
    for body in _bodies(scop.nodes):
        for is_kept, names in itertools.groupby(body, statements.__contains__):
            runs = _runs_of_equal_domains([statements[name] for name in names]) if is_kept else []
            for run in runs:
                found += _clusters_in(run, scalars)
    return tuple(found)


def _bodies(nodes: Sequence[SourceNode]) -> Iterator[list[str]]:
    """The statements that follow one another in one body, without loops and branches between them."""
    run: list[str] = []
    for node in nodes:
        match node:
            case str():
                run.append(node)
                continue
            case SourceLoop(body=body):
                yield from _bodies(body)
            case SourceBranch(_, then, otherwise):
                yield from _bodies(then)
                yield from _bodies(otherwise)
        yield run
        run = []
    yield run


def _runs_of_equal_domains(statements: Iterable[Statement]) -> list[list[Statement]]:
    runs: list[list[Statement]] = []
    for statement in statements:
        if runs and _anonymous(runs[-1][0].domain).is_equal(_anonymous(statement.domain)):
            runs[-1].append(statement)
        else:
            runs.append([statement])
    return runs


def _anonymous(domain: isl.Set) -> isl.Set:
    return domain.reset_tuple_id()


def _clusters_in(run: Sequence[Statement], scalars: set[str]) -> Iterator[tuple[str, ...]]:
    """The clusters among statements of equal domains: where nothing holds two neighbours together, one ends."""
    written = [{access.array for access in statement.accesses if access.is_write} for statement in run]
    read = [{access.array for access in statement.accesses if not access.is_write} for statement in run]
    cluster = [run[0].name]
    for place in range(1, len(run)):
        before, after = set().union(*written[:place]), set().union(*read[place:])
        if before & after & scalars or (written[place - 1] | written[place]) <= scalars:
            cluster.append(run[place].name)
            continue
        if len(cluster) > 1:
            yield tuple(cluster)
        cluster = [run[place].name]
    if len(cluster) > 1:
        yield tuple(cluster)


def _contracted(relation: isl.UnionMap, names: dict[str, str]) -> Iterator[isl.Map]:
    """A relation between clusters, less what relates an instance of one to itself."""
    for part in maps_of(relation):
        ends = [part.get_tuple_name(side) for side in (isl.dim_type.in_, isl.dim_type.out)]
        left, right = (names.get(end, end) for end in ends)
        named = part.set_tuple_name(isl.dim_type.in_, left).set_tuple_name(isl.dim_type.out, right)
        if left == right and ends[0] in names:
            named = named.subtract(isl.Map.identity(named.get_space()))
        if not named.is_empty():
            yield named


def _reference(tagged: isl.Map) -> str:
    return str(tagged.get_space().domain().unwrap().get_tuple_name(isl.dim_type.out))


def _tagged(part: isl.Map, names: dict[str, str], context: isl.Context) -> isl.UnionMap:
    """``{ [S[i] -> ref[]] -> [T[j] -> ref'[]] }`` with clusters in place of their statements."""
    space = part.get_space()
    for side in (space.domain(), space.range()):
        pair = side.unwrap()
        name = pair.get_tuple_name(isl.dim_type.in_)
        if name in names:
            renamed = isl.Map.identity(pair.domain().map_from_set()).set_tuple_name(isl.dim_type.out, names[name])
            same = isl.Map.identity(pair.range().map_from_set())
            both = renamed.product(same)
            if side.is_equal(part.get_space().domain()):
                part = part.apply_domain(both)
            if side.is_equal(part.get_space().range()):
                part = part.apply_range(both)
    return isl.UnionMap.from_map(part)


def _with_sequences(node: isl.ScheduleNode, order: Sequence[str]) -> isl.ScheduleNode:
    """A node whose leaves have their statements in order, one after the other."""
    if node.get_type() == isl.schedule_node_type.leaf:
        spaces = {part.get_tuple_name(): part.get_space() for part in sets_of(node.get_domain())}
        if len(spaces) < 2:
            return node
        filters = isl.UnionSetList.alloc(node.get_ctx(), len(spaces))
        for name in sorted(spaces, key=order.index):
            filters = filters.add(isl.UnionSet.from_set(isl.Set.universe(spaces[name])))
        return node.insert_sequence(filters)
    for position in range(node.n_children()):
        node = _with_sequences(node.child(position), order).parent()
    return node
