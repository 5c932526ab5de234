"""The typed program as a polyhedral model: domains, accesses, and the source order as a schedule tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

import islpy as isl

from polytune.frontend.expression import Expression, Iterator
from polytune.frontend.polyhedral.accesses import AccessBuilder, iterations, move_to_tuple
from polytune.frontend.polyhedral.affine import AffineBuilder
from polytune.frontend.polyhedral.reductions import find_reduction
from polytune.frontend.program import ElementLocations, Guard, Node, Perform, RangeLoop
from polytune.frontend.scop import EarlyEnd, ReportedLoop, Statement
from polytune.frontend.source_order import SourceBranch, SourceLoop, SourceNode
from polytune.records import dataclass


@dataclass(frozen=True)
class _Enclosing:
    """The facts that hold where a node stands: the iterators of the loops around, and their values, a set in parameter
    space."""

    domain: isl.Set
    iterators: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceOrder:
    """The order in which the source executes some statements, as a schedule tree and as loops."""

    schedule: isl.Schedule
    nodes: tuple[SourceNode, ...]

    def before(self, other: SourceOrder) -> SourceOrder:
        """This, and the other one after it."""
        return SourceOrder(self.schedule.sequence(other.schedule), (*self.nodes, *other.nodes))


@dataclass
class ModelBuilder:
    """Collects statements and loops in source order.

    Attributes:
        extents: of each array and dimension.
        prefix: the statements are called ``{prefix}0``, ``{prefix}1``, ...
        tests: whether accesses that data decide on are tested where they happen.
        flags: of loops that may end early, by their iterators.
        ends: those, as far as any of their statements is ever executed.
    """

    affine: AffineBuilder
    locations: ElementLocations
    extents: Mapping[tuple[str, int], Expression]
    prefix: str = "S"
    tests: bool = False
    flags: Mapping[str, str] = field(default_factory=dict)
    ends: list[EarlyEnd] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    loops: list[ReportedLoop] = field(default_factory=list)

    def build(self, nodes: Iterable[Node]) -> SourceOrder | None:
        """Add the nodes' statements and loops; their order, or None if no statement is ever executed."""
        return self._sequence(nodes, _Enclosing(self.affine.universe()))

    def _sequence(self, nodes: Iterable[Node], around: _Enclosing) -> SourceOrder | None:
        order: SourceOrder | None = None
        for node in nodes:
            part = self._node(node, around)
            if part is not None:
                order = part if order is None else order.before(part)
        return order

    def _node(self, node: Node, around: _Enclosing) -> SourceOrder | None:
        match node:
            case Perform():
                return self._statement(node, around)
            case Guard(condition, then, otherwise):
                holds = self.affine.condition(condition)
                sides = [
                    self._sequence(then, self._within(around, holds)),
                    self._sequence(otherwise, self._within(around, holds.complement())),
                ]
                present = [side for side in sides if side is not None]
                if not present:
                    return None
                first, *others = [side.schedule for side in present]
                schedule = first.sequence(others[0]) if others else first
                branches = [() if side is None else side.nodes for side in sides]
                return SourceOrder(schedule, (SourceBranch(condition, branches[0], branches[1]),))
            case RangeLoop():
                return self._loop(node, around)

    @staticmethod
    def _within(around: _Enclosing, condition: isl.Set) -> _Enclosing:
        return _Enclosing(around.domain.intersect(condition).coalesce(), around.iterators)

    def _statement(self, node: Perform, around: _Enclosing) -> SourceOrder | None:
        if around.domain.is_empty():
            return None
        name = f"{self.prefix}{len(self.statements)}"
        domain = isl.Set.from_params(around.domain)
        for position, iterator in enumerate(around.iterators):
            domain = move_to_tuple(domain, isl.dim_type.set, position, iterator)
        domain = domain.set_tuple_name(name)
        accesses = AccessBuilder(self.affine, self.locations, self.extents, self.tests).build(
            name, around.iterators, node.operations, around.domain, node.location
        )
        if not self.flags.keys().isdisjoint(around.iterators):
            # Which iterations there are, data decide: the writes of one that there is are certain in those after it.
            accesses = tuple(replace(access, certain=False) for access in accesses)
        reduction = find_reduction(node.operations, accesses)
        self.statements.append(
            Statement(name, around.iterators, domain, node.operations, accesses, reduction, node.location, node.text)
        )
        return SourceOrder(isl.Schedule.from_domain(isl.UnionSet.from_set(domain)), (name,))

    def _loop(self, node: RangeLoop, around: _Enclosing) -> SourceOrder | None:
        depth = len(around.iterators)
        position, first = len(self.loops), len(self.statements)
        self.loops.append(ReportedLoop(node.variable, depth, (), node.location))
        domain = around.domain.intersect(
            iterations(self.affine, Iterator(node.iterator), node.start, node.stop, node.step)
        ).coalesce()
        body = self._sequence(node.body, _Enclosing(domain, (*around.iterators, node.iterator)))
        if body is None:
            del self.loops[position:]
            return None
        if node.iterator in self.flags and self._is_written(self.flags[node.iterator]):
            self.ends.append(EarlyEnd(node.iterator, self.flags[node.iterator], node.start, node.step > 0))
        inside = self.statements[first:]
        self.loops[position] = ReportedLoop(node.variable, depth, tuple(s.name for s in inside), node.location)
        schedule = body.schedule.insert_partial_schedule(self._iterator_schedule(inside, depth, node.step))
        return SourceOrder(schedule, (SourceLoop(node.iterator, node.start, node.stop, node.step, body.nodes),))

    def _is_written(self, array: str) -> bool:
        """Return whether a statement so far writes to an array; to a flag none does where nothing ever sets it."""
        accesses = (access for statement in self.statements for access in statement.accesses)
        return any(access.array == array and access.is_write for access in accesses)

    @staticmethod
    def _iterator_schedule(statements: Sequence[Statement], depth: int, step: int) -> isl.MultiUnionPwAff:
        """The loop's iterator on each of its statements, negated where the loop counts down."""
        schedule = isl.UnionPwAff.empty(statements[0].domain.get_space().params())
        for statement in statements:
            space = isl.LocalSpace.from_space(statement.domain.get_space())
            iterator = isl.Aff.var_on_domain(space, isl.dim_type.set, depth)
            function = isl.PwAff.from_aff(iterator if step > 0 else iterator.neg()).intersect_domain(statement.domain)
            schedule = schedule.union_add(isl.UnionPwAff.from_pw_aff(function))
        return isl.MultiUnionPwAff.from_union_pw_aff(schedule)
