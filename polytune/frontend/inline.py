"""Calls of the user's own functions, inlined.

A function that only computes a number becomes an expression.  Any other is walked as if its body stood before the
calling statement, with its local names renamed.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calling import array_argument, computes_arrays
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.assignments import store_scalar
from polytune.frontend.expression import Argument, Assign, Constant, ParameterValue, walk
from polytune.frontend.expressions import evaluate, plain_arguments, read_shape
from polytune.frontend.frame import (
    ArrayBinding,
    Binding,
    Frame,
    ObjectBinding,
    ScalarBinding,
    ShapeBinding,
    ValueBinding,
    ViewBinding,
    assigned_names,
)
from polytune.frontend.names import lookup, outside_object
from polytune.frontend.opaque import performed
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value
from polytune.frontend.pure import evaluate as evaluate_body
from polytune.frontend.pure import is_expression
from polytune.frontend.source import Source, read_source
from polytune.frontend.statements import lower_body


def inline_call(frame: Frame, node: ast.Call, function: FunctionType, value_used: bool) -> Value | ArrayValue | None:
    """Inline a call; the number or array that it returns, or None.

    Raises:
        UnsupportedSourceError: the function is recursive or outside the language, or its arguments do not fit.
    """
    kernel = frame.kernel
    if function in kernel.calls:
        raise frame.source.refusal(
            node,
            f"{function.__name__} calls itself",
            "a call is replaced by the function's body, which would have no end",
            "write the recursion as a loop",
        )
    plain_arguments(frame, node)
    callee = read_source(function)
    arguments = _match_arguments(frame, node, callee)
    inner = _callee_frame(frame, callee)
    bound = {name: _argument(frame, argument) for name, argument in arguments.items()}
    if value_used and is_expression(callee.tree.body) and not computes_arrays(callee.tree.body, bound):
        inner.bindings = bound
        kernel.calls.append(function)
        number = evaluate_body(inner, callee.tree.body)
        kernel.calls.pop()
        return number
    if frame.pure:
        raise frame.source.refusal(
            node,
            f"{function.__name__} is called in an expression that may not be evaluated",
            "its body is made into statements that stand before this one and would always run",
            "call it before, in a line of its own, and choose afterwards: s = f(x), then s if x[i] > 0 else 0; or, "
            "where it must not be called otherwise, under an if",
        )
    for name, binding in bound.items():
        inner.bindings[name] = _bind_argument(frame, inner, node, name, binding)
    first, before = len(frame.nodes), set(kernel.arrays)
    kernel.calls.append(function)
    value = lower_body(inner, callee.tree.body)
    kernel.calls.pop()
    if value is not None and value_used:
        _refuse_writes(frame, node, callee.name, frame.nodes[first:], before)
    return value


def _callee_frame(frame: Frame, callee: Source) -> Frame:
    """A frame for the callee's body, where the call stands; its statements go where the caller's go."""
    return replace(
        frame,
        source=callee,
        bindings={},
        assigned=assigned_names(callee.tree.body),
        names={},
        loop_variables=(),
        carried=frozenset(),
        is_kernel=False,
    )


def _match_arguments(frame: Frame, node: ast.Call, callee: Source) -> dict[str, ast.expr | Value]:
    signature = callee.tree.args
    names = [argument.arg for argument in (*signature.posonlyargs, *signature.args)]
    defaults = callee.function.__defaults__ or ()
    least = len(names) - len(defaults)
    if signature.vararg or signature.kwarg or signature.kwonlyargs or not least <= len(node.args) <= len(names):
        raise frame.source.refusal(
            node,
            f"{callee.name} is called with {len(node.args)} arguments",
            f"it takes {', '.join(names) or 'none'}; starred and keyword-only arguments are not inlined",
            "pass one value for each argument, by position",
        )
    arguments: dict[str, ast.expr | Value] = dict(zip(names, node.args, strict=False))
    for name, default in zip(names[least:], defaults, strict=True):
        if name not in arguments:
            if isinstance(default, bool) or not isinstance(default, int | float):
                raise frame.source.refusal(
                    node,
                    f"the default value of {name!r} of {callee.name} is used",
                    "only a number can be a default value",
                    f"pass {name!r} explicitly",
                )
            arguments[name] = promotion.constant(default)
    return arguments


def _argument(frame: Frame, argument: ast.expr | Value) -> Binding:
    """What an argument of a call means: an array, a shape, a function, or a value."""
    if isinstance(argument, Value):
        return ValueBinding(argument)
    if isinstance(argument, ast.Name):
        binding = lookup(frame, argument)
        if isinstance(binding, ArrayBinding | ShapeBinding | ViewBinding):
            return binding
    shape = read_shape(frame, argument)
    if shape is not None:
        return ShapeBinding(shape)
    if isinstance(argument, ast.Name | ast.Attribute):
        thing = outside_object(frame, argument)
        if callable(thing):
            return ObjectBinding(thing)
    value = computed(frame, argument, evaluate(frame, argument))
    return ValueBinding(value) if isinstance(value, Value) else array_argument(frame, argument, value)


def _refuse_writes(frame: Frame, node: ast.Call, name: str, nodes: Sequence[Node], arrays: set[str]) -> None:
    """Refuse statements that write arrays which were there before, made of a call inside an expression."""
    written = {
        part.target.array
        for perform in performed(nodes)
        for operation in perform.operations
        for part in walk(operation)
        if isinstance(part, Assign) and part.target.array in arrays
    }
    if written:
        raise frame.source.refusal(
            node,
            f"{name} writes to {', '.join(sorted(written))} and is used for its value",
            "an expression must not change what the rest of its statement reads",
            "let the function either write arrays or return a number",
        )


def _bind_argument(frame: Frame, inner: Frame, node: ast.Call, name: str, binding: Binding) -> Binding:
    """Bind an argument of an inlined body: by value where that cannot change, else through a new scalar."""
    if not isinstance(binding, ValueBinding):
        return binding
    kernel, unique = frame.kernel, inner.unique(name)
    leaf = isinstance(binding.value.expression, Constant | Argument | ParameterValue)
    affine = binding.value.is_integer and kernel.affine.is_function(binding.value.expression)
    if unique not in kernel.knowledge.in_memory and (leaf or affine):
        kernel.by_value.add(unique)
        return binding
    kernel.knowledge.in_memory.add(unique)
    store_scalar(frame, node, unique, binding.value)
    return ScalarBinding(unique)
