"""Expressions that may be more than a number: arrays, shapes, tuples, functions, and what calls return."""

from __future__ import annotations

import ast
from collections.abc import Callable

from polytune.frontend.array_expressions.calling import array_meaning
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.expressions import condition, evaluate, inlined_call, item_of, read_shape, unstarred
from polytune.frontend.frame import (
    ArrayBinding,
    Frame,
    Meaning,
    ObjectBinding,
    SelectionBinding,
    ShapeBinding,
    TupleBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.names import lookup, outside_object
from polytune.frontend.objects import known_object
from polytune.frontend.promotion import Value
from polytune.frontend.source import NestedFunction


def meaning_of(frame: Frame, node: ast.expr, *, alone: bool = False) -> Meaning:
    """Return what an expression stands for.

    Args:
        frame: where it stands.
        node: the expression.
        alone: whether its statement reads nothing else, so that a call in it may write arrays.

    Raises:
        UnsupportedSourceError: it is outside the language, or a call that returns nothing.
    """
    if isinstance(node, ast.Name):
        binding = lookup(frame, node)
        if isinstance(binding, ArrayBinding | ViewBinding | SelectionBinding | ShapeBinding | TupleBinding):
            return binding
        if isinstance(binding, ObjectBinding) and isinstance(binding.value, NestedFunction):
            return binding
    known = known_object(frame, node)
    if known is not None:
        return ObjectBinding(known.value)
    if isinstance(node, ast.IfExp) and not any(isinstance(part, ast.Call) for part in ast.walk(node.test)):
        test = condition(frame, node.test).constant
        if test is not None:
            return meaning_of(frame, node.body if test else node.orelse, alone=alone)
    if isinstance(node, ast.Tuple | ast.List):
        return TupleBinding(tuple(meaning_of(frame, element) for element in unstarred(frame, node.elts)))
    item = item_of(frame, node) if isinstance(node, ast.Subscript | ast.Attribute) else None
    if item is not None:
        return item
    shape = read_shape(frame, node)
    if shape is not None:
        return ShapeBinding(shape)
    if isinstance(node, ast.Name | ast.Attribute):
        thing = outside_object(frame, node)
        if callable(thing):
            return ObjectBinding(thing)
    if isinstance(node, ast.Call):
        returned = inlined_call(frame, node, alone=alone)
        if returned is not None:
            return returned
    value = computed(frame, node, evaluate(frame, node))
    if isinstance(value, ArrayValue) and value.shape:
        return array_meaning(frame, node, value)
    return ValueBinding(value if isinstance(value, Value) else value.at(()))


def items_of(meaning: Meaning) -> tuple[Meaning, ...] | None:
    """The items of a tuple or a shape; None for what is none."""
    match meaning:
        case TupleBinding(items):
            return items
        case ShapeBinding(extents):
            return tuple(ValueBinding(extent) for extent in extents)
    return None


def map_values(meaning: Meaning, change: Callable[[Value], Value]) -> Meaning:
    """A meaning with each number in it changed."""
    match meaning:
        case ValueBinding(value):
            return ValueBinding(change(value))
        case TupleBinding(items, fields):
            return TupleBinding(tuple(map_values(item, change) for item in items), fields)
        case ShapeBinding(extents):
            return TupleBinding(tuple(ValueBinding(change(extent)) for extent in extents))
    return meaning


def map_arrays(meaning: Meaning, change: Callable[[ArrayValue], Meaning]) -> Meaning:
    """A meaning with each part of an array in it changed."""
    match meaning:
        case ViewBinding(view):
            return change(view)
        case TupleBinding(items, fields):
            return TupleBinding(tuple(map_arrays(item, change) for item in items), fields)
    return meaning
