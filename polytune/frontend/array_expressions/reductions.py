"""Reductions of arrays along axes: sums, products, truths, and what all reductions are made with."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.elementwise import (
    arithmetic,
    as_array,
    cast_array,
    chosen,
    computed,
    elementwise,
    narrowed,
    strong,
)
from polytune.frontend.array_expressions.short_sums import few_places, of_elements, written_out
from polytune.frontend.array_expressions.temporaries import allocate, emit, over, perform, scalar
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Selection, Shape, Subscripts, Sum, Term
from polytune.frontend.array_expressions.views import element_of, in_memory
from polytune.frontend.expression import Assign, Element, Expression, Iterator
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value, constant, wider

COMMON = ("a", "axis", "dtype", "-out", "keepdims")
"""The parameters that sums, products and means have."""


def _axes(call: ArrayCall, ndim: int) -> tuple[int, ...]:
    """The dimensions that are reduced."""
    axis = call.constant("axis")
    if axis is None:
        return tuple(range(ndim))
    several = axis if isinstance(axis, tuple) else (axis,)
    for each in several:
        if not isinstance(each, int) or not -ndim <= each < ndim:
            raise call.refusal(f"the axis {each} of an array of {ndim} dimensions", "name a dimension that there is")
    return tuple(sorted(each % ndim for each in several))


class Reduced:
    """The dimensions of an array that a reduction keeps and those that it does not, and what it selects if anything.

    Args:
        array: what is reduced.
        axes: the dimensions that the reduction does not keep, counted from the front.
        keepdims: whether the result has them all the same, with an extent of 1.
        selection: what a mask selects of an array of that shape, the mask's dimensions among the axes; None where all
            elements count.
    """

    def __init__(self, array: ArrayValue, axes: Sequence[int], keepdims: bool, selection: Selection | None = None):
        self.array, self.axes, self.keepdims, self.selection = array, tuple(axes), keepdims, selection
        self.extents: Shape = tuple(array.shape[axis] for axis in self.axes)
        kept_dimensions = [place for place in range(array.ndim) if place not in self.axes]
        self.kept = kept_dimensions
        self.shape: Shape = (
            tuple(ONE if place in self.axes else extent for place, extent in enumerate(array.shape))
            if keepdims
            else tuple(array.shape[place] for place in kept_dimensions)
        )

    @property
    def unmasked_extents(self) -> Shape:
        """The extents that are reduced, but for those of a mask."""
        if self.selection is None:
            return self.extents
        masked = range(self.selection.first, self.selection.last)
        return tuple(self.array.shape[axis] for axis in self.axes if axis not in masked)

    def element(self, subscripts: Subscripts, reduced: Subscripts) -> Value:
        """The array's element at subscripts of the result and of the reduced dimensions."""
        outer = list(subscripts) if not self.keepdims else [subscripts[place] for place in self.kept]
        at: list[Expression] = [ZERO] * self.array.ndim
        for place, subscript in zip(self.kept, outer, strict=True):
            at[place] = subscript
        for place, subscript in zip(self.axes, reduced, strict=True):
            at[place] = subscript
        return self.array.at(at)


def reduced_operand(call: ArrayCall, neutral: Value | None = None) -> Reduced:
    """Return what is reduced; what a mask leaves out is the ``neutral`` number, of which a reduction takes no
    notice."""
    operand = call.operand("a")
    if neutral is not None and call.given("where"):
        array, mask = computed(call.frame, call.node, operand), call.value("where")
        limited = elementwise(
            call.frame,
            call.node,
            lambda values: promotion.select(
                promotion.truth(values[0]),
                values[1],
                promotion.cast(neutral, values[1].dtype) if values[1].dtype != "bool" else neutral,
            ),
            [mask, array],
        )
        operand = limited
    if isinstance(operand, Selection) and neutral is not None:
        masked = _of_selection(call, operand, neutral)
        if masked is not None:
            return masked
    array = as_array(computed(call.frame, call.node, operand))
    return Reduced(array, _axes(call, array.ndim), bool(call.constant("keepdims", False)))


def _of_selection(call: ArrayCall, selection: Selection, neutral: Value) -> Reduced | None:
    """A reduction over all that a mask selects, or over the rows that it does; None for one along other dimensions.

    Args:
        call: the reduction.
        selection: what is reduced.
        neutral: what stands for elements that are not selected.
    """
    first, last, keepdims = selection.first, selection.last, bool(call.constant("keepdims", False))
    beyond = last - first - 1  # dimensions that the array has more than what is selected from it
    axes = _axes(call, len(selection.shape) - beyond)
    if first not in axes or (keepdims and beyond):
        return None
    places = [axis if axis < first else axis + beyond for axis in axes if axis != first]
    values = chosen(call.frame, call.node, selection.whole_mask(), selection.values, neutral)
    assert isinstance(values, ArrayValue)
    return Reduced(values, sorted([*places, *range(first, last)]), keepdims, selection)


def total(reduced: Reduced, dtype: str) -> Sum:
    """The sums of elements as numbers of a type."""

    def value(subscripts: Subscripts, inner: Subscripts) -> Value:
        return strong(promotion.cast(promotion.number(reduced.element(subscripts, inner)), dtype))

    return Sum(reduced.shape, dtype, (Term(reduced.extents, value),))


def sum_type(dtype: str) -> str:
    """The type of sums and products of elements of a type."""
    return dtype if promotion.is_inexact(dtype) else "uint64" if dtype.startswith("uint") else "int64"


def folded(
    call: ArrayCall, reduced: Reduced, dtype: str, start: Value, step: Callable[[Value, Value], Value]
) -> ArrayValue | Value:
    """The result of a fold over elements, from left to right.

    Args:
        call: the call, for its place.
        reduced: the elements.
        dtype: the type of the results.
        start: what each fold begins with, which leaves the first element as it is.
        step: makes of what a fold has come to and the next element what it comes to then.
    """
    frame, node = call.frame, call.node
    places = few_places(reduced.extents)
    if places is not None:

        def at(subscripts: Subscripts) -> Value:
            first, *others = (reduced.element(subscripts, inner) for inner in places)
            value = _of_type(first, dtype)
            for element in others:
                value = _of_type(step(value, element), dtype)
            return value

        return of_elements(reduced.shape, dtype, at)
    place = ResultPlace(frame, node, reduced.shape, dtype)

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        def inner(others: tuple[Iterator, ...]) -> Sequence[Node]:
            value = step(place.value(iterators), reduced.element(iterators, others))
            return (perform(frame, node, place.assign(iterators, value)),)

        return (perform(frame, node, place.assign(iterators, start)), *over(frame, node, reduced.extents, inner))

    emit(frame, node, over(frame, node, reduced.shape, body))
    return place.result()


def _of_type(value: Value, dtype: str) -> Value:
    """An element of a type made of a value."""
    return promotion.truth(value) if dtype == "bool" else strong(promotion.cast(promotion.number(value), dtype))


class ResultPlace:
    """The place where results are computed: a variable for one, else a local array.

    Args:
        frame: where the expression stands.
        node: the expression.
        shape: of the results; empty for one.
        dtype: the type of the results.
    """

    def __init__(self, frame: Frame, node: ast.AST, shape: Shape, dtype: str):
        self.frame, self.shape, self.dtype = frame, shape, dtype
        self.scalar = None if shape else scalar(frame, node, dtype)
        self.region = allocate(frame, node, shape, dtype) if shape else None

    def element(self, subscripts: Subscripts) -> Element:
        if self.scalar is not None:
            return self.scalar
        assert self.region is not None
        return element_of(self.frame.kernel, self.region, subscripts)

    def value(self, subscripts: Subscripts) -> Value:
        return Value(self.element(subscripts))

    def assign(self, subscripts: Subscripts, value: Value) -> Assign:
        element = self.element(subscripts)
        value = promotion.truth(value) if self.dtype == "bool" else promotion.number(value)
        return Assign(element, promotion.convert(value, element.dtype))

    def result(self) -> ArrayValue | Value:
        if self.region is None:
            return self.value(())
        return in_memory(self.frame.kernel, self.region, self.shape, is_new=True)


@compiles(np.sum, *COMMON, "initial", "where")
def _sum(call: ArrayCall) -> Operand:
    reduced = reduced_operand(call, constant(0))
    dtype = call.dtype("dtype", sum_type(reduced.array.dtype))
    found = written_out(call.frame.kernel, total(reduced, wider(dtype)))
    if call.given("initial"):
        initial = cast_array(call.frame, call.node, call.value("initial"), wider(dtype))
        found = arithmetic(call.frame, call.node, "+", found, initial)
    return narrowed(call.frame, call.node, found, dtype)


@compiles(np.count_nonzero, "a", "axis", "=keepdims")
def _count_nonzero(call: ArrayCall) -> Operand:
    reduced = reduced_operand(call, constant(0))
    array = reduced.array
    truths = ArrayValue(array.shape, "bool", lambda subscripts: promotion.truth(array.at(subscripts)))
    return total(Reduced(truths, reduced.axes, reduced.keepdims), "int64")


@compiles(np.prod, *COMMON)
def _prod(call: ArrayCall) -> Operand:
    reduced = reduced_operand(call, constant(1))
    dtype = call.dtype("dtype", sum_type(reduced.array.dtype))

    def step(old: Value, element: Value) -> Value:
        return promotion.binary("*", old, promotion.cast(promotion.number(element), wider(dtype)))

    found = folded(call, reduced, wider(dtype), constant(1), step)
    return narrowed(call.frame, call.node, found, dtype)


def truth_of(call: ArrayCall, reduced: Reduced, symbol: str) -> Operand:
    """``np.all`` and ``np.any``.

    Args:
        call: the call, for its place.
        reduced: the elements.
        symbol: ``and`` or ``or``.
    """
    start = constant(symbol == "and")

    def step(old: Value, element: Value) -> Value:
        return promotion.logical(symbol, [old, promotion.truth(element)])

    return folded(call, reduced, "bool", start, step)


@compiles(np.all, "a", "axis", "-out", "keepdims")
def _all(call: ArrayCall) -> Operand:
    return truth_of(call, reduced_operand(call, constant(1)), "and")


@compiles(np.any, "a", "axis", "-out", "keepdims")
def _any(call: ArrayCall) -> Operand:
    return truth_of(call, reduced_operand(call, constant(0)), "or")
