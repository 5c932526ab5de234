"""List comprehensions that NumPy makes arrays of: loops that assign the elements of a new array."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import Any

from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO, add, normal, subtract
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.readers import Evaluate
from polytune.frontend.array_expressions.sizes import extent, lesser, loop_bound, require
from polytune.frontend.array_expressions.temporaries import allocate, assigned, emit, kept, over, perform
from polytune.frontend.array_expressions.values import ArrayValue, Axis
from polytune.frontend.array_expressions.views import in_memory, rearranged
from polytune.frontend.expression import Compare, Expression, Iterator, walk
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ValueBinding, ViewBinding
from polytune.frontend.lowering.names import outside_object
from polytune.frontend.lowering.parameters import with_products
from polytune.frontend.polyhedral.affine import as_index
from polytune.frontend.program import Node, RangeLoop
from polytune.frontend.promotion import Value, number
from polytune.frontend.syntax.refusals import counted
from polytune.records import dataclass


@dataclass(frozen=True)
class _Level:
    """A loop of a comprehension: where it stands, its iterator and extent, and where its body stands."""

    around: Frame
    iterator: Iterator
    extent: Expression
    body: Frame


def comprehension(frame: Frame, node: ast.ListComp, evaluate: Evaluate) -> ArrayValue:
    """The array of what a list comprehension gives: numbers, arrays of one shape, or what comprehensions inside give.

    Args:
        frame: where it stands.
        node: the comprehension.
        evaluate: reads an expression.

    Raises:
        UnsupportedSourceError: how many elements there are depends on data, or not all of them have one shape.
    """
    levels: list[_Level] = []
    element: ast.expr = node
    inner = frame
    while isinstance(element, ast.ListComp):
        levels.append(_level(inner, element, evaluate))
        inner, element = levels[-1].body, element.elt
    if isinstance(element, ast.Tuple):
        element = ast.copy_location(ast.List(element.elts, ast.Load()), element)
    value = as_array(computed(inner, element, evaluate(inner, element)))
    iterators = [level.iterator for level in levels]
    shape = (*(level.extent for level in levels), *value.shape)
    for size in shape:
        if any(part in iterators for part in walk(size)):
            raise frame.source.refusal(
                node,
                "a comprehension that gives rows of different lengths",
                "they make no array",
                "make an array with np.zeros((n, m)), and assign parts of its rows in a loop",
            )
    for level, further in zip(levels, range(1, len(shape)), strict=False):
        _require_elements(frame, node, level.extent, len(shape) - further)
    region = allocate(frame, node, shape, value.dtype, "elements")

    def body(inside: tuple[Iterator, ...]) -> Sequence[Node]:
        return (perform(inner, element, assigned(inner, region, [*iterators, *inside], value.at(inside))),)

    emit(inner, element, over(inner, element, value.shape, body))
    location = frame.source.location(node)
    for level in reversed(levels):
        name = level.iterator.name
        loop = RangeLoop(name, name, ZERO, loop_bound(level.extent), 1, tuple(level.body.nodes), location)
        emit(level.around, node, [loop])
    return in_memory(frame.kernel, region, shape, is_new=True)


def _require_elements(frame: Frame, node: ast.ListComp, size: Expression, further: int) -> None:
    """See to it that a list of rows is not empty: NumPy's array of it would not have the dimensions of the rows."""
    what = "an array of a list comprehension that gives no rows"
    reason = f"of an empty list NumPy makes an array without the {counted(further, 'dimension')} of its elements"
    remedy = "test before that there are some, or fill an array made by np.empty((n, m))"
    require(frame, node, Compare(">=", size, ONE), what, (), remedy, reason=reason)


def _level(frame: Frame, node: ast.ListComp, evaluate: Evaluate) -> _Level:
    """The outermost loop of a comprehension."""
    generator = node.generators[0]
    if len(node.generators) > 1 or generator.ifs:
        raise frame.source.refusal(
            node,
            "a comprehension with a condition, or with several loops, as an array",
            "how many elements it gives depends on data, or on how the loops go on",
            "make an array with np.empty of as many elements as there may be, fill it in a loop, and count them",
        )
    iterator = Iterator(_name(frame))
    size, names = _source(frame, generator.target, generator.iter, iterator, evaluate)
    body = frame.in_loop(iterator.name, ZERO, size, 1).inside()
    body.bindings |= names
    return _Level(frame, iterator, size, body)


def _name(frame: Frame) -> str:
    while True:
        name = frame.kernel.fresh("element")
        if name not in frame.iterators:
            return name


def _source(
    frame: Frame, target: ast.expr, source: ast.expr, iterator: Iterator, evaluate: Evaluate
) -> tuple[Expression, dict[str, Any]]:
    """Return how many elements a loop goes over, and what its variables mean in an iteration."""
    function = outside_object(frame, source.func) if isinstance(source, ast.Call) else None
    arguments = source.args if isinstance(source, ast.Call) and not source.keywords else []
    if function is builtins.range and len(arguments) in (1, 2):
        bounds = [_integer(frame, argument, evaluate) for argument in arguments]
        first = bounds[0] if len(bounds) == 2 else ZERO
        size = extent(frame, subtract(bounds[-1], first))
        return size, _meaning(frame, target, ValueBinding(Value(add(first, iterator), weak=True)))
    if function is builtins.enumerate and len(arguments) == 1 and _is_pair(target, 2):
        size, names = _source(frame, target.elts[1], arguments[0], iterator, evaluate)  # type: ignore[attr-defined]
        position = ValueBinding(Value(iterator, weak=True))
        return size, {**_meaning(frame, target.elts[0], position), **names}  # type: ignore[attr-defined]
    if function is builtins.zip and arguments and _is_pair(target, len(arguments)):
        parts = [
            _source(frame, inner, argument, iterator, evaluate)
            for inner, argument in zip(target.elts, arguments, strict=True)  # type: ignore[attr-defined]
        ]
        size, names = parts[0]
        for other, more in parts[1:]:
            size, names = lesser(frame, size, other), {**names, **more}
        return size, names
    array = as_array(computed(frame, source, evaluate(frame, source))) if function is not builtins.range else None
    if array is None or not array.ndim:
        raise frame.source.refusal(
            source,
            f"a comprehension over {frame.source.segment(source)}",
            "how many elements there are must be seen in the source",
            "go over range(start, stop), an array, or enumerate and zip of these",
        )
    if array.region is None:
        array = kept(frame, source, array)
    if array.ndim == 1:
        return array.shape[0], _meaning(frame, target, ValueBinding(array.at([iterator])))
    axes = (Axis(iterator), *(Axis(ZERO, dimension) for dimension in range(array.ndim - 1)))
    row = rearranged(frame.kernel, array, axes, array.shape[1:])
    return array.shape[0], _meaning(frame, target, ViewBinding(row))


def _is_pair(target: ast.expr, count: int) -> bool:
    return isinstance(target, ast.Tuple) and len(target.elts) == count


def _meaning(frame: Frame, target: ast.expr, meaning: Any) -> dict[str, Any]:
    if isinstance(target, ast.Name):
        return {target.id: meaning}
    raise frame.source.refusal(
        target,
        f"{frame.source.segment(target)} as what a comprehension goes through",
        "each element needs a name",
        "name the element, and use its parts: [row[0] * row[1] for row in A]",
    )


def _integer(frame: Frame, node: ast.expr, evaluate: Evaluate) -> Expression:
    operand = evaluate(frame, node)
    if isinstance(operand, Value) and number(operand).is_integer:
        value = with_products(frame, number(operand))
        if frame.kernel.affine.is_function(value.expression):
            return normal(as_index(value.expression))
    raise frame.source.refusal(
        node,
        f"the bound {frame.source.segment(node)} of a comprehension depends on data",
        "of arrays, the shape must be known before the kernel runs",
        "make an array with np.empty of as many elements as there may be, and fill it in a loop",
    )
