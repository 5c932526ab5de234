"""None and text, which are known before a kernel runs, and comparisons of them."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    GeneratorObject,
    ObjectBinding,
    ScalarBinding,
    SelectionBinding,
    ShapeBinding,
    TupleBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.names import element_type, lookup, outside_object
from polytune.frontend.promotion import Value, constant
from polytune.frontend.syntax.source import NestedFunction
from polytune.records import dataclass


@dataclass(frozen=True)
class KnownObject:
    """None, a text, or a tuple or list of what is known."""

    value: Any


_OTHER = KnownObject(object())
"""The object that stands for numbers and arrays, which are neither."""

_IDENTITY = (ast.Is, ast.IsNot)
_EQUALITY = (ast.Eq, ast.NotEq)
_MEMBERSHIP = (ast.In, ast.NotIn)
_NEGATED = (ast.IsNot, ast.NotEq, ast.NotIn)


def known_object(frame: Frame, node: ast.expr) -> KnownObject | None:
    """The None or text that an expression is; None for any other expression."""
    match node:
        case ast.Constant(None | str()):
            return KnownObject(node.value)
        case ast.Name():
            binding = lookup(frame, node)
            is_known = isinstance(binding, ObjectBinding) and (binding.value is None or isinstance(binding.value, str))
            return KnownObject(binding.value) if is_known else None  # type: ignore[union-attr]
        case ast.Attribute(owner, attribute) if isinstance(owner, ast.Name | ast.Attribute):
            outside = outside_object(frame, owner)
            if outside is not None and hasattr(outside, attribute):
                value = getattr(outside, attribute)
                return KnownObject(value) if value is None or isinstance(value, str) else None
    return None


def compared_objects(frame: Frame, node: ast.Compare) -> Value | None:
    """The outcome of a comparison with None, text or the type of an array's elements, by ``is``, ``==`` or ``in``; None
    for any other comparison.

    Raises:
        UnsupportedSourceError: a name in it means different things on the ways that lead here.
    """
    if len(node.ops) != 1:
        return None
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    types = _compared_types(frame, node)
    if types is not None:
        found: bool | None = types
    elif isinstance(operator, _MEMBERSHIP):
        found = _membership(frame, left, right)
    elif isinstance(operator, _IDENTITY + _EQUALITY):
        sides = known_object(frame, left), known_object(frame, right)
        if sides == (None, None) or (isinstance(operator, _IDENTITY) and not _has_none(sides)):
            return None
        first, second = (side or _other(frame, each) for side, each in zip(sides, (left, right), strict=True))
        found = None if first is None or second is None else first == second
    else:
        return None
    return None if found is None else constant(found != isinstance(operator, _NEGATED))


def instance_of(frame: Frame, node: ast.Call, function: object) -> Value | None:
    """The outcome of ``isinstance(x, kind)`` for a name of known meaning; None for any other call.

    A number that comes from an array, or has met one, is NumPy's; any other is Python's.

    Args:
        frame: where it stands.
        node: the call.
        function: what is called.
    """
    if function is not isinstance or len(node.args) != 2 or node.keywords or not isinstance(node.args[0], ast.Name):
        return None
    asked = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    kinds = [outside_object(frame, each) for each in asked]
    own = _kind(lookup(frame, node.args[0]))
    if own is None or not all(isinstance(each, type) for each in kinds):
        return None
    return constant(any(issubclass(own, each) for each in kinds))


def is_callable(frame: Frame, node: ast.Call, function: object) -> Value | None:
    """The outcome of ``callable(x)`` for a name or a number; None for any other call.

    Args:
        frame: where it stands.
        node: the call.
        function: what is called.
    """
    match node:
        case ast.Call(_, [ast.Name() as name], []) if function is callable:
            binding = lookup(frame, name)
            thing = binding.value if isinstance(binding, ObjectBinding) else None
            return constant(isinstance(thing, NestedFunction) or callable(thing))
    return None


def _kind(binding: object) -> type | None:
    """The class of what a name means; None where that is not known."""
    match binding:
        case ArrayBinding() | ViewBinding() | SelectionBinding():
            return np.ndarray
        case ShapeBinding():
            return tuple
        case TupleBinding(fields=(), is_list=is_list):
            return list if is_list else tuple
        case ObjectBinding(GeneratorObject()):
            return np.random.Generator
        case ObjectBinding(value) if value is None or isinstance(value, str):
            return type(value)
        case ValueBinding(Value(weak=True) as value):
            return {"int64": int, "float64": float, "complex128": complex, "bool": bool}.get(value.dtype)
        case ValueBinding(value):
            return np.dtype(value.dtype).type
    return None


def _compared_types(frame: Frame, node: ast.Compare) -> bool | None:
    """Return whether the type of an array's elements is another one, ``A.dtype == np.float64``, or one of several; None
    where no such types are compared."""
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    is_in = isinstance(operator, _MEMBERSHIP) and isinstance(right, ast.Tuple | ast.List | ast.Set)
    if not is_in and not isinstance(operator, _EQUALITY):
        return None
    others = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
    own, *types = (_element_type(frame, each) for each in (left, *others))
    known = [each for each in types if each is not None]  # a type of NumPy's may be equal to None
    if own is None or len(known) < len(types) or not any(_is_of_array(frame, each) for each in (left, *others)):
        return None
    return own in known


def _element_type(frame: Frame, node: ast.expr) -> np.dtype[Any] | None:
    """The element type that an expression stands for: that of an array, a type of NumPy's, or its name."""
    value = node.value if isinstance(node, ast.Constant) else element_type(frame, node)
    if not isinstance(value, str | type | np.dtype):
        return None
    try:
        return np.dtype(value)
    except TypeError:
        return None


def _is_of_array(frame: Frame, node: ast.expr) -> bool:
    """Return whether an expression is the ``dtype`` of an array."""
    return isinstance(node, ast.Attribute) and node.attr == "dtype" and outside_object(frame, node) is None


def _has_none(sides: tuple[KnownObject | None, ...]) -> bool:
    return any(side is not None and side.value is None for side in sides)


def _other(frame: Frame, node: ast.expr) -> KnownObject | None:
    """Something that no text is equal to, for an expression that is a number, an array or a tuple; None where it may
    be something else."""
    if isinstance(node, ast.Name):
        numbers = ArrayBinding | ScalarBinding | SelectionBinding | ShapeBinding | TupleBinding | ValueBinding
        return _OTHER if isinstance(lookup(frame, node), numbers | ViewBinding) else _outside(frame, node)
    return _OTHER if isinstance(node, ast.Subscript | ast.BinOp | ast.Constant | ast.Tuple) else _outside(frame, node)


def _outside(frame: Frame, node: ast.expr) -> KnownObject | None:
    return None if outside_object(frame, node) is None else _OTHER


def _membership(frame: Frame, node: ast.expr, container: ast.expr) -> bool | None:
    """Return whether a text is one of several; None where no text is asked for, or the others are not known."""
    one = known_object(frame, node)
    if one is None:
        return None
    if isinstance(container, ast.Tuple | ast.List | ast.Set):
        items = [known_object(frame, each) or _other(frame, each) for each in container.elts]
        return None if None in items else one in items
    values = outside_object(frame, container) if isinstance(container, ast.Name | ast.Attribute) else None
    return one.value in values if isinstance(values, tuple | list | set | frozenset | dict) else None
