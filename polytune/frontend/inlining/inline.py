"""Calls of the user's own functions, inlined.

A function that only computes a number becomes an expression.  Any other is walked as if its body stood before the
calling statement, with its local names renamed.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from polytune.errors import Obstacle, UnsupportedSourceError
from polytune.frontend import promotion
from polytune.frontend.array_expressions.calling import computes_arrays
from polytune.frontend.equivalents import is_equivalent
from polytune.frontend.expression import Argument, Assign, Constant, ParameterValue, arrays_written
from polytune.frontend.inlining.called_functions import CalledFunctions, local_names, meaning_in
from polytune.frontend.inlining.pure import assigns_before_reading, evaluate, is_expression
from polytune.frontend.inlining.returns import result_of_call
from polytune.frontend.loops.opaque import performed
from polytune.frontend.loops.tuple_loops import is_over_values
from polytune.frontend.lowering.bindings import map_values, meaning_of
from polytune.frontend.lowering.frame import Exits, Frame, UnknownNameError, assigned_names
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Meaning,
    ObjectBinding,
    ScalarBinding,
    TupleBinding,
    ValueBinding,
)
from polytune.frontend.lowering.slice_objects import has_slice_objects
from polytune.frontend.lowering.statements import lower_block
from polytune.frontend.lowering.stored_scalars import keep, store_scalar
from polytune.frontend.program import Node, Perform
from polytune.frontend.scalars.constants import constant_array, tuple_of
from polytune.frontend.scalars.named_tuples import named_fields
from polytune.frontend.syntax.branch_tails import with_tails_in_branches
from polytune.frontend.syntax.calls_first import GUARDED, RAISED, with_calls_first
from polytune.frontend.syntax.desugaring import desugared
from polytune.frontend.syntax.jumps import items_returned, structured, with_one_return
from polytune.frontend.syntax.source import NestedFunction, Source, definition_of, meaning_outside, read_source
from polytune.frontend.syntax.tuple_variables import with_items
from polytune.frontend.syntax.webs import with_webs
from polytune.syntax_trees import all_nodes


def inline_call(
    frame: Frame,
    node: ast.Call,
    function: FunctionType | NestedFunction | type,
    *,
    value_used: bool,
    alone: bool = False,
) -> Meaning | None:
    """Inline a call.  Return what it gives, or None.

    Args:
        frame: where the call stands.
        node: the call.
        function: what is called, which may be a class of named tuples.
        value_used: whether anything is done with what it returns.
        alone: whether the statement reads nothing else, so that the function may write arrays.

    Raises:
        UnsupportedSourceError: the function is recursive, or its arguments do not fit.
        UnknownNameError: a part of its body is refused, and noted.
    """
    if not is_equivalent(function):
        return _inlined(frame, node, function, value_used=value_used, alone=alone)
    known = len(frame.kernel.obstacles)
    try:
        return _inlined(frame, node, function, value_used=value_used, alone=alone)
    except UnsupportedSourceError as error:
        raise UnsupportedSourceError.of([_at_call(frame, node, error.obstacles[0])]) from None
    except UnknownNameError:
        if frame.kernel.obstacles[known:]:
            frame.kernel.obstacles[known:] = [_at_call(frame, node, frame.kernel.obstacles[known])]
        raise


def _at_call(frame: Frame, node: ast.Call, inside: Obstacle) -> Obstacle:
    """The obstacle in a function that is inlined in place of a library's, said of the call of that."""
    if inside.location.file == frame.source.file:
        return inside
    what = f"{frame.source.segment(node.func)} with these arguments: {inside.what}"
    return Obstacle(frame.source.location(node), what, inside.reason, "write the loop, or call it before the kernel")


def _inlined(
    frame: Frame,
    node: ast.Call,
    function: FunctionType | NestedFunction | type,
    *,
    value_used: bool,
    alone: bool,
) -> Meaning | None:
    """Return what `inline_call` returns, with errors where they are in what is inlined."""
    kernel = frame.kernel
    if isinstance(function, type):
        return _named_tuple(frame, node, function)
    if function in kernel.calls:
        raise frame.source.refusal(
            node,
            f"{function.__name__} calls itself",
            "a call is replaced by the function's body, which would have no end",
            "write the recursion as a loop",
        )
    is_nested = isinstance(function, NestedFunction)
    callee = function.source if isinstance(function, NestedFunction) else read_source(function)
    signature = function.signature if isinstance(function, NestedFunction) else inspect.signature(callee.function)
    arguments = _match_arguments(frame, node, callee.name, signature)
    inner = _callee_frame(frame, callee)
    # What a nested function does not assign is what it means where the function is called.
    local = local_names(callee)
    outer = {name: each for name, each in frame.bindings.items() if is_nested and name not in local}
    meanings = {name: _argument(frame, argument) for name, argument in arguments.items()}
    means = meaning_in({**outer, **meanings}, meaning_outside(callee, {*local, *outer}))
    functions = CalledFunctions(kernel.knowledge.raising, kernel.knowledge.writing)
    is_raising = functions.raises(function)
    if is_raising and not getattr(node, GUARDED, False):
        raise frame.source.refusal(
            node,
            f"{function.__name__}, which may raise an exception, is called in an expression that may not be evaluated",
            "an exception ends the kernel, and after such a call there is no place where that could be seen",
            f"call it in a line of its own: value = {function.__name__}(...)",
        )
    statements = desugared(callee.tree.body, means, inner.fresh, {*outer, *meanings})
    statements = with_calls_first(statements, means, inner.fresh, functions)
    statements = with_items(statements, definition_of(function), kernel.knowledge.tuples, outer.__setitem__)
    statements = with_webs(callee.tree, statements, kernel.knowledge.separated.get(definition_of(function), ()))
    statements = with_tails_in_branches(statements, callee, kernel.knowledge.divided, is_kernel=False)
    inner.assigned = assigned_names(statements)
    if value_used and _is_plain(frame, callee, statements, functions, means, meanings):
        inner.bindings = {**outer, **meanings}
        kernel.calls.append(function)
        value = evaluate(inner, statements)
        kernel.calls.pop()
        return None if value is None else ValueBinding(value)
    inner.bindings |= outer
    return _walk_body(
        frame, node, inner, (function, statements), meanings, is_raising=is_raising, value_used=value_used, alone=alone
    )


def _is_plain(
    frame: Frame,
    callee: Source,
    statements: list[ast.stmt],
    functions: CalledFunctions,
    means: Callable[[ast.expr], Any],
    meanings: dict[str, Meaning],
) -> bool:
    """Return whether a function only computes a number, so that a call of it is an expression.

    Args:
        frame: where the call stands.
        callee: the function.
        statements: what its body has become.
        functions: tells what functions do.
        means: what names from outside of the function mean.
        meanings: what its arguments mean.
    """
    return (
        is_expression(statements)
        and assigns_before_reading(statements, meanings)
        and not _returns_argument(callee, meanings)
        and not computes_arrays(frame, statements, meanings)
        and not functions.in_body(statements, means)
        and not functions.has_new_arrays(statements, means)
        and not has_slice_objects(statements, meanings)
        and not functions.returns_tuples(statements, means)
        and not (any(isinstance(each, ast.If) for each in statements) and functions.has_loops(statements, means))
    )


def _walk_body(
    frame: Frame,
    node: ast.Call,
    inner: Frame,
    called: tuple[FunctionType | NestedFunction, list[ast.stmt]],
    meanings: dict[str, Meaning],
    *,
    is_raising: bool,
    value_used: bool,
    alone: bool,
) -> Meaning | None:
    """Walk the body of a function as if it stood before the calling statement.  Return what the call gives, or None.

    Args:
        frame: where the call stands.
        node: the call.
        inner: the function's frame.
        called: the function, and the statements that its body has become.
        meanings: what its arguments mean.
        is_raising: whether it may raise an exception.
        value_used: whether anything is done with what it returns.
        alone: whether the statement reads nothing else, so that the function may write arrays.

    Raises:
        UnsupportedSourceError: the call need not be evaluated, or writes what its statement reads.
        UnknownNameError: a part of the body is refused, and noted.
    """
    kernel, (function, statements) = frame.kernel, called
    if frame.pure:
        raise frame.source.refusal(
            node,
            f"{function.__name__} is called in an expression that may not be evaluated",
            "its body is made into statements that stand before this one and would always run",
            "call it before, in a line of its own, and choose afterwards: s = f(x), then s if x[i] > 0 else 0; or, "
            "where it must not be called otherwise, under an if",
        )
    if kernel.raised:
        inner.bindings[RAISED] = ScalarBinding(kernel.raised)
    for name, meaning in meanings.items():
        inner.bindings[name] = _bind_argument(frame, inner, node, name, meaning)
    first, before = len(frame.nodes), set(kernel.arrays)
    kernel.calls.append(function)
    if definition_of(function) in kernel.knowledge.merged:
        statements = _with_one_return(inner, statements)
    body = structured(statements, inner.fresh, partial(is_over_values, inner))
    inner.assigned, inner.exits = assigned_names(body.statements), Exits(body.returned)
    skipped = kernel.skipped
    lower_block(inner, body.statements)
    kernel.calls.pop()
    if kernel.skipped > skipped:
        raise UnknownNameError(inner.source.name)
    if is_raising:
        _begin_with_zeros(frame, node, inner.exits.slots, first)
    if not value_used:
        return None
    returned = result_of_call(inner, frame, node, function)
    if returned is not None and not alone:
        _refuse_writes(frame, node, inner.source.name, frame.nodes[first:], before)
    return returned


def _with_one_return(frame: Frame, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function that returns several arrays with one name for them; as they are where loops do."""
    results = [frame.fresh("result") for _ in range(items_returned(statements) or 1)]
    frame.kernel.results.update(results)
    return with_one_return(statements, results, frame.fresh, partial(is_over_values, frame)) or statements


def _named_tuple(frame: Frame, node: ast.Call, kind: type) -> TupleBinding:
    """Return what a call of a class of named tuples makes."""
    arguments = _match_arguments(frame, node, kind.__name__, inspect.signature(kind))
    return TupleBinding(tuple(_argument(frame, each) for each in arguments.values()), named_fields(kind), kind)


def _begin_with_zeros(frame: Frame, node: ast.Call, scalars: Sequence[str], position: int) -> None:
    """Give the results of a function a value where it raises an exception instead of returning.

    Args:
        frame: where the call stands.
        node: the call.
        scalars: those that the results are in.
        position: where in the program the function begins.
    """
    for scalar in scalars:
        target = frame.kernel.variable(scalar)
        operation = Assign(target, promotion.convert(promotion.constant(0), target.dtype))
        made = Perform((operation,), frame.source.location(node), frame.source.segment(node))
        frame.nodes.insert(position, made)


def _returns_argument(callee: Source, meanings: dict[str, Meaning]) -> bool:
    """Return whether a function returns an argument that is no number."""
    returns = (node for node in all_nodes(callee.tree) if isinstance(node, ast.Return))
    names = {node.value.id for node in returns if isinstance(node.value, ast.Name)}
    return any(name in names and not isinstance(meaning, ValueBinding) for name, meaning in meanings.items())


def _callee_frame(frame: Frame, callee: Source) -> Frame:
    """A frame for the callee's body, where the call stands; its statements go where the caller's go."""
    return replace(
        frame,
        source=callee,
        bindings={},
        assigned=assigned_names(callee.tree.body),
        names={},
        carried=frozenset(),
        is_kernel=False,
    )


def _match_arguments(
    frame: Frame, node: ast.Call, called: str, signature: inspect.Signature
) -> dict[str, ast.expr | Meaning]:
    """The arguments of a call by the names of the function's parameters, as Python matches them."""
    for argument in (*node.args, *node.keywords):
        if isinstance(argument, ast.Starred) or (isinstance(argument, ast.keyword) and argument.arg is None):
            raise frame.source.refusal(
                argument if isinstance(argument, ast.Starred) else argument.value,
                "a starred argument in a call",
                "which arguments a call has must be seen in the source",
                "pass each argument by position, or by its name",
            )
    try:
        bound = signature.bind(*node.args, **{str(keyword.arg): keyword.value for keyword in node.keywords})
    except TypeError as error:
        raise frame.source.refusal(
            node,
            f"{called} is called with arguments that do not fit: {error}",
            f"it is {called}{signature}, and Python would raise an error here",
            "pass one value for each argument",
        ) from None
    arguments: dict[str, ast.expr | Meaning] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = bound.arguments.get(name, ())
            arguments[name] = TupleBinding(tuple(_argument(frame, each) for each in rest))
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            raise frame.source.refusal(
                node,
                f"{called} has the starred argument {name!r}",
                "what a dictionary holds is not known when the kernel is compiled",
                f"list the arguments of {called} by name",
            )
        if name in bound.arguments:
            arguments[name] = bound.arguments[name]
            continue
        default = parameter.default
        if isinstance(default, np.generic) and default.dtype.name in (*promotion.INTEGERS, *promotion.FLOATS):
            number = promotion.cast(promotion.constant(default.item()), default.dtype.name)
            arguments[name] = ValueBinding(number)
        elif isinstance(default, bool | int | float):
            arguments[name] = ValueBinding(promotion.constant(default))
        elif isinstance(default, np.ndarray):
            arguments[name] = ArrayBinding(constant_array(frame, node, name, default))
        else:
            arguments[name] = tuple_of(default) or ObjectBinding(default)
    return arguments


def _argument(frame: Frame, argument: ast.expr | Meaning) -> Meaning:
    """Return what an argument of a call means: an array, a shape, a tuple, a function, a value, None or text."""
    return meaning_of(frame, argument) if isinstance(argument, ast.expr) else argument


def _refuse_writes(frame: Frame, node: ast.Call, name: str, nodes: Sequence[Node], arrays: set[str]) -> None:
    """Refuse statements that write arrays which were there before, made of a call inside an expression."""
    written = {
        array
        for perform in performed(nodes)
        for operation in perform.operations
        for array in arrays_written(operation)
        if array in arrays
    }
    if written:
        raise frame.source.refusal(
            node,
            f"{name} writes to {', '.join(sorted(written))} and is used for its value",
            "an expression must not change what the rest of its statement reads",
            f"call it in a line of its own, value = {name}(...), and what is to be read before in lines before it",
        )


def _bind_argument(frame: Frame, inner: Frame, node: ast.Call, name: str, binding: Meaning) -> Meaning:
    """Bind an argument of an inlined body: by value where that cannot change, else through a new scalar."""
    if isinstance(binding, TupleBinding):
        return map_values(binding, lambda value: keep(frame, node, value, name))
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
