"""Arrays that only pass values on from one statement to others are left out: what reads them computes the values.

``t = A + B`` followed by ``C[:] = t * 2`` becomes ``C[:] = (A + B) * 2``, and the copies that a name for ``A[mask]``
needs are not made where nothing changes what is copied.  Neither the analysis nor memory sees such an array.

Soundness rests on the structure of the program.  An array is *passed on* if

- one statement writes all of it, in a nest of loops over its extents, and nothing else ever does;
- all that reads it stands behind that nest in the same block, in loops over the same extents;
- nothing from the nest to the last such place writes what the value is computed from.

A block is executed from its beginning to its end before it is begun again.  So each element that is read was written in
the same execution of the block, from operands that still are what they were.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, normal
from polytune.frontend.array_expressions.views import moved
from polytune.frontend.expression import (
    Assign,
    Binary,
    Call,
    Compare,
    Constant,
    Element,
    Expression,
    Iterator,
    LibraryCall,
    Logical,
    ParameterValue,
    Power,
    Unary,
    arrays_written,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.polyhedral.affine import NotAffineError, as_condition
from polytune.frontend.polyhedral.budget import QUESTION_BUDGET, within_budget
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.scop import ArrayRole
from polytune.records import dataclass
from polytune.signature import ArrayType

__all__ = ["with_values_passed_on"]

MOST_OPERATIONS = 60
"""The most nodes that a value may have that is computed where it is read."""

FEW_OPERATIONS = 40
"""The most that it may have that is computed at several places, none of them a division or a function."""

MOST_PLACES = 3
"""The most places at which a value may be computed that is not only loaded."""


def with_values_passed_on(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """Return the program without arrays that only pass values on; the kernel loses them, too.

    Args:
        nodes: the program.
        kernel: what the walk over the source has found.
    """
    if not kernel.kept:
        return tuple(nodes)
    return _Forwarding(kernel, _mentioned(nodes)).block(tuple(nodes), ())


def _mentioned(node: Any) -> Multiset[str]:
    """Count how often each array is mentioned in nodes."""
    nodes = node if isinstance(node, tuple | list) else (node,)
    return Multiset(each.array for top in nodes for each in walk(top) if isinstance(each, Element))


def _written(nodes: Sequence[Node]) -> set[str]:
    """Return the arrays that something in nodes may write."""
    return {array for node in nodes for array in arrays_written(node)}


@dataclass(frozen=True)
class _Producer:
    """A nest that writes all of an array.

    Attributes:
        array: the array.
        iterators: of its loops, outermost first, which are its subscripts.
        extents: the ends of these loops.
        value: what is assigned.
    """

    array: str
    iterators: tuple[Iterator, ...]
    extents: tuple[Expression, ...]
    value: Expression

    @property
    def is_copy(self) -> bool:
        """Return whether the value is an element of another array that lies in the same order."""
        if not isinstance(self.value, Element) or not self.value.subscripts:
            return False
        *others, last = self.value.subscripts
        return last == self.iterators[-1] and all(self.iterators[-1] not in walk(other) for other in others)

    @property
    def is_cheap(self) -> bool:
        """Return whether computing the value again costs about what loading it does."""
        nodes = tuple(walk(self.value))
        costly = any(
            isinstance(node, Call | Power) or (isinstance(node, Binary) and node.operator in ("/", "//", "%", "**"))
            for node in nodes
        )
        return not costly and len(nodes) <= FEW_OPERATIONS


def _producer(node: Node) -> _Producer | None:
    """Read a nest of loops from 0 around one assignment to an element that has their iterators as its subscripts."""
    iterators: list[Iterator] = []
    extents: list[Expression] = []
    while isinstance(node, RangeLoop):
        if node.start != ZERO or node.step != 1 or len(node.body) != 1:
            return None
        iterators.append(Iterator(node.iterator))
        extents.append(node.stop)
        (node,) = node.body
    match node:
        case Perform(operations=(Assign(Element(array, subscripts), value),)) if subscripts == tuple(iterators):
            return _Producer(array, tuple(iterators), tuple(extents), value) if iterators else None
    return None


class _NotPassedOnError(Exception):
    """An array is read in another way than its elements were written."""


class _Forwarding:
    """Rewrites blocks.

    Args:
        kernel: what the walk over the source has found.
        mentioned: how often the program mentions each array.
    """

    def __init__(self, kernel: KernelWalk, mentioned: Multiset[str]):
        self._kernel, self._mentioned = kernel, mentioned
        self._around: tuple[RangeLoop, ...] = ()

    def block(self, nodes: tuple[Node, ...], around: tuple[RangeLoop, ...]) -> tuple[Node, ...]:
        """Rewrite neighbouring nodes, and those in them, without nests whose values are passed on.

        Args:
            nodes: the block.
            around: the loops that it stands in.
        """
        made = tuple(self._inside(node, around) for node in nodes)
        self._around = around
        place = 0
        while place < len(made):
            producer = _producer(made[place])
            rest = None if producer is None else self._passed_on(producer, made[place + 1 :])
            if rest is None:
                place += 1
                continue
            assert producer is not None
            del self._kernel.arrays[producer.array]
            made = (*made[:place], *rest)
            # What was computed before may be passed on now.
            place = 0
        return made

    def _inside(self, node: Node, around: tuple[RangeLoop, ...]) -> Node:
        match node:
            case RangeLoop(body=body):
                return replace(node, body=self.block(body, (*around, node)))
            case Guard(then=then, otherwise=otherwise):
                return replace(node, then=self.block(then, around), otherwise=self.block(otherwise, around))
        return node

    def _equal(self, left: Expression, right: Expression) -> bool:
        """Return whether two extents are proven to be equal in the block."""
        if normal(left) == normal(right):
            return True
        affine = self._kernel.affine

        def differ() -> bool:
            found = affine.condition(as_condition(Unary("not", Compare("==", left, right), "bool")))
            for loop in self._around:
                if loop.step > 0:
                    first = Compare("<=", loop.start, Iterator(loop.iterator))
                    last = Compare("<", Iterator(loop.iterator), loop.stop)
                    found = found.intersect(affine.condition(as_condition(Logical("and", (first, last)))))
            for parameter in self._kernel.parameters.values():
                if parameter.nonnegative:
                    found = found.intersect(affine.condition(Compare(">=", ParameterValue(parameter.name), ZERO)))
            for condition in self._kernel.size_conditions:
                found = found.subtract(condition.violated)
            return not found.is_empty()

        try:
            return within_budget(affine.context, QUESTION_BUDGET, differ, needed=True) is False
        except NotAffineError:
            return False

    def _passed_on(self, producer: _Producer, rest: tuple[Node, ...]) -> tuple[Node, ...] | None:
        """Rewrite what follows a nest in its block, so that values are computed where they were read; None where that
        may be wrong, or does not pay."""
        array, kernel = producer.array, self._kernel
        if array not in kernel.kept or array not in kernel.arrays:
            return None
        if kernel.arrays[array].role is not ArrayRole.LOCAL or not self._may_be_computed_again(producer):
            return None
        readers = [place for place, node in enumerate(rest) if array in _mentioned(node)]
        if not readers:
            return None
        affected = rest[: readers[-1] + 1]
        uses = sum(_mentioned(node)[array] for node in affected)
        if self._mentioned[array] != uses + 1 or array in _mentioned(kernel.result or ()):
            return None
        operands = _mentioned(producer.value)
        if array in operands or not _written(affected).isdisjoint((array, *operands)):
            return None
        if not producer.is_copy and (uses > 1 and not (producer.is_cheap and uses <= MOST_PLACES)):
            return None
        try:
            changed = tuple(self._reading(node, producer, {}) for node in affected)
        except _NotPassedOnError:
            return None
        self._mentioned[array] = 0
        for name, times in operands.items():
            self._mentioned[name] += times * (uses - 1)
        return (*changed, *rest[len(affected) :])

    def _may_be_computed_again(self, producer: _Producer) -> bool:
        nodes = tuple(walk(producer.value))
        if len(nodes) > MOST_OPERATIONS:
            return False
        elements = [node for node in nodes if isinstance(node, Element)]
        if any(isinstance(each, Element) for element in elements for sub in element.subscripts for each in walk(sub)):
            return False  # what lies at subscripts that depend on data is tested once
        if not producer.is_copy:
            return True
        # A copy of what does not lie in one piece may have been made for that.
        kind = dict(self._kernel.signature.arguments).get(elements[0].array)
        return not isinstance(kind, ArrayType) or kind.layout == "C"

    def _reading(self, node: Node, producer: _Producer, loops: Mapping[str, Expression]) -> Node:
        """Rewrite a node with the value in place of the array.

        Args:
            node: the node.
            producer: where the value comes from.
            loops: the ends of the loops from 0 around, within the block, by their iterators; those of other loops are
                constants that equal nothing.

        Raises:
            _NotPassedOnError: the array is read in another way than it was written.
        """
        if producer.array not in _mentioned(node):
            return node
        match node:
            case RangeLoop():
                end = node.stop if node.start == ZERO and node.step == 1 else Constant(-1, "int64")
                if producer.array in _mentioned((node.start, node.stop)):
                    raise _NotPassedOnError
                inner = {**loops, node.iterator: end}
                return replace(node, body=tuple(self._reading(each, producer, inner) for each in node.body))
            case Guard():
                if producer.array in _mentioned(node.condition):
                    raise _NotPassedOnError
                sides = [
                    tuple(self._reading(each, producer, loops) for each in side) for side in (node.then, node.otherwise)
                ]
                return replace(node, then=sides[0], otherwise=sides[1])
        assert isinstance(node, Perform)
        operations = tuple(self._operation(operation, producer, loops) for operation in node.operations)
        return replace(node, operations=operations)

    def _operation(self, operation: Any, producer: _Producer, loops: Mapping[str, Expression]) -> Any:
        if isinstance(operation, LibraryCall):
            raise _NotPassedOnError
        if isinstance(operation, Element) and operation.array == producer.array:
            return self._value(operation, producer, loops)
        changed = map_children(operation, lambda child: self._operation(child, producer, loops))
        if isinstance(operation, Element):
            place = self._kernel.locations.find(operation)
            if place is not None:
                self._kernel.locations.record(changed, place)
        return changed

    def _value(self, element: Element, producer: _Producer, loops: Mapping[str, Expression]) -> Expression:
        subscripts = element.subscripts
        names = [each.name for each in subscripts if isinstance(each, Iterator)]
        if len(names) != len(subscripts) or len(set(names)) != len(names) or not all(name in loops for name in names):
            raise _NotPassedOnError
        # In loops further in or out the value would be computed again and again.
        if not producer.is_copy and len(loops) != len(names):
            raise _NotPassedOnError
        if not all(self._equal(loops[name], extent) for name, extent in zip(names, producer.extents, strict=True)):
            raise _NotPassedOnError
        found: Expression = moved(self._kernel, producer.value, dict(zip(producer.iterators, subscripts, strict=True)))
        return found
