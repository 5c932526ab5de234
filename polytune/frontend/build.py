"""The typed program as a polyhedral model: domains, accesses, and the source order as a schedule tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polytune.frontend.accesses import AccessBuilder, move_to_tuple
from polytune.frontend.affine import AffineBuilder
from polytune.frontend.expression import Binary, Constant, Expression, Iterator
from polytune.frontend.program import ElementLocations, For, Guard, Node, Perform
from polytune.frontend.reductions import find_reduction
from polytune.frontend.scop import Loop, Statement


@dataclass(frozen=True)
class Surroundings:
    """What holds where a node stands: the iterators of the loops around, and their values, a set in parameter space."""

    domain: isl.Set
    iterators: tuple[str, ...] = ()


@dataclass
class ModelBuilder:
    """Collects statements and loops in source order.

    Attributes:
        prefix: the statements are called ``{prefix}0``, ``{prefix}1``, ...
    """

    affine: AffineBuilder
    locations: ElementLocations
    prefix: str = "S"
    statements: list[Statement] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)

    def build(self, nodes: Iterable[Node]) -> isl.Schedule | None:
        """Add the nodes' statements and loops; their schedule, or None if no statement is ever executed."""
        return self._sequence(nodes, Surroundings(self.affine.universe()))

    def _sequence(self, nodes: Iterable[Node], around: Surroundings) -> isl.Schedule | None:
        schedule: isl.Schedule | None = None
        for node in nodes:
            part = self._node(node, around)
            if part is not None:
                schedule = part if schedule is None else schedule.sequence(part)
        return schedule

    def _node(self, node: Node, around: Surroundings) -> isl.Schedule | None:
        match node:
            case Perform():
                return self._statement(node, around)
            case Guard(condition, then, otherwise):
                holds = self.affine.condition(condition)
                parts = [
                    self._sequence(then, self._within(around, holds)),
                    self._sequence(otherwise, self._within(around, holds.complement())),
                ]
                present = [part for part in parts if part is not None]
                if len(present) == 2:
                    return present[0].sequence(present[1])
                return present[0] if present else None
            case For():
                return self._loop(node, around)

    @staticmethod
    def _within(around: Surroundings, condition: isl.Set) -> Surroundings:
        return Surroundings(around.domain.intersect(condition).coalesce(), around.iterators)

    def _statement(self, node: Perform, around: Surroundings) -> isl.Schedule | None:
        if around.domain.is_empty():
            return None
        name = f"{self.prefix}{len(self.statements)}"
        domain = isl.Set.from_params(around.domain)
        for position, iterator in enumerate(around.iterators):
            domain = move_to_tuple(domain, isl.dim_type.set, position, iterator)
        domain = domain.set_tuple_name(name)
        accesses = AccessBuilder(self.affine, self.locations).build(
            name, around.iterators, node.operations, around.domain, node.location
        )
        reduction = find_reduction(node.operations, accesses)
        self.statements.append(
            Statement(name, around.iterators, domain, node.operations, accesses, reduction, node.location, node.text)
        )
        return isl.Schedule.from_domain(isl.UnionSet.from_set(domain))

    def _loop(self, node: For, around: Surroundings) -> isl.Schedule | None:
        depth = len(around.iterators)
        position, first = len(self.loops), len(self.statements)
        self.loops.append(Loop(node.variable, depth, (), node.location))
        domain = around.domain.intersect(self._iterations(node)).coalesce()
        body = self._sequence(node.body, Surroundings(domain, (*around.iterators, node.iterator)))
        if body is None:
            del self.loops[position:]
            return None
        inside = self.statements[first:]
        self.loops[position] = Loop(node.variable, depth, tuple(s.name for s in inside), node.location)
        return body.insert_partial_schedule(self._iterator_schedule(inside, depth, node.step))

    def _iterations(self, node: For) -> isl.Set:
        """``{ : start <= i < stop and (i - start) mod step = 0 }``, and its mirror image for a negative step."""
        iterator, less = Iterator(node.iterator), self.affine.less
        if node.step > 0:
            values = less(node.start, iterator, strictly=False).intersect(less(iterator, node.stop, strictly=True))
        else:
            values = less(iterator, node.start, strictly=False).intersect(less(node.stop, iterator, strictly=True))
        if abs(node.step) > 1:
            step: Expression = Constant(abs(node.step), "int64")
            distance = Binary("-", Iterator(node.iterator), node.start, "int64")
            remainder = self.affine.function(Binary("%", distance, step, "int64"))
            values = values.intersect(remainder.eq_set(self.affine.integer(0)))
        return values

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
