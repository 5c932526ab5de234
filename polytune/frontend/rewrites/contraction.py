"""Arrays of which each element is needed in one iteration alone are variables of that iteration.

``w = masses / r**1.5`` followed by ``(d * w[:, :, None]).sum(axis=1)`` needs no array for ``w``: each iteration that
adds to the sums computes what it needs.  Where loops over a few components go around that, which the array does not
depend on, they are written out inside of the others first, so that one iteration has all components.

An array may be left out as in ``forwarding``: one nest writes all of it, one nest behind it reads it, and nothing
writes what the values are computed from in between.  Here, all places that read it stand in one body and read the
element that belongs to the iteration, so that each value is computed at most once.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, constant_of, integer
from polytune.frontend.array_expressions.views import moved
from polytune.frontend.expression import (
    Assign,
    Binary,
    Constant,
    Element,
    Iterator,
    ParameterValue,
    Unary,
    arrays_written,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.rewrites.forwarding import (
    Producer,
    is_computed_alike,
    mentioned,
    producer_of,
    value_at,
    with_blocks,
)
from polytune.frontend.rewrites.readings import Reading, is_each_read_once, readings, reads_inside
from polytune.frontend.scop import Array, ArrayRole

__all__ = ["with_values_in_variables"]

_MOST_COMPONENTS = 4
"""The most iterations of a loop that is written out, as each is a statement."""


def with_values_in_variables(nodes: Sequence[Node], kernel: KernelWalk) -> tuple[Node, ...]:
    """Return the program without arrays of which each element is needed in one iteration; the kernel loses them, too.

    Args:
        nodes: the program.
        kernel: what the walk over the source has found.
    """
    if not kernel.kept:
        return tuple(nodes)
    return _Contraction(kernel, mentioned(nodes)).block(tuple(nodes), ())


class _Contraction:
    """Rewrites blocks.

    Args:
        kernel: what the walk over the source has found.
        mentions: how often the program mentions each array.
    """

    def __init__(self, kernel: KernelWalk, mentions: Multiset[str]):
        self._kernel, self._mentioned = kernel, mentions

    def block(self, nodes: tuple[Node, ...], around: tuple[RangeLoop, ...]) -> tuple[Node, ...]:
        """Rewrite neighbouring nodes, and those in them.

        Args:
            nodes: the block.
            around: the loops that it stands in.
        """
        made = tuple(with_blocks(node, around, self.block) for node in nodes)
        for place in reversed(range(len(made))):  # a nest that is read in a later one still has one statement
            producer = producer_of(made[place])
            rest = None if producer is None else self._contracted(producer, made[place + 1 :], around)
            if producer is not None and rest is not None:
                del self._kernel.arrays[producer.array]
                self._mentioned.subtract(mentioned(made[place:]))
                self._mentioned.update(mentioned(rest))
                made = (*made[:place], *rest)
        return made

    def _contracted(
        self, producer: Producer, rest: tuple[Node, ...], around: tuple[RangeLoop, ...]
    ) -> tuple[Node, ...] | None:
        """Rewrite what follows a nest in its block, so that values are computed where they were read; None where that
        is not possible.

        Args:
            producer: the nest.
            rest: what follows.
            around: the loops that the block stands in.
        """
        array, kernel = producer.array, self._kernel
        if array not in kernel.kept or array not in kernel.arrays or kernel.arrays[array].role is not ArrayRole.LOCAL:
            return None
        readers = [place for place, node in enumerate(rest) if array in mentioned(node)]
        if len(readers) != 1 or array in mentioned(kernel.result or ()):
            return None
        (place,) = readers
        reader, operands = rest[place], mentioned(producer.value)
        if self._mentioned[array] != mentioned(reader)[array] + 1 or _depends_on_data(producer):
            return None
        written = {name for node in rest[: place + 1] for name in arrays_written(node)}
        if array in operands or not written.isdisjoint((array, *operands)):
            return None
        reader = _with_components_inside(reader, array, kernel)
        found = readings((reader,), array)
        if found is None or not _is_of_one_iteration(found):
            return None
        if not is_computed_alike(
            kernel,
            around,
            producer,
            found[0],
            lambda: reads_inside(kernel, (*around, *producer.loops), producer.value),
        ):
            return None
        return (*rest[:place], self._computing(reader, producer, found[0].element), *rest[place + 1 :])

    def _computing(self, node: Node, producer: Producer, element: Element) -> Node:
        """Rewrite the nest that reads an array: right before the first statement that does, its value is computed.

        Args:
            node: the nest, or a part of it.
            producer: what writes the array.
            element: what is read, at the one place where it is.
        """
        match node:
            case RangeLoop(body=body):
                return replace(node, body=self._computing_in(body, producer, element))
            case Guard(then=then, otherwise=otherwise):
                then, otherwise = (self._computing_in(side, producer, element) for side in (then, otherwise))
                return replace(node, then=then, otherwise=otherwise)
        return node

    def _computing_in(self, body: tuple[Node, ...], producer: Producer, element: Element) -> tuple[Node, ...]:
        kernel, array = self._kernel, producer.array
        readers = [place for place, node in enumerate(body) if isinstance(node, Perform) and array in mentioned(node)]
        if not readers:
            return tuple(self._computing(node, producer, element) for node in body)
        inner = producer.loops[-1].body[0]
        assert isinstance(inner, Perform)
        name = kernel.fresh(array)
        location = kernel.arrays[array].location or inner.location
        kernel.arrays[name] = Array(name, element.dtype, ArrayRole.SCALAR, location=location)
        variable = kernel.locations.record(Element(name, (), element.dtype), location)
        computed = replace(inner, operations=(Assign(variable, value_at(kernel, element, producer)),))
        read = [self._reading(node, array, variable) for node in body]
        return (*read[: readers[0]], computed, *read[readers[0] :])

    def _reading(self, node: Any, array: str, variable: Element) -> Any:
        """Rewrite a statement, or a part of one, with a variable in place of an array's element."""
        if isinstance(node, Element) and node.array == array:
            return variable
        if isinstance(node, Perform):
            changed = tuple(self._reading(operation, array, variable) for operation in node.operations)
            return replace(node, operations=changed)
        if isinstance(node, RangeLoop | Guard):
            return node
        made = map_children(node, lambda child: self._reading(child, array, variable))
        place = self._kernel.locations.find(node) if isinstance(node, Element) else None
        return made if place is None else self._kernel.locations.record(made, place)


def _depends_on_data(producer: Producer) -> bool:
    """Return whether a value is computed from what lies at subscripts that depend on data, which is tested once."""
    elements = [part for part in walk(producer.value) if isinstance(part, Element)]
    return any(
        isinstance(part, Element) for each in elements for subscript in each.subscripts for part in walk(subscript)
    )


def _is_of_one_iteration(found: Sequence[Reading]) -> bool:
    """Return whether all places stand in one body, and read one element there that no other iteration reads."""
    first = found[0]
    affine = Iterator | Constant | ParameterValue | Binary | Unary
    return (
        all(each.element == first.element and each.body is first.body for each in found)
        and all(isinstance(part, affine) for subscript in first.element.subscripts for part in walk(subscript))
        and is_each_read_once(first)
    )


def _with_components_inside(node: Node, array: str, kernel: KernelWalk) -> Node:
    """Rewrite a nest so that loops of few iterations which an array does not depend on are written out, each statement
    inside of all other loops.

    Args:
        node: the nest, or a part of it.
        array: what it reads.
        kernel: what the walk over the source has found.
    """
    if not isinstance(node, RangeLoop):
        return node
    body = tuple(_with_components_inside(each, array, kernel) for each in node.body)
    made: list[Node] = []
    for each in body:
        components = _components(each, array)
        made += [each] if components is None else _written_out(components.body, components, kernel)
    return replace(node, body=tuple(made))


def _components(node: Node, array: str) -> RangeLoop | None:
    """The loop that a node is, where it is of few iterations, which an array that it reads does not depend on, and
    which have nothing to do with one another: all that they write they access at places of their own."""
    if not isinstance(node, RangeLoop) or node.start != ZERO or node.step != 1 or array not in mentioned(node):
        return None
    count = constant_of(node.stop)
    if count is None or not 1 <= count <= _MOST_COMPONENTS or not all(map(_is_plain, node.body)):
        return None
    own = Iterator(node.iterator)
    elements = [part for part in walk(node) if isinstance(part, Element)]
    if any(own in walk(subscript) for each in elements if each.array == array for subscript in each.subscripts):
        return None
    for name in set(arrays_written(node)):
        places = [each.subscripts for each in elements if each.array == name]
        if not any(all(own in each[axis : axis + 1] for each in places) for axis in range(len(places[0]))):
            return None
    inner = [part for part in walk(node) if isinstance(part, RangeLoop)]
    return None if any(own in walk(bound) for each in inner for bound in (each.start, each.stop)) else node


def _is_plain(node: Node) -> bool:
    """Return whether there are no branches in a node."""
    return isinstance(node, Perform) or (isinstance(node, RangeLoop) and all(map(_is_plain, node.body)))


def _written_out(body: Sequence[Node], components: RangeLoop, kernel: KernelWalk) -> list[Node]:
    """The body of a loop with each statement in it for each of the loop's iterations."""
    made: list[Node] = []
    for node in body:
        if isinstance(node, RangeLoop):
            made.append(replace(node, body=tuple(_written_out(node.body, components, kernel))))
            continue
        assert isinstance(node, Perform)
        for number in range(constant_of(components.stop) or 0):
            to = {Iterator(components.iterator): integer(number)}
            operations = tuple(moved(kernel, operation, to) for operation in node.operations)
            made.append(replace(node, operations=operations))
    return made
