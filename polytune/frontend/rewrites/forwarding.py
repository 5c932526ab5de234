"""Arrays that only pass values on from one statement to others are left out: what reads them computes the values.

``t = A + B`` followed by ``C[:] = t * 2`` becomes ``C[:] = (A + B) * 2``, and the copies that a name for ``A[mask]``
needs are not made where nothing changes what is copied.  Neither the analysis nor memory sees such an array.

Soundness rests on the structure of the program.  An array is *passed on* if

- one statement writes all of it, in a nest of loops over its extents, and nothing else ever does;
- all that reads it stands behind that nest in the same block, and stays inside of it, or is an error as before;
- nothing from the nest to the last such place writes what the value is computed from.

A block is executed from its beginning to its end before it is begun again.  So each element that is read was written in
the same execution of the block, from operands that still are what they were.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, normal
from polytune.frontend.array_expressions.elementwise import CHEAP_FUNCTIONS
from polytune.frontend.array_expressions.views import moved
from polytune.frontend.expression import (
    Assign,
    Binary,
    Call,
    Element,
    Expression,
    Iterator,
    Power,
    arrays_written,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.rewrites.readings import Reading, is_inside, most_readings_of_an_element, readings, reads_inside
from polytune.frontend.scop import ArrayRole
from polytune.records import dataclass
from polytune.signature import ArrayType

__all__ = [
    "Producer",
    "is_computed_alike",
    "mentioned",
    "producer_of",
    "value_at",
    "with_blocks",
    "with_values_passed_on",
]

MOST_OPERATIONS = 60
"""The most nodes that a value may have that is computed where it is read."""

FEW_OPERATIONS = 40
"""The most that it may have that is computed at several places, none of them a division or a function."""

MOST_PLACES = 3
"""The most places at which one element may be computed that is not only loaded."""

MOST_READINGS = 8
"""The most places that an array may be read at, which bounds what programs grow by."""


def with_values_passed_on(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """Return the program without arrays that only pass values on; the kernel loses them, too.

    Args:
        nodes: the program.
        kernel: what the walk over the source has found.
    """
    if not kernel.kept:
        return tuple(nodes)
    return _Forwarding(kernel, mentioned(nodes)).block(tuple(nodes), ())


def with_blocks(
    node: Node,
    around: tuple[RangeLoop, ...],
    block: Callable[[tuple[Node, ...], tuple[RangeLoop, ...]], tuple[Node, ...]],
) -> Node:
    """Rewrite the blocks in a loop or a branch.

    Args:
        node: the loop or branch; any other node stays as it is.
        around: the loops that it stands in.
        block: rewrites a block, given the loops that this stands in.
    """
    match node:
        case RangeLoop(body=body):
            return replace(node, body=block(body, (*around, node)))
        case Guard(then=then, otherwise=otherwise):
            return replace(node, then=block(then, around), otherwise=block(otherwise, around))
    return node


def mentioned(node: Any) -> Multiset[str]:
    """Count how often each array is mentioned in nodes."""
    nodes = node if isinstance(node, tuple | list) else (node,)
    return Multiset(each.array for top in nodes for each in walk(top) if isinstance(each, Element))


def _written(nodes: Sequence[Node]) -> set[str]:
    """Return the arrays that something in nodes may write."""
    return {array for node in nodes for array in arrays_written(node)}


@dataclass(frozen=True)
class Producer:
    """A nest that writes all of an array.

    Attributes:
        array: the array.
        loops: outermost first; their iterators are the subscripts.
        value: what is assigned.
    """

    array: str
    loops: tuple[RangeLoop, ...]
    value: Expression

    @property
    def iterators(self) -> tuple[Iterator, ...]:
        """Return those of the loops."""
        return tuple(Iterator(loop.iterator) for loop in self.loops)

    @property
    def extents(self) -> tuple[Expression, ...]:
        """Return the ends of the loops."""
        return tuple(loop.stop for loop in self.loops)

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
        return not any(
            isinstance(node, Power)
            or (isinstance(node, Call) and node.function not in CHEAP_FUNCTIONS)
            or (isinstance(node, Binary) and node.operator in ("/", "//", "%", "**"))
            for node in walk(self.value)
        )

    @property
    def has_few_operations(self) -> bool:
        """Return whether the value may stand at several places."""
        return len(tuple(walk(self.value))) <= FEW_OPERATIONS


def producer_of(node: Node) -> Producer | None:
    """Read a nest of loops from 0 around one assignment to an element that has their iterators as its subscripts."""
    loops: list[RangeLoop] = []
    while isinstance(node, RangeLoop):
        if node.start != ZERO or node.step != 1 or len(node.body) != 1:
            return None
        loops.append(node)
        (node,) = node.body
    iterators = tuple(Iterator(loop.iterator) for loop in loops)
    match node:
        case Perform(operations=(Assign(Element(array, subscripts), value),)) if subscripts == iterators:
            return Producer(array, tuple(loops), value) if loops else None
    return None


def _pays(producer: Producer, places: Sequence[Reading]) -> bool:
    """Return whether computing the value at places costs no more than about what loading it does."""
    if producer.is_copy:
        return True
    # Compilers compute equal expressions of a statement once, if they call no functions.
    most = most_readings_of_an_element(places, once_a_statement=producer.is_cheap)
    return most is not None and most <= (MOST_PLACES if producer.has_few_operations and producer.is_cheap else 1)


def value_at(kernel: KernelWalk, element: Element, producer: Producer) -> Expression:
    """The value that an element of the array has.

    Args:
        kernel: what the walk over the source has found.
        element: the element.
        producer: the nest that writes the array.
    """
    to = dict(zip(producer.iterators, element.subscripts, strict=True))
    found: Expression = moved(kernel, producer.value, to)
    return found


def is_computed_alike(
    kernel: KernelWalk,
    around: Sequence[RangeLoop],
    producer: Producer,
    place: Reading,
    is_right: Callable[[], bool],
) -> bool:
    """Return whether the value is proven to be what is read at a place, or an error where that is one.

    Args:
        kernel: what the walk over the source has found.
        around: the loops around the block.
        producer: the nest that writes the array.
        place: where it is read.
        is_right: tells whether computing all of the array is proven to be no error, so that less may be computed.
    """
    subscripts = place.element.subscripts
    loops = {loop.iterator: loop for loop in place.loops if loop.start == ZERO and loop.step == 1}
    over = [loops.get(each.name) if isinstance(each, Iterator) else None for each in subscripts]
    names = {each.iterator for each in over if each is not None}
    ends = [each and normal(each.stop) for each in over]
    if len(names) == len(subscripts) and ends == [normal(extent) for extent in producer.extents]:
        return True
    if not is_inside(kernel, around, place, producer.extents, value_at(kernel, place.element, producer)):
        return False
    return is_right()


class _Forwarding:
    """Rewrites blocks.

    Args:
        kernel: what the walk over the source has found.
        mentioned: how often the program mentions each array.
    """

    def __init__(self, kernel: KernelWalk, mentioned: Multiset[str]):
        self._kernel, self._mentioned = kernel, mentioned
        self._around: tuple[RangeLoop, ...] = ()
        self._right: dict[Producer, bool] = {}

    def block(self, nodes: tuple[Node, ...], around: tuple[RangeLoop, ...]) -> tuple[Node, ...]:
        """Rewrite neighbouring nodes, and those in them, without nests whose values are passed on.

        Args:
            nodes: the block.
            around: the loops that it stands in.
        """
        made = tuple(with_blocks(node, around, self.block) for node in nodes)
        self._around = around
        place = 0
        while place < len(made):
            producer = producer_of(made[place])
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

    def _passed_on(self, producer: Producer, rest: tuple[Node, ...]) -> tuple[Node, ...] | None:
        """Rewrite what follows a nest in its block, so that values are computed where they were read; None where that
        may be wrong, or does not pay."""
        array, kernel = producer.array, self._kernel
        if array not in kernel.kept or array not in kernel.arrays:
            return None
        if kernel.arrays[array].role is not ArrayRole.LOCAL or not self._may_be_computed_again(producer):
            return None
        readers = [place for place, node in enumerate(rest) if array in mentioned(node)]
        if not readers:
            return None
        affected = rest[: readers[-1] + 1]
        uses = sum(mentioned(node)[array] for node in affected)
        if self._mentioned[array] != uses + 1 or array in mentioned(kernel.result or ()):
            return None
        operands = mentioned(producer.value)
        if array in operands or not _written(affected).isdisjoint((array, *operands)):
            return None
        places = readings(affected, array)
        if places is None or len(places) > MOST_READINGS or not _pays(producer, places):
            return None
        if not all(
            is_computed_alike(kernel, self._around, producer, place, lambda: self._is_right(producer))
            for place in places
        ):
            return None
        changed = tuple(self._reading(node, producer) for node in affected)
        self._mentioned[array] = 0
        for name, times in operands.items():
            self._mentioned[name] += times * (uses - 1)
        return (*changed, *rest[len(affected) :])

    def _is_right(self, producer: Producer) -> bool:
        """Return whether computing all of the array is proven to be no error, so that less may be computed."""
        if producer not in self._right:
            self._right[producer] = reads_inside(self._kernel, (*self._around, *producer.loops), producer.value)
        return self._right[producer]

    def _may_be_computed_again(self, producer: Producer) -> bool:
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

    def _reading(self, node: Node, producer: Producer) -> Node:
        """Rewrite a node with the value in place of the array."""
        if producer.array not in mentioned(node):
            return node
        match node:
            case RangeLoop(body=body):
                return replace(node, body=tuple(self._reading(each, producer) for each in body))
            case Guard(then=then, otherwise=otherwise):
                then, otherwise = (tuple(self._reading(each, producer) for each in side) for side in (then, otherwise))
                return replace(node, then=then, otherwise=otherwise)
        assert isinstance(node, Perform)
        operations = tuple(self._operation(operation, producer) for operation in node.operations)
        return replace(node, operations=operations)

    def _operation(self, operation: Any, producer: Producer) -> Any:
        if isinstance(operation, Element) and operation.array == producer.array:
            return value_at(self._kernel, operation, producer)
        changed = map_children(operation, lambda child: self._operation(child, producer))
        if isinstance(operation, Element):
            place = self._kernel.locations.find(operation)
            if place is not None:
                self._kernel.locations.record(changed, place)
        return changed
