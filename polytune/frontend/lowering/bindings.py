"""Expressions that may be more than a number: arrays, shapes, tuples, functions, and what calls return."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from polytune.frontend.array_expressions.calling import array_meaning
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    GeneratorObject,
    ListBinding,
    Meaning,
    ObjectBinding,
    SelectionBinding,
    ShapeBinding,
    SliceObject,
    TupleBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.names import lookup, outside_object
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.expressions import evaluate
from polytune.frontend.scalars.numbers import condition
from polytune.frontend.scalars.objects import known_object
from polytune.frontend.scalars.tuples import inlined_call, item_of, read_shape, unstarred
from polytune.frontend.syntax.lists import returned_list
from polytune.frontend.syntax.source import NestedFunction
from polytune.syntax_trees import all_nodes


def meaning_of(frame: Frame, node: ast.expr, *, alone: bool = False) -> Meaning:
    """Return what an expression stands for.

    Args:
        frame: where it stands.
        node: the expression.
        alone: whether its statement reads nothing else, so that a call in it may write arrays.

    Raises:
        UnsupportedSourceError: it is outside the language, or a call that returns nothing.
    """
    growing = returned_list(node)
    if growing is not None and isinstance(node, ast.Tuple):
        return ListBinding(tuple(meaning_of(frame, element) for element in node.elts), growing.kind)
    named = _meaning_of_name(frame, node) if isinstance(node, ast.Name) else None
    if named is not None:
        return named
    known = known_object(frame, node)
    if known is not None:
        return ObjectBinding(known.value)
    side = decided_side(frame, node)
    if side is not None:
        return meaning_of(frame, side, alone=alone)
    if isinstance(node, ast.Tuple | ast.List):
        items = tuple(meaning_of(frame, element) for element in unstarred(frame, node.elts))
        return TupleBinding(items, is_list=isinstance(node, ast.List))
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


def _meaning_of_name(frame: Frame, node: ast.Name) -> Meaning | None:
    """Return what a name stands for that is no number, nor an object of the module's; None for one that is."""
    binding = lookup(frame, node)
    if isinstance(binding, ArrayBinding | ViewBinding | SelectionBinding | ShapeBinding | TupleBinding):
        return binding
    made = NestedFunction | SliceObject | GeneratorObject
    is_made = isinstance(binding, ObjectBinding) and isinstance(binding.value, made)
    return binding if is_made else None


def decided_side(frame: Frame, node: ast.expr) -> ast.expr | None:
    """The side of a choice ``x if test else y`` that is taken, where that is known before the kernel runs; None for
    everything else."""
    if not isinstance(node, ast.IfExp) or any(isinstance(part, ast.Call) for part in all_nodes(node.test)):
        return None
    test = condition(frame, node.test).constant
    return None if test is None else node.body if test else node.orelse


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
        case TupleBinding(items):
            return replace(meaning, items=tuple(map_values(item, change) for item in items))
        case ShapeBinding(extents):
            return TupleBinding(tuple(ValueBinding(change(extent)) for extent in extents))
    return meaning


def map_arrays(meaning: Meaning, change: Callable[[ArrayValue], Meaning]) -> Meaning:
    """A meaning with each part of an array in it changed."""
    match meaning:
        case ViewBinding(view):
            return change(view)
        case TupleBinding(items):
            return replace(meaning, items=tuple(map_arrays(item, change) for item in items))
        case ListBinding(parts):
            return replace(meaning, parts=tuple(map_arrays(part, change) for part in parts))
    return meaning
