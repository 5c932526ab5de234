"""Arrays in calls: as arguments and results of inlined functions, and in calls that are statements."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polytune.frontend.array_expressions.affine_arithmetic import ZERO
from polytune.frontend.array_expressions.assigning import binding_of, refuse_detached
from polytune.frontend.array_expressions.calls import ArrayCall, ResultList, handler_of_several, matched
from polytune.frontend.array_expressions.conversions import check_written
from polytune.frontend.array_expressions.data_subscripts import captured, is_of_data, with_captured_subscripts
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.library import change
from polytune.frontend.array_expressions.readers import Evaluate, ShapeOf
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.sizes import greatest
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Axis
from polytune.frontend.expression import Counter, Element, Iterator, walk
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Meaning,
    TupleBinding,
    UnsizedBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.names import lookup
from polytune.frontend.promotion import Value
from polytune.frontend.scop import ArrayRole
from polytune.syntax_trees import all_nodes


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
    if not frame.pure:  # else all is one expression, and nothing that subscripts depend on changes
        value = with_captured_subscripts(frame, node, value)
    return binding_of(frame, value)


def is_counted(frame: Frame, view: ArrayValue) -> bool:
    """Return whether an array is the first elements of a new one, as many as a variable counts."""
    if not view.shape or view.region is None or not isinstance(view.shape[0], Element) or view.shape[0].subscripts:
        return False
    array = frame.kernel.arrays[view.region.array]
    extents = [frame.kernel.extents[array.name, place].expression for place in range(array.ndim)]
    is_first = view.region.axes == tuple(Axis(ZERO, place) for place in range(array.ndim))
    return array.role in (ArrayRole.LOCAL, ArrayRole.RESULT) and is_first and list(view.shape[1:]) == extents[1:]


def array_of_its_own(frame: Frame, node: ast.AST, view: ArrayValue) -> Meaning:
    """A copy of a part of an array, which a kernel can return; of one that a variable counts, the part itself.

    Args:
        frame: where it is returned.
        node: the expression, for the message.
        view: the part of an array.

    Raises:
        UnsupportedSourceError: its shape depends on loop variables.
    """
    if is_counted(frame, view):
        return ViewBinding(view)
    size = view.shape[0]
    if is_of_data(frame, size) and not any(isinstance(part, Iterator | Counter) for part in walk(size)):
        counted = captured(frame, node, size)
        frame.kernel.most[counted] = greatest(frame, frame.kernel.most.get(size, size))
        first = kept(frame, node, replace(view, shape=(counted, *view.shape[1:]), region=None), "result")
        if is_counted(frame, first):
            return ViewBinding(first)
    if any(isinstance(part, Iterator | Counter | Element) for extent in view.shape for part in walk(extent)):
        raise frame.source.refusal(
            node,
            "an array whose shape depends on a loop or on data is returned",
            "its size must be known before the kernel runs",
            "return the whole array, and how much of it is meant",
        )
    copy = kept(frame, node, view, "result")
    assert copy.region is not None
    return ArrayBinding(copy.region.array)


def computes_arrays(frame: Frame, body: Sequence[ast.stmt], bindings: Mapping[str, Meaning]) -> bool:
    """Return whether a function that is given arrays may compute with whole ones, so that its value is no mere
    expression.

    Args:
        frame: where it is called: where no statement can stand, elements of parts of arrays are expressions, too.
        body: its statements.
        bindings: what its arguments mean.
    """
    arrays = {name for name, binding in bindings.items() if isinstance(binding, ArrayBinding | ViewBinding)}
    if not arrays:
        return False
    elements: set[int] = set()
    for statement in body:
        for node in all_nodes(statement):
            match node:
                case ast.Subscript(ast.Name() as base) | ast.Attribute(ast.Name() as base, "shape" | "ndim" | "dtype"):
                    binding = bindings[base.id] if base.id in arrays else None
                    if isinstance(binding, ViewBinding):
                        is_element = frame.pure and _is_element_of(binding.view, node, arrays)
                    else:
                        is_element = not _has_slice(node)
                    if is_element:
                        elements.add(id(base))
                case ast.Call(ast.Name("len"), [ast.Name() as base]):
                    elements.add(id(base))
    return any(
        isinstance(node, ast.Name) and node.id in arrays and id(node) not in elements
        for statement in body
        for node in all_nodes(statement)
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
    if results is None:
        return None
    items: list[Meaning] = []
    for result in results:
        if result is None:
            items.append(UnsizedBinding(name))
        elif isinstance(result, ArrayValue):
            items.append(binding_of(frame, result if result.region is not None else kept(frame, node, result)))
        else:
            assert isinstance(result, Value)
            items.append(ValueBinding(result))
    if len(items) == 1 and isinstance(results, list):
        return items[0]
    return TupleBinding(tuple(items), is_list=isinstance(results, ResultList))


def _is_element_of(view: ArrayValue, node: ast.AST, arrays: Collection[str]) -> bool:
    """Return whether a reference to a part of an array is to one element, or to its shape.

    Args:
        view: the part.
        node: the reference.
        arrays: the names of arrays.
    """
    if not isinstance(node, ast.Subscript):
        return True
    subscripts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    names = {part.id for part in all_nodes(node.slice) if isinstance(part, ast.Name)}
    is_known = not any(map(_is_no_number, subscripts))
    return len(subscripts) == view.ndim and is_known and not names & set(arrays)


def _is_no_number(node: ast.expr) -> bool:
    """Return whether a subscript is a slice, None or an ellipsis."""
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Constant) and not isinstance(node.value, int))


def _has_slice(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and any(isinstance(part, ast.Slice) for part in all_nodes(node.slice))


def evaluate_statement(frame: Frame, call: ast.Call, function: Any, evaluate: Evaluate) -> bool:
    """Lower a call that is a statement: ``A.fill(value)``, ``np.copyto(A, B)``, or one with ``out=``.  Return whether
    it is one.

    Args:
        frame: where it stands.
        call: the call.
        function: what is called; None where that is not known, as of a method.
        evaluate: reads an expression.
    """
    match call:
        case ast.Call(ast.Attribute(owner, "sort"), axes, keywords) if (
            function is None and len(axes) + len(keywords) <= 1
        ):
            target = computed(frame, call, evaluate(frame, owner))
            axis = next((_constant(each) for each in (*axes, *(k.value for k in keywords if k.arg == "axis"))), -1)
            if isinstance(target, ArrayValue) and axis is not None and -target.ndim <= axis < target.ndim:
                change(frame, call, f"numpy.sort * axis={axis % target.ndim}", target)
                return True
        case ast.Call(ast.Attribute(owner, "fill"), [value], []):
            target = computed(frame, call, evaluate(frame, owner))
            if isinstance(target, ArrayValue):
                store(frame, call, target, evaluate(frame, value))
                return True
        case ast.Call(ast.Attribute(_, "copyto"), [first, second], []):
            into, copied = as_array(computed(frame, call, evaluate(frame, first))), evaluate(frame, second)
            check_written(frame, call, "np.copyto", into, copied)
            store(frame, call, into, copied)
            return True
        case ast.Call(_, _, keywords) if any(keyword.arg == "out" for keyword in keywords):
            evaluate(frame, call)
            return True
    if isinstance(function, np.ufunc) and len(call.args) == function.nin + 1:  # the last one is written
        evaluate(frame, call)
        return True
    return False


def _constant(node: ast.expr) -> int | None:
    """The integer that an expression is; None for any other."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


_OF_UFUNCS: dict[np.ufunc, type[ast.operator]] = {
    np.add: ast.Add,
    np.subtract: ast.Sub,
    np.multiply: ast.Mult,
    np.divide: ast.Div,
}


def as_statements(frame: Frame, call: ast.Call, function: Any, name: Callable[[], str]) -> list[ast.stmt] | None:
    """A call that changes elements of an array as statements of the same effect; None for any other.

    ``np.add.at(A, index, x)`` is a loop over the elements of the index, ``np.fill_diagonal`` one over the diagonal,
    and what a mask selects is assigned.

    Args:
        frame: where it stands.
        call: the call.
        function: what is called.
        name: makes a name that nothing else has.
    """
    owner = getattr(function, "__self__", None)
    match call:
        case ast.Call(_, [target, mask, value], []) if function is np.putmask:
            found = _masked(frame, target, mask, value)
            if mentions_arrays(frame, value):
                found.writer = "np.putmask"  # type: ignore[attr-defined]
        case ast.Call(_, [target, value], [ast.keyword("where", mask)]) if function is np.copyto:
            found = _masked(frame, target, mask, value)
            found.writer = "np.copyto"  # type: ignore[attr-defined]
        case ast.Call(_, [target, value], []) if function is np.fill_diagonal and not mentions_arrays(frame, value):
            place = name()
            rows, columns = (ast.Subscript(_attribute(target, "shape"), ast.Constant(axis)) for axis in (0, 1))
            stop = ast.Call(ast.Name("min"), [rows, columns], [])
            found = _loop(place, stop, ast.Tuple([ast.Name(place), ast.Name(place)]), target, value)
        case ast.Call(_, [_, _, _], []) if _has_at(owner, function):
            return _at_each(frame, call, owner, name)
        case _:
            return None
    return [ast.fix_missing_locations(ast.copy_location(_loaded(found), call))]


def _at_each(frame: Frame, call: ast.Call, owner: Any, name: Callable[[], str]) -> list[ast.stmt] | None:
    """A call of a ufunc's ``at`` as loops over the elements of its subscripts; where its arguments are no names of
    arrays, statements that give them names, and the call of these."""
    before: list[ast.stmt] = []
    target, indices, value = call.args
    several = indices.elts if isinstance(indices, ast.Tuple) else [indices]
    named: list[ast.expr] = []
    for each in (target, *several, value):
        if isinstance(each, ast.Name) or (each is value and not mentions_arrays(frame, each)):
            named.append(each)
            continue
        if isinstance(each, ast.Slice) or not mentions_arrays(frame, each):
            return None
        if isinstance(each, ast.List):
            each = ast.Call(_attribute(_attribute(_attribute(call.func, None), None), "array"), [each], [])
        named.append(ast.Name(name()))
        before.append(ast.Assign([named[-1]], each))
    target, *several, value = named
    if before:
        again = ast.Expr(ast.Call(call.func, [target, ast.Tuple(several), value], []))
        return [ast.fix_missing_locations(ast.copy_location(_loaded(each), call)) for each in (*before, again)]
    dimensions = [_dimensions(frame, each) for each in several]
    inside = _dimensions(frame, target) - len(several)
    of_value = _dimensions(frame, value) - inside if mentions_arrays(frame, value) else 0
    depth = max(dimensions, default=0)
    if not depth or min(dimensions) < 1 or inside < 0 or of_value > depth:
        return None
    places = [name() for _ in range(depth)]
    first = several[dimensions.index(depth)]

    def element(array: ast.expr, count: int) -> ast.expr:
        at: list[ast.expr] = [ast.Name(place) for place in places[depth - count :]]
        return ast.Subscript(array, at[0] if count == 1 else ast.Tuple(at)) if count > 0 else array

    subscripts = [element(each, count) for each, count in zip(several, dimensions, strict=True)]
    at = subscripts[0] if len(subscripts) == 1 else ast.Tuple(subscripts)
    operator = _OF_UFUNCS[owner]() if owner in _OF_UFUNCS else None
    update = element(value, of_value)
    if operator is None:
        update = ast.Call(_attribute(call.func, None), [ast.Subscript(target, at), update], [])
    found = _update(target, at, update, operator)
    for axis, place in reversed(list(enumerate(places))):
        stop = ast.Subscript(_attribute(first, "shape"), ast.Constant(axis))
        found = ast.For(ast.Name(place), ast.Call(ast.Name("range"), [stop], []), [found], [])
    return [ast.fix_missing_locations(ast.copy_location(_loaded(found), call))]


def _dimensions(frame: Frame, node: ast.expr) -> int:
    """Return how many dimensions the array of a name has: 0 for truth values, which select elements."""
    binding = lookup(frame, node) if isinstance(node, ast.Name) else None
    if isinstance(binding, ArrayBinding):
        array = frame.kernel.arrays[binding.array]
        return 0 if array.dtype == "bool" else array.ndim
    if isinstance(binding, ViewBinding):
        return 0 if binding.view.dtype == "bool" else binding.view.ndim
    return 1


def _has_at(owner: Any, function: Any) -> bool:
    return owner in (*_OF_UFUNCS, np.minimum, np.maximum) and function.__name__ == "at"


def _attribute(owner: ast.expr, name: str | None) -> ast.expr:
    """An attribute, or without a name what the attribute is of."""
    if name is not None:
        return ast.Attribute(owner, name)
    assert isinstance(owner, ast.Attribute)
    return owner.value


def _masked(frame: Frame, target: ast.expr, mask: ast.expr, value: ast.expr) -> ast.stmt:
    selected = ast.Subscript(value, mask) if mentions_arrays(frame, value) else value
    return ast.Assign([ast.Subscript(target, mask)], selected)


def _loop(place: str, stop: ast.expr, at: ast.expr, target: ast.expr, value: ast.expr) -> ast.stmt:
    """A loop that assigns the elements of an array at some subscripts."""
    body = _update(target, at, value, None)
    return ast.For(ast.Name(place), ast.Call(ast.Name("range"), [stop], []), [body], [])


def _update(target: ast.expr, at: ast.expr, value: ast.expr, operator: ast.operator | None) -> ast.stmt:
    """An assignment of an element of an array, or an update of it by an operator."""
    element = ast.Subscript(target, at)
    return ast.Assign([element], value) if operator is None else ast.AugAssign(element, operator, value)


def _loaded(statement: ast.stmt) -> ast.stmt:
    """A copy of a statement in which every expression says that it is read, or assigned."""
    copied = copy.deepcopy(statement)
    for node in all_nodes(copied):
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Tuple):
            node.ctx = ast.Load()
    for node in all_nodes(copied):
        targets = {ast.Assign: "targets", ast.AugAssign: "target", ast.For: "target"}.get(type(node))
        if targets is not None:
            found = getattr(node, targets)
            for target in found if isinstance(found, list) else [found]:
                target.ctx = ast.Store()
    return copied
