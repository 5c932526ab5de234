"""Expressions of the source that are arrays: names, parts, attributes and calls."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import Any

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions import (  # noqa: F401  (they register what they compile)
    averages,
    choices,
    counted,
    creation,
    derived,
    diagonals,
    extrema,
    joining,
    library_functions,
    library_generators,
    library_random,
    library_signals,
    linear_algebra,
    masks,
    missing_numbers,
    python_random,
    quotients,
    rearrangements,
    reductions,
    running,
    splitting,
    tiling,
)
from polytune.frontend.array_expressions.calls import (
    ArrayCall,
    handler_of,
    matched,
    method,
)
from polytune.frontend.array_expressions.conversions import check_written
from polytune.frontend.array_expressions.derived import method_along_axis
from polytune.frontend.array_expressions.elementwise import (
    as_array,
    computed,
    elementwise,
    kind_of_operand,
    require_ranges,
)
from polytune.frontend.array_expressions.flat import flat_part, is_flat
from polytune.frontend.array_expressions.gathering import gathered
from polytune.frontend.array_expressions.linear_algebra import outer_method
from polytune.frontend.array_expressions.masks import reading_once, selected
from polytune.frontend.array_expressions.readers import Evaluate, Number, ShapeOf
from polytune.frontend.array_expressions.sizes import require_exponent
from polytune.frontend.array_expressions.slices import is_ellipsis, is_none, part_of, refused_truth, subscripts_of
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Selection
from polytune.frontend.array_expressions.views import permuted
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    GeneratorMethod,
    ObjectBinding,
    SelectionBinding,
    Stale,
    ViewBinding,
)
from polytune.frontend.lowering.names import lookup, note_read
from polytune.frontend.promotion import Value
from polytune.frontend.scalars import functions
from polytune.frontend.scalars.functions import ArityError, is_known
from polytune.frontend.syntax.ranges import is_subscript


def mentions_arrays(frame: Frame, node: ast.expr) -> bool:
    """Return whether an expression may be an array, by the names in it: single elements and extents are numbers."""
    match node:
        case ast.Name():
            return isinstance(_meaning(frame, node), ArrayBinding | ViewBinding | SelectionBinding)
        case ast.Subscript(ast.Attribute(_, "mgrid" | "ogrid")):
            return True
        case ast.Subscript():
            return not is_element(frame, node) and mentions_arrays(frame, node.value)
        case ast.Attribute(value, name):
            return name not in ("shape", "size", "ndim", "dtype") and mentions_arrays(frame, value)
        case ast.Call(ast.Name("len")):
            return False
        case ast.Call(function) if _makes_arrays(frame, function):
            return True
        case ast.List():
            return True
        case ast.ListComp() if is_subscript(node):
            return True
    children = (
        child.value if isinstance(child, ast.keyword) else child  # as in out=A
        for child in ast.iter_child_nodes(node)
    )
    return any(isinstance(child, ast.expr) and mentions_arrays(frame, child) for child in children)


def _meaning(frame: Frame, node: ast.Name) -> Any:
    """Return what a name is bound to, an array from outside included; None for what is not known, or only outside."""
    binding = frame.bindings.get(node.id)
    if binding is None and node.id not in frame.assigned:
        try:
            if isinstance(frame.source.resolve(node.id), np.ndarray):
                return lookup(frame, node)
        except KeyError:
            return None
    if isinstance(binding, Stale):
        note_read(frame, binding)
        return binding.made or binding
    return binding


def is_shape(node: ast.expr) -> bool:
    """Return whether an expression is the shape of something, as ``A.shape``."""
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _makes_arrays(frame: Frame, function: ast.expr) -> bool:
    """Return whether a function gives arrays without being given some."""
    while isinstance(function, ast.Attribute):
        if function.attr in creation.NAMES:
            return True
        function = function.value
    return False


def is_element(frame: Frame, node: ast.Subscript) -> bool:
    """Return whether a chain of subscripts names a single element of an array, as ``A[i][j]`` and ``A.T[j, i]`` do."""
    base: ast.expr = node
    items: list[ast.expr] = []
    while isinstance(base, ast.Subscript):
        items += subscripts_of(base)
        base = base.value
    while isinstance(base, ast.Attribute) and base.attr == "T":
        base = base.value
    binding = _meaning(frame, base) if isinstance(base, ast.Name) else None
    if not isinstance(binding, ArrayBinding) or len(items) != frame.kernel.arrays[binding.array].ndim:
        return not isinstance(binding, ArrayBinding | ViewBinding | SelectionBinding) and isinstance(base, ast.Name)
    return not any(
        isinstance(item, ast.Slice | ast.Starred)
        or is_none(item)
        or is_ellipsis(item)
        or _is_new(item)
        or mentions_arrays(frame, item)
        for item in items
    )


def _is_new(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "newaxis"


def subscripted(
    frame: Frame, node: ast.Subscript, evaluate: Evaluate, array: ArrayValue | None = None
) -> ArrayValue | Value | Selection:
    """A part of an array, or one element of a part.

    Args:
        frame: where it stands.
        node: the whole expression.
        evaluate: reads an expression.
        array: what is subscripted; None where it is still to be read.

    Raises:
        UnsupportedSourceError: what is subscripted is no array.
    """
    if array is None and is_flat(node.value):
        assert isinstance(node.value, ast.Attribute)
        flat = as_array(computed(frame, node, evaluate(frame, node.value.value)))
        found = flat_part(frame, node, flat, subscripts_of(node), number_reader(evaluate, is_subscript=True)).value()
        return found if found.shape else found.at(())
    base = array if array is not None else computed(frame, node, evaluate(frame, node.value))
    if isinstance(base, Value):
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(node.value)} is subscripted but is not an array",
            "in the types that the kernel is compiled for it is a number",
            "use it without a subscript",
        )
    items = subscripts_of(node)
    if any(mentions_arrays(frame, item) for item in items if not isinstance(item, ast.Slice)):
        evaluate = reading_once(frame, node, evaluate)
        numbers = number_reader(evaluate), number_reader(evaluate, is_subscript=True)
        selection = selected(frame, node, base, evaluate, *numbers)
        if selection is not None:
            return selection
        elements = gathered(frame, node, base, items, evaluate, number_reader(evaluate)).value()
        return elements if elements.shape else elements.at(())  # as of A[A.argmax()]
    part = part_of(frame, node, base, items, number_reader(evaluate), number_reader(evaluate, is_subscript=True))
    return part if part.shape else part.at(())


def number_reader(evaluate: Evaluate, *, is_subscript: bool = False) -> Number:
    """Return what reads subscripts and bounds, which are numbers.

    Args:
        evaluate: reads an expression.
        is_subscript: whether it is for single subscripts, which truth values are none of.
    """

    def number(frame: Frame, node: ast.expr) -> Value:
        operand = computed(frame, node, evaluate(frame, node))
        if isinstance(operand, ArrayValue):
            raise frame.source.refusal(
                node,
                f"the array {frame.source.segment(node)} as a bound or in a subscript of a single element",
                "a number is wanted here",
                "loop over its elements",
            )
        if is_subscript and operand.dtype == "bool":
            raise refused_truth(frame, node)
        return promotion.number(operand)

    return number


def attribute(frame: Frame, node: ast.Attribute, evaluate: Evaluate) -> Operand | None:
    """``A.T``, ``A.size``, ``A.ndim``, ``A.real`` and ``A.imag`` of an array; None where the owner is no array.

    Args:
        frame: where it stands.
        node: the whole expression.
        evaluate: reads an expression.
    """
    if not mentions_arrays(frame, node.value):
        return None
    owner = computed(frame, node, evaluate(frame, node.value))
    if isinstance(owner, Value):
        return None
    match node.attr:
        case "T":
            return permuted(frame.kernel, owner, tuple(reversed(range(owner.ndim))))
        case "flat":
            raveled = ast.Call(ast.Attribute(node.value, "ravel", ast.Load()), [], [])
            return evaluate(frame, ast.copy_location(raveled, node))
        case "ndim":
            return promotion.constant(owner.ndim)
        case "real" if owner.dtype not in promotion.COMPLEX:
            return owner
        case "real" | "imag":
            found = elementwise(frame, node, lambda values: promotion.part(values[0], node.attr), [owner])
            if owner.region is None or not isinstance(found, ArrayValue):
                return found
            return replace(found, view_of=owner.region.array)
        case "itemsize":
            return promotion.constant(np.dtype(owner.dtype).itemsize)
        case "size" | "nbytes":
            size: Value = promotion.constant(1 if node.attr == "size" else np.dtype(owner.dtype).itemsize)
            for extent in owner.shape:
                size = promotion.binary("*", size, Value(extent, weak=True))
            return size
    raise frame.source.refusal(
        node,
        f"the attribute .{node.attr} of an array",
        "a kernel may use elements, .shape, .size, .nbytes, .itemsize, .ndim, .T, .flat, .real and .imag, and .dtype "
        "for new ones",
        "compute what is needed from these, or outside the kernel",
    )


_OF_NUMBERS_TOO = (min, max)
"""Functions of several numbers, or of the elements of one array."""


def call(frame: Frame, node: ast.Call, function: Any, evaluate: Evaluate, shape_of: ShapeOf) -> Operand | None:
    """A call of a function or method that is compiled for arrays; None for any other.

    Args:
        frame: where it stands.
        node: the call.
        function: what is called; None where that is not known, as of a method.
        evaluate: reads an expression.
        shape_of: reads a tuple of integers, such as a shape; None for what is none.

    Raises:
        UnsupportedSourceError: its arguments are not compiled.
    """
    name = frame.source.segment(node.func)
    receiver: Operand | None = function.generator.address if isinstance(function, GeneratorMethod) else None
    if function is None and isinstance(node.func, ast.Attribute) and mentions_arrays(frame, node.func.value):
        receiver = evaluate(frame, node.func.value)
        receiver = receiver if isinstance(receiver, Selection) else computed(frame, node, receiver)
        if not isinstance(receiver, Value):
            function = method(node.func.attr)
            name = node.func.attr
            if name in ("sort", "partition"):
                raise frame.source.refusal(
                    node,
                    f"the value of .{name}(...)",
                    "the method changes the array, and its value is None",
                    f"call it in a line of its own, or use np.{name}(A), which is a new array",
                )
            if name == "item" and not node.keywords:
                return _of_python(as_array(computed(frame, node, evaluate(frame, _element(node)))).at(()))
            if handler_of(function) is None and not is_known(function):
                raise frame.source.refusal(
                    node,
                    f"the method .{name}(...) of an array",
                    "what a call does must be known",
                    "compute it outside the kernel, or write the loop",
                )
    if function in (np.real, np.imag) and len(node.args) == 1 and not node.keywords:
        part = ast.copy_location(ast.Attribute(node.args[0], function.__name__, ast.Load()), node)
        found = attribute(frame, part, evaluate)  # a view, as A.real is
        if found is not None:
            return found
    handler = handler_of(function)
    if function in _OF_NUMBERS_TOO and len(node.args) != 1:
        handler = None
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and function.__name__ == "outer" and is_known(owner):
        handler = ("a", "b"), outer_method(owner)
    elif isinstance(owner, np.ufunc) and function.__name__ in ("reduce", "accumulate"):
        handler = method_along_axis(owner, function.__name__)
    if handler is not None:
        parameters, compile_call = handler
        plain, target = without_target(node)
        arguments = {
            name: _with_none(frame, each) for name, each in matched(frame, plain, name, parameters, receiver).items()
        }
        first = parameters[0] if parameters else ""
        result = compile_call(ArrayCall(frame, plain, name, arguments, receiver, first, evaluate, shape_of))
        return (
            result if target is None else written(frame, node, result, computed(frame, node, evaluate(frame, target)))
        )
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    if not is_known(function) or not (receiver is not None or any(mentions_arrays(frame, each) for each in given)):
        return None
    return _ufunc(frame, node, name, function, receiver, evaluate)


def _of_python(value: Value) -> Value:
    """A number of NumPy's as one of Python's, which takes the type of what it meets."""
    wide = "int64" if value.is_integer else "complex128" if value.dtype in promotion.COMPLEX else "float64"
    return promotion.cast(value, value.dtype if value.dtype == "bool" else wide, weak=True)


def _element(node: ast.Call) -> ast.expr:
    """``A.item(i, j)`` as the element ``A[i, j]``, and ``A.item(k)`` as one of all elements in their order."""
    assert isinstance(node.func, ast.Attribute)
    array: ast.expr = node.func.value
    places = list(node.args)
    if len(places) < 2:
        array, places = ast.Call(ast.Attribute(array, "ravel", ast.Load()), [], []), places or [ast.Constant(0)]
    place = places[0] if len(places) == 1 else ast.Tuple(places, ast.Load())
    return ast.fix_missing_locations(ast.copy_location(ast.Subscript(array, place, ast.Load()), node))


def _with_none(frame: Frame, node: ast.expr) -> ast.expr:
    """An argument of a call; None itself in place of a name for it, as of the argument ``axis=None`` of a function."""
    meaning = frame.bindings.get(node.id) if isinstance(node, ast.Name) else None
    is_missing = isinstance(meaning, ObjectBinding) and meaning.value is None
    return ast.copy_location(ast.Constant(None), node) if is_missing else node


def without_target(node: ast.Call) -> tuple[ast.Call, ast.expr | None]:
    """A call without its argument ``out``, and that."""
    target = next((each.value for each in node.keywords if each.arg == "out" and not is_none(each.value)), None)
    if target is None:
        return node, None
    rest = [each for each in node.keywords if each.arg != "out"]
    return ast.copy_location(ast.Call(node.func, node.args, rest), node), target


def written(frame: Frame, node: ast.Call, result: Operand, target: ArrayValue | Value) -> Operand:
    """Write what a call gives into the array of its argument ``out``.

    Args:
        frame: where it stands.
        node: the call.
        result: what it gives.
        target: the array.

    Raises:
        UnsupportedSourceError: there is no such array, or NumPy does not convert the result to its type.
    """
    if not isinstance(target, ArrayValue) or not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise frame.source.refusal(
            node,
            f"out={frame.source.segment(next(each.value for each in node.keywords if each.arg == 'out'))}",
            f"it is no array, or NumPy does not convert {result.dtype} to its elements",
            "assign the result, converted: A[:] = result",
        )
    store(frame, node, target, result)
    return target


def _gives_itself(function: Any, receiver: Operand | None, operands: list[Operand]) -> bool:
    """Return whether NumPy gives the array itself: ``A.conj()`` of real numbers, and ``np.float64(A)`` of such."""
    match operands:
        case [ArrayValue() as array]:
            is_real = function is np.conjugate and receiver is not None and array.dtype not in promotion.COMPLEX
            is_conversion = isinstance(function, type) and issubclass(function, np.generic)
            return is_real or (is_conversion and np.dtype(function).name == array.dtype)
    return False


def _ufunc(
    frame: Frame, node: ast.Call, name: str, function: Any, receiver: Operand | None, evaluate: Evaluate
) -> Operand:
    """A function of numbers, of the elements of arrays."""
    operands = [] if receiver is None else [receiver]
    positional, out = list(node.args), [each.value for each in node.keywords if each.arg == "out"]
    if isinstance(function, np.ufunc) and len(operands) + len(positional) == function.nin + 1 and not out:
        out = [positional.pop()]
    operands += [evaluate(frame, argument) for argument in positional]
    operands = [each if isinstance(each, Selection) else computed(frame, node, each) for each in operands]
    if _gives_itself(function, receiver, operands) and not node.keywords and not out:
        return operands[0]
    is_of_numbers = function in (min, max, int, float, bool, complex)
    if is_of_numbers or getattr(math, getattr(function, "__name__", ""), None) is function:
        is_of_numbers = True
        operands = [each.at(()) if isinstance(each, ArrayValue) and not each.shape else each for each in operands]
    of_numbers = all(isinstance(operand, Value) for operand in operands) and not node.keywords and not out
    if of_numbers:
        pass
    elif is_of_numbers:
        raise frame.source.refusal(
            node,
            f"{name} of a whole array",
            "it is a function of numbers",
            "use NumPy's function, which works on each element, as np.sqrt, np.minimum or A.astype(np.int64)",
        )
    if function in (np.power, pow) and len(operands) == 2 and isinstance(operands[1], Value):
        require_exponent(frame, node, kind_of_operand(operands[0]), operands[1])
    require_ranges(frame, node, function, operands)
    try:
        if of_numbers:
            return functions.apply(function, operands)  # type: ignore[arg-type]
        result = elementwise(frame, node, lambda values: functions.apply(function, values), operands)
    except ArityError as error:
        raise frame.source.refusal(node, f"{name}(...) {error}", "NumPy raises an error here", "pass as many") from None
    _refuse_arguments_but_out(frame, node, name)
    for each in out:
        target = computed(frame, node, evaluate(frame, each))
        if not isinstance(target, ArrayValue):
            raise frame.source.refusal(
                each,
                f"the result {frame.source.segment(each)} of {name}",
                "it is no array, and NumPy raises an error here",
                f"pass an array that the result is written to, or leave it out: {name} takes fewer arguments",
            )
        check_written(frame, node, name, target, result)
        store(frame, node, target, result)
        result = target
    return result


def _refuse_arguments_but_out(frame: Frame, node: ast.Call, name: str) -> None:
    """Refuse what a function of elements is told by name, as where= and dtype=.

    Args:
        frame: where it stands.
        node: the call.
        name: what the function is called in the source.

    Raises:
        UnsupportedSourceError: there is such an argument.
    """
    for keyword in node.keywords:
        if keyword.arg != "out":
            raise frame.source.refusal(
                keyword.value,
                f"the argument {keyword.arg} of {name}",
                "of a function of elements, only the numbers and out= are compiled",
                "leave it out, and convert or choose elements with .astype or np.where",
            )
