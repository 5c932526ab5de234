"""Reductions of arrays along axes: sums, products, extrema, means, and what is made of these."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence

import numpy as np

from polytune.frontend import functions, promotion
from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.elementwise import (
    arithmetic,
    as_array,
    cast_array,
    chosen,
    computed,
    elementwise,
    strong,
)
from polytune.frontend.array_expressions.rearrangements import reshaped
from polytune.frontend.array_expressions.sizes import require, shape_text
from polytune.frontend.array_expressions.temporaries import allocate, emit, kept, over, perform, scalar
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Selection, Shape, Subscripts, Sum, Term
from polytune.frontend.array_expressions.views import element_of, in_memory
from polytune.frontend.complex_numbers import squared_magnitude
from polytune.frontend.expression import Assign, Branch, Compare, Element, Expression, Iterator, Logical
from polytune.frontend.frame import Frame
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value, constant
from polytune.frontend.refusals import counted

_COMMON = ("a", "axis", "dtype", "keepdims")


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
    """The dimensions of an array that a reduction keeps and those that it does not, and the mask that it has if any.

    Args:
        array: what is reduced.
        axes: the dimensions that the reduction does not keep, counted from the front.
        keepdims: whether the result has them all the same, with an extent of 1.
        mask: truth values, of the array's shape, that say which elements count; None for all.
    """

    def __init__(self, array: ArrayValue, axes: Sequence[int], keepdims: bool, mask: ArrayValue | None = None):
        self.array, self.axes, self.keepdims, self.mask = array, tuple(axes), keepdims, mask
        self.extents: Shape = tuple(array.shape[axis] for axis in self.axes)
        kept_dimensions = [place for place in range(array.ndim) if place not in self.axes]
        self.kept = kept_dimensions
        self.shape: Shape = (
            tuple(ONE if place in self.axes else extent for place, extent in enumerate(array.shape))
            if keepdims
            else tuple(array.shape[place] for place in kept_dimensions)
        )

    def element(self, subscripts: Subscripts, reduced: Subscripts) -> Value:
        """The array's element at subscripts of the result and of the reduced dimensions."""
        outer = list(subscripts) if not self.keepdims else [subscripts[place] for place in self.kept]
        at: list[Expression] = [ZERO] * self.array.ndim
        for place, subscript in zip(self.kept, outer, strict=True):
            at[place] = subscript
        for place, subscript in zip(self.axes, reduced, strict=True):
            at[place] = subscript
        return self.array.at(at)


def _reduced(call: ArrayCall, neutral: Value | None = None) -> Reduced:
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
    if isinstance(operand, Selection) and neutral is not None and not call.given("axis"):
        chosen_values = chosen(call.frame, call.node, operand.mask, operand.values, neutral)
        assert isinstance(chosen_values, ArrayValue)
        return Reduced(chosen_values, range(chosen_values.ndim), False, operand.mask)
    array = as_array(computed(call.frame, call.node, operand))
    return Reduced(array, _axes(call, array.ndim), bool(call.constant("keepdims", False)))


def total(reduced: Reduced, dtype: str) -> Sum:
    """The sums of elements as numbers of a type."""

    def value(subscripts: Subscripts, inner: Subscripts) -> Value:
        return strong(promotion.cast(promotion.number(reduced.element(subscripts, inner)), dtype))

    return Sum(reduced.shape, dtype, (Term(reduced.extents, value),))


def sum_type(dtype: str) -> str:
    """The type of sums and products of elements of a type."""
    return dtype if promotion.is_inexact(dtype) else "uint64" if dtype.startswith("uint") else "int64"


@compiles(np.sum, *_COMMON, "initial", "where")
def _sum(call: ArrayCall) -> Operand:
    reduced = _reduced(call, constant(0))
    found = total(reduced, call.dtype("dtype", sum_type(reduced.array.dtype)))
    return arithmetic(call.frame, call.node, "+", found, call.value("initial")) if call.given("initial") else found


@compiles(np.count_nonzero, "a", "axis", "keepdims")
def _count_nonzero(call: ArrayCall) -> Operand:
    reduced = _reduced(call)
    array = reduced.array
    truths = ArrayValue(array.shape, "bool", lambda subscripts: promotion.truth(array.at(subscripts)))
    return total(Reduced(truths, reduced.axes, reduced.keepdims), "int64")


@compiles(np.prod, *_COMMON)
def _prod(call: ArrayCall) -> Operand:
    reduced = _reduced(call, constant(1))
    dtype = call.dtype("dtype", sum_type(reduced.array.dtype))

    def step(old: Value, element: Value) -> Value:
        return promotion.binary("*", old, promotion.cast(promotion.number(element), dtype))

    return _folded(call, reduced, dtype, constant(1), step)


def extremum(call: ArrayCall, symbol: str) -> Operand:
    """``np.min`` and ``np.max``, by the symbol."""
    is_least = symbol == "min"
    dtype = call.operand_type("a")
    _refuse_complex(call, dtype)
    if dtype == "bool":
        return _truth(call, _reduced(call), "and" if is_least else "or")
    if dtype.startswith("float"):
        neutral = constant(np.inf if is_least else -np.inf)
    else:
        limits = np.iinfo(dtype)
        neutral = constant(int(limits.max if is_least else limits.min))
    reduced = _reduced(call, neutral)
    _refuse_empty(call, reduced)
    function = np.minimum if is_least else np.maximum
    return _folded(call, reduced, dtype, neutral, lambda old, element: functions.apply(function, [old, element]))


def _refuse_complex(call: ArrayCall, dtype: str) -> None:
    if dtype in promotion.COMPLEX:
        raise call.refusal(f"{call.name} of complex numbers, which have no order", "use np.abs(Z), Z.real or Z.imag")


def _refuse_empty(call: ArrayCall, reduced: Reduced) -> None:
    shape = shape_text(call.frame.kernel, reduced.array.shape)
    what = f"{call.name} of an array of shape {shape}, which is empty"
    for extent in reduced.extents:
        remedy = "call the kernel with arrays that have elements"
        require(call.frame, call.node, Compare(">", extent, ZERO), what, (), remedy)


@compiles(np.min, "a", "axis", "keepdims", "initial")
def _min(call: ArrayCall) -> Operand:
    return _with_initial(call, extremum(call, "min"), np.minimum)


@compiles(np.max, "a", "axis", "keepdims", "initial")
def _max(call: ArrayCall) -> Operand:
    return _with_initial(call, extremum(call, "max"), np.maximum)


def _with_initial(call: ArrayCall, found: Operand, function: np.ufunc) -> Operand:
    """A result and the number that the reduction begins with, which takes the type of elements."""
    if not call.given("initial"):
        return found
    initial = call.value("initial")
    operands = [computed(call.frame, call.node, found), initial]
    return elementwise(
        call.frame,
        call.node,
        lambda values: functions.apply(function, [values[0], promotion.cast(values[1], values[0].dtype)]),
        operands,
    )


def _truth(call: ArrayCall, reduced: Reduced, symbol: str) -> Operand:
    """``np.all`` and ``np.any``."""
    start = constant(symbol == "and")

    def step(old: Value, element: Value) -> Value:
        return promotion.logical(symbol, [old, promotion.truth(element)])

    return _folded(call, reduced, "bool", start, step)


@compiles(np.all, "a", "axis", "keepdims")
def _all(call: ArrayCall) -> Operand:
    return _truth(call, _reduced(call), "and")


@compiles(np.any, "a", "axis", "keepdims")
def _any(call: ArrayCall) -> Operand:
    return _truth(call, _reduced(call), "or")


def _folded(
    call: ArrayCall, reduced: Reduced, dtype: str, start: Value, step: Callable[[Value, Value], Value]
) -> ArrayValue | Value:
    """The result of a fold over elements, from left to right."""
    frame, node = call.frame, call.node
    place = _Place(frame, node, reduced.shape, dtype)

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        def inner(others: tuple[Iterator, ...]) -> Sequence[Node]:
            value = step(place.value(iterators), reduced.element(iterators, others))
            return (perform(frame, node, place.assign(iterators, value)),)

        return (perform(frame, node, place.assign(iterators, start)), *over(frame, node, reduced.extents, inner))

    emit(frame, node, over(frame, node, reduced.shape, body))
    return place.result()


class _Place:
    """The place where results are computed: a variable for one, else a local array."""

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


def _count(reduced: Reduced, dtype: str) -> Value:
    """Return how many elements each result is made of."""
    count: Value = constant(1)
    for extent in reduced.extents:
        count = promotion.binary("*", count, Value(extent, weak=True))
    return promotion.cast(count, dtype)


def mean_of(frame: Frame, node: ast.AST, reduced: Reduced, dtype: str) -> Operand:
    """Means of elements, as numbers of a type.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        reduced: the array, with what is reduced of it.
        dtype: the type of the means.
    """
    count: Operand = _count(reduced, dtype)
    if reduced.mask is not None:
        count = computed(frame, node, total(Reduced(reduced.mask, reduced.axes, False), dtype))
    return arithmetic(frame, node, "/", total(reduced, dtype), count)


@compiles(np.mean, *_COMMON)
def _mean(call: ArrayCall) -> Operand:
    reduced = _reduced(call, constant(0))
    dtype = reduced.array.dtype if promotion.is_inexact(reduced.array.dtype) else "float64"
    return mean_of(call.frame, call.node, reduced, call.dtype("dtype", dtype))


def _variance(call: ArrayCall) -> Operand:
    """The mean of the squared distances from the mean, as NumPy computes it, in two passes."""
    frame, node = call.frame, call.node
    reduced = _reduced(call)
    array = reduced.array
    if array.is_costly:
        array = kept(frame, node, array)
        reduced = Reduced(array, reduced.axes, reduced.keepdims)
    dtype = call.dtype("dtype", array.dtype if promotion.is_inexact(array.dtype) else "float64")
    freedom = call.constant("ddof", 0)
    spread = Reduced(array, reduced.axes, True)
    mean = computed(frame, node, mean_of(frame, node, spread, dtype))
    distance = computed(frame, node, arithmetic(frame, node, "-", cast_array(frame, node, array, dtype), mean))
    assert isinstance(distance, ArrayValue)
    squares = elementwise(frame, node, lambda values: squared_magnitude(values[0]), [distance])
    assert isinstance(squares, ArrayValue)
    dtype = promotion.part_type(dtype)
    totals = total(Reduced(squares, reduced.axes, reduced.keepdims), dtype)
    count = functions.apply(np.maximum, [promotion.binary("-", _count(reduced, dtype), constant(freedom)), constant(0)])
    return arithmetic(frame, node, "/", totals, count)


@compiles(np.var, "a", "axis", "dtype", "ddof", "keepdims")
def _var(call: ArrayCall) -> Operand:
    return _variance(call)


@compiles(np.std, "a", "axis", "dtype", "ddof", "keepdims")
def _std(call: ArrayCall) -> Operand:
    variance = _variance(call)
    return elementwise(call.frame, call.node, lambda values: functions.apply(np.sqrt, values), [variance])


def _position(call: ArrayCall, symbol: str) -> Operand:
    """``np.argmin`` and ``np.argmax``: the first such element, or the first NaN."""
    frame, node = call.frame, call.node
    array = call.array("a")
    axis = call.axis("axis", array.ndim)
    if axis is None and array.ndim > 1:
        if call.given("keepdims"):
            raise call.refusal(f"{call.name} over several dimensions with keepdims", "leave it out")
        array = reshaped(call, array, [None])
    _refuse_complex(call, array.dtype)
    if array.dtype == "bool":
        array_of_truths = cast_array(frame, node, array, "int32")
        assert isinstance(array_of_truths, ArrayValue)
        array = array_of_truths
    reduced = Reduced(array, (axis or 0,), bool(call.constant("keepdims", False)))
    _refuse_empty(call, reduced)
    best = _Place(frame, node, reduced.shape, array.dtype)
    where = _Place(frame, node, reduced.shape, "int64")

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        def inner(others: tuple[Iterator, ...]) -> Sequence[Node]:
            element, old = reduced.element(iterators, others), best.value(iterators)
            better: Expression = promotion.compare(symbol, element, old).expression
            if array.dtype.startswith("float"):
                is_nan = promotion.compare("!=", element, element).expression
                was_number = promotion.compare("==", old, old).expression
                better = Logical("or", (better, Logical("and", (is_nan, was_number))))
            operations = (best.assign(iterators, element), where.assign(iterators, Value(others[0], weak=True)))
            return (perform(frame, node, Branch(better, operations)),)

        return (
            perform(frame, node, best.assign(iterators, reduced.element(iterators, (ZERO,)))),
            perform(frame, node, where.assign(iterators, constant(0))),
            *over(frame, node, reduced.extents, inner),
        )

    emit(frame, node, over(frame, node, reduced.shape, body))
    return where.result()


@compiles(np.argmin, "a", "axis", "keepdims")
def _argmin(call: ArrayCall) -> Operand:
    return _position(call, "<")


@compiles(np.argmax, "a", "axis", "keepdims")
def _argmax(call: ArrayCall) -> Operand:
    return _position(call, ">")


def _accumulated(call: ArrayCall, symbol: str) -> Operand:
    """``np.cumsum`` and ``np.cumprod``: along one axis."""
    frame, node = call.frame, call.node
    array = call.array("a")
    axis = call.axis("axis", array.ndim)
    if axis is None and array.ndim != 1:
        raise call.refusal(f"{call.name} over several dimensions", "name an axis")
    along = axis or 0
    dtype = call.dtype("dtype", sum_type(array.dtype))
    region = allocate(frame, node, array.shape, dtype)
    others = tuple(extent for place, extent in enumerate(array.shape) if place != along)

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        running = scalar(frame, node, dtype, "running")

        def inner(single: tuple[Iterator, ...]) -> Sequence[Node]:
            subscripts = (*iterators[:along], single[0], *iterators[along:])
            element = promotion.cast(promotion.number(array.at(subscripts)), dtype)
            value = promotion.binary(symbol, Value(running), element)
            return (
                perform(frame, node, Assign(running, promotion.convert(value, dtype))),
                perform(frame, node, Assign(element_of(frame.kernel, region, subscripts), running)),
            )

        first = promotion.convert(constant(0 if symbol == "+" else 1), dtype)
        return (perform(frame, node, Assign(running, first)), *over(frame, node, (array.shape[along],), inner))

    emit(frame, node, over(frame, node, others, body))
    return in_memory(frame.kernel, region, array.shape, is_new=True)


@compiles(np.cumsum, "a", "axis", "dtype", "out")
def _cumsum(call: ArrayCall) -> Operand:
    return _accumulated(call, "+")


@compiles(np.cumprod, "a", "axis", "dtype", "out")
def _cumprod(call: ArrayCall) -> Operand:
    return _accumulated(call, "*")


# Python's extrema, of which NaN is no part


def _python_extremum(call: ArrayCall, symbol: str) -> Operand:
    """The least or greatest element, as Python finds it: the first one, until another is less or greater."""
    array = as_array(call.value("iterable"))
    if array.ndim != 1 or array.dtype in promotion.COMPLEX or array.dtype == "bool":
        raise call.refusal(
            f"{call.name} of an array of {counted(array.ndim, 'dimension')} of {array.dtype}",
            "use NumPy's function, np.min or np.max",
        )
    if array.region is None:
        array = kept(call.frame, call.node, array)
    reduced = Reduced(array, (0,), False)
    _refuse_empty(call, reduced)
    return _folded(
        call, reduced, array.dtype, array.at([ZERO]), lambda old, element: promotion.binary(symbol, old, element)
    )


@compiles(builtins.min, "iterable")
def _python_min(call: ArrayCall) -> Operand:
    return _python_extremum(call, "min")


@compiles(builtins.max, "iterable")
def _python_max(call: ArrayCall) -> Operand:
    return _python_extremum(call, "max")
