"""Calls of the user's own functions, inlined.

A function that only computes a number becomes an expression.  Any other is walked as if its body stood before the
calling statement, with its local names renamed.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType

from polytune.frontend import promotion
from polytune.frontend.expression import Argument, Assign, Constant, ParameterValue, walk
from polytune.frontend.expressions import condition, number, operator_symbol, plain_arguments, read, read_shape
from polytune.frontend.frame import (
    ArrayBinding,
    Binding,
    Frame,
    ObjectBinding,
    ScalarBinding,
    ShapeBinding,
    ValueBinding,
    assigned_names,
)
from polytune.frontend.names import lookup, outside_object
from polytune.frontend.opaque import performed
from polytune.frontend.promotion import Value
from polytune.frontend.source import Source, read_source
from polytune.frontend.statements import lower_body, store_scalar


def inline_call(frame: Frame, node: ast.Call, function: FunctionType, value_used: bool) -> Value | None:
    """Inline a call; the value it returns, or None.

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
    if value_used and _is_expression(callee.tree.body):
        bindings = {name: _argument(frame, argument) for name, argument in arguments.items()}
        inner = Frame(
            kernel, callee, bindings, frame.nodes, assigned_names(callee.tree.body), pure=True, is_kernel=False
        )
        inner.iterators = frame.iterators
        kernel.calls.append(function)
        try:
            return _evaluate(inner, callee.tree.body)
        finally:
            kernel.calls.pop()
    if frame.pure:
        raise frame.source.refusal(
            node,
            f"{function.__name__} is called in an expression that may not be evaluated",
            "its body is made into statements that stand before this one and would always run",
            "call it in a line of its own, under an if",
        )
    return _inline_statements(frame, node, callee, arguments, function, value_used)


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
        if isinstance(binding, ArrayBinding | ShapeBinding):
            return binding
    shape = read_shape(frame, argument)
    if shape is not None:
        return ShapeBinding(shape)
    if isinstance(argument, ast.Name | ast.Attribute):
        thing = outside_object(frame, argument)
        if callable(thing):
            return ObjectBinding(thing)
    return ValueBinding(read(frame, argument))


def _is_expression(body: Sequence[ast.stmt]) -> bool:
    """Whether statements only compute a value: assignments to names, branches, and a return at every end."""
    for statement in body:
        match statement:
            case ast.Return(value) if value is not None:
                return True
            case ast.Expr(ast.Constant()) | ast.Pass():
                continue
            case ast.Assign([ast.Name()]) | ast.AnnAssign(ast.Name()) | ast.AugAssign(ast.Name()):
                continue
            case ast.If(_, then, otherwise):
                if not (_is_pure(then) and _is_pure(otherwise)):
                    return False
                if _is_expression(then) and _is_expression(otherwise):
                    return True
            case _:
                return False
    return False


def _is_pure(body: Sequence[ast.stmt]) -> bool:
    """Whether statements only assign names, branch and return."""
    for statement in body:
        match statement:
            case ast.Return(value) if value is not None:
                pass
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Assign([ast.Name()]) | ast.AnnAssign(ast.Name()) | ast.AugAssign(ast.Name()):
                pass
            case ast.If(_, then, otherwise) if _is_pure(then) and _is_pure(otherwise):
                pass
            case _:
                return False
    return True


def _evaluate(frame: Frame, body: Sequence[ast.stmt]) -> Value | None:
    """The value that pure statements return, or None where they end without; assignments change the bindings."""
    for position, statement in enumerate(body):
        match statement:
            case ast.Return(value) if value is not None:
                return number(frame, value)
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value) if value is not None:
                frame.bindings[name] = ValueBinding(number(frame, value))
            case ast.AugAssign(ast.Name(name) as target, operator, value):
                old = number(frame, ast.copy_location(ast.Name(name, ast.Load()), target))
                symbol = operator_symbol(frame, statement, operator)
                frame.bindings[name] = ValueBinding(promotion.binary(symbol, old, number(frame, value)))
            case ast.If(test, then, otherwise):
                chosen = condition(frame, test)
                if not _returns([*then, *otherwise]):
                    _evaluate_assignments(frame, chosen, then, otherwise)
                    continue
                rest = body[position + 1 :]
                return _evaluate_branch(frame, chosen, [*then, *rest], [*otherwise, *rest])
    return None


def _returns(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return) for statement in body for node in ast.walk(statement))


def _evaluate_assignments(frame: Frame, chosen: Value, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
    """A branch that only assigns: a name becomes a choice; where a side leaves it without a value it has none."""
    left, right = frame.inside(), frame.inside()
    _evaluate(left, then)
    _evaluate(right, otherwise)
    for name in assigned_names([*then, *otherwise]):
        sides = left.bindings.get(name), right.bindings.get(name)
        if isinstance(sides[0], ValueBinding) and isinstance(sides[1], ValueBinding):
            frame.bindings[name] = ValueBinding(promotion.select(chosen, sides[0].value, sides[1].value))
        else:
            frame.bindings.pop(name, None)


def _evaluate_branch(
    frame: Frame, chosen: Value, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]
) -> Value | None:
    if chosen.constant is not None:
        return _evaluate(frame, then if chosen.constant else otherwise)
    left = _evaluate(frame.inside(), then)
    right = _evaluate(frame.inside(), otherwise)
    return None if left is None or right is None else promotion.select(chosen, left, right)


def _inline_statements(
    frame: Frame,
    node: ast.Call,
    callee: Source,
    arguments: dict[str, ast.expr | Value],
    function: FunctionType,
    value_used: bool,
) -> Value | None:
    kernel = frame.kernel
    inner = Frame(
        kernel,
        callee,
        {},
        frame.nodes,
        assigned_names(callee.tree.body),
        iterators=frame.iterators,
        conditional=frame.conditional,
        opaque=frame.opaque,
        is_kernel=False,
    )
    for name, argument in arguments.items():
        inner.bindings[name] = _bind_argument(frame, inner, node, name, _argument(frame, argument))
    first = len(frame.nodes)
    kernel.calls.append(function)
    try:
        value = lower_body(inner, callee.tree.body)
    finally:
        kernel.calls.pop()
    written = {
        part.target.array
        for perform in performed(frame.nodes[first:])
        for operation in perform.operations
        for part in walk(operation)
        if isinstance(part, Assign) and kernel.arrays.get(part.target.array) is not None
    }
    if value_used and written:
        raise frame.source.refusal(
            node,
            f"{callee.name} writes to {', '.join(sorted(written))} and is used for its value",
            "an expression must not change what the rest of its statement reads",
            "let the function either write arrays or return a number",
        )
    return value


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
