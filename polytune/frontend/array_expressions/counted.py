"""Functions that give as many elements as the data say: arrays that have room for the most there may be, and a part of
them that a number counts."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ZERO, integer, subtract
from polytune.frontend.array_expressions.calls import ArrayCall, compiles, compiles_several
from polytune.frontend.array_expressions.data_subscripts import captured
from polytune.frontend.array_expressions.elementwise import as_array
from polytune.frontend.array_expressions.library import Wanted, library_call
from polytune.frontend.array_expressions.rearrangements import reshaped, size_of
from polytune.frontend.array_expressions.shapes import agree
from polytune.frontend.array_expressions.sizes import extent
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand, Selection, Subscripts
from polytune.frontend.array_expressions.views import rearranged
from polytune.frontend.expression import Compare, Expression
from polytune.frontend.frame import Frame
from polytune.frontend.promotion import Value


def counted(
    frame: Frame, node: ast.AST, function: str, arguments: Sequence[ArrayValue | Value], results: Sequence[Wanted]
) -> list[ArrayValue]:
    """The results of a call of the library that gives as many elements as the data say.

    Args:
        frame: where it stands.
        node: what it is in the source.
        function: the function's name and its further arguments, see ``polytune.runtime.library.run``.
        arguments: what it is given.
        results: the shapes and types of the results, with the most elements that there may be along the first
            dimension.
    """
    *arrays, count = library_call(frame, node, f"{function} counted", arguments, [*results, ((), "int64")])
    assert isinstance(count, Value)
    size = captured(frame, node, count.expression)
    frame.kernel.counts.add(size.array)
    parts = []
    for array in arrays:
        assert isinstance(array, ArrayValue)
        frame.kernel.most[size] = array.shape[0]
        axes = [Axis(ZERO, place) for place in range(array.ndim)]
        parts.append(rearranged(frame.kernel, array, axes, (size, *array.shape[1:])))
    return parts


def extracted(frame: Frame, node: ast.AST, selection: Selection) -> ArrayValue:
    """The elements that a mask selects as an array of one dimension.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        selection: what is selected.
    """
    values, mask = selection.values, selection.mask
    key = None
    if selection.is_named and values.region is not None and mask.region is not None:
        key = mask.region.array, values.region.array
        nodes, found = frame.kernel.extracted.get(key, (None, None))
        if found is not None and nodes is frame.nodes:
            return found  # which nothing has changed since
    most = extent(frame, size_of(frame, values.shape))
    (array,) = counted(frame, node, "numpy.extract *", [mask, values], [((most,), values.dtype)])
    if key is not None:
        frame.kernel.extracted[key] = frame.nodes, array
    return array


def _size(call: ArrayCall, array: ArrayValue) -> Expression:
    return extent(call.frame, size_of(call.frame, array.shape))


def _places(call: ArrayCall, name: str) -> tuple[Operand, ...]:
    array = call.array(name)
    if not array.ndim:
        raise call.refusal(f"{call.name} of a number", "pass an array")
    wanted: list[Wanted] = [((_size(call, array),), "int64")] * array.ndim
    return tuple(counted(call.frame, call.node, "numpy.nonzero *", [array], wanted))


@compiles_several(np.nonzero, "a")
def _nonzero(call: ArrayCall) -> tuple[Operand, ...]:
    return _places(call, "a")


def _triangle(call: ArrayCall, operator: str) -> tuple[Operand, ...]:
    """The places of a triangle, as NumPy finds them: those where a matrix of truth values is true."""
    rows = extent(call.frame, call.extent(call.argument("n")))
    columns = extent(call.frame, call.extent(call.argument("m"))) if call.given("m") else rows
    diagonal = call.constant("k", 0)
    if not isinstance(diagonal, int):
        raise call.refusal(f"the diagonal {diagonal} in {call.name}", "write a constant integer")

    def at(subscripts: Subscripts) -> Value:
        return Value(Compare(operator, subtract(subscripts[1], subscripts[0]), integer(diagonal)), weak=True)

    mask = ArrayValue((rows, columns), "bool", at)
    wanted: list[Wanted] = [((_size(call, mask),), "int64")] * 2
    return tuple(counted(call.frame, call.node, "numpy.nonzero *", [mask], wanted))


@compiles_several(np.triu_indices, "n", "k", "m")
def _triu_indices(call: ArrayCall) -> tuple[Operand, ...]:
    return _triangle(call, ">=")


@compiles_several(np.tril_indices, "n", "k", "m")
def _tril_indices(call: ArrayCall) -> tuple[Operand, ...]:
    return _triangle(call, "<=")


@compiles_several(np.where, "condition", "x", "y")
def _where(call: ArrayCall) -> tuple[Operand, ...] | None:
    """The places of what is true; None where one of two values is chosen."""
    return None if call.given("x") or call.given("y") else _places(call, "condition")


@compiles(np.flatnonzero, "a")
def _flatnonzero(call: ArrayCall) -> Operand:
    array = call.array("a")
    return counted(call.frame, call.node, "numpy.flatnonzero *", [array], [((_size(call, array),), "int64")])[0]


@compiles(np.argwhere, "a")
def _argwhere(call: ArrayCall) -> Operand:
    array = call.array("a")
    shape = (_size(call, array), integer(array.ndim))
    return counted(call.frame, call.node, "numpy.argwhere *", [array], [(shape, "int64")])[0]


@compiles(np.compress, "condition", "a")
def _compress(call: ArrayCall) -> Operand:
    condition, array = call.array("condition"), call.array("a")
    if condition.ndim != 1 or array.ndim != 1:
        raise call.refusal(f"{call.name} of several dimensions", "use A[mask], or loop over the rows")
    agree(call.frame, call.node, condition.shape[0], array.shape[0], (condition.shape, array.shape))
    return counted(call.frame, call.node, "numpy.compress *", [condition, array], [(array.shape, array.dtype)])[0]


_UNIQUE = ("return_index", "return_inverse", "return_counts")


@compiles_several(np.unique, "ar", *_UNIQUE)
def _unique(call: ArrayCall) -> list[Operand | None]:
    array = call.array("ar")
    if array.ndim != 1:
        array = reshaped(call, array, [None])
    options = [name for name in _UNIQUE if call.constant(name, False)]
    if "return_inverse" in options:
        raise call.refusal("np.unique with return_inverse", "use np.searchsorted(np.unique(A), A)")
    wanted: list[Wanted] = [(array.shape, array.dtype), *((array.shape, "int64") for _ in options)]
    text = " ".join(["numpy.unique *", *(f"{name}=True" for name in options)])
    return list(counted(call.frame, call.node, text, [array], wanted))


@compiles(np.bincount, "x", "weights", "minlength")
def _bincount(call: ArrayCall) -> Operand:
    """The numbers of elements up to ``minlength``; a larger element is an error."""
    places = call.array("x")
    if not call.given("minlength"):
        raise call.refusal(
            f"{call.name} without minlength, whose result is as large as the data say",
            "name the number of bins, minlength=n, of which no element may be n or more",
        )
    if places.ndim != 1 or places.dtype not in promotion.INTEGERS:
        raise call.refusal(f"{call.name} of {places.dtype} in {places.ndim} dimensions", "pass a row of integers")
    size = call.size(call.argument("minlength"))
    text = "numpy.bincount * minlength=length counted"
    arguments, dtype = [places], "int64"
    if call.given("weights"):
        weights = as_array(call.value("weights"))
        agree(call.frame, call.node, places.shape[0], weights.shape[0], (places.shape, weights.shape))
        arguments, dtype = [places, weights], "float64"
    return library_call(call.frame, call.node, text, arguments, [((size,), dtype), ((), "int64")])[0]
