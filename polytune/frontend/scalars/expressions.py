"""Expressions of the source as typed values."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.comprehension import comprehension
from polytune.frontend.array_expressions.creation import display
from polytune.frontend.array_expressions.elementwise import computed, require_ranges
from polytune.frontend.array_expressions.grids import grid_axes, is_grid, stacked
from polytune.frontend.array_expressions.index_joins import is_join, joined_subscripts
from polytune.frontend.array_expressions.masks import either
from polytune.frontend.array_expressions.operators import operation, unary
from polytune.frontend.array_expressions.reading import attribute, is_shape, mentions_arrays, subscripted
from polytune.frontend.array_expressions.reading import call as call_of_arrays
from polytune.frontend.array_expressions.sizes import supposing
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.array_expressions.views import whole
from polytune.frontend.expression import Cast, Element, Select, walk
from polytune.frontend.inlining.outside_calls import ONE_OF_THESE, is_method, plain_arguments, refused_call
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    ListBinding,
    Meaning,
    ObjectBinding,
    ScalarBinding,
    SelectionBinding,
    ShapeBinding,
    TupleBinding,
    UnsizedBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.names import lookup, outside_object
from polytune.frontend.promotion import Value
from polytune.frontend.scalars import bits
from polytune.frontend.scalars.comparisons import comparison
from polytune.frontend.scalars.complex_numbers import conjugated
from polytune.frontend.scalars.decimals import rounded_to_decimals
from polytune.frontend.scalars.functions import ArityError, apply, is_known
from polytune.frontend.scalars.literals import constant_value, read_text
from polytune.frontend.scalars.numbers import condition, conjunction, number, read
from polytune.frontend.scalars.objects import instance_of, is_callable, known_object
from polytune.frontend.scalars.operators import combined, operator_symbol
from polytune.frontend.scalars.subscripts import read_element
from polytune.frontend.scalars.tuples import (
    computed_of_shape,
    inlined_call,
    item_of,
    items_of,
    items_of_meaning,
    read_shape,
    tuple_written_out,
    unstarred,
    unstarred_call,
)
from polytune.frontend.syntax.lists import count_of
from polytune.frontend.syntax.ranges import is_subscript
from polytune.frontend.syntax.refusals import counted, refuse_expression


def evaluate(frame: Frame, node: ast.expr) -> Operand:
    """Return what an expression is: a number, an array, or sums that are still to be computed.

    Raises:
        UnsupportedSourceError: it is outside the language.
    """
    match node:
        case ast.Constant():
            return constant_value(frame, node, node.value)
        case ast.Name():
            return _name(frame, node)
        case ast.Subscript():
            return _subscript(frame, node)
        case ast.Attribute():
            return _attribute(frame, node)
        case ast.BinOp():
            return _operation(frame, node)
        case ast.UnaryOp():
            return _unary(frame, node)
        case ast.Compare():
            return comparison(frame, node)
        case ast.BoolOp():
            return conjunction(frame, node)
        case ast.IfExp():
            return _choice(frame, node)
        case ast.Call():
            return _call(frame, node)
        case ast.ListComp() if is_subscript(node):
            return comprehension(frame, node, evaluate)
        case ast.List(elements) if elements:
            return display(frame, ast.copy_location(ast.List(unstarred(frame, elements)), node), evaluate)
    raise refuse_expression(frame.source, node)


def _operation(frame: Frame, node: ast.BinOp) -> Operand:
    left, right = (
        display(frame, written, evaluate)
        if (written := tuple_written_out(frame, side)) is not None and mentions_arrays(frame, other)
        else evaluate(frame, side)
        for side, other in ((node.left, node.right), (node.right, node.left))
    )
    _refuse_lists(frame, node, left, right)
    if not (isinstance(left, Value) and isinstance(right, Value)):
        return operation(frame, node, node.op, left, right)
    return combined(frame, node, operator_symbol(frame, node, node.op), left, right)


def _choice(frame: Frame, node: ast.IfExp) -> Operand:
    test = condition(frame, node.test)
    if test.constant is not None:
        return evaluate(frame, node.body if test.constant else node.orelse)
    branches = supposing(frame, test), supposing(frame, promotion.negation(test))
    both = tuple(zip(branches, (node.body, node.orelse), strict=True))
    if mentions_arrays(frame, node.body) or mentions_arrays(frame, node.orelse):
        sides = [computed(branch, side, evaluate(branch, side)) for branch, side in both]
        if any(isinstance(side, ArrayValue) and side.shape for side in sides):
            return either(frame, node, test, *sides)
    return promotion.select(test, *(read(branch, side) for branch, side in both), evaluated=True)


def _refuse_lists(frame: Frame, node: ast.BinOp, left: Operand, right: Operand) -> None:
    """Refuse operators on lists, which are arrays beside arrays alone."""
    sides = (node.left, left), (node.right, right)
    lists = [isinstance(side, ast.List) for side, _ in sides]
    if any(lists) and (all(lists) or any(isinstance(value, Value) for _, value in sides)):
        raise frame.source.refusal(
            node,
            "an operator on a list",
            "it repeats lists, and puts them one after the other",
            "make arrays: np.full(3, x) for [x] * 3, np.array([a, b]) to compute with the numbers",
        )


def _unary(frame: Frame, node: ast.UnaryOp) -> Operand:
    if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.BoolOp):
        return promotion.negation(condition(frame, node.operand))
    known = known_object(frame, node.operand) if isinstance(node.op, ast.Not) else None
    if known is not None:
        return promotion.constant(not known.value)
    operand = evaluate(frame, node.operand)
    if not isinstance(operand, Value):
        return unary(frame, node, operand)
    match node.op:
        case ast.USub():
            return promotion.negate(promotion.number(operand))
        case ast.UAdd():
            return promotion.number(operand)
        case ast.Not():
            return promotion.negation(promotion.truth(operand))
        case ast.Invert():
            _require_inverse(frame, node, operand)
            return bits.inverted(operand)
    raise AssertionError(f"Python has no operator {node.op!r}")


def _require_inverse(frame: Frame, node: ast.UnaryOp, operand: Value) -> None:
    """Refuse ``~`` of what may be Python's own truth value, of which it makes -1 or -2.

    Raises:
        UnsupportedSourceError: it is one, or a variable that also holds numbers may be one.
    """
    is_truth = operand.dtype == "bool"
    if operand.weak if is_truth else any(_may_be_truth(frame, part) for part in walk(operand.expression)):
        raise frame.source.refusal(
            node,
            "~ of what may be a bool of Python's",
            "~False is -1 and ~True is -2 in Python, which both count as true",
            f"write not {frame.source.segment(node.operand)}, or give Python's and NumPy's truth values, and numbers, "
            "different names",
        )


def _may_be_truth(frame: Frame, part: Any) -> bool:
    """Return whether a part of a number is a variable, or a choice, that is a truth value at times."""
    match part:
        case Element(name, ()):
            return frame.kernel.kind_of(name).is_mixed
        case Select(_, then, otherwise):
            return any(isinstance(side, Cast) and side.operand.dtype == "bool" for side in (then, otherwise))
    return False


def _name(frame: Frame, node: ast.Name) -> Operand:
    match lookup(frame, node):
        case ValueBinding(value):
            return value
        case ScalarBinding(scalar):
            variable = frame.kernel.variable(scalar)
            frame.kernel.locations.record(variable, frame.source.location(node))
            return frame.kernel.value_of(variable)
        case ArrayBinding(array):
            return whole(frame, node, array)
        case ViewBinding(view):
            return view
        case SelectionBinding(selection):
            return selection
        case ShapeBinding() | TupleBinding():
            raise frame.source.refusal(
                node,
                f"the tuple {node.id!r} is used like a number",
                "it holds several values",
                f"take one of them: {node.id}[0]",
            )
        case ObjectBinding(thing):
            return constant_value(frame, node, thing)
        case UnsizedBinding() | ListBinding():
            raise AssertionError("lookup refuses it")


def _subscript(frame: Frame, node: ast.Subscript) -> Operand:
    if count_of(node) is not None:
        element = read_element(frame, node, read)
        return Value(element, weak=frame.kernel.lists[element.array].is_weak)
    outside = outside_object(frame, node.value) if isinstance(node.value, ast.Attribute | ast.Name) else None
    if is_grid(outside):
        return _grid(frame, node, outside)
    if is_join(outside):
        return joined_subscripts(frame, node, outside, evaluate)
    returned = inlined_call(frame, node.value) if isinstance(node.value, ast.Call) else None
    if isinstance(returned, ArrayBinding | ViewBinding):
        return subscripted(frame, node, evaluate, _array(frame, node, returned))
    if returned is None and not is_shape(node.value) and mentions_arrays(frame, node):
        return subscripted(frame, node, evaluate)
    items = items_of(frame, node.value) if returned is None else items_of_meaning(returned)
    if items is None:
        return Value(read_element(frame, node, read))
    position = read(frame, node.slice).constant if not isinstance(node.slice, ast.Slice | ast.Tuple) else None
    if isinstance(node.slice, ast.Slice):
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(node)}, a part of a tuple, in an expression",
            "it holds several values, which must be told apart before the kernel runs",
            "give a part with constant bounds a name in a line of its own, part = t[1:], and use its items",
        )
    if position is None and isinstance(node.value, ast.Name) and isinstance(lookup(frame, node.value), TupleBinding):
        return Value(read_element(frame, node, read), weak=True)  # Python's own numbers
    return _item(frame, node, items, position)


def _grid(frame: Frame, node: ast.Subscript, grid: Any) -> ArrayValue:
    """``np.mgrid[...]`` or ``np.ogrid[...]``."""
    axes = grid_axes(frame, node, grid, number)
    if grid is np.ogrid and len(axes) > 1:
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(node)} is used as one array",
            "it is a tuple of arrays of different shapes",
            "give each a name: i, j = np.ogrid[0:n, 0:m], or use np.mgrid",
        )
    return axes[0] if len(axes) == 1 else stacked(axes)


def _item(frame: Frame, node: ast.Subscript, items: tuple[Meaning, ...], position: Any) -> Operand:
    """The item of a tuple that a subscript selects, which is a number or an array."""
    if not isinstance(position, int) or not -len(items) <= position < len(items):
        raise frame.source.refusal(
            node,
            "a tuple is subscripted by something other than the number of one of its values",
            f"it has {counted(len(items), 'value')}, which must be told apart before the kernel runs",
            f"use a constant from 0 to {len(items) - 1}",
        )
    return _number_or_array(frame, node, items[position])


def _number_or_array(frame: Frame, node: ast.expr, item: Meaning) -> Operand:
    """An item of a tuple as an operand."""
    if isinstance(item, ArrayBinding | ViewBinding):
        return _array(frame, node, item)
    if isinstance(item, ScalarBinding):
        return frame.kernel.scalar(item.scalar)
    if not isinstance(item, ValueBinding):
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(node)} is used like a number",
            "at this place the tuple holds a tuple",
            "give it a name of its own, a, b = t, and use its elements",
        )
    return item.value


def _array(frame: Frame, node: ast.expr, binding: ArrayBinding | ViewBinding) -> ArrayValue:
    return whole(frame, node, binding.array) if isinstance(binding, ArrayBinding) else binding.view


def _attribute(frame: Frame, node: ast.Attribute) -> Operand:
    item = item_of(frame, node)
    if item is not None:
        return _number_or_array(frame, node, item)
    found = attribute(frame, node, evaluate)
    if found is not None:
        return found
    value = outside_object(frame, node)
    if value is None and node.attr in ("real", "imag") and outside_object(frame, node.value) is None:
        return promotion.part(read(frame, node.value), node.attr)
    if value is None:
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(node)} is not known",
            "attributes can be taken of modules and of arrays only",
            "assign the value to a name of the module, or pass it as an argument",
        )
    return constant_value(frame, node, value)


def _call(frame: Frame, node: ast.Call) -> Operand:
    node = unstarred_call(frame, node)
    name = frame.source.segment(node.func)
    function = None if is_method(frame, node.func) else outside_object(frame, node.func)
    of_shape = computed_of_shape(frame, node, function)
    if of_shape is not None:
        return of_shape
    known = instance_of(frame, node, function) or is_callable(frame, node, function)
    if known is not None:
        return known
    if function is round and len(node.args) + len(node.keywords) > 1:
        return rounded_to_decimals(frame, node)
    inlined = inlined_call(frame, node)
    if inlined is not None:
        if isinstance(inlined, ArrayBinding | ViewBinding):
            return _array(frame, node, inlined)
        if not isinstance(inlined, ValueBinding):
            raise frame.source.refusal(
                node,
                f"{name}(...) does not return a number and is used like one",
                "it returns an array, or several values",
                "give what it returns a name in a line of its own, x, y = f(A), and use that",
            )
        return inlined.value
    if isinstance(function, type) and len(node.args) == 1 and not node.keywords:
        named = read_text(frame, node, function)
        if named is not None:
            return named
    of_arrays = call_of_arrays(frame, node, function, evaluate, read_shape)
    if of_arrays is not None:
        return of_arrays
    match node:
        case ast.Call(ast.Attribute(owner, "conjugate" | "conj"), [], []) if function is None:
            return conjugated(read(frame, owner))
    if not is_known(function):
        raise refused_call(frame, node, f"{name} is called", ONE_OF_THESE)
    plain_arguments(frame, node)
    arguments = [read(frame, argument) for argument in node.args]
    require_ranges(frame, node, function, arguments)
    try:
        return apply(function, arguments)
    except ArityError as error:
        raise refused_call(frame, node, f"{name}(...) {error}", "pass as many as it takes") from None
