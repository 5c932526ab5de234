"""The work of one iteration of the loops around some nodes: what it computes, and how accesses go along the loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import assert_never

import numpy as np

from polytune.codegen.loop_place import LoopPlace, pace_along, step_along
from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    If,
    Let,
    Node,
    Prefetch,
    RegionCall,
    Store,
)
from polytune.codegen.vectors.expressions import VECTOR, Between, Lanes, Splat, VectorExpression, operands
from polytune.draws import draw_of
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

DIVISIONS = ("/", "//", "%")
_CONVERSIONS = ("half_value", "half_bits", "half_rounded")
_SIMPLE_CALLS = ("real", "imag", "conjugate", "complex", "rounded", "floor", "ceil", "trunc", "rint", *_CONVERSIONS)
_MOST_UNROLLED = 32
_LINE_BYTES = 64  # of a line of the caches, beyond which elements lie in lines of their own


_AccessPattern = tuple[int, int, tuple[int, ...], str]
_SeveralVectors = tuple[int, int, tuple[int, ...], str, int]
_SpacedAccess = tuple[int, int, tuple[int, ...], str, int, int]
_Combined = tuple[tuple[tuple[int, int], ...], ...]
_CombinedAccess = tuple[int, int, tuple[int, ...], str, int, int, _Combined]
_AccessKey = tuple[_AccessPattern, tuple[Expression, ...]]


@dataclass
class IterationWork:
    """The work of an iteration: operations, divisions, calls, conditions on data, accesses, and of the vectors that the
    code has the operations, and the elements that do not lie next to one another.

    An access is the bytes of an element, the loop along which elements are neighbours (-1 for none, -2 where that
    depends on data), all loops that it varies with, and the array; those that have equal subscripts but for the one
    along which elements lie next to one another are one.  Of those that are vectors, ``vectors_of`` has the subscripts
    along which they do, and ``pitches`` of those that move by more than an element along their loop, by how many bytes.
    ``combined`` has of those with a subscript that varies with several variables, as ``i - 2 * t``, the loops that each
    such subscript varies with, and by how much it moves in an iteration of each.
    """

    operations: float = 0.0
    divisions: float = 0.0
    calls: float = 0.0
    branches: float = 0.0
    vectors: float = 0.0
    gathered: float = 0.0
    accesses: dict[_AccessKey, _AccessPattern] = field(default_factory=dict)
    vectors_of: dict[_AccessKey, set[Expression]] = field(default_factory=dict)
    pitches: dict[_AccessKey, int] = field(default_factory=dict)
    combined: dict[_AccessKey, _Combined] = field(default_factory=dict)

    @property
    def described(self) -> list[_AccessPattern | _SeveralVectors | _SpacedAccess | _CombinedAccess]:
        """Return the accesses as accounts take them: of those that are several vectors, their number follows, of those
        that move by more than an element, by how many bytes, and what is combined of others."""
        found: list[_AccessPattern | _SeveralVectors | _SpacedAccess | _CombinedAccess] = []
        for key, each in self.accesses.items():
            number = len(self.vectors_of.get(key, ()))
            if key in self.combined:
                found.append((*each, max(1, number), self.pitches.get(key, each[0]), self.combined[key]))
            elif key in self.pitches:
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
            if isinstance(node, Store) and node.apart is not None:
                it.gathered += _most_lanes(nodes)
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
            case LibraryCall(function):
                it.calls += share if draw_of(function) is not None else 100 * share
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
                it.gathered += node.lanes * (node.apart is not None)
                return
            case Binary(operator, left, right):
                if operator in DIVISIONS:
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
        for child in operands(node):
            self._enter_expression(it, child, place, share)

    def _enter_access(self, it: IterationWork, element: Element, place: LoopPlace, is_vector: bool = False) -> None:
        region = place.region
        if is_vector:
            it.vectors += 1
        if not element.subscripts or (region is not None and element.array in region.local):
            return
        near = element.subscripts[0 if self._layout(element) == "F" else -1]
        varying = range(len(place.loops)) if is_of_data(element) else sorted(place.varying(element))
        size, along = np.dtype(element.dtype).itemsize, self._along(element, near, place)
        pitch = size
        if along == -1 and not is_vector:
            along, elements = self._apart(element, near, place)
            if along >= 0:
                pitch = max(1, int(pitch * elements))
                finer = set(place.positions(near)) - {along}
                if along in place.positions(near):  # its other loops move it by as much, or from element to element
                    finer = {k for k in finer if abs(pace_along(near, place.loops[k]) or Fraction(0)) < elements}
                varying = [k for k in varying if k not in finer]
        access = size, along, tuple(varying), element.array
        key = access, tuple(each for each in element.subscripts if each is not near)
        it.accesses[key] = access
        if pitch != size:
            it.pitches[key] = pitch
        if combined := _combined(element, place, varying):
            it.combined[key] = combined
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
        if is_of_data(element):
            return -2
        for k in (place.position, *of_near[-1:]):
            if k in of_near and k not in far and step_along(near, place.loops[k]) in (1, -1):
                return k
        return -1

    def _apart(self, element: Element, near: Expression, place: LoopPlace) -> tuple[int, Fraction]:
        """Return along which loop an access moves by a few elements in each iteration, or by one in a few, so that
        several iterations find theirs in a line, and by how many; -1 for none.

        That is a loop whose multiple or quotient is the subscript along which elements lie next to one another, or, in
        an array with few elements along that, the loop in the subscript beside it.

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
            return -1, Fraction(1)
        moved = elements * abs(pace_along(beside, place.loops[of_beside[-1]]) or Fraction(0))
        is_near = 0 < moved * np.dtype(element.dtype).itemsize < _LINE_BYTES
        return (of_beside[-1], moved) if moved != 1 and is_near else (-1, Fraction(1))

    def _layout(self, element: Element) -> str:
        return self.layouts.get(element.array, "C")


def _most_lanes(nodes: Sequence[Node]) -> int:
    """Return how many lanes the vectors have that are stored next to what nodes load and compute."""
    values = [node.value for node in nodes if isinstance(node, Let | Store)]
    lanes = 1
    while values:
        value = values.pop()
        lanes = max(lanes, value.lanes if isinstance(value, Lanes | Splat | Between) else 1)
        values += operands(value)
    return lanes


def _stays(node: VectorExpression) -> bool:
    """Return whether a value is computed of nothing but numbers, scalar arguments and extents."""
    below = operands(node)
    return all(map(_stays, below)) if below else isinstance(node, Constant | Argument | ParameterValue | Extent)


def _combined(element: Element, place: LoopPlace, varying: Sequence[int]) -> _Combined:
    """Return of each subscript that varies with several variables the loops, and by how much it moves in an iteration.

    Args:
        element: what is accessed.
        place: where.
        varying: the loops that count.
    """
    tile = (
        frozenset(name for pair in place.region.windows for name in pair) if place.region is not None else frozenset()
    )
    found = []
    for subscript in element.subscripts:
        positions = place.positions(subscript)
        variables = frozenset().union(*(place.loops[k] for k in positions)) - tile
        if len({leaf.name for leaf in walk(subscript) if isinstance(leaf, Iterator)} & variables) < 2:
            continue
        steps = {k: step_along(subscript, place.loops[k]) for k in positions}
        if all(step is not None and k in varying for k, step in steps.items()):
            found.append(tuple((k, abs(step)) for k, step in steps.items() if step))
    return tuple(found)


def is_of_data(element: Element) -> bool:
    """Return whether a subscript depends on data."""
    return any(isinstance(part, Element) for subscript in element.subscripts for part in walk(subscript))
