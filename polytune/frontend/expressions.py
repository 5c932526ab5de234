"""Expressions of the source as typed values."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from polytune.frontend import bits, promotion
from polytune.frontend.array_expressions.calling import results_of_call
from polytune.frontend.array_expressions.creation import display
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.grids import grid_axes, is_grid, stacked
from polytune.frontend.array_expressions.masks import either
from polytune.frontend.array_expressions.operators import ambiguous, operation, unary
from polytune.frontend.array_expressions.reading import (
    attribute,
    is_shape,
    mentions_arrays,
    subscripted,
)
from polytune.frontend.array_expressions.reading import call as call_of_arrays
from polytune.frontend.array_expressions.several import several_arrays
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.array_expressions.views import whole
from polytune.frontend.comparisons import comparison
from polytune.frontend.complex_numbers import conjugated
from polytune.frontend.frame import (
    ArrayBinding,
    Frame,
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
from polytune.frontend.functions import ArityError, apply, is_known
from polytune.frontend.literals import constant_value, read_text
from polytune.frontend.names import lookup, outside_object
from polytune.frontend.objects import known_object
from polytune.frontend.operators import combined, operator_symbol
from polytune.frontend.outside_calls import ONE_OF_THESE, is_method, plain_arguments, refused_call
from polytune.frontend.promotion import Value
from polytune.frontend.refusals import counted, refuse_expression
from polytune.frontend.source import inlinable
from polytune.frontend.subscripts import read_element

_OF_SHAPES: tuple[tuple[Any, str], ...] = ((min, "min"), (max, "max"), (sum, "+"), (math.prod, "*"))
"""Python's functions of the numbers in a tuple, which a shape is."""


def read(frame: Frame, node: ast.expr) -> Value:
    """The typed value of an expression that is a number.

    Raises:
        UnsupportedSourceError: it is outside the language, or an array.
    """
    value = computed(frame, node, evaluate(frame, node))
    if isinstance(value, ArrayValue):
        if not value.shape:
            return value.at(())
        raise frame.source.refusal(
            node,
            f"the array {frame.source.segment(node)!r} is used like a number",
            f"it has {counted(value.ndim, 'dimension')}, and a number is wanted here",
            f"access an element, with {counted(value.ndim, 'subscript')}, or assign to a whole array: A[:] = ...",
        )
    return value


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
            return comparison(frame, node, evaluate, number, _shape_or_tuple, _items)
        case ast.BoolOp():
            return _conjunction(frame, node)
        case ast.IfExp():
            return _choice(frame, node)
        case ast.Call():
            return _call(frame, node)
        case ast.List(elements) if elements:
            return display(frame, ast.copy_location(ast.List(unstarred(frame, elements)), node), evaluate)
    raise refuse_expression(frame.source, node)


def _operation(frame: Frame, node: ast.BinOp) -> Operand:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    _refuse_lists(frame, node, left, right)
    if not (isinstance(left, Value) and isinstance(right, Value)):
        return operation(frame, node, node.op, left, right)
    return combined(frame, operator_symbol(frame, node, node.op), left, right)


def _choice(frame: Frame, node: ast.IfExp) -> Operand:
    test = condition(frame, node.test)
    if test.constant is not None:
        return evaluate(frame, node.body if test.constant else node.orelse)
    branch = replace(frame, pure=True)
    if mentions_arrays(frame, node.body) or mentions_arrays(frame, node.orelse):
        sides = [computed(branch, side, evaluate(branch, side)) for side in (node.body, node.orelse)]
        if any(isinstance(side, ArrayValue) and side.shape for side in sides):
            return either(frame, node, test, *sides)
    return promotion.select(test, read(branch, node.body), read(branch, node.orelse), evaluated=True)


def _conjunction(frame: Frame, node: ast.BoolOp) -> Value:
    """The value of ``and`` and ``or``, one of the operands; what Python never comes to is not looked at."""
    symbol = "and" if isinstance(node.op, ast.And) else "or"
    operands: list[Value] = []
    for operand in node.values:
        inner = replace(frame, pure=True) if operands else frame
        known = known_object(inner, operand)
        value = read(inner, operand) if known is None else promotion.constant(bool(known.value))
        if promotion.truth(value).constant == (symbol == "and"):
            if operand is node.values[-1]:
                operands.append(value)
            continue  # the next one is the value
        operands.append(value)
        if promotion.truth(value).constant is not None:
            break
    chosen = operands[-1]
    if all(each.dtype == "bool" for each in operands):
        return promotion.logical(symbol, operands)
    for each in reversed(operands[:-1]):
        sides = (chosen, each) if symbol == "and" else (each, chosen)
        chosen = promotion.select(promotion.truth(each), *map(promotion.number, sides))
    return chosen


def _conjunction_of_conditions(frame: Frame, node: ast.BoolOp) -> Value:
    """Return whether ``and`` and ``or`` hold; what Python never comes to is not looked at."""
    operands: list[Value] = []
    for operand in node.values:
        operands.append(condition(replace(frame, pure=True) if operands else frame, operand))
        if operands[-1].constant == isinstance(node.op, ast.Or):
            break
    return promotion.logical("and" if isinstance(node.op, ast.And) else "or", operands)


def number(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression, a bool made an integer."""
    return promotion.number(read(frame, node))


def condition(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression as a condition."""
    known = known_object(frame, node)
    if known is not None:
        return promotion.constant(bool(known.value))
    if isinstance(node, ast.BoolOp):
        return _conjunction_of_conditions(frame, node)
    value = computed(frame, node, evaluate(frame, node))
    if isinstance(value, ArrayValue):
        if value.shape:
            raise ambiguous(frame, node)
        value = value.at(())
    return promotion.truth(value)


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


def unstarred(frame: Frame, nodes: Sequence[ast.expr]) -> list[ast.expr]:
    """Expressions with what starred ones stand for in place of them, where the source shows that.

    Args:
        frame: where they stand.
        nodes: the arguments of a call, or the elements of a tuple or list.
    """
    elements: list[ast.expr] = []
    for each in nodes:
        inner = each.value if isinstance(each, ast.Starred) else None
        if isinstance(inner, ast.Tuple | ast.List):
            elements += unstarred(frame, inner.elts)
            continue
        items = _items(frame, inner) if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript) else None
        if inner is None or items is None:
            elements.append(each)
            continue
        for place in range(len(items)):
            part = ast.Subscript(inner, ast.copy_location(ast.Constant(place), inner), ast.Load())
            elements.append(ast.copy_location(part, inner))
    return elements


def _unstarred_call(frame: Frame, node: ast.Call) -> ast.Call:
    """A call with what starred arguments stand for."""
    if not any(isinstance(each, ast.Starred) for each in node.args):
        return node
    return ast.copy_location(ast.Call(node.func, unstarred(frame, node.args), node.keywords), node)


def _name(frame: Frame, node: ast.Name) -> Operand:
    match lookup(frame, node):
        case ValueBinding(value):
            return value
        case ScalarBinding(scalar):
            value = frame.kernel.scalar(scalar)
            frame.kernel.locations.record(value.expression, frame.source.location(node))  # type: ignore[arg-type]
            return value
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
        case UnsizedBinding():
            raise AssertionError("lookup refuses it")


def read_shape(frame: Frame, node: ast.expr) -> tuple[Value, ...] | None:
    """The extents that ``A.shape``, a name bound to it, or a tuple stands for; None for anything else."""
    if isinstance(node, ast.Name) and isinstance(frame.bindings.get(node.id), ShapeBinding):
        binding = lookup(frame, node)
        return binding.extents if isinstance(binding, ShapeBinding) else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _part_of_shape(frame, node, node.slice)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [_shape_or_tuple(frame, side) for side in (node.left, node.right)]
        return None if sides[0] is None or sides[1] is None else (*sides[0], *sides[1])
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        is_shape_of = isinstance(node.func, ast.Attribute) and outside_object(frame, node.func) is np.shape
        return read_shape(frame, _shape_of(node.args[0], node)) if is_shape_of else None
    if isinstance(node, ast.Attribute) and node.attr == "shape" and _is_part(frame, node.value):
        part = computed(frame, node, evaluate(frame, node.value))
        return tuple(Value(extent, weak=True) for extent in part.shape) if isinstance(part, ArrayValue) else None
    if isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name):
        binding = lookup(frame, node.value)
        if isinstance(binding, ArrayBinding):
            ndim = frame.kernel.arrays[binding.array].ndim
            return tuple(frame.kernel.extents[binding.array, dimension] for dimension in range(ndim))
        if isinstance(binding, ViewBinding):
            return tuple(Value(extent, weak=True) for extent in binding.view.shape)
        if isinstance(binding, SelectionBinding):
            selected = computed(frame, node, binding.selection)
            return tuple(Value(extent, weak=True) for extent in as_array(selected).shape)
    return None


def _shape_or_tuple(frame: Frame, node: ast.expr) -> tuple[Value, ...] | None:
    """The same, and the values of a tuple of numbers."""
    shape = read_shape(frame, node)
    if shape:
        return shape
    return tuple(number(frame, element) for element in node.elts) if isinstance(node, ast.Tuple) else None


def _shape_of(node: ast.expr, place: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Attribute(node, "shape", ast.Load()), place)


def _is_part(frame: Frame, node: ast.expr) -> bool:
    """Return whether an expression is a part of an array in memory, as ``A[0]`` or ``A.T``."""
    if isinstance(node, ast.Attribute):
        return node.attr == "T" and (isinstance(node.value, ast.Name) or _is_part(frame, node.value))
    return isinstance(node, ast.Subscript) and mentions_arrays(frame, node)


def _part_of_shape(frame: Frame, node: ast.Subscript, part: ast.Slice) -> tuple[Value, ...] | None:
    """Return what ``A.shape[:2]`` and its like stand for; None where no shape is sliced, or by what is not constant."""
    whole = read_shape(frame, node.value)
    if whole is None:
        return None
    places = part.lower, part.upper, part.step
    bounds: list[Any] = [None if place is None else read(frame, place).constant for place in places]
    given = zip(bounds, places, strict=True)
    if bounds[2] == 0 or not all(place is None or isinstance(bound, int) for bound, place in given):
        return None
    return whole[slice(*bounds)]


def _subscript(frame: Frame, node: ast.Subscript) -> Operand:
    grid = outside_object(frame, node.value) if isinstance(node.value, ast.Attribute | ast.Name) else None
    if is_grid(grid):
        return _grid(frame, node, grid)
    returned = inlined_call(frame, node.value) if isinstance(node.value, ast.Call) else None
    if isinstance(returned, ArrayBinding | ViewBinding):
        return subscripted(frame, node, evaluate, _array(frame, node, returned))
    if returned is None and not is_shape(node.value) and mentions_arrays(frame, node):
        return subscripted(frame, node, evaluate)
    items = _items(frame, node.value) if returned is None else _items_of(returned)
    if items is None:
        return Value(read_element(frame, node, read))
    position = read(frame, node.slice).constant if not isinstance(node.slice, ast.Slice | ast.Tuple) else None
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


def _items_of(meaning: Meaning) -> tuple[Meaning, ...] | None:
    match meaning:
        case TupleBinding(items):
            return items
        case ShapeBinding(extents):
            return tuple(map(ValueBinding, extents))
    return None


def item_of(frame: Frame, node: ast.Subscript | ast.Attribute) -> Meaning | None:
    """Return what a constant subscript of a tuple, or the name of a named tuple's item, selects; None for any other
    reference."""
    if isinstance(node, ast.Attribute):
        owner = lookup(frame, node.value) if isinstance(node.value, ast.Name) else None
        if isinstance(node.value, ast.Subscript | ast.Attribute):
            owner = item_of(frame, node.value)
        is_item = isinstance(owner, TupleBinding) and node.attr in owner.fields
        return owner.items[owner.fields.index(node.attr)] if is_item else None  # type: ignore[union-attr]
    items = _items(frame, node.value)
    if not items or isinstance(node.slice, ast.Slice | ast.Tuple):
        return None
    position = read(frame, node.slice).constant
    return items[position] if isinstance(position, int) and -len(items) <= position < len(items) else None


def _items(frame: Frame, node: ast.expr) -> tuple[Meaning, ...] | None:
    """The items of a tuple or shape that is subscripted; None for anything else."""
    shape = read_shape(frame, node)
    if shape is not None:
        return tuple(map(ValueBinding, shape))
    meaning: Meaning | None = None
    if isinstance(node, ast.Name):
        meaning = lookup(frame, node)
    elif isinstance(node, ast.Subscript | ast.Attribute):
        meaning = item_of(frame, node)
    elif isinstance(node, ast.Call):
        meaning = inlined_call(frame, node)
    return meaning.items if isinstance(meaning, TupleBinding) else None


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
            return bits.inverted(operand)
    raise AssertionError(f"Python has no operator {node.op!r}")


def _call(frame: Frame, node: ast.Call) -> Operand:
    node = _unstarred_call(frame, node)
    name = frame.source.segment(node.func)
    function = None if is_method(frame, node.func) else outside_object(frame, node.func)
    of_extents = _of_extents(frame, node, function) if len(node.args) == 1 else None
    if of_extents is not None:
        return of_extents
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
    try:
        return apply(function, [read(frame, argument) for argument in node.args])
    except ArityError as error:
        raise refused_call(frame, node, f"{name}(...) {error}", "pass as many as it takes") from None


def _of_extents(frame: Frame, node: ast.Call, function: Any) -> Value | None:
    """The length of a tuple or an array, and what is computed of a shape, as its product; None for any other call."""
    (argument,) = node.args
    if function is len:
        return _length(frame, node, argument)
    symbol = next((symbol for each, symbol in _OF_SHAPES if each is function), None)
    shape = None if symbol is None or node.keywords else read_shape(frame, argument)
    return reduce(partial(promotion.binary, symbol), shape) if symbol is not None and shape else None


def _length(frame: Frame, node: ast.Call, argument: ast.expr) -> Value | None:
    """The length of a tuple, or of an array along its first dimension; None of anything else."""
    items = _items(frame, argument)
    if items is not None:
        return promotion.constant(len(items))
    shape = read_shape(frame, ast.copy_location(ast.Attribute(argument, "shape", ast.Load()), node))
    if shape is not None:
        return shape[0]
    if mentions_arrays(frame, argument):
        array = computed(frame, node, evaluate(frame, argument))
        if isinstance(array, ArrayValue) and array.ndim:
            return Value(array.shape[0], weak=True)
    return None


def inlined_call(frame: Frame, node: ast.Call, *, alone: bool = False) -> Meaning | None:
    """Return what a call of a function of the user's gives, its body inlined; None for any other call.

    Args:
        frame: where it stands.
        node: the call.
        alone: whether its statement reads nothing else, so that the function may write arrays.

    Raises:
        UnsupportedSourceError: the function returns nothing, or cannot be inlined.
    """
    node = _unstarred_call(frame, node)
    function = None if is_method(frame, node.func) else outside_object(frame, node.func)
    several = results_of_call(frame, node, function, evaluate, read_shape)
    if several is not None:
        return several
    inlined = inlinable(function)
    if inlined is None:
        return several_arrays(frame, node, function, evaluate, read_shape)
    returned = frame.kernel.inline(frame, node, inlined, value_used=True, alone=alone)
    if returned is None:
        name = frame.source.segment(node.func)
        raise frame.source.refusal(
            node,
            f"{name}(...) returns nothing and is used as a value",
            "the function ends without a return",
            f"call {name} in a line of its own, or let it return a number",
        )
    return returned
