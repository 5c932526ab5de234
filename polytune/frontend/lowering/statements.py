"""Statements of the source as nodes of the program: one function for each kind, in the order of the source."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calling import as_statements, evaluate_statement
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.generator_states import change_by_chance
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.sizes import require
from polytune.frontend.expression import Break, Continue, Element, walk
from polytune.frontend.inlining.outside_calls import is_method, plain_arguments
from polytune.frontend.inlining.returns import lower_return
from polytune.frontend.loops import control
from polytune.frontend.loops.numpy_loops import lower_by_numpy
from polytune.frontend.loops.shortening import with_lengths
from polytune.frontend.lowering.assignments import assign_augmented, assign_targets
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.generator_objects import bind_generator
from polytune.frontend.lowering.growing import append, declare_lists
from polytune.frontend.lowering.imports import bind_import
from polytune.frontend.lowering.items import with_items_named
from polytune.frontend.lowering.meanings import ObjectBinding, TupleBinding, Unknown
from polytune.frontend.lowering.names import lookup, outside_object
from polytune.frontend.lowering.obstacles import read_on
from polytune.frontend.lowering.printing import lower_print
from polytune.frontend.lowering.shape_assignments import require_own_shape
from polytune.frontend.lowering.slice_objects import bind_slice, with_slices_written
from polytune.frontend.lowering.stored_scalars import store_scalar
from polytune.frontend.program import Perform
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.expressions import evaluate
from polytune.frontend.scalars.numbers import number, read
from polytune.frontend.syntax.comprehensions import remedy_of
from polytune.frontend.syntax.lists import appended_to, lists_made
from polytune.frontend.syntax.refusals import refuse_statement
from polytune.frontend.syntax.source import NestedFunction, inlinable


def lower_block(frame: Frame, statements: Sequence[ast.stmt]) -> None:
    """Lower statements in order into ``frame.nodes``; those outside the language are noted in the kernel."""
    for statement in statements:
        read_on(frame, statement, _lower)


def _lower(frame: Frame, node: ast.stmt) -> None:
    node = with_slices_written(frame, with_items_named(frame, node))
    if (counted := with_lengths(frame, node)) is not None:
        for each in counted:
            _lower(frame, each)
        return
    is_lowered = _lower_list(frame, node) or (isinstance(node, ast.For | ast.While) and lower_by_numpy(frame, node))
    if not is_lowered and not bind_slice(frame, node) and not bind_generator(frame, node):
        _lower_statement(frame, node)


def _lower_list(frame: Frame, node: ast.stmt) -> bool:
    """Lower what lists have become that grow.  Return whether the statement is one of these."""
    growing, count = lists_made(node), appended_to(node)
    if growing is not None:
        declare_lists(frame, node, growing)
    elif count is not None and isinstance(node, ast.Assign):
        append(frame, node, count)
    return growing is not None or count is not None


def _lower_statement(frame: Frame, node: ast.stmt) -> None:
    match node:
        case ast.For():
            control.lower_for(frame, node, lower_block)
        case ast.If():
            control.lower_if(frame, node, lower_block)
        case ast.While():
            control.lower_while(frame, node, lower_block)
        case ast.Assign(targets, ast.IfExp(test, then, otherwise)) if _chooses_array(
            frame, then, otherwise
        ) or _chooses_tuple(then, otherwise):
            first, second = (ast.copy_location(ast.Assign(targets, side), node) for side in (then, otherwise))
            control.lower_if(frame, ast.copy_location(ast.If(test, [first], [second]), node), lower_block)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            _assign(frame, node)
        case ast.Break() | ast.Continue() if frame.opaque:
            jump = Break() if isinstance(node, ast.Break) else Continue()
            frame.nodes.append(Perform((jump,), frame.source.location(node), frame.source.segment(node)))
        case ast.FunctionDef() if not node.decorator_list:
            frame.bindings[node.name] = ObjectBinding(NestedFunction(frame.source, node))
        case ast.Import() | ast.ImportFrom():
            bind_import(frame, node)
        case ast.Return():
            lower_return(frame, node)
        case ast.Assert(test, ast.Constant(str(what))) if (remedy := remedy_of(node)) is not None:
            _require(frame, node, promotion.truth(read(frame, test)), what, remedy)
        case ast.Pass() | ast.Expr(ast.Constant()):
            pass
        case ast.Delete(targets) if all(isinstance(target, ast.Name) for target in targets):
            _delete(frame, targets)
        case ast.Expr(ast.Call() as call):
            _call(frame, node, call)
        case ast.Expr(value):
            _evaluate_unused(frame, node, value)
        case _:
            raise refuse_statement(frame.source, node)


def _assign(frame: Frame, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
    match node:
        case ast.Assign(targets, value):
            require_own_shape(frame, node)
            assign_targets(frame, node, targets, value)
        case ast.AnnAssign(target, _, value):
            if value is not None:
                assign_targets(frame, node, [target], value)
        case ast.AugAssign():
            assign_augmented(frame, node)


def _delete(frame: Frame, targets: Sequence[ast.expr]) -> None:
    for name in targets:
        assert isinstance(name, ast.Name)
        lookup(frame, name)
        frame.bindings.pop(name.id, None)


def _evaluate_unused(frame: Frame, node: ast.stmt, value: ast.expr) -> None:
    """Keep a value that nothing reads where it has an element, which may be out of range."""
    unused = number(frame, value)
    if any(isinstance(part, Element) for part in walk(unused.expression)):
        store_scalar(frame, node, frame.kernel.fresh("unused"), unused)


def _require(frame: Frame, node: ast.Assert, condition: Value, what: str, remedy: str) -> None:
    """Go on only where a condition holds.

    Args:
        frame: where it stands.
        node: the statement.
        condition: a comparison of integers.
        what: what is wrong where it does not hold.
        remedy: what to do about it.
    """
    if any(isinstance(part, Element) and part.subscripts for part in walk(condition.expression)):
        condition = store_scalar(frame, node, frame.kernel.fresh("holds"), condition)
    reason = "Python raises an error here"
    require(frame, node, condition.expression, what, (), remedy, reason=reason, late=True)


def _chooses_array(frame: Frame, then: ast.expr, otherwise: ast.expr) -> bool:
    return mentions_arrays(frame, then) or mentions_arrays(frame, otherwise)


def _chooses_tuple(*sides: ast.expr) -> bool:
    """Return whether the sides of a choice are tuples, or choices between tuples."""
    return all(
        isinstance(side, ast.Tuple) or (isinstance(side, ast.IfExp) and _chooses_tuple(side.body, side.orelse))
        for side in sides
    )


def _call(frame: Frame, node: ast.stmt, call: ast.Call) -> None:
    function = None if is_method(frame, call.func) else outside_object(frame, call.func)
    plain = inlinable(function)
    if plain is not None:
        frame.kernel.inline(frame, call, plain, value_used=False, alone=True)
        return
    if change_by_chance(call, function, frame, evaluate, computed) or lower_print(frame, call, function):
        return
    if mentions_arrays(frame, call):
        instead = as_statements(frame, call, function, lambda: frame.kernel.fresh("place"))
        if instead is not None:
            lower_block(frame, instead)
            return
        if evaluate_statement(frame, call, function, evaluate):
            return
    match call.func:
        case ast.Attribute(ast.Name(name), "append" | "extend" | "insert" | "pop" as method) if isinstance(
            frame.bindings.get(name), TupleBinding
        ):
            frame.bindings[name] = Unknown()
            frame.kernel.knowledge.unknown.add(frame.unique(name))
            raise frame.source.refusal(
                node,
                f".{method}(...) of the list {name!r}",
                "a list that grows has one name, and is read by subscripts, loops, len and np.array, or returned",
                f"make an array with as many elements as there may be, {name} = np.empty(n), assign {name}[count] and "
                f"add to the count, and use {name}[:count]",
            )
    plain_arguments(frame, call)
    raise frame.source.refusal(
        node,
        f"{frame.source.segment(call.func)} is called for its effect",
        "what the call writes or prints is not known",
        "call it outside the kernel; calls of plain Python functions whose source is known are inlined",
    )
