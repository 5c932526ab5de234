"""Factored sums: a sum over all of a loop nest as many partial sums, which are independent of one another.

In ``for i: total += x[i]`` every iteration updates the one element, and no two of them may run at once.  With the index
written as ``i = q * COUNT + r``, ``0 <= r < COUNT``, the nest is the same as

    for r: part[r] = -0.0
    for r: for q: part[r] += x[q * COUNT + r]
    for r: total += part[r]

where different r have nothing to do with one another, and neighbouring ones read neighbouring elements, which is what
devices want.  (Suriana, Adams, Kamil, "Parallel Associative Reductions in Halide", CGO 2017, call it ``rfactor``.)
Products, minima and maxima are factored alike, and nests of two or three loops along each of the last of them.

Why that is right: r and q are a bijection of i; what a sum begins with in ``part`` is the neutral element of its
operator; nothing but the sum itself touches what it adds to while the nest runs; and its terms may come in any order.
The kernel with its partial sums is a kernel like any other: its dependences are computed, and its schedule is checked
against them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import islpy as isl

from polytune.frontend.expression import Assign, Binary, Constant, Element, Expression, Iterator, map_children, walk
from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.frontend.polyhedral.reductions import joined_by, neutral_element
from polytune.frontend.scop import Access, AccessKind, Array, ArrayRole, Scop, Statement
from polytune.records import dataclass
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.analysis.dependences import compute_dependences
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.candidate import REASSOCIATION, Attempted, Candidate, Known, Order, Origin
from polytune.schedule.orders.scheduled import REDUCTIONS
from polytune.schedule.tree import has_band, statements_of
from polytune.schedule.unions import domain_of, joined

COUNTS: Mapping[int, tuple[int, ...]] = {1: (32768,), 2: (128, 256), 3: (8, 16, 256)}
"""The partial sums along each of the loops that are factored, by the number of these: enough for the threads of a large
device, and few enough to be added up by a processor in some microseconds."""


def factor_sums(candidate: Candidate) -> Attempted[Candidate]:
    """The candidate with the heaviest of its sums factored into partial sums; none where it has no such sums.

    A nest counts that has no loop around it, loops between bounds that do not depend on one another, and nothing in it
    but sums to single elements, of which none reads what another one adds to, in as many loops as any statement of the
    kernel has.
    """
    context = candidate.dependences.scop.context.get_ctx()
    made = within_budget(context, PHASE_BUDGET, lambda: (_factored(candidate),))
    if made is None:
        return Attempted((), (FACTORED.name,))
    (found,) = made
    if found is None:
        return Attempted((), ())
    schedule, scop, origin = found
    # The terms of a partial sum may come in any order, too, so that all of its loops are one permutable band.
    dependences = within_budget(context, PHASE_BUDGET, lambda: compute_dependences(scop, relax_reductions=True))
    if dependences is None or not is_proven_legal(schedule, dependences):
        return Attempted((), (FACTORED.name,))
    return Attempted((Candidate(FACTORED, schedule, dependences, origin=origin),), ())


def _find(known: Known) -> Attempted[Candidate]:
    """The first order that devices may follow and that has such sums, in the order of their ranks, with them
    factored."""
    given_up: list[str] = []
    ranked = [(each.order.for_devices, each) for each in known.found]
    for _, candidate in sorted((each for each in ranked if each[0] is not None), key=lambda each: each[0] or 0):
        attempted = factor_sums(candidate)
        if attempted.made:
            return attempted
        given_up += attempted.given_up
    return Attempted((), tuple(dict.fromkeys(given_up)))


FACTORED = Order(
    name="factored",
    meaning="sums in many partial sums that are independent of one another",
    is_seen=True,
    find=_find,
    needs=(REASSOCIATION, REDUCTIONS),
    for_devices=0,
)
"""An order for devices alone: on a processor workers add up in copies of their own, which are far fewer."""


def _factored(candidate: Candidate) -> tuple[isl.Schedule, Scop, Origin] | None:
    """The schedule with the nests of sums factored, the kernel that has the partial sums, and the relation of its
    instances to those that it had; None where there is no such nest."""
    scop = candidate.dependences.scop
    root = candidate.schedule.get_root().child(0)
    parts = [root]
    if root.get_type() in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
        parts = [root.child(position).child(0) for position in range(root.n_children())]
    builder = _Factoring(scop)
    schedules: list[isl.Schedule] = []
    rest: list[isl.UnionSet] = []
    for part in parts:
        sums = _sums_of(part, candidate)
        if sums is None:
            rest.append(part.get_domain())
            continue
        schedules += _kept(candidate.schedule, rest)
        rest = []
        schedules.append(builder.factor(sums))
    if not builder.replaced:
        return None
    schedules += _kept(candidate.schedule, rest)
    schedule = reduce(lambda left, right: left.sequence(right), schedules)
    return schedule, replace(builder.scop(), schedule=schedule), builder.origin()


def _kept(schedule: isl.Schedule, parts: Sequence[isl.UnionSet]) -> list[isl.Schedule]:
    """Return a schedule of some neighbouring parts of a sequence, as they are; none where there are no parts."""
    domain = reduce(lambda left, right: left.union(right), parts) if parts else None
    return [] if domain is None or domain.is_empty() else [schedule.intersect_domain(domain)]


def _sums_of(node: isl.ScheduleNode, candidate: Candidate) -> tuple[Statement, ...] | None:
    """The statements of a nest of sums without a loop around it; None where the node is no such nest."""
    dependences = candidate.dependences
    scop = dependences.scop
    if node.get_type() != isl.schedule_node_type.band or any(analyse_band(node, dependences).coincident):
        return None
    inside = [scop.statement(name) for name in statements_of(node)]
    deepest = max(len(statement.iterators) for statement in scop.statements)
    if {len(statement.iterators) for statement in inside} != {deepest} or _has_several_nests(node):
        return None
    if not all(_is_box(statement.domain) for statement in inside):
        return None  # isl takes long over what the remainders of a triangle come to
    totals = [_total_of(statement) for statement in inside]
    if None in totals or len(set(totals)) < len(totals):
        return None
    touched = [access.array for statement in inside for access in statement.accesses if access.array in totals]
    return tuple(inside) if len(touched) == 2 * len(totals) else None


def _is_box(domain: isl.Set) -> bool:
    """Return whether a set is the product of its projections on each of its dimensions."""
    dimensions = domain.dim(isl.dim_type.set)
    unnamed = domain.reset_tuple_id()
    sides = (
        unnamed.project_out(isl.dim_type.set, number + 1, dimensions - number - 1).project_out(
            isl.dim_type.set, 0, number
        )
        for number in range(dimensions)
    )
    return bool(reduce(lambda left, right: left.flat_product(right), sides).is_equal(unnamed))


def _has_several_nests(node: isl.ScheduleNode) -> bool:
    """Return whether there are bands side by side below a node: nests that follow one another."""
    while node.get_type() == isl.schedule_node_type.band:
        node = node.child(0)
    return has_band(node)


def _total_of(statement: Statement) -> str | None:
    """The array that a statement adds to, always to the same element of it; None where it is no such sum."""
    if statement.reduction is None or statement.is_opaque:
        return None
    (operation,) = statement.operations
    assert isinstance(operation, Assign), "a statement that is not opaque is an assignment"
    if any(isinstance(part, Iterator) for subscript in operation.target.subscripts for part in walk(subscript)):
        return None
    return operation.target.array


@dataclass(frozen=True)
class _Axes:
    """The dimensions of a factored statement: the loops that are left as they are, and those that are factored.

    Attributes:
        iterators: names of the statement's own dimensions.
        counts: how many partial sums there are along each of the last of them.
        starts: where each of these begins, so that the quotients of the first terms are 0.
    """

    iterators: tuple[str, ...]
    counts: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, statement: Statement) -> _Axes:
        """The dimensions of a sum."""
        counts = COUNTS[min(len(statement.iterators), max(COUNTS))]
        first = len(statement.iterators) - len(counts)
        least = (statement.domain.dim_min_val(first + number) for number in range(len(counts)))
        return cls(statement.iterators, counts, tuple(value.to_python() if value.is_int() else 0 for value in least))

    @property
    def remainders(self) -> tuple[str, ...]:
        """The names of r of each factored loop."""
        return tuple(f"{name}_remainder" for name in self.factored)

    @property
    def quotients(self) -> tuple[str, ...]:
        """The names of q of each factored loop."""
        return tuple(f"{name}_quotient" for name in self.factored)

    @property
    def whole(self) -> tuple[str, ...]:
        """The loops that are left as they are."""
        return self.iterators[: -len(self.counts)]

    @property
    def factored(self) -> tuple[str, ...]:
        """The loops that are factored."""
        return self.iterators[-len(self.counts) :]

    @property
    def of_parts(self) -> tuple[str, ...]:
        """The dimensions of the statement that adds to partial sums."""
        return (*self.remainders, *self.whole, *self.quotients)

    def index(self, context: isl.Context) -> isl.Map:
        """``{ [r, w, q] -> [w, q * COUNT + r + start] : 0 <= r < COUNT }``."""
        r, w, q = (_numbered(letter, own) for letter, own in zip("rwq", self._lengths, strict=True))
        numbers = zip(self.counts, q, r, self.starts, strict=True)
        indices = [f"{count} {own} + {left} + {start}" for count, own, left, start in numbers]
        inside = " and ".join(f"0 <= {left} < {count}" for count, left in zip(self.counts, r, strict=True))
        text = f"{{ [{', '.join((*r, *w, *q))}] -> [{', '.join((*w, *indices))}] : {inside} }}"
        return isl.Map.read_from_str(context, text)

    def box(self, context: isl.Context) -> isl.Set:
        """``{ [r] : 0 <= r < COUNT }``."""
        r = _numbered("r", len(self.counts))
        inside = " and ".join(f"0 <= {left} < {count}" for count, left in zip(self.counts, r, strict=True))
        return isl.Set.read_from_str(context, f"{{ [{', '.join(r)}] : {inside} }}")

    def substitution(self) -> dict[str, Expression]:
        """Each factored index, by its name, in terms of the new ones."""
        named = zip(self.factored, self.quotients, self.remainders, self.counts, self.starts, strict=True)
        return {
            name: _sum(_sum(Binary("*", Iterator(q), _index(count), "int64"), Iterator(r)), _index(start))
            for name, q, r, count, start in named
        }

    @property
    def _lengths(self) -> tuple[int, int, int]:
        return len(self.counts), len(self.whole), len(self.counts)


def _index(number: int) -> Constant:
    return Constant(number, "int64")


def _sum(left: Expression, right: Expression) -> Expression:
    return left if right == _index(0) else Binary("+", left, right, "int64")


def _numbered(letter: str, count: int) -> list[str]:
    return [f"{letter}{number}" for number in range(count)]


class _Factoring:
    """The kernel with its partial sums, being made."""

    def __init__(self, scop: Scop):
        self.source = scop
        self.context = scop.context.get_ctx()
        self.taken = {array.name for array in scop.arrays} | {name for name, _ in scop.signature.arguments}
        self.taken |= {parameter.name for parameter in scop.parameters}
        self.taken |= {statement.name for statement in scop.statements}
        self.taken |= {name for statement in scop.statements for name in statement.iterators}
        self.replaced: dict[str, tuple[Statement, Statement, Statement]] = {}
        self.relations: list[isl.Map] = []
        self.arrays: list[Array] = []

    def factor(self, sums: Sequence[Statement]) -> isl.Schedule:
        """The nest of some sums with partial sums: what they begin with, then what each has, then all together."""
        for statement in sums:
            self.replaced[statement.name] = self.statements_for(statement)
        steps = list(zip(*(self.replaced[statement.name] for statement in sums), strict=True))
        return reduce(lambda left, right: left.sequence(right), (self.nest(step) for step in steps))

    def statements_for(self, statement: Statement) -> tuple[Statement, Statement, Statement]:
        """The three statements that take the place of a sum."""
        axes = _Axes.of(statement)
        (operation,) = statement.operations
        reduction = statement.reduction
        assert isinstance(operation, Assign) and reduction is not None, "only sums are factored"
        target, operator = operation.target, reduction.operator
        extents = tuple(map(_index, axes.counts))
        array = Array(self.new_name(f"{target.array}_partial"), target.dtype, ArrayRole.LOCAL, extents)
        self.arrays.append(array)
        part = Element(array.name, tuple(map(Iterator, axes.remainders)), target.dtype)
        # Where the nest has no iterations, nothing is added to anything.
        box = axes.box(self.context).intersect_params(statement.domain.params())
        begins, adds, ends = (self.new_name(f"{statement.name}_{step}") for step in ("begin", "part", "end"))
        neutral = Constant(neutral_element(operator, target.dtype), target.dtype)
        begin = self.over_parts(statement, begins, axes, box, Assign(part, neutral), array)
        combined = Assign(target, joined_by(operator, target, part))
        return (
            begin,
            self.partial_sum(statement, adds, axes, part),
            self.over_parts(statement, ends, axes, box, combined, array),
        )

    def over_parts(
        self, statement: Statement, name: str, axes: _Axes, box: isl.Set, operation: Assign, partial: Array
    ) -> Statement:
        """A statement with an instance for each partial sum: one that begins it, or adds it to the whole.

        Args:
            statement: the sum that is factored.
            name: the new statement's.
            axes: its dimensions.
            box: the partial sums there are.
            operation: what it does.
            partial: the array of partial sums.
        """
        domain = box.set_tuple_name(name)
        own = _identity(domain).set_tuple_name(isl.dim_type.out, partial.name)
        if operation.target.array == partial.name:
            touched = [(partial.name, AccessKind.MUST_WRITE, own)]
        else:
            elements = _write_of(statement).relation.range().intersect_params(statement.domain.params())
            whole = isl.Map.from_domain_and_range(domain, elements)
            target = operation.target.array
            touched = [
                (target, AccessKind.READ, whole),
                (partial.name, AccessKind.READ, own),
                (target, AccessKind.MUST_WRITE, whole),
            ]
        accesses = tuple(
            Access(f"{name}_{position}", name, array, kind, relation, statement.location)
            for position, (array, kind, relation) in enumerate(touched)
        )
        text = f"partial sums of: {statement.text}"
        return Statement(name, axes.remainders, domain, (operation,), accesses, None, statement.location, text)

    def partial_sum(self, statement: Statement, name: str, axes: _Axes, part: Element) -> Statement:
        """The statement that adds to a partial sum what the source adds to the whole."""
        # { part[r, w, q] -> S[w, i] }
        index = axes.index(self.context).set_tuple_name(isl.dim_type.out, statement.name)
        index = index.set_tuple_name(isl.dim_type.in_, name).intersect_range(statement.domain)
        self.relations.append(index)
        domain = index.domain()
        own = _identity(domain).project_out(isl.dim_type.out, len(axes.counts), len(axes.iterators))
        own = own.set_tuple_name(isl.dim_type.out, part.array)
        (operation,) = statement.operations
        assert isinstance(operation, Assign), "only sums are factored"
        target, places = operation.target, axes.substitution()

        def change(node: Any) -> Any:
            if node == target:
                return part
            if isinstance(node, Iterator):
                return places.get(node.name, node)
            return map_children(node, change)

        accesses = tuple(
            replace(access, reference=f"{name}_{position}", statement=name, array=part.array, relation=own)
            if access.array == target.array
            else replace(
                access, reference=f"{name}_{position}", statement=name, relation=index.apply_range(access.relation)
            )
            for position, access in enumerate(statement.accesses)
        )
        added = Assign(part, change(operation.value))
        renamed = {old.reference: new.reference for old, new in zip(statement.accesses, accesses, strict=True)}
        reduction = statement.reduction
        assert reduction is not None, "only sums are factored"
        own_reduction = replace(reduction, read=renamed[reduction.read], write=renamed[reduction.write])
        return replace(
            statement,
            name=name,
            iterators=axes.of_parts,
            domain=domain,
            operations=(added,),
            accesses=accesses,
            reduction=own_reduction,
        )

    def nest(self, statements: Sequence[Statement]) -> isl.Schedule:
        """The instances of statements that have nothing to do with one another in one band."""
        domain = domain_of(self.source, statements)
        positions = joined(
            (isl.UnionMap.from_map(_identity(each.domain).reset_tuple_id(isl.dim_type.out)) for each in statements),
            self.source,
        )
        band = isl.MultiUnionPwAff.from_union_map(positions)
        schedule = isl.Schedule.from_domain(domain).insert_partial_schedule(band)
        return schedule.get_root().child(0).band_set_permutable(1).get_schedule()

    def scop(self) -> Scop:
        """The kernel with its partial sums, but for its schedule."""
        statements = [new for old in self.source.statements for new in self.replaced.get(old.name, (old,))]
        return replace(self.source, statements=tuple(statements), arrays=(*self.source.arrays, *self.arrays))

    def origin(self) -> Origin:
        """Return which instances of the source those of the new statements stand for."""
        kept = [each.domain.identity() for each in self.source.statements if each.name not in self.replaced]
        relation = joined(map(isl.UnionMap.from_map, [*kept, *self.relations]), self.source)
        copies = frozenset(each.name for begin, _, end in self.replaced.values() for each in (begin, end))
        return Origin(self.source, relation, copies)

    def new_name(self, beginning: str) -> str:
        """A name that nothing has yet."""
        name, number = beginning, 0
        while name in self.taken:
            name, number = f"{beginning}{number}", number + 1
        self.taken.add(name)
        return name


def _write_of(statement: Statement) -> Access:
    return next(access for access in statement.accesses if access.is_write)


def _identity(domain: isl.Set) -> isl.Map:
    """``{ S[i] -> S[i] }``"""
    return isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain)
