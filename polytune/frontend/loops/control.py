"""Loops and branches of the source as nodes of the program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from polytune.frontend.array_expressions.assigning import make_own
from polytune.frontend.array_expressions.sides import branch_key, is_of_all, make_common
from polytune.frontend.array_expressions.sizes import affine_parts
from polytune.frontend.expression import (
    Binary,
    Compare,
    Constant,
    Counter,
    Expression,
    Iterator,
    Logical,
    Loop,
    While,
)
from polytune.frontend.loops.ending import count_instead, ending_early, ending_of, lower_instead, with_body
from polytune.frontend.loops.iteration import counted, in_steps
from polytune.frontend.loops.opaque import branch_on_data, may_change_outcome, operations_of
from polytune.frontend.loops.subscript_loops import over_subscripts, with_array_named
from polytune.frontend.loops.tuple_loops import written_out
from polytune.frontend.lowering.frame import Frame, assigned_names
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Binding,
    ObjectBinding,
    ScalarBinding,
    SelectionBinding,
    Stale,
    Unknown,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.parameters import with_products
from polytune.frontend.lowering.stored_scalars import store_scalar, store_variable
from polytune.frontend.polyhedral.affine import as_condition, as_index
from polytune.frontend.program import Guard, Perform, RangeLoop
from polytune.frontend.promotion import Value, constant, convert, negation, select
from polytune.frontend.scalars.numbers import condition, number
from polytune.syntax_trees import all_nodes

Lower = Callable[[Frame, Sequence[ast.stmt]], None]


def lower_for(frame: Frame, node: ast.For, lower: Lower) -> None:
    """Lower ``for v in range(...)``, and loops that stand for one.

    Args:
        frame: where it stands.
        node: the loop.
        lower: lowers statements, the body among them.

    Raises:
        UnsupportedSourceError: what it goes over cannot be counted, or in steps that are not constant.
    """
    iterations_of_tuple = written_out(frame, node)
    if iterations_of_tuple is not None:
        for iteration in iterations_of_tuple:
            lower(frame, iteration)
        return
    named = with_array_named(frame, node)
    if named is not None:
        lower(frame, [named[0]])
        node = named[1]
    nested = over_subscripts(frame, node)
    if nested is not None:
        lower(frame, [nested])
        return
    over_range = counted(frame, node)
    if over_range is not None:
        before, node = over_range
        lower(frame, before)
    assert isinstance(node.target, ast.Name)
    call = node.iter
    if isinstance(call, ast.Call) and len(call.args) == 3 and not call.keywords:
        step_value = number(frame, call.args[2])
        if step_value.constant is None and step_value.is_integer:
            before, counting = in_steps(frame, node)
            lower(frame, before)
            lower_for(frame, counting, lower)
            return
    start, stop, step = _range(frame, node)
    bounds = [with_products(frame, bound) for bound in (start, stop)]
    is_affine = [frame.kernel.affine.is_function(bound.expression) for bound in bounds]
    if frame.opaque or getattr(node, "is_sequential", False) or not all(is_affine):
        lower_sequential(frame, node, node.target, (bounds[0], bounds[1], step), lower, known=all(is_affine))
        return
    first, last = (as_index(bound.expression) for bound in bounds)
    variable = node.target.id
    iterator = _iterator_name(frame, variable, is_only=getattr(node, "ends", None) is not None)
    frame.kernel.iterators.add(iterator)
    ending = ending_of(frame, node, iterator)
    if ending is not None:
        node = with_body(node, ending.body)
    _make_own(frame, node)
    body_names = assigned_names(node.body)
    inner = frame.in_loop(iterator, first, last, step).inside(
        carried=frame.carried | assigned_names(node.body, loop_variables=False).keys(),
        conditional=frame.conditional or ending is not None,
        on_data=frame.on_data or ending is not None,
    )
    _forget(inner, body_names.keys(), node.body, _kept(frame, node))
    changes = variable in body_names
    _begin_iteration(inner, node, variable, Value(Iterator(iterator), weak=True), is_stored=changes, is_changed=changes)
    lower(inner, node.body)
    location = frame.source.location(node)
    written = getattr(node, "variable", None) or variable
    loop = RangeLoop(written, iterator, first, last, step, tuple(inner.nodes), location)
    frame.nodes.append(loop if ending is None else ending_early(frame, loop, ending.flag))
    has_run = None if ending is not None and ending.may_not_begin else _has_run(first, last, step)
    _leave(frame, inner, node, body_names.keys(), has_run)
    if not changes:
        _keep_variable(frame, node, variable, first, last, step)


def _begin_iteration(
    frame: Frame, node: ast.For, variable: str, value: Value, *, is_stored: bool, is_changed: bool
) -> None:
    """Give a loop's variable its value at the start of an iteration.

    Args:
        frame: that of the loop's body.
        node: the loop.
        variable: its variable.
        value: the iterator.
        is_stored: whether a variable in memory gets the value.
        is_changed: whether the body assigns the variable, too.
    """
    name = frame.unique(variable)
    in_memory = name in frame.kernel.knowledge.in_memory
    if in_memory and is_stored:
        store_variable(frame, node.target, variable, value)
    frame.bindings[variable] = ScalarBinding(name) if in_memory and is_changed else ValueBinding(value)


def _keep_variable(frame: Frame, node: ast.For, variable: str, start: Expression, stop: Expression, step: int) -> None:
    """Give the variable of a counted loop, after it, the value of the last iteration, if there was one."""
    name = frame.unique(variable)
    if name not in frame.kernel.knowledge.in_memory:
        frame.bindings[variable] = Stale()
        return
    size, is_up = Constant(abs(step), "int64"), step > 0
    near, far = (start, stop) if is_up else (stop, start)
    distance = Binary("-", Binary("-", far, near, "int64"), Constant(1, "int64"), "int64")
    whole = Binary("*", Binary("//", distance, size, "int64"), size, "int64")
    last = Binary("+" if is_up else "-", start, whole, "int64")
    inner = frame.inside()
    store_variable(inner, node, variable, Value(last, weak=True))
    frame.nodes.append(Guard(Compare("<", near, far), tuple(inner.nodes), (), frame.source.location(node)))
    frame.bindings[variable] = ScalarBinding(name)


def lower_sequential(
    frame: Frame,
    node: ast.For,
    target: ast.Name,
    bounds: tuple[Value, Value, int],
    lower: Lower,
    *,
    known: bool,
) -> None:
    """Lower a ``for`` inside of one statement: its iterations keep their order, and how many there are may depend on
    data.

    Args:
        frame: where it stands.
        node: the loop.
        target: its variable.
        bounds: its start, its stop and its step.
        lower: lowers its body.
        known: whether start and stop are affine.
    """
    if lower_instead(frame, node, lower):
        return
    _make_own(frame, node)
    start, stop, step = bounds
    variable, counter = target.id, frame.kernel.fresh(f"{target.id}_inside")  # no iterator is called that
    frame.kernel.affine.counters[counter] = known
    frame.kernel.counter_names[counter] = variable
    names = assigned_names(node.body)
    around = frame
    if known:
        ends = [as_index(bound.expression) for bound in (start, stop)]
        around = frame.in_sequence(counter, ends[0], ends[1], step)
    inner = around.inside(
        conditional=True,
        on_data=frame.on_data or not known,
        opaque=True,
        repeated=frame.repeated + (not known),
        carried=frame.carried | assigned_names(node.body, loop_variables=False).keys(),
    )
    _forget(inner, names.keys(), node.body, _kept(frame, node))
    name = frame.unique(variable)
    is_kept = name in frame.kernel.knowledge.in_memory
    value = Value(Counter(counter), weak=True)
    _begin_iteration(inner, node, variable, value, is_stored=True, is_changed=variable in names)
    lower(inner, node.body)
    ends = [as_index(bound.expression) if known else convert(bound, "int64") for bound in (start, stop)]
    operation = Loop(counter, ends[0], ends[1], step, operations_of(inner.nodes))
    count_instead(frame, node, operation.body)
    frame.nodes.append(Perform((operation,), frame.source.location(node), frame.source.segment(node)))
    _leave(frame, inner, node, names.keys(), has_run=_has_run(ends[0], ends[1], step) if known else None)
    frame.bindings[variable] = ScalarBinding(name) if is_kept else Stale()


def _range(frame: Frame, node: ast.For) -> tuple[Value, Value, int]:
    """The start, the stop and the step of a loop."""
    call = node.iter
    assert isinstance(call, ast.Call)
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
            "a loop counts by an integer, and Python would raise an error here",
            "use an integer that is not zero: // in place of /, an int in place of a float argument, or int(x)",
        )
    for value, argument in zip(values, call.args, strict=True):
        if not value.is_integer:
            raise frame.source.refusal(
                argument,
                f"the loop bound {frame.source.segment(argument)} is no integer",
                "a loop counts integers, and Python would raise an error here",
                "use // in place of /, an int in place of a float argument, or int(x)",
            )
    return (constant(0), values[0], step) if len(values) == 1 else (values[0], values[1], step)


def _iterator_name(frame: Frame, variable: str, *, is_only: bool) -> str:
    """A name for the iterator that no loop around, no parameter, no argument and no variable in memory has, nor any
    loop that may end early: by its name it is told which statements are in that.

    Args:
        frame: where the loop stands.
        variable: that of the loop.
        is_only: whether no other loop may have it.
    """
    kernel = frame.kernel
    used = {*frame.iterators, *kernel.parameters, *kernel.arrays, *kernel.knowledge.in_memory}
    used |= {name for name, _ in kernel.signature.arguments} | kernel.endings.keys()
    if is_only:
        used |= kernel.iterators
    if not frame.is_kernel:
        used |= kernel.taken
    candidate, suffix = variable, 0
    while candidate in used:
        suffix += 1
        candidate = f"{variable}_{suffix}"
    return candidate


def lower_if(frame: Frame, node: ast.If, lower: Lower) -> None:
    """Lower ``if``: one with an affine condition becomes a guard; one on data becomes part of opaque statements.

    Args:
        frame: where it stands.
        node: the statement.
        lower: lowers the statements of the branches.
    """
    chosen = condition(frame, node.test)
    if chosen.constant is not None:
        lower(frame, node.body if chosen.constant else node.orelse)
        return
    on_data = frame.on_data or not frame.kernel.affine.is_condition(chosen.expression)
    then, otherwise = (
        frame.inside(conditional=True, on_data=on_data, holds=(*frame.holds, *affine_parts(frame, test)))
        for test in (chosen, negation(chosen))
    )
    lower(then, node.body)
    lower(otherwise, node.orelse)
    names = assigned_names([*node.body, *node.orelse])
    make_common(frame, node, (then, otherwise), names, chosen.expression)
    location = frame.source.location(node)
    affine, data = _split(frame, chosen.expression, bool(node.orelse or otherwise.nodes))
    nodes = tuple(then.nodes), tuple(otherwise.nodes)
    if data is not None:
        text = frame.source.segment(node)
        if not any(nodes) or may_change_outcome(data, (*nodes[0], *nodes[1])):
            # The condition is decided once, before the loops, and they may change what it depends on; where nothing
            # depends on it, what it reads is read all the same, and may be out of range.
            data = store_scalar(frame, node.test, frame.kernel.fresh("outcome"), Value(data)).expression
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
        if isinstance(binding, Stale) and binding.array:
            binding = replace(binding, branches=binding.branches | {branch_key(frame, node, name)})
        if binding is not None:
            frame.bindings[name] = binding
    if frame.opaque and node.body and isinstance(node.body[-1], ast.Break | ast.Continue):
        frame.supposed = (*frame.supposed, *affine_parts(frame, negation(chosen)))


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
    """Return what a name means after a branch, from its meanings at the end of both sides."""
    if then == otherwise:
        return then
    if isinstance(then, Unknown) or isinstance(otherwise, Unknown):
        return Unknown()
    if test is not None and isinstance(then, ValueBinding) and isinstance(otherwise, ValueBinding):
        return ValueBinding(select(test, then.value, otherwise.value))
    arrays = [side for side in (then, otherwise) if isinstance(side, ArrayBinding | ViewBinding | SelectionBinding)]
    if (
        len(arrays) == 2
        or (arrays and None in (then, otherwise))
        or any(isinstance(side, Stale) and side.array for side in (then, otherwise))
    ):
        inside = (side.branches for side in (then, otherwise) if isinstance(side, Stale))
        return Stale(array=True, branches=frozenset().union(*inside))
    stale = [side for side in (then, otherwise) if isinstance(side, Stale)]
    others = [side for side in (then, otherwise) if not isinstance(side, Stale | ScalarBinding | ValueBinding | None)]
    if stale or others:
        return Stale()
    scalars = [side for side in (then, otherwise) if isinstance(side, ScalarBinding)]
    return scalars[0] if scalars else Stale()


def lower_while(frame: Frame, node: ast.While, lower: Lower) -> None:
    """Lower a ``while`` on variables and elements, which becomes one opaque statement.

    Args:
        frame: where it stands.
        node: the loop.
        lower: lowers the statements of the body.
    """
    if lower_instead(frame, node, lower):
        return
    _make_own(frame, node)
    names = assigned_names(node.body)
    inner = frame.inside(
        conditional=True,
        on_data=True,
        opaque=True,
        repeated=frame.repeated + 1,
        carried=frame.carried | assigned_names(node.body, loop_variables=False).keys(),
    )
    _forget(inner, names.keys(), node.body, _kept(frame, node))
    test = condition(replace(inner, pure=True), node.test)
    if isinstance(test.expression, Constant) and not test.expression.value:
        return
    lower(inner, node.body)
    operation = While(test.expression, operations_of(inner.nodes))
    count_instead(frame, node, operation.body)
    frame.nodes.append(Perform((operation,), frame.source.location(node), frame.source.segment(node)))
    _leave(frame, inner, node, names.keys())


def _make_own(frame: Frame, node: ast.For | ast.While) -> None:
    """Make, before a loop, copies of arrays that others take the place of in it, unless each iteration begins so and
    none is read after the loop."""
    kept = _kept(frame, node)
    anew = _replaced_first(node.body)
    replaced = [name for name in assigned_names(node.body) if name in kept or name not in anew]
    make_own(frame, node, node.body, replaced)


def _kept(frame: Frame, node: ast.For | ast.While) -> set[str]:
    """The names of arrays that are read after a loop which gives them others; what that assigns are elements."""
    known = frame.kernel.knowledge.read_after
    return {name for name in assigned_names(node.body) if branch_key(frame, node, name) in known}


def _forget(inner: Frame, names: Iterable[str], body: Sequence[ast.stmt], kept: Collection[str]) -> None:
    """Forget, at a loop's start, the values that its body assigns: they may be those of the iteration before.

    So may arrays be, unless the body gives the name a new one before it does anything else with it.

    Args:
        inner: the frame of the body.
        names: those that the body assigns.
        body: its statements.
        kept: the names of arrays that are read after the loop.
    """
    pinned = set()
    anew = _replaced_first(body)
    for name in names:
        binding = inner.bindings.get(name)
        if inner.unique(name) in inner.kernel.knowledge.unknown:
            inner.bindings[name] = Unknown()
        elif isinstance(binding, ValueBinding | ObjectBinding):
            inner.bindings[name] = Stale()
        elif isinstance(binding, ArrayBinding | ViewBinding | SelectionBinding):
            if name not in kept and name in anew:
                inner.bindings[name] = Stale(array=True)
            else:
                pinned.add(name)
        elif isinstance(binding, Stale) and binding.made is not None:
            inner.bindings[name] = Stale(array=True)
    inner.pinned |= pinned


def _replaced_first(body: Sequence[ast.stmt]) -> set[str]:
    """The names of which the first statement of a body that has them in it assigns them, and does not read them."""
    found: set[str] = set()
    seen: set[str] = set()
    for statement in body:
        names = [node for node in all_nodes(statement) if isinstance(node, ast.Name)]
        if isinstance(statement, ast.Assign) and all(isinstance(target, ast.Name) for target in statement.targets):
            read = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
            found |= {node.id for node in names} - read - seen
        seen |= {node.id for node in names}
    return found


def _has_run(start: Expression, stop: Expression, step: int) -> Expression:
    """The condition that a loop has iterations."""
    return Compare("<" if step > 0 else ">", start, stop)


def _leave(
    frame: Frame,
    inner: Frame,
    node: ast.For | ast.While,
    names: Iterable[str],
    has_run: Expression | None = None,
) -> None:
    """Leave a loop: variables in memory stay; values that its body assigned are those of an iteration now unknown.

    A name that had no meaning before, and gets an array of its own in each iteration, means that of the last one.  One
    that had an array, and is found to be read, gets its elements assigned in another walk.

    Args:
        frame: that around the loop.
        inner: that of its body.
        node: the loop.
        names: those that the body assigns.
        has_run: whether the loop has iterations; None where that depends on data.
    """
    for name in names:
        binding, before = inner.bindings.get(name), frame.bindings.get(name)
        if isinstance(binding, ValueBinding) or (isinstance(binding, ObjectBinding) and binding != before):
            frame.bindings[name] = Stale()
        elif isinstance(binding, ArrayBinding | ViewBinding | SelectionBinding) and binding != before:
            if isinstance(before, ArrayBinding | ViewBinding):
                frame.bindings[name] = Stale(array=True, branches=frozenset({branch_key(frame, node, name)}))
            elif has_run is not None and isinstance(binding, ArrayBinding) and is_of_all(inner, name, binding):
                frame.bindings[name] = Stale(array=True, made=binding, has_run=has_run)
            else:
                frame.bindings[name] = Stale(array=True)
        elif isinstance(binding, Stale) and binding.made is not None:
            frame.bindings[name] = Stale(array=True)
        elif binding is not None:
            frame.bindings[name] = binding
