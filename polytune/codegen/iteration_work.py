"""The work of one iteration of the loops around some nodes, and how compilers can be expected to order it.

What is told of an access says how it goes along the loops; what is told of an iteration, whether several of them can be
computed at a time, and how long each waits for the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, assert_never

import numpy as np

from polytune.codegen.affine_range import difference
from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    If,
    Let,
    Node,
    Prefetch,
    RegionCall,
    RegionCode,
    Store,
    walk_nodes,
)
from polytune.codegen.vectors.expressions import VECTOR, Lanes, VectorExpression
from polytune.frontend.expression import (
    Argument,
    Assign,
    Binary,
    Branch,
    Break,
    Call,
    Checked,
    Compare,
    Constant,
    Continue,
    Element,
    Expression,
    Extent,
    Iterator,
    LibraryCall,
    Loop,
    Operation,
    ParameterValue,
    Power,
    Select,
    Unary,
    While,
    walk,
)
from polytune.records import dataclass

_DIVISIONS = ("/", "//", "%")
_CONVERSIONS = ("half_value", "half_bits", "half_rounded")
_SIMPLE_CALLS = ("real", "imag", "conjugate", "complex", "rounded", "floor", "ceil", "trunc", *_CONVERSIONS)
_MOST_UNROLLED = 32
_LINE_BYTES = 64  # of a line of the caches, beyond which elements lie in lines of their own


@dataclass(frozen=True)
class LoopPlace:
    """The place of a node: the names that each loop around it is known by, the outermost first, and the region."""

    loops: tuple[frozenset[str], ...] = ()
    region: RegionCode | None = None
    innermost: For | None = None
    position: int = -1

    def inside(self, loop: For | None) -> LoopPlace:
        """The place inside of a loop of the code, or, without one, of a loop of a statement."""
        if loop is None:
            return LoopPlace((*self.loops, frozenset()), self.region)
        place = LoopPlace((*self.loops, frozenset((loop.variable,))), self.region, self.innermost, self.position)
        if self.innermost is not None and _is_unrolled(loop):
            return place
        if _is_innermost(loop):
            return replace(place, innermost=loop, position=len(self.loops))
        return replace(place, innermost=None, position=-1)

    def positions(self, node: Expression) -> tuple[int, ...]:
        """Return which of the loops a subscript varies with."""
        used = {leaf.name for leaf in walk(node) if isinstance(leaf, Iterator)}
        return tuple(k for k, names in enumerate(self.loops) if names & used)

    def varying(self, element: Element) -> set[int]:
        """Return which of the loops the subscripts of an element vary with."""
        return {k for subscript in element.subscripts for k in self.positions(subscript)}


_AccessPattern = tuple[int, int, tuple[int, ...], str]
_SeveralVectors = tuple[int, int, tuple[int, ...], str, int]
_SpacedAccess = tuple[int, int, tuple[int, ...], str, int, int]
_AccessKey = tuple[_AccessPattern, tuple[Expression, ...]]


@dataclass
class IterationWork:
    """The work of an iteration: operations, divisions, calls, conditions on data, and accesses.

    An access is the bytes of an element, the loop along which elements are neighbours (-1 for none, -2 where that
    depends on data), all loops that it varies with, and the array; those that have equal subscripts but for the one
    along which elements lie next to one another are one.  Of those that are vectors, ``vectors_of`` has the subscripts
    along which they do, and ``pitches`` of those that move by more than an element along their loop, by how many bytes.
    """

    operations: float = 0.0
    divisions: float = 0.0
    calls: float = 0.0
    branches: float = 0.0
    vectors: float = 0.0
    accesses: dict[_AccessKey, _AccessPattern] = field(default_factory=dict)
    vectors_of: dict[_AccessKey, set[Expression]] = field(default_factory=dict)
    pitches: dict[_AccessKey, int] = field(default_factory=dict)

    @property
    def described(self) -> list[_AccessPattern | _SeveralVectors | _SpacedAccess]:
        """Return the accesses as accounts take them: of those that are several vectors, their number follows, and of
        those that move by more than an element, by how many bytes."""
        found: list[_AccessPattern | _SeveralVectors | _SpacedAccess] = []
        for key, each in self.accesses.items():
            number = len(self.vectors_of.get(key, ()))
            if key in self.pitches:
                found.append((*each, max(1, number), self.pitches[key]))
            else:
                found.append((*each, number) if number > 1 else each)
        return found


@dataclass(frozen=True)
class IterationReader:
    """Reads what iterations of a kernel do.

    Attributes:
        strict: whether the order of sums is the source's.
        layouts: of each array, "C" or "F", whether elements of a row or of a column lie next to one another.
        rows: of arrays that have few elements next to one another, as the colours of a point, how many.
    """

    strict: bool
    layouts: Mapping[str, str]
    rows: Mapping[str, int] = field(default_factory=dict)

    def work_of_nodes(self, nodes: Sequence[Node], place: LoopPlace) -> IterationWork:
        """The work of nodes without loops, in an iteration of the loops around them."""
        it = IterationWork()
        for node in nodes:
            self._enter_node(it, node, place)
        return it

    def work_of_operations(self, operations: Sequence[Operation], place: LoopPlace) -> IterationWork:
        """The work of operations of a statement, without that of the loops inside of it."""
        it = IterationWork()
        for operation in operations:
            self._enter_operation(it, operation, place)
        return it

    def _enter_node(self, it: IterationWork, node: Node, place: LoopPlace) -> None:
        match node:
            case Compute(operations=operations):
                for operation in operations:
                    self._enter_operation(it, operation, place)
            case Let(_, value):
                self._enter_expression(it, value, place)
            case Store(element, value):
                self._enter_expression(it, value, place)
                self._enter_access(it, element, place, is_vector=node.is_vector)
            case Prefetch():
                it.vectors += 0.5
            case Block() | For() | If() | RegionCall():
                raise AssertionError("loops and conditions are entered where their bodies are")
            case _:
                assert_never(node)

    def _enter_operation(self, it: IterationWork, operation: Operation, place: LoopPlace, share: float = 1.0) -> None:
        match operation:
            case Assign(target, value):
                self._enter_expression(it, value, place, share)
                self._enter_access(it, target, place)
            case Branch(condition, then, otherwise):
                it.branches += share
                self._enter_expression(it, condition, place, share)
                for part in (*then, *otherwise):
                    self._enter_operation(it, part, place, share / 2)
            case While(condition):
                self._enter_expression(it, condition, place, share)
            case LibraryCall():
                it.calls += 100 * share
            case Loop():
                it.operations += share
            case Checked(body=body):
                for child in body:
                    self._enter_operation(it, child, place, share)
            case Break() | Continue():
                pass
            case _:
                assert_never(operation)

    def _enter_expression(
        self, it: IterationWork, node: VectorExpression, place: LoopPlace, share: float = 1.0
    ) -> None:
        """Enter what computing a value takes; subscripts are left out, which compilers compute from one iteration to
        the next, and so is what has the same value in the whole kernel, which they take out of loops."""
        if _stays(node):
            return
        match node:
            case Element():
                self._enter_access(it, node, place)
                return
            case Lanes(element):
                self._enter_access(it, element, place, is_vector=True)
                return
            case Binary(operator, left, right):
                if operator in _DIVISIONS:
                    it.divisions += share
                elif operator == "**":
                    it.calls += share
                elif node.dtype == VECTOR:
                    it.vectors += share
                else:
                    it.operations += share
                self._enter_expression(it, left, place, share)
                self._enter_expression(it, right, place, share)
                return
            case Power(exponent=exponent):
                it.operations += share * max(1, abs(exponent).bit_length())
            case Call(function):
                if function == "sqrt":
                    it.divisions += share
                elif function in _SIMPLE_CALLS or function.startswith("is"):
                    it.operations += share
                else:
                    it.calls += share
            case Unary() | Compare():
                it.operations += share
            case Select():
                it.operations += share
            case _:
                pass
        for child in _operands(node):
            self._enter_expression(it, child, place, share)

    def _enter_access(self, it: IterationWork, element: Element, place: LoopPlace, is_vector: bool = False) -> None:
        region = place.region
        if is_vector:
            it.vectors += 1
        if not element.subscripts or (region is not None and element.array in region.local):
            return
        near = element.subscripts[0 if self._layout(element) == "F" else -1]
        varying = range(len(place.loops)) if _is_of_data(element) else sorted(place.varying(element))
        size, along = np.dtype(element.dtype).itemsize, self._along(element, near, place)
        pitch = size
        if along == -1 and not is_vector:
            along, elements = self._apart(element, near, place)
            if along >= 0:
                pitch *= elements
                varying = [k for k in varying if k == along or k not in place.positions(near)]
        access = size, along, tuple(varying), element.array
        key = access, tuple(each for each in element.subscripts if each is not near)
        it.accesses[key] = access
        if pitch != size:
            it.pitches[key] = pitch
        if is_vector:
            it.vectors_of.setdefault(key, set()).add(near)

    def _along(self, element: Element, near: Expression, place: LoopPlace) -> int:
        """Return along which loop elements are neighbours: -1 for none, -2 where that depends on data.

        Args:
            element: what is accessed.
            near: its subscript along which elements lie next to one another.
            place: where.
        """
        region, of_near = place.region, place.positions(near)
        far = {k for each in element.subscripts if each is not near for k in place.positions(each)}
        if region is not None and place.position in far and any(each.name == element.array for each in region.buffers):
            return place.position  # what lies in a buffer is in the order in which it is used
        if _is_of_data(element):
            return -2
        is_next = bool(of_near) and of_near[-1] not in far and _step(near, place.loops[of_near[-1]]) in (1, -1)
        return of_near[-1] if is_next else -1

    def _apart(self, element: Element, near: Expression, place: LoopPlace) -> tuple[int, int]:
        """Return along which loop an access moves by a few elements in each iteration, so that several iterations find
        theirs in a line, and by how many; -1 for none.

        That is a loop whose multiple is the subscript along which elements lie next to one another, or, in an array
        with few elements along that, the loop in the subscript beside it.

        Args:
            element: what is accessed.
            near: its subscript along which elements lie next to one another.
            place: where.
        """
        subscripts, in_near = element.subscripts, place.positions(near)
        beside, elements = near, 1
        if element.array in self.rows and place.position not in in_near:
            beside = subscripts[1 if self._layout(element) == "F" else -2]
            elements = self.rows[element.array]
        of_beside = place.positions(beside)
        others = {k for each in subscripts if each is not beside for k in place.positions(each)}
        if not of_beside or of_beside[-1] in others:
            return -1, 1
        step = _step(beside, place.loops[of_beside[-1]])
        elements *= abs(step or 0)
        is_near = 1 < elements * np.dtype(element.dtype).itemsize < _LINE_BYTES
        return (of_beside[-1], elements) if elements > 1 and is_near else (-1, 1)

    def _layout(self, element: Element) -> str:
        return self.layouts.get(element.array, "C")

    def is_vectorised(self, nodes: Sequence[Node], place: LoopPlace) -> int:
        """Return whether the compiler can be expected to take several iterations of the innermost loop at a time: 0 for
        no, 1 for yes, and 2 where it has to find out first that elements of an array that are stored are apart."""
        loop = place.innermost
        if loop is None or place.region is None:
            return 0
        if self._copies_rows(nodes, place):
            return 1
        operations = [each for node in nodes if isinstance(node, Compute) for each in node.operations]
        assigns = [each for each in operations if isinstance(each, Assign)]
        if len(operations) == 0 or len(assigns) < len(operations):
            return 0
        if any(not isinstance(node, Block | Compute | For) for node in walk_nodes(loop.body)):
            return 0
        if not all(self._suits_lanes(each, place) for each in assigns) or self.chained(nodes, place):
            return 0
        stored = [each.target.array for each in assigns if each.target.subscripts]
        if len(set(stored)) == len(stored):
            return 1
        # Stores wait at the ends of branches, and what is loaded after them makes vectors of none.
        return 0 if any(_branches(part) for each in assigns for part in walk(each.value)) else 2

    def _copies_rows(self, nodes: Sequence[Node], place: LoopPlace) -> bool:
        """Return whether all that nodes do is to copy what lies next to one another, from iteration to iteration of the
        innermost loop, to where it does, too."""
        copies = [
            (node.element, node.value)
            for node in nodes
            if isinstance(node, Store) and not node.is_vector and isinstance(node.value, Element)
        ]
        return len(copies) == len(nodes) > 0 and all(
            self._is_along(element, place) for pair in copies for element in pair
        )

    def _is_along(self, element: Element, place: LoopPlace) -> bool:
        """Return whether an iteration of the innermost loop has the neighbour in memory of that of the one before."""
        near = element.subscripts[0 if self._layout(element) == "F" else -1]
        far = {k for each in element.subscripts if each is not near for k in place.positions(each)}
        return place.position not in far and _step(near, place.loops[place.position]) == 1

    def _suits_lanes(self, each: Assign, place: LoopPlace) -> bool:
        """Return whether values for several iterations of the innermost loop are computed and stored side by side."""
        if self.strict and any(isinstance(part, Call) for part in walk(each.value)):
            return False
        if place.position not in place.varying(each.target):
            return True
        near = each.target.subscripts[0 if self._layout(each.target) == "F" else -1]
        return _step(near, place.loops[place.position]) == 1

    def chained(self, nodes: Sequence[Node], place: LoopPlace) -> int:
        """Return how many operations one after another each iteration of the innermost loop waits for of the one
        before."""
        loop = place.innermost
        if loop is None or place.region is None:
            return 0
        assigns = [
            each for node in nodes if isinstance(node, Compute) for each in node.operations if isinstance(each, Assign)
        ]
        may_depend = loop.variable not in place.region.independent
        assigned: set[str] = set()
        longest = 0
        for number, each in enumerate(assigns):
            if place.position not in place.varying(each.target):
                # An accumulation, which may be taken apart where its order is free, or a value of this iteration.
                is_carried = each.target in walk(each.value) and each.target.array not in assigned
                if is_carried and (self.strict or not _is_sum(each)):
                    longest = max(longest, _depth(each.value))
            elif may_depend and _is_waited_for(assigns, number, place):
                longest = max(longest, sum(_depth(one.value) for one in assigns))
            assigned.add(each.target.array)
        return longest


def _trips(loop: For) -> int | None:
    """Return how often a loop runs; None where that is no constant."""
    if isinstance(loop.start, Constant) and isinstance(loop.stop, Constant):
        return max(0, -((int(loop.start.value) - int(loop.stop.value)) // loop.step))
    return None


def _is_unrolled(loop: For) -> bool:
    """Return whether compilers write a loop out, with those inside."""
    trips = 1
    for node in walk_nodes(loop):
        if isinstance(node, For):
            found = _trips(node)
            if found is None:
                return False
            trips *= max(1, found)
    return trips <= _MOST_UNROLLED


def _is_innermost(loop: For) -> bool:
    """Return whether there are no loops in a loop but those that are written out."""
    return all(_is_unrolled(node) for node in walk_nodes(loop.body) if isinstance(node, For))


def _operands(node: VectorExpression) -> list[Any]:
    found: list[Any] = []
    for name in ("operand", "left", "right", "condition", "then", "otherwise", "value", "before"):
        child = getattr(node, name, None)
        if hasattr(child, "__dataclass_fields__"):
            found.append(child)
    for name in ("operands", "arguments"):
        found += [child for child in getattr(node, name, ()) if hasattr(child, "__dataclass_fields__")]
    return found


def _stays(node: VectorExpression) -> bool:
    """Return whether a value is computed of nothing but numbers, scalar arguments and extents."""
    below = _operands(node)
    return all(map(_stays, below)) if below else isinstance(node, Constant | Argument | ParameterValue | Extent)


def _step(subscript: Expression, names: frozenset[str]) -> int | None:
    """Return by how much a subscript grows in an iteration of a loop; None where that is not plain to see."""
    match subscript:
        case Iterator(name):
            return int(name in names)
        case Binary("+", left, right):
            first, second = _step(left, names), _step(right, names)
            return None if first is None or second is None else first + second
        case Binary("-", left, right):
            first, second = _step(left, names), _step(right, names)
            return None if first is None or second is None else first - second
        case Binary("*", Constant(factor), other) | Binary("*", other, Constant(factor)):
            step = _step(other, names)
            return None if step is None else int(factor) * step
        case _:
            varies = any(isinstance(leaf, Iterator) and leaf.name in names for leaf in walk(subscript))
            return None if varies else 0


def _is_of_data(element: Element) -> bool:
    """Return whether a subscript depends on data."""
    return any(isinstance(part, Element) for subscript in element.subscripts for part in walk(subscript))


def _is_sum(each: Assign) -> bool:
    """Return whether a value is its target and something else, in an order that is free."""
    value = each.value
    return (
        isinstance(value, Binary)
        and value.operator in ("+", "-", "*", "min", "max")
        and (value.left == each.target or value.right == each.target)
    )


def _branches(node: Expression) -> bool:
    """Return whether a value is one of two of which at least one is no number: machine code computes only that one."""
    return isinstance(node, Select) and not (isinstance(node.then, Constant) and isinstance(node.otherwise, Constant))


def _is_waited_for(assigns: Sequence[Assign], number: int, place: LoopPlace) -> bool:
    """Return whether an iteration of the innermost loop reads what an assignment in the one before has written.

    Args:
        assigns: those of an iteration, in their order.
        number: which of them.
        place: where they are.
    """
    target = assigns[number].target
    return any(
        _waits(read, target, place, is_behind=at > number)
        for at, each in enumerate(assigns)
        for read in walk(each.value)
        if isinstance(read, Element) and read.array == target.array and read != target
    )


def _waits(read: Element, target: Element, place: LoopPlace, *, is_behind: bool) -> bool:
    """Return whether an iteration of the innermost loop reads what one before it has written.

    Of elements that differ in nothing but the subscript that the loop is in: what is read ahead of what is written,
    ``a[j] = a[j + 1]``, waits for nothing, and vectors of it are read before they are written.

    Args:
        read: an element that is read.
        target: an element of the same array that is written.
        place: where the loop is.
        is_behind: whether the body writes before it reads, so that vectors would not.
    """
    position = place.position
    differing = [(a, b) for a, b in zip(read.subscripts, target.subscripts, strict=True) if a != b]
    if len(differing) != 1 or position not in place.positions(differing[0][1]):
        return False
    ahead, step = difference(*differing[0]), _step(differing[0][1], place.loops[position])
    return is_behind or not ahead or not step or ahead * step < 0


def _depth(node: Expression) -> int:
    """Return how many operations one after another a value takes."""
    below = max((_depth(child) for child in _operands(node)), default=0)
    if isinstance(node, Call) or (isinstance(node, Binary) and node.operator in _DIVISIONS):
        return below + 4
    return below + isinstance(node, Binary | Unary | Select | Power)
