"""Statements of the source as nodes of the program: one function for each kind, in the order of the source."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polytune.frontend import control
from polytune.frontend.array_expressions.calling import evaluate_statement, returned
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.assignments import assign_augmented, assign_targets
from polytune.frontend.expressions import evaluate, is_method, number, plain_arguments
from polytune.frontend.frame import ArrayBinding, Frame
from polytune.frontend.names import outside_object
from polytune.frontend.promotion import Value
from polytune.frontend.refusals import refuse_statement
from polytune.frontend.source import inlinable


def lower_body(frame: Frame, body: Sequence[ast.stmt]) -> Value | ArrayValue | None:
    """Lower a function's body; what its last statement returns: a number, or in an inlined function an array.

    Raises:
        UnsupportedSourceError: a statement is outside the language.
    """
    last = body[-1]
    if not isinstance(last, ast.Return):
        lower_block(frame, body)
        return None
    lower_block(frame, body[:-1])
    if last.value is None or (isinstance(last.value, ast.Constant) and last.value.value is None):
        return None
    if not frame.is_kernel and mentions_arrays(frame, last.value):
        return returned(frame, last, evaluate(frame, last.value))
    if isinstance(last.value, ast.Name) and isinstance(frame.bindings.get(last.value.id), ArrayBinding):
        raise frame.source.refusal(
            last,
            f"the array {last.value.id!r} is returned",
            "a kernel writes its array arguments in place; the caller has them already",
            "return nothing, or pass the array that is to be filled as an argument",
        )
    if isinstance(last.value, ast.Tuple):
        raise frame.source.refusal(
            last.value,
            "several values are returned",
            "a call gives one number or none",
            "return one of them, and write the others into an array that is an argument: results[0] = ...",
        )
    return number(frame, last.value)


def lower_block(frame: Frame, statements: Sequence[ast.stmt]) -> None:
    """Lower statements in order into ``frame.nodes``."""
    for statement in statements:
        _lower_statement(frame, statement)


def _lower_statement(frame: Frame, node: ast.stmt) -> None:
    match node:
        case ast.For():
            control.lower_for(frame, node, lower_block)
        case ast.If():
            control.lower_if(frame, node, lower_block)
        case ast.While():
            control.lower_while(frame, node, lower_block)
        case ast.Assign(targets, value):
            assign_targets(frame, node, targets, value)
        case ast.AnnAssign(target, _, value):
            if value is not None:
                assign_targets(frame, node, [target], value)
        case ast.AugAssign():
            assign_augmented(frame, node)
        case ast.Pass() | ast.Expr(ast.Constant()):
            pass
        case ast.Expr(ast.Call() as call):
            _call(frame, node, call)
        case ast.Expr(value):
            number(frame, value)
        case _:
            raise refuse_statement(frame.source, node)


def _call(frame: Frame, node: ast.stmt, call: ast.Call) -> None:
    function = None if is_method(frame, call.func) else outside_object(frame, call.func)
    plain = inlinable(function)
    if plain is not None:
        frame.kernel.inline(frame, call, plain, False)
        return
    if mentions_arrays(frame, call) and evaluate_statement(frame, call, evaluate):
        return
    plain_arguments(frame, call)
    raise frame.source.refusal(
        node,
        f"{frame.source.segment(call.func)} is called for its effect",
        "what the call writes or prints is not known",
        "call it outside the kernel; calls of plain Python functions whose source is known are inlined",
    )
