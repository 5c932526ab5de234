"""Loops and branches of the source as nodes of the program."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from polytune.frontend.affine import NotAffineError, as_condition, as_index
from polytune.frontend.expression import Constant, Expression, Iterator, Logical, While
from polytune.frontend.expressions import condition, number
from polytune.frontend.frame import (
    ArrayBinding,
    Binding,
    Frame,
    ScalarBinding,
    SelectionBinding,
    Stale,
    ValueBinding,
    ViewBinding,
    assigned_names,
)
from polytune.frontend.names import obstacle, outside_object
from polytune.frontend.opaque import branch_on_data, operations_of
from polytune.frontend.parameters import with_products
from polytune.frontend.program import For, Guard, Perform
from polytune.frontend.promotion import Value, constant, negation, select
from polytune.frontend.refusals import instead_of

Lower = Callable[[Frame, Sequence[ast.stmt]], None]


def lower_for(frame: Frame, node: ast.For, lower: Lower) -> None:
    """``for v in range(...)``.

    Raises:
        UnsupportedSourceError: not a loop over a range with affine bounds and a constant step.
    """
    if node.orelse:
        raise _refuse_else(frame, node.orelse[0])
    if not isinstance(node.target, ast.Name):
        raise frame.source.refusal(
            node.target,
            "a loop over several variables",
            "a loop counts one integer",
            "loop over range(...) with one variable, and subscript the arrays with it: x = A[i]",
        )
    if frame.opaque:
        raise frame.source.refusal(
            node,
            "a for loop inside a while loop",
            "how often a while loop runs depends on data, so that the loops in it cannot be scheduled",
            "write the outer loop with range, up to the most steps that there may be, and test the condition in it: "
            "go = 1 if x > 0.1 else 0, and all that the loop does under if go != 0; a while may work on single "
            "elements and variables only",
        )
    start, stop, step = _range(frame, node)
    variable = node.target.id
    iterator = _iterator_name(frame, variable)
    body_names = assigned_names(node.body)
    inner = frame.in_loop(iterator, start, stop, step).inside(
        loop_variables=(*frame.loop_variables, variable),
        carried=frame.carried | assigned_names(node.body, loop_variables=False).keys(),
    )
    _forget(inner, body_names.keys(), node.body)
    inner.bindings[variable] = ValueBinding(Value(Iterator(iterator), weak=True))
    lower(inner, node.body)
    location = frame.source.location(node)
    frame.nodes.append(For(variable, iterator, start, stop, step, tuple(inner.nodes), location))
    _leave(frame, inner, body_names.keys())
    frame.bindings[variable] = Stale(loop_variable=True)


def _range(frame: Frame, node: ast.For) -> tuple[Expression, Expression, int]:
    call = node.iter
    if not (isinstance(call, ast.Call) and outside_object(frame, call.func) is builtins.range):
        name = frame.source.segment(call.func) if isinstance(call, ast.Call) else ""
        raise frame.source.refusal(
            call,
            f"a loop over {frame.source.segment(call)}",
            "the iterations must be counted by an integer to be reordered",
            instead_of(name, "loop over range(start, stop, step) and subscript the array: x = A[i]"),
        )
    if not 1 <= len(call.args) <= 3 or call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
        raise frame.source.refusal(
            call,
            "a range without one to three plain arguments",
            "it has a start, a stop and a step",
            "write range(start, stop, step)",
        )
    values = [number(frame, argument) for argument in call.args]
    step = values[2].constant if len(values) == 3 else 1
    if not isinstance(step, int) or step == 0:
        raise frame.source.refusal(
            call.args[2],
            f"the step {frame.source.segment(call.args[2])} of a loop",
            "which iterations a loop has is affine only if its step is a constant integer, and not zero",
            "use a constant step; for a step k that is an argument, pass every k-th element of the array, A[::k], "
            "which is a view of it, and count by 1",
        )
    bounds: list[Value] = []
    for value, argument in zip(values, call.args, strict=True):
        bound = with_products(frame, value)
        try:
            frame.kernel.affine.function(bound.expression)
        except NotAffineError as error:
            why, last = obstacle(frame, error)
            raise frame.source.refusal(
                argument,
                f"the loop bound {frame.source.segment(argument)} is not affine",
                f"which iterations a loop has must be known without running the program, but the bound {why}",
                last.of_bounds or last.remedy,
            ) from None
        bounds.append(bound)
    start, stop = (constant(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    return as_index(start.expression), as_index(stop.expression), step


def _iterator_name(frame: Frame, variable: str) -> str:
    """A name for the iterator that no loop around, no parameter, no argument and no variable in memory has."""
    kernel = frame.kernel
    used = {*frame.iterators, *kernel.parameters, *kernel.arrays, *kernel.knowledge.in_memory}
    used |= {name for name, _ in kernel.signature.arguments}
    if not frame.is_kernel:
        used |= kernel.taken
    candidate, suffix = variable, 0
    while candidate in used:
        suffix += 1
        candidate = f"{variable}_{suffix}"
    return candidate


def lower_if(frame: Frame, node: ast.If, lower: Lower) -> None:
    """``if`` with an affine condition becomes a guard; one on data becomes part of opaque statements."""
    chosen = condition(frame, node.test)
    if chosen.constant is not None:
        lower(frame, node.body if chosen.constant else node.orelse)
        return
    then, otherwise = (
        frame.inside(conditional=True, holds=(*frame.holds, *_affine_parts(frame, test)))
        for test in (chosen, negation(chosen))
    )
    lower(then, node.body)
    lower(otherwise, node.orelse)
    names = assigned_names([*node.body, *node.orelse])
    location = frame.source.location(node)
    affine, data = _split(frame, chosen.expression, bool(node.orelse))
    nodes = tuple(then.nodes), tuple(otherwise.nodes)
    if data is not None:
        text = frame.source.segment(node)
        made = tuple(branch_on_data(data, *nodes, location, text))
        nodes = made, ()
    if affine is not None:
        frame.nodes.append(Guard(as_condition(affine), *nodes, location))
    else:
        frame.nodes.extend(nodes[0])
    for name in names:
        binding = _merged(
            frame, chosen if data is None else None, then.bindings.get(name), otherwise.bindings.get(name)
        )
        if binding is not None:
            frame.bindings[name] = binding


def _affine_parts(frame: Frame, test: Value) -> tuple[Expression, ...]:
    """What a condition says of sizes and loop variables, where it holds."""
    affine, _ = _split(frame, test.expression, False)
    return () if affine is None else (as_condition(affine),)


def _split(frame: Frame, test: Expression, has_else: bool) -> tuple[Expression | None, Expression | None]:
    """The affine part of a condition and the part on data, so that both together are the condition.

    With an ``else`` a conjunction has no such parts, as its negation is none.
    """
    is_affine = frame.kernel.affine.is_condition
    if is_affine(test):
        return test, None
    if has_else or not isinstance(test, Logical) or test.operator != "and":
        return None, test
    parts: tuple[list[Expression], list[Expression]] = ([], [])
    for operand in test.operands:
        parts[not is_affine(operand)].append(operand)
    affine, data = ((part[0] if len(part) == 1 else Logical("and", tuple(part))) if part else None for part in parts)
    return affine, data


def _merged(frame: Frame, test: Value | None, then: Binding | None, otherwise: Binding | None) -> Binding | None:
    """What a name means after a branch, from its meanings at the end of both sides."""
    if then == otherwise:
        return then
    if test is not None and isinstance(then, ValueBinding) and isinstance(otherwise, ValueBinding):
        return ValueBinding(select(test, then.value, otherwise.value))
    stale = [side for side in (then, otherwise) if isinstance(side, Stale)]
    if any(isinstance(side, ArrayBinding | ViewBinding | SelectionBinding) for side in (then, otherwise)):
        return Stale(array=True)
    if stale:
        return Stale(any(side.loop_variable for side in stale), any(side.array for side in stale))
    scalars = [side for side in (then, otherwise) if isinstance(side, ScalarBinding)]
    return scalars[0] if scalars else Stale()


def lower_while(frame: Frame, node: ast.While, lower: Lower) -> None:
    """A ``while`` on variables and elements becomes one opaque statement."""
    if node.orelse:
        raise _refuse_else(frame, node.orelse[0])
    names = assigned_names(node.body)
    inner = frame.inside(
        conditional=True, opaque=True, carried=frame.carried | assigned_names(node.body, loop_variables=False).keys()
    )
    _forget(inner, names.keys(), node.body)
    test = condition(replace(inner, pure=True), node.test)
    if isinstance(test.expression, Constant) and not test.expression.value:
        return
    lower(inner, node.body)
    operation = While(test.expression, operations_of(inner.nodes))
    frame.nodes.append(Perform((operation,), frame.source.location(node), frame.source.segment(node)))
    _leave(frame, inner, names.keys())


def _forget(inner: Frame, names: Iterable[str], body: Sequence[ast.stmt]) -> None:
    """At a loop's start: values that the loop's body assigns may be those of the iteration before.

    So may arrays be, unless the body gives the name a new one before it does anything else with it.
    """
    pinned = set()
    for name in names:
        binding = inner.bindings.get(name)
        if isinstance(binding, ValueBinding):
            inner.bindings[name] = Stale()
        elif isinstance(binding, ArrayBinding | ViewBinding | SelectionBinding):
            if _is_replaced_first(name, body):
                inner.bindings[name] = Stale(array=True)
            else:
                pinned.add(name)
    inner.pinned |= pinned


def _is_replaced_first(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether the first statement with a name in it assigns the name, and does not read it."""
    for statement in body:
        found = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == name]
        if found:
            is_plain = isinstance(statement, ast.Assign) and all(isinstance(t, ast.Name) for t in statement.targets)
            return is_plain and all(isinstance(node.ctx, ast.Store) for node in found)
    return False


def _leave(frame: Frame, inner: Frame, names: Iterable[str]) -> None:
    """After a loop: variables in memory stay; values that its body assigned are those of an iteration now unknown."""
    for name in names:
        binding = inner.bindings.get(name)
        if isinstance(binding, ValueBinding):
            frame.bindings[name] = Stale()
        elif isinstance(binding, ViewBinding) or (
            isinstance(binding, ArrayBinding) and binding != frame.bindings.get(name)
        ):
            frame.bindings[name] = Stale(array=True)
        elif binding is not None:
            frame.bindings[name] = binding


def _refuse_else(frame: Frame, node: ast.stmt) -> Exception:
    return frame.source.refusal(
        node,
        "an else of a loop",
        "without break, which is not compiled, it always runs",
        "write its statements after the loop, without else",
    )
