"""The results of functions, and the places of their returns: the kernel's result, and what an inlined call gives."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from collections.abc import Iterator as Iteration
from dataclasses import replace
from types import FunctionType

from polytune.frontend.array_expressions.calling import array_meaning, array_of_its_own
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.values import ArrayValue, Axis
from polytune.frontend.expression import Binary, Call, Counter, Element, Expression, Iterator, Power, Unary, walk
from polytune.frontend.lowering.bindings import map_arrays, map_values, meaning_of
from polytune.frontend.lowering.frame import Frame, KernelWalk, RaisingFunctionError, SeveralArraysError
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    ListBinding,
    Meaning,
    ObjectBinding,
    SelectionBinding,
    ShapeBinding,
    TupleBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.stored_scalars import store_scalar
from polytune.frontend.promotion import Value, compare, constant, is_inexact
from polytune.frontend.results import (
    Result,
    ReturnedArray,
    ReturnedAxis,
    ReturnedChoice,
    ReturnedError,
    ReturnedList,
    ReturnedNothing,
    ReturnedPart,
    ReturnedTuple,
)
from polytune.frontend.scalars.named_tuples import class_text
from polytune.frontend.scalars.numbers import read
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.calls_first import PASSED_ON
from polytune.frontend.syntax.preconditions import error_text, structure_lines
from polytune.frontend.syntax.source import NestedFunction, definition_of
from polytune.syntax_trees import all_nodes


def lower_return(frame: Frame, node: ast.Return) -> None:
    """Lower a ``return`` after which nothing follows on its way; what it gives is noted among the frame's exits.

    Raises:
        UnsupportedSourceError: what it gives is no number, array or tuple of these.
    """
    if frame.kernel.obstacles and not hasattr(node, "site"):  # the statement around is refused, and not looked into
        return
    # A return that polytune.frontend.syntax.jumps has not seen has no site: what comes after it would run all the same.
    exits, site = frame.exits, node.site  # type: ignore[attr-defined]
    raised = getattr(node, "raised", None)
    if raised is PASSED_ON:
        exits.passed_on.add(site)
        return
    if raised is not None and frame.is_kernel:
        exits.errors[site] = _error(frame, raised)
        return
    if raised is not None:
        _raise_in_function(frame, node, raised)
        return
    if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
        exits.sites[site] = None
        return
    meaning = meaning_of(frame, node.value, alone=True)
    meaning = _with_arrays(frame, node.value, meaning)
    _refuse_objects(frame, node, meaning)
    if frame.is_kernel:
        whole = map_arrays(meaning, lambda view: _array(frame, node, view))
        is_first = not frame.nodes and frame.is_top_level
        exits.sites[site] = map_values(whole, lambda value: _kept(frame, node, value, is_first=is_first))
    elif exits.returned is not None:
        exits.sites[site] = _in_slots(frame, node, meaning)
    else:
        exits.sites[site] = meaning


def _array(frame: Frame, node: ast.Return, view: ArrayValue) -> Meaning:
    """A part of an array as it is returned: a copy, or, where its size is only known in the end, as it depends on data
    or on the iteration that returns it, what Python cuts out of the array then."""
    if not view.ndim:
        return ValueBinding(view.at([]))
    region = view.region
    sizes = [part for extent in view.shape for part in walk(extent)]
    dimensions = [] if region is None else [axis.dimension for axis in region.axes if axis.dimension is not None]
    if (
        region is None
        or not any(isinstance(part, Element | Iterator | Counter) for part in sizes)
        or dimensions != list(range(view.ndim))
        or any(not isinstance(axis.stride, int) or axis.stride < 1 for axis in region.axes)
    ):
        return array_of_its_own(frame, node, view)

    def kept(number: Expression) -> Expression:
        return _kept(frame, node, Value(number)).expression

    axes = tuple(replace(axis, offset=kept(axis.offset)) for axis in region.axes)
    return ViewBinding(replace(view, shape=tuple(map(kept, view.shape)), region=replace(region, axes=axes)))


def _with_arrays(frame: Frame, node: ast.expr, meaning: Meaning) -> Meaning:
    """The same with arrays of what masks select."""
    match meaning:
        case TupleBinding(items):
            return replace(meaning, items=tuple(_with_arrays(frame, node, item) for item in items))
        case SelectionBinding(selection):
            selected = computed(frame, node, selection)
            assert isinstance(selected, ArrayValue)
            return array_meaning(frame, node, selected)
    return meaning


def _error(frame: Frame, node: ast.Raise) -> ReturnedError:
    """The exception of a ``raise`` in the middle of a kernel, or of a function that it calls."""
    known = {
        name: each.value
        for name, each in frame.bindings.items()
        if isinstance(each, ObjectBinding) and isinstance(each.value, str)
    }
    if not frame.is_kernel:
        values = (
            (name, each.value.constant) for name, each in frame.bindings.items() if isinstance(each, ValueBinding)
        )
        known |= {name: value for name, value in values if value is not None}
    text, imports = error_text(frame.source, node, known, is_kernel=frame.is_kernel)
    structures = structure_lines(frame.source, frame.kernel.signature, [text]) if frame.is_kernel else ()
    return ReturnedError(text, (*imports, *structures))


def _raise_in_function(frame: Frame, node: ast.Return, raised: ast.Raise) -> None:
    """Note which exception a function raises that the kernel calls: its callers return where they see that.

    Raises:
        RaisingFunctionError: it was not known that they have to.
    """
    kernel = frame.kernel
    callers = {definition_of(function) for function in kernel.calls[1:]}
    if not callers <= kernel.knowledge.raising:
        kernel.knowledge.raising |= callers
        raise RaisingFunctionError
    error = _error(frame, raised)
    if error not in kernel.exceptions:
        kernel.exceptions.append(error)
    store_scalar(frame, node, kernel.raised, constant(kernel.exceptions.index(error) + 1))


def _refuse_objects(frame: Frame, node: ast.Return, meaning: Meaning) -> None:
    match meaning:
        case TupleBinding(items):
            for item in items:
                _refuse_objects(frame, node, item)
        case ValueBinding() | ShapeBinding() | ArrayBinding() | ViewBinding() | ObjectBinding(None):
            pass
        case ListBinding() if frame.is_kernel:
            pass
        case _:
            raise frame.source.refusal(
                node,
                "an object from outside of the kernel is returned",
                "a call gives numbers, arrays, and tuples and lists of these",
                "return numbers or arrays",
            )


def _kept(frame: Frame, node: ast.Return, value: Value, *, is_first: bool = False) -> Value:
    """A value that is still there when the kernel has run: elements and what loops count are stored in a scalar.

    Args:
        frame: where it is returned.
        node: the return.
        value: the value.
        is_first: whether there is no statement before, so that the kernel may do nothing but compute the value.
    """
    is_element = any(isinstance(part, Element) and part.subscripts for part in walk(value.expression))
    is_counted = any(isinstance(part, Iterator | Counter) for part in walk(value.expression))
    is_variable = any(isinstance(part, Element) for part in walk(value.expression)) and not frame.is_top_level
    # Python's not, which puts the result together, gives a bool of Python's.
    parts = walk(value.expression) if not value.weak else ()
    is_negation = any(isinstance(part, Unary) and part.operator == "not" for part in parts)
    # Python raises errors, or gives complex numbers, where a kernel has infinities and NaN.
    is_partial = any(_may_fail_in_python(part) for part in walk(value.expression))
    # Python, which puts the result together, has numbers of its own in place of NumPy's of as many bits.
    has_elements = any(isinstance(part, Element) for part in walk(value.expression))
    is_numpy = not value.weak and value.dtype in _AS_PYTHON and not has_elements
    if not (is_element or is_counted or is_variable or is_negation or is_partial or is_numpy or is_first):
        return value
    return store_scalar(frame, node, frame.kernel.fresh("result"), value)


_AS_PYTHON = ("int64", "float64", "complex128")
"""NumPy's types of as many bits as numbers of Python's have."""


def _may_fail_in_python(part: Expression) -> bool:
    match part:
        case Call() | Power() | Binary("/" | "//" | "%"):
            return is_inexact(part.dtype)
    return False


def _in_slots(frame: Frame, node: ast.Return, meaning: Meaning) -> Meaning:
    """Return what one of several returns gives, its numbers in the scalars that all of them use."""
    exits, numbers = frame.exits, iter(range(len(list(_numbers(meaning)))))

    def stored(value: Value) -> Value:
        position = next(numbers)
        if position == len(exits.slots):
            exits.slots.append(frame.kernel.fresh(f"{frame.source.name}_result"))
        return store_scalar(frame, node, exits.slots[position], value)

    return map_values(meaning, stored)


def _numbers(meaning: Meaning | None) -> Iteration[Value]:
    match meaning:
        case ValueBinding(value):
            yield value
        case ShapeBinding(extents):
            yield from extents
        case TupleBinding(items):
            for item in items:
                yield from _numbers(item)


def result_of_call(
    frame: Frame, caller: Frame, node: ast.Call, function: FunctionType | NestedFunction
) -> Meaning | None:
    """Return what an inlined function gives to a call; None for None.

    Args:
        frame: the function, whose body has been walked.
        caller: where the call stands.
        node: the call.
        function: what is called.

    Raises:
        UnsupportedSourceError: it gives different things at different places.
        SeveralArraysError: it gives different arrays, which was not known.
    """
    exits = frame.exits
    if not exits.sites:
        return None
    first, *others = exits.sites.values()
    if exits.returned is None:
        return first
    falls_through = any(_kind(other) != _kind(first) for other in others) or _may_end(frame)
    if first is None and all(other is None for other in others):
        return None
    if falls_through:
        _note_arrays(frame, function, exits.sites.values())
        raise caller.source.refusal(
            node,
            f"{frame.source.name} returns different kinds of things",
            "what a call gives must be of one kind: a number, a certain array, or a tuple of as many of these",
            "let each return give as many numbers as the others, also at the end of the function",
        )
    slots = iter(exits.slots)
    return map_values(first, lambda _: frame.kernel.scalar(next(slots))) if first is not None else None


def _note_arrays(frame: Frame, function: FunctionType | NestedFunction, results: Iterable[Meaning | None]) -> None:
    """Note that a function returns different arrays, which then are one, if it always returns one, or tuples with
    arrays in the same places.

    Raises:
        SeveralArraysError: it was not known.
    """
    kernel, definition = frame.kernel, definition_of(function)
    is_alike = len({_form(each) for each in results}) == 1
    if is_alike and not _may_end(frame) and definition not in kernel.knowledge.merged:
        kernel.knowledge.merged.add(definition)
        raise SeveralArraysError


def _form(meaning: Meaning | None) -> object:
    """Return what is an array in what a function returns."""
    match meaning:
        case ArrayBinding() | ViewBinding():
            return "array"
        case TupleBinding(items, (), is_list=False):
            return tuple(map(_form, items))
    return _kind(meaning)


def _may_end(frame: Frame) -> bool:
    """Return whether the end of the function may be reached without a return; where that depends on data it is taken
    to."""
    return False if frame.exits.returned is None else not ends_with_return(frame.source.tree.body)


def ends_with_return(body: list[ast.stmt]) -> bool:
    """Return whether statements return, or raise an exception, on every way to their end."""
    match body[-1]:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(_, then, otherwise) if otherwise:
            return ends_with_return(then) and ends_with_return(otherwise)
        case ast.While(ast.Constant(value), inside) if value:
            return not any(isinstance(each, ast.Break) for statement in inside for each in all_nodes(statement))
    return False


def _kind(meaning: Meaning | None) -> object:
    match meaning:
        case ArrayBinding(array):
            return array
        case ViewBinding(view):
            return view.region
        case TupleBinding(items, fields, is_list=is_list):
            return fields, is_list, tuple(_kind(item) for item in items)
        case None | ObjectBinding():
            return None
    return "number"


def result_of_kernel(frame: Frame) -> Result | None:
    """The kernel's result, when all of it has been walked; arrays that it returns are made results."""
    exits = frame.exits
    if all(meaning is None for meaning in exits.sites.values()) and not exits.errors and not exits.passed_on:
        return None
    results = {site: _result(frame, meaning) for site, meaning in exits.sites.items()} | exits.errors
    results |= dict.fromkeys(exits.passed_on, _passed_on(frame))
    if exits.returned is None:
        return results[1]
    at = read(frame, ast.copy_location(ast.Name(exits.returned, ast.Load()), frame.source.tree.body[-1]))
    chosen: Result = ReturnedNothing()
    if ends_with_return(frame.source.tree.body):
        _, chosen = results.popitem()
    for site, result in reversed(results.items()):
        same = compare("==", at, constant(site))
        if same.constant is None:
            chosen = ReturnedChoice(same.expression, result, chosen)
        elif same.constant:
            chosen = result
    return chosen


def _passed_on(frame: Frame) -> Result:
    """The exception that a function has raised which the kernel calls."""
    number_of_it = frame.kernel.scalar(frame.kernel.raised) if frame.kernel.raised else constant(0)
    chosen: Result = ReturnedNothing()
    for place, error in enumerate(frame.kernel.exceptions, 1):
        same = compare("==", number_of_it, constant(place))
        chosen = error if isinstance(chosen, ReturnedNothing) else ReturnedChoice(same.expression, error, chosen)
    return chosen


def _result(frame: Frame, meaning: Meaning | None) -> Result:
    kernel = frame.kernel
    match meaning:
        case ValueBinding(value):
            return value.expression
        case ArrayBinding(name):
            _hand_out(kernel, name)
            return _as_list(kernel, name, ReturnedArray(name))
        case ViewBinding(view):
            assert view.region is not None
            _hand_out(kernel, view.region.array)
            part = ReturnedPart(view.region.array, tuple(_axis(view, axis) for axis in view.region.axes))
            return _as_list(kernel, view.region.array, part)
        case ListBinding(parts, kind):
            lists = [result for part in parts if isinstance(result := _result(frame, part), ReturnedList)]
            return ReturnedList(tuple(each.parts[0] for each in lists), tuple(each.are_weak[0] for each in lists), kind)
        case TupleBinding(items, is_list=is_list):
            text, imports = class_text(meaning)
            return ReturnedTuple(tuple(_result(frame, item) for item in items), text, imports, is_list)
        case None | ObjectBinding(None):
            return ReturnedNothing()
    raise AssertionError(f"no result: {meaning!r}")


def _as_list(kernel: KernelWalk, name: str, part: Result) -> Result:
    """A part of an array as a list, if the array is one to Python."""
    growing = kernel.lists.get(name)
    return part if growing is None else ReturnedList((part,), (growing.is_weak,), "number")


def _hand_out(kernel: KernelWalk, name: str) -> None:
    """Have a local array be the caller's in the end."""
    if kernel.arrays[name].role is ArrayRole.LOCAL:
        kernel.arrays[name] = replace(kernel.arrays[name], role=ArrayRole.RESULT)


def _axis(view: ArrayValue, axis: Axis) -> ReturnedAxis:
    size = None if axis.dimension is None else view.shape[axis.dimension]
    assert isinstance(axis.stride, int)
    return ReturnedAxis(axis.offset, size, axis.stride)
