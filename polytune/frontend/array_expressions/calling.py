"""Arrays in calls: as arguments and results of inlined functions, and in calls that are statements."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from polytune.frontend.array_expressions.assigning import binding_of
from polytune.frontend.array_expressions.calls import Evaluate
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.frame import ArrayBinding, Binding, Frame, ViewBinding
from polytune.frontend.promotion import Value, number


def array_argument(frame: Frame, node: ast.expr, value: ArrayValue) -> Binding:
    """What a parameter means that is given a part of an array, or a result, which is computed before the call."""
    if value.region is None:
        value = kept(frame, node, value, "argument")
    return binding_of(frame, value)


def returned(frame: Frame, node: ast.stmt, operand: Operand) -> ArrayValue | Value:
    """What an inlined function returns, computed where its body ends: what it is computed from may change later."""
    value = computed(frame, node, operand)
    if isinstance(value, Value):
        return number(value)
    return kept(frame, node, value, frame.source.name) if value.region is None else value


def computes_arrays(body: Sequence[ast.stmt], bindings: Mapping[str, Binding]) -> bool:
    """Whether a function that is given arrays may compute with whole ones, so that its value is no mere expression."""
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


def _has_slice(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))


def evaluate_statement(frame: Frame, call: ast.Call, evaluate: Evaluate) -> bool:
    """A call that is a statement: ``A.fill(value)``, ``np.copyto(A, B)``, or one with ``out=``; whether it is one."""
    match call:
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
