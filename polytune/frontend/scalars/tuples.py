"""Tuples of the source: shapes, what calls give, and names for both; and their items."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calling import results_of_call
from polytune.frontend.array_expressions.calls import handler_of_several, method
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.several import several_arrays
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.inlining.outside_calls import is_method
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Meaning,
    SelectionBinding,
    ShapeBinding,
    TupleBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.names import lookup, outside_object
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.named_tuples import named_fields
from polytune.frontend.scalars.numbers import number, read
from polytune.frontend.syntax.comprehensions import placed
from polytune.frontend.syntax.source import inlinable

_OF_SHAPES: tuple[tuple[Any, str], ...] = ((min, "min"), (max, "max"), (sum, "+"), (math.prod, "*"))
"""Python's functions of the numbers in a tuple, which a shape is."""


def read_shape(frame: Frame, node: ast.expr) -> tuple[Value, ...] | None:
    """The extents that ``A.shape``, or a name bound to it or to a tuple of integers, stands for; None for anything
    else."""
    if isinstance(node, ast.Name) and isinstance(frame.bindings.get(node.id), ShapeBinding):
        binding = lookup(frame, node)
        return binding.extents if isinstance(binding, ShapeBinding) else None
    if isinstance(node, ast.Name) and isinstance(frame.bindings.get(node.id), TupleBinding):
        named = lookup(frame, node)
        items = named.items if isinstance(named, TupleBinding) else ()
        values = [item.value for item in items if isinstance(item, ValueBinding) and item.value.is_integer]
        return tuple(values) if items and len(values) == len(items) else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _part_of_shape(frame, node, node.slice)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [read_shape_or_tuple(frame, side) for side in (node.left, node.right)]
        return None if sides[0] is None or sides[1] is None else (*sides[0], *sides[1])
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        is_shape_of = isinstance(node.func, ast.Attribute) and outside_object(frame, node.func) is np.shape
        return read_shape(frame, _shape_of(node.args[0], node)) if is_shape_of else None
    if isinstance(node, ast.Attribute) and node.attr == "shape" and _is_part(frame, node.value):
        part = computed(frame, node, frame.kernel.evaluate(frame, node.value))
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


def read_shape_or_tuple(frame: Frame, node: ast.expr) -> tuple[Value, ...] | None:
    """The extents of a shape, or the numbers in a tuple; None for anything else."""
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
    places = None if whole is None else constant_slice(frame, part)
    return None if whole is None or places is None else whole[places]


def constant_slice(frame: Frame, part: ast.Slice) -> slice | None:
    """A slice with constant bounds; None for any other."""
    places = part.lower, part.upper, part.step
    bounds: list[Any] = [None if place is None else read(frame, place).constant for place in places]
    given = zip(bounds, places, strict=True)
    if bounds[2] == 0 or not all(place is None or isinstance(bound, int) for bound, place in given):
        return None
    return slice(*bounds)


def items_of(frame: Frame, node: ast.expr) -> tuple[Meaning, ...] | None:
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


def tuple_written_out(frame: Frame, node: ast.expr) -> ast.Tuple | None:
    """Return a tuple, or what a name for one means, as a tuple of expressions; None for anything else.

    Args:
        frame: where it stands.
        node: the expression.
    """
    match node:
        case ast.Tuple(elements) if elements:
            return node
        case ast.Name(name) if isinstance(binding := frame.bindings.get(name), TupleBinding) and binding.items:
            items = [ast.Subscript(node, ast.Constant(place), ast.Load()) for place in range(len(binding.items))]
            return placed(ast.Tuple(list[ast.expr](items), ast.Load()), node)
    return None


def items_of_meaning(meaning: Meaning) -> tuple[Meaning, ...] | None:
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
    items = items_of(frame, node.value)
    if isinstance(node.slice, ast.Slice):
        return _part_of_tuple(frame, node, node.slice)
    if not items or isinstance(node.slice, ast.Tuple):
        return None
    position = read(frame, node.slice).constant
    return items[position] if isinstance(position, int) and -len(items) <= position < len(items) else None


def _part_of_tuple(frame: Frame, node: ast.Subscript, part: ast.Slice) -> TupleBinding | None:
    """Return what ``t[1:]`` and its like stand for; None where what is sliced is no tuple with a name, nor an item of
    one, or its bounds are not constant."""
    owner: Meaning | None = None
    if isinstance(node.value, ast.Name):
        owner = lookup(frame, node.value)
    elif isinstance(node.value, ast.Subscript | ast.Attribute):
        owner = item_of(frame, node.value)
    places = constant_slice(frame, part) if isinstance(owner, TupleBinding) else None
    if not isinstance(owner, TupleBinding) or places is None:
        return None
    return TupleBinding(owner.items[places], is_list=owner.is_list)


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
        items = items_of(frame, inner) if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript) else None
        if inner is None or items is None:
            elements.append(each)
            continue
        for place in range(len(items)):
            part = ast.Subscript(inner, ast.copy_location(ast.Constant(place), inner), ast.Load())
            elements.append(ast.copy_location(part, inner))
    return elements


def unstarred_call(frame: Frame, node: ast.Call) -> ast.Call:
    """A call with what starred arguments stand for."""
    if not any(isinstance(each, ast.Starred) for each in node.args):
        return node
    return ast.copy_location(ast.Call(node.func, unstarred(frame, node.args), node.keywords), node)


def inlined_call(frame: Frame, node: ast.Call, *, alone: bool = False) -> Meaning | None:
    """Return what a call of a function of the user's gives, its body inlined; None for any other call.

    Args:
        frame: where it stands.
        node: the call.
        alone: whether its statement reads nothing else, so that the function may write arrays.

    Raises:
        UnsupportedSourceError: the function returns nothing, or cannot be inlined.
    """
    node = unstarred_call(frame, node)
    function = None if is_method(frame, node.func) else outside_object(frame, node.func)
    if function is None and isinstance(node.func, ast.Attribute) and is_method(frame, node.func):
        function = method(node.func.attr)
        if handler_of_several(function) is None:
            return None
        node = ast.copy_location(ast.Call(node.func, [node.func.value, *node.args], node.keywords), node)
    if named_fields(function):
        return frame.kernel.inline(frame, node, function, value_used=True)
    several = results_of_call(frame, node, function, frame.kernel.evaluate, read_shape)
    if several is not None:
        return several
    inlined = inlinable(function)
    if inlined is None:
        return several_arrays(frame, node, function, frame.kernel.evaluate, read_shape)
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


def computed_of_shape(frame: Frame, node: ast.Call, function: Any) -> Value | None:
    """The length of a tuple or an array, and what is computed of a shape, as its product; None for any other call.

    Args:
        frame: where it stands.
        node: the call.
        function: what is called.
    """
    if len(node.args) != 1:
        return None
    (argument,) = node.args
    if function is len:
        return _length(frame, node, argument)
    symbol = next((symbol for each, symbol in _OF_SHAPES if each is function), None)
    shape = None if symbol is None or node.keywords else read_shape(frame, argument)
    return reduce(partial(promotion.binary, symbol), shape) if symbol is not None and shape else None


def _length(frame: Frame, node: ast.Call, argument: ast.expr) -> Value | None:
    """The length of a tuple, or of an array along its first dimension; None of anything else."""
    items = items_of(frame, argument)
    if items is not None:
        return promotion.constant(len(items))
    shape = read_shape(frame, ast.copy_location(ast.Attribute(argument, "shape", ast.Load()), node))
    if shape is not None:
        return shape[0] if shape else None
    if mentions_arrays(frame, argument):
        array = computed(frame, node, frame.kernel.evaluate(frame, argument))
        if isinstance(array, ArrayValue) and array.ndim:
            return Value(array.shape[0], weak=True)
    return None
