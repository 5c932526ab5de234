"""Functions that give as many elements as the data say: arrays that have room for the most there may be, and a part of
them that a number counts."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO, integer, subtract
from polytune.frontend.array_expressions.calls import ArrayCall, compiles, compiles_several
from polytune.frontend.array_expressions.data_sizes import room_by_arguments
from polytune.frontend.array_expressions.data_subscripts import captured
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.library import Wanted, library_call
from polytune.frontend.array_expressions.rearrangements import reshaped, size_of
from polytune.frontend.array_expressions.shapes import agree
from polytune.frontend.array_expressions.sizes import extent
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand, Selection, Subscripts
from polytune.frontend.array_expressions.views import rearranged
from polytune.frontend.expression import Compare, Element, Expression
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value


def counted(
    frame: Frame,
    node: ast.AST,
    function: str,
    arguments: Sequence[ArrayValue | Value],
    results: Sequence[Wanted],
    known: Element | None = None,
) -> list[ArrayValue]:
    """The results of a call of the library that gives as many elements as the data say.

    Args:
        frame: where it stands.
        node: what it is in the source.
        function: the function's name and its further arguments, see ``polytune.runtime.intrinsics.library.run``.
        arguments: what it is given.
        results: the shapes and types of the results, with the most elements that there may be along the first
            dimension.
        known: a variable that has the number of elements already; None where there is none.
    """
    *arrays, count = library_call(frame, node, f"{function} counted", arguments, [*results, ((), "int64")])
    assert isinstance(count, Value)
    size = known or captured(frame, node, count.expression)
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
        selection: what is selected; what a name means is made where it got that meaning, before loops around.
    """
    values, mask, kernel = selection.values, selection.mask, frame.kernel
    key = None
    size: Element | None = None
    if selection.place is not None and values.region is not None and mask.region is not None:
        key = mask.region.array, values.region.array
        nodes, found = kernel.extracted.get(key, (None, None))
        if found is not None and nodes is not None and frame.is_in(nodes):
            return found  # which nothing has changed since
        place: Frame = selection.place
        if frame.is_in(place.nodes):
            frame = replace(place, source=frame.source, is_kernel=frame.is_kernel, names=frame.names)
        nodes, size = kernel.selected.get(mask.region.array, (None, None))
        size = size if nodes is not None and frame.is_in(nodes) else None
    most = extent(frame, size_of(frame, values.shape))
    (array,) = counted(frame, node, "numpy.extract *", [mask, values], [((most,), values.dtype)], size)
    if key is not None:
        kernel.extracted[key] = frame.nodes, array
        counter = array.shape[0]
        if size is None and isinstance(counter, Element):
            kernel.selected[key[0]] = frame.nodes, counter
    return array


def _size(call: ArrayCall, array: ArrayValue) -> Expression:
    return extent(call.frame, size_of(call.frame, array.shape))


def places_of(frame: Frame, node: ast.AST, mask: ArrayValue) -> list[ArrayValue]:
    """The subscripts of what is true, an array for each dimension.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        mask: the truth values, or numbers that are taken for some.
    """
    most = extent(frame, size_of(frame, mask.shape))
    wanted: list[Wanted] = [((most,), "int64")] * mask.ndim
    return counted(frame, node, "numpy.nonzero *", [mask], wanted)


def _places(call: ArrayCall, name: str) -> tuple[Operand, ...]:
    array = call.array(name)
    if not array.ndim:
        raise call.refusal(f"{call.name} of a number", "pass an array")
    return tuple(places_of(call.frame, call.node, array))


def extracted_rows(frame: Frame, node: ast.AST, selection: Selection) -> ArrayValue:
    """The rows that a mask selects, or what it selects along other dimensions, read at the places of what is true.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        selection: what is selected.
    """
    values, first, last = selection.values, selection.first, selection.last
    places = places_of(frame, node, selection.mask)
    shape = (*values.shape[:first], places[0].shape[0], *values.shape[last:])

    def at(subscripts: Subscripts) -> Value:
        found = [place.at(subscripts[first : first + 1]).expression for place in places]
        return values.at([*subscripts[:first], *found, *subscripts[first + 1 :]])

    return ArrayValue(shape, values.dtype, at)


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

    return tuple(places_of(call.frame, call.node, ArrayValue((rows, columns), "bool", at)))


@compiles_several(np.triu_indices, "n", "k", "m")
def _triu_indices(call: ArrayCall) -> tuple[Operand, ...]:
    return _triangle(call, ">=")


@compiles_several(np.tril_indices, "n", "k", "m")
def _tril_indices(call: ArrayCall) -> tuple[Operand, ...]:
    return _triangle(call, "<=")


@compiles_several(np.ix_, "*args")
def _open_mesh(call: ArrayCall) -> tuple[Operand, ...]:
    """Subscripts of all pairs, each along a dimension of its own; of truth values the places."""
    node = call.argument("args")
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    found = []
    for place, each in enumerate(nodes):
        array = as_array(computed(call.frame, each, call.evaluate(call.frame, each)))
        if array.ndim != 1:
            raise call.refusal(f"np.ix_ of an array of {array.ndim} dimensions", "pass vectors")
        if array.dtype == "bool":
            array = places_of(call.frame, call.node, array)[0]
        if array.region is None:
            array = kept(call.frame, call.node, array, "subscripts")
        shape = tuple(array.shape[0] if other == place else ONE for other in range(len(nodes)))
        found.append(rearranged(call.frame.kernel, array, [Axis(ZERO, place)], shape))
    return tuple(found)


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
    if "return_inverse" in options and call.array("ar").ndim != 1:
        raise call.refusal("np.unique of several dimensions with return_inverse", "pass A.ravel()")
    wanted: list[Wanted] = [(array.shape, array.dtype), *((array.shape, "int64") for _ in options)]
    text = " ".join(["numpy.unique *", *(f"{name}=True" for name in options)])
    found: list[Operand | None] = list(counted(call.frame, call.node, text, [array], wanted))
    if "return_inverse" in options:  # one for each element of the array
        place = 1 + options.index("return_inverse")
        inverse = found[place]
        assert isinstance(inverse, ArrayValue)
        axes = [Axis(ZERO, 0)]
        found[place] = rearranged(call.frame.kernel, inverse, axes, array.shape)
    return found


@compiles(np.bincount, "x", "weights", "minlength")
def _bincount(call: ArrayCall) -> Operand:
    """The numbers of elements up to ``minlength``; a larger element is an error."""
    places = call.array("x")
    if places.ndim != 1 or places.dtype not in promotion.INTEGERS:
        raise call.refusal(f"{call.name} of {places.dtype} in {places.ndim} dimensions", "pass a row of integers")
    if not call.given("minlength"):
        return _bincount_of_all(call, places)
    size = call.size(call.argument("minlength"))
    text = "numpy.bincount * minlength=length counted"
    arguments, dtype = [places], "int64"
    if call.given("weights"):
        weights = as_array(call.value("weights"))
        agree(call.frame, call.node, places.shape[0], weights.shape[0], (places.shape, weights.shape))
        arguments, dtype = [places, weights], "float64"
    return library_call(call.frame, call.node, text, arguments, [((size,), dtype), ((), "int64")])[0]


def _bincount_of_all(call: ArrayCall, places: ArrayValue) -> Operand:
    """The numbers of all elements, up to the greatest."""
    arguments, dtype = [places], "int64"
    if call.given("weights"):
        weights = as_array(call.value("weights"))
        agree(call.frame, call.node, places.shape[0], weights.shape[0], (places.shape, weights.shape))
        arguments, dtype = [places, weights], "float64"
    most = room_by_arguments(call.frame)
    return counted(call.frame, call.node, "numpy.bincount *", arguments, [((most,), dtype)])[0]
