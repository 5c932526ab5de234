"""Loops over the elements of arrays, and the local arrays that results are kept in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, maximum, normal
from polytune.frontend.array_expressions.sizes import at_least, greatest, loop_bound
from polytune.frontend.array_expressions.values import ArrayRegion, ArrayValue, Axis, Shape, Subscripts, Sum
from polytune.frontend.array_expressions.views import element_of, in_memory, moved
from polytune.frontend.expression import Assign, Counter, Element, Iterator, Loop, Operation
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.program import Node, Perform, RangeLoop
from polytune.frontend.promotion import Value, binary, constant, convert, number, truth
from polytune.frontend.scop import Array, ArrayRole

Body = Callable[[tuple[Iterator, ...]], Sequence[Node]]


def over(frame: Frame, node: ast.AST, shape: Shape, body: Body) -> tuple[Node, ...]:
    """Make loops over all subscripts of a shape, the last innermost.

    Args:
        frame: where they stand.
        node: the expression, for its place.
        shape: the extents.
        body: makes what is inside of the iterators.
    """
    iterators = tuple(Iterator(_iterator_name(frame, place)) for place in range(len(shape)))
    nodes = tuple(body(iterators))
    location = frame.source.location(node)
    for iterator, extent in reversed(list(zip(iterators, shape, strict=True))):
        nodes = (RangeLoop(iterator.name, iterator.name, ZERO, loop_bound(extent), 1, nodes, location),)
    return nodes


def _iterator_name(frame: Frame, place: int) -> str:
    """A name for an iterator that nothing else has, and no loop of an inlined function around."""
    while True:
        name = frame.kernel.fresh("ijklmnpq"[min(place, 7)])
        if name not in frame.iterators:
            return name


def perform(frame: Frame, node: ast.AST, *operations: Operation) -> Perform:
    """Make a statement with the place and text of a node.

    Args:
        frame: where it stands.
        node: the expression or assignment.
        operations: what an instance does.
    """
    return Perform(operations, frame.source.location(node), frame.source.segment(node))


def emit(frame: Frame, node: ast.AST, nodes: Sequence[Node]) -> None:
    """Append nodes to the program.

    Args:
        frame: where they stand; where data decide whether that is reached, the nodes become operations.
        node: what is refused where no statement can stand.
        nodes: what is appended.

    Raises:
        UnsupportedSourceError: this is where no statement can stand.
    """
    if frame.pure:
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(node)} in an expression that may not be evaluated",
            "it is computed by statements that stand before this one and would always run",
            "compute it in a line of its own before, or use an if statement",
        )
    change = _inside_statement if frame.opaque else _with_loops_of_data
    frame.nodes.extend(change(frame, each) for each in nodes)


def _with_loops_of_data(frame: Frame, node: Node) -> Node:
    """The node with the loops in it that have bounds which depend on data as parts of statements."""
    if not isinstance(node, RangeLoop):
        return node
    if not frame.kernel.affine.is_function(node.stop):
        return _inside_statement(frame, node)
    return replace(node, body=tuple(_with_loops_of_data(frame, each) for each in node.body))


def _inside_statement(frame: Frame, node: Node) -> Node:
    """A loop as a part of one statement, in whose order its iterations stay."""
    if not isinstance(node, RangeLoop):
        return node
    operations = [operation for each in node.body for operation in _operations(_inside_statement(frame, each))]
    counter = frame.kernel.fresh(f"{node.iterator}_inside")
    frame.kernel.affine.counters[counter] = frame.kernel.affine.is_function(node.stop)
    counted = {Iterator(node.iterator): Counter(counter)}
    body = tuple(moved(frame.kernel, operation, counted) for operation in operations)
    loop = Loop(counter, node.start, moved(frame.kernel, node.stop, counted), node.step, body)
    return Perform((loop,), node.location, node.location.text.strip())


def _operations(node: Node) -> tuple[Operation, ...]:
    assert isinstance(node, Perform)
    return node.operations


def allocate(frame: Frame, node: ast.AST, shape: Shape, dtype: str, name: str = "temporary") -> ArrayRegion:
    """Make a local array that holds at least a shape in every iteration of the loops around.  Return it as a region of
    it.

    There is one for all iterations: workers have copies of their own where they need some.

    Args:
        frame: where it is used.
        node: the expression, for its place.
        shape: the extents, which may depend on loop variables.
        dtype: the type of its elements.
        name: what its name begins with.
    """
    kernel = frame.kernel
    array = kernel.fresh(name)
    bounds = []
    for extent in shape:
        bound = normal(greatest(frame, extent))
        bounds.append(bound if at_least(frame, bound, ZERO) else maximum(ZERO, bound))
    location = frame.source.location(node)
    kernel.arrays[array] = Array(array, dtype, ArrayRole.LOCAL, tuple(bounds), location=location)
    kernel.extents.update({(array, place): Value(bound, weak=True) for place, bound in enumerate(bounds)})
    axes = tuple(Axis(ZERO, dimension) for dimension in range(len(shape)))
    return ArrayRegion(array, dtype, axes, location)


def scalar(frame: Frame, node: ast.AST, dtype: str, name: str = "total") -> Element:
    """Make a new variable of a type.

    Args:
        frame: where it is used.
        node: the expression, for its place.
        dtype: its type.
        name: what its name begins with.
    """
    variable = frame.kernel.fresh(name)
    location = frame.source.location(node)
    frame.kernel.arrays[variable] = Array(variable, dtype, ArrayRole.SCALAR, location=location)
    return frame.kernel.locations.record(Element(variable, (), dtype), location)


def assigned(frame: Frame, region: ArrayRegion, subscripts: Subscripts, value: Value) -> Assign:
    """The assignment of a value to an element of a region.

    Args:
        frame: where it stands.
        region: part of an array.
        subscripts: those of the region, as many as it has dimensions.
        value: what is converted to the type of the elements.
    """
    return assigned_element(element_of(frame.kernel, region, subscripts), value)


def assigned_element(element: Element, value: Value) -> Assign:
    """The assignment of a value to an element."""
    value = truth(value) if element.dtype == "bool" else number(value)
    return Assign(element, convert(value, element.dtype))


def kept(frame: Frame, node: ast.AST, value: ArrayValue, name: str = "temporary") -> ArrayValue:
    """Keep the elements of an array in a new local array, computed where this stands.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        value: the array.
        name: what the name of the new one begins with.
    """
    region = allocate(frame, node, value.shape, value.dtype, name)

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        return (perform(frame, node, assigned(frame, region, iterators, value.at(iterators))),)

    emit(frame, node, over(frame, node, value.shape, body))
    frame.kernel.kept.add(region.array)
    return in_memory(frame.kernel, region, value.shape, is_new=True)


def settled(frame: Frame, node: ast.AST, operand: Sum, name: str = "temporary") -> ArrayValue | Value:
    """Compute sums into a new local array, or into a variable where they are one.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        operand: the sums.
        name: what the name of the array begins with.
    """
    if not operand.shape:
        target = scalar(frame, node, operand.dtype)
        frame.kernel.sums[target.array] = frame, operand
        emit(frame, node, summed(frame, node, operand, lambda subscripts: target))
        return Value(target)
    region = allocate(frame, node, operand.shape, operand.dtype, name)
    emit(frame, node, summed(frame, node, operand, lambda subscripts: element_of(frame.kernel, region, subscripts)))
    return in_memory(frame.kernel, region, operand.shape, is_new=True)


def summed(
    frame: Frame, node: ast.AST, operand: Sum, target: Callable[[Subscripts], Element], *, adding: bool = False
) -> tuple[Node, ...]:
    """Make the statements that compute sums.

    Args:
        frame: where they stand.
        node: the expression, for its place.
        operand: the sums.
        target: gives the element for each sum, by its subscripts.
        adding: whether sums are added to what is there.
    """
    start = constant(0) if operand.start is None else operand.start

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        nodes: list[Node] = []
        element = target(iterators)
        if not adding:
            first = start.at(iterators) if isinstance(start, ArrayValue) else start
            nodes.append(perform(frame, node, Assign(element, convert(first, element.dtype))))
        elif operand.start is not None:
            first = start.at(iterators) if isinstance(start, ArrayValue) else start
            nodes.append(perform(frame, node, increased(element, first)))
        for term in operand.terms:

            def add_up(
                inner: tuple[Iterator, ...],
                value: Callable[..., Value] = term.value,
                negative: bool = term.is_negative,
            ) -> Sequence[Node]:
                return (perform(frame, node, increased(target(iterators), value(iterators, inner), negative)),)

            nodes += over(frame, node, term.extents, add_up)
        if operand.finish is not None:
            finished = operand.finish(iterators, Value(target(iterators)))
            nodes.append(perform(frame, node, Assign(element, convert(finished, element.dtype))))
        return nodes

    return over(frame, node, operand.shape, body)


def increased(element: Element, value: Value, negative: bool = False) -> Assign:
    """``element += value``, or ``-=``.

    Args:
        element: what is updated.
        value: what is added, converted to the element's type at the end.
        negative: whether it is subtracted.
    """
    return Assign(element, convert(binary("-" if negative else "+", Value(element), value), element.dtype))
