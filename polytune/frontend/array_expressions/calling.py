"""Arrays in calls: as arguments and results of inlined functions, and in calls that are statements."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from polytune.frontend.array_expressions.assigning import binding_of, refuse_detached
from polytune.frontend.array_expressions.calls import ArrayCall, handler_of_several, matched
from polytune.frontend.array_expressions.data_subscripts import with_captured_subscripts
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.library import change
from polytune.frontend.array_expressions.readers import Evaluate, ShapeOf
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.expression import Element, Iterator, walk
from polytune.frontend.frame import (
    ArrayBinding,
    Frame,
    Meaning,
    TupleBinding,
    UnsizedBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.promotion import Value


def array_meaning(frame: Frame, node: ast.expr, value: ArrayValue) -> Meaning:
    """Return what an expression of arrays stands for, where it is passed on or returned: a result is computed there.

    Args:
        frame: where it stands.
        node: the expression.
        value: the array that it is.
    """
    refuse_detached(frame, node, value)
    if value.region is None:
        value = kept(frame, node, value, "result")
    return binding_of(frame, with_captured_subscripts(frame, node, value))


def array_of_its_own(frame: Frame, node: ast.AST, view: ArrayValue) -> Meaning:
    """A copy of a part of an array, which a kernel can return.

    Args:
        frame: where it is returned.
        node: the expression, for the message.
        view: the part of an array.

    Raises:
        UnsupportedSourceError: its shape depends on loop variables.
    """
    if any(isinstance(part, Iterator | Element) for extent in view.shape for part in walk(extent)):
        raise frame.source.refusal(
            node,
            "an array whose shape depends on a loop or on data is returned",
            "its size must be known before the kernel runs",
            "return the whole array, and how much of it is meant",
        )
    copy = kept(frame, node, view, "result")
    assert copy.region is not None
    return ArrayBinding(copy.region.array)


def computes_arrays(body: Sequence[ast.stmt], bindings: Mapping[str, Meaning]) -> bool:
    """Return whether a function that is given arrays may compute with whole ones, so that its value is no mere
    expression."""
    arrays = {name for name, binding in bindings.items() if isinstance(binding, ArrayBinding | ViewBinding)}
    if not arrays:
        return False
    elements: set[int] = set()
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.Subscript(ast.Name() as base) | ast.Attribute(ast.Name() as base, "shape" | "ndim" | "dtype"):
                    ranks = [bindings[base.id]] if base.id in arrays else []
                    if all(isinstance(binding, ArrayBinding) for binding in ranks) and not _has_slice(node):
                        elements.add(id(base))
                case ast.Call(ast.Name("len"), [ast.Name() as base]):
                    elements.add(id(base))
    return any(
        isinstance(node, ast.Name) and node.id in arrays and id(node) not in elements
        for statement in body
        for node in ast.walk(statement)
    )


def results_of_call(
    frame: Frame,
    node: ast.Call,
    function: Any,
    evaluate: Evaluate,
    shape_of: ShapeOf,
) -> Meaning | None:
    """Return what a call of a function gives that returns a tuple of arrays and numbers; None for any other.

    Args:
        frame: where it stands.
        node: the call.
        function: what is called.
        evaluate: reads an expression.
        shape_of: reads a tuple of integers, such as a shape; None for what is none.
    """
    found = handler_of_several(function)
    if found is None:
        return None
    name = frame.source.segment(node.func)
    parameters, compile_call = found
    arguments = matched(frame, node, name, parameters, None)
    results = compile_call(ArrayCall(frame, node, name, arguments, None, parameters[0], evaluate, shape_of))
    items: list[Meaning] = []
    for result in results:
        if result is None:
            items.append(UnsizedBinding(name))
        elif isinstance(result, ArrayValue):
            items.append(binding_of(frame, result))
        else:
            assert isinstance(result, Value)
            items.append(ValueBinding(result))
    return items[0] if len(items) == 1 else TupleBinding(tuple(items))


def _has_slice(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))


def evaluate_statement(frame: Frame, call: ast.Call, evaluate: Evaluate) -> bool:
    """Lower a call that is a statement: ``A.fill(value)``, ``np.copyto(A, B)``, or one with ``out=``.  Return whether
    it is one.

    Args:
        frame: where it stands.
        call: the call.
        evaluate: reads an expression.
    """
    match call:
        case ast.Call(ast.Attribute(owner, "sort"), [], []):
            target = computed(frame, call, evaluate(frame, owner))
            if isinstance(target, ArrayValue) and target.ndim:
                change(frame, call, f"numpy.sort * axis={target.ndim - 1}", target)
                return True
        case ast.Call(ast.Attribute(owner, "fill"), [value], []):
            target = computed(frame, call, evaluate(frame, owner))
            if isinstance(target, ArrayValue):
                store(frame, call, target, evaluate(frame, value))
                return True
        case ast.Call(ast.Attribute(_, "copyto"), [first, second], []):
            store(frame, call, as_array(computed(frame, call, evaluate(frame, first))), evaluate(frame, second))
            return True
        case ast.Call(_, _, keywords) if any(keyword.arg == "out" for keyword in keywords):
            evaluate(frame, call)
            return True
    return False
