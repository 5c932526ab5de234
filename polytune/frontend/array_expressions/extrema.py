"""Least and greatest elements along axes, and where they are."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ZERO
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.elementwise import as_array, cast_array, computed, elementwise
from polytune.frontend.array_expressions.rearrangements import reshaped
from polytune.frontend.array_expressions.reductions import Reduced, ResultPlace, folded, reduced_operand, truth_of
from polytune.frontend.array_expressions.sizes import require, require_range, shape_text
from polytune.frontend.array_expressions.temporaries import emit, kept, over, perform
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Subscripts, Sum, Term
from polytune.frontend.expression import Branch, Compare, Expression, Iterator, Logical
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value, constant
from polytune.frontend.scalars import functions
from polytune.frontend.syntax.refusals import counted


def extremum(call: ArrayCall, symbol: str) -> Operand:
    """``np.min`` and ``np.max``, by the symbol."""
    is_least = symbol == "min"
    dtype = call.operand_type("a")
    _refuse_complex(call, dtype)
    if dtype == "bool":
        truths = reduced_operand(call)
        if not call.given("initial"):
            _refuse_empty(call, truths)
        return truth_of(call, truths, "and" if is_least else "or")
    neutral = neutral_of_extremum(dtype, is_least=is_least)
    reduced = reduced_operand(call, neutral)
    if not call.given("initial"):
        _refuse_empty(call, reduced)
    function = np.minimum if is_least else np.maximum
    return folded(call, reduced, dtype, neutral, lambda old, element: functions.apply(function, [old, element]))


def neutral_of_extremum(dtype: str, *, is_least: bool) -> Value:
    """The number of a type, of integers or floats, that no other one is greater than, or less than."""
    if dtype.startswith("float"):
        return constant(np.inf if is_least else -np.inf)
    limits = np.iinfo(dtype)
    return constant(int(limits.max if is_least else limits.min))


def _refuse_complex(call: ArrayCall, dtype: str) -> None:
    if dtype in promotion.COMPLEX:
        raise call.refusal(f"{call.name} of complex numbers, which have no order", "use np.abs(Z), Z.real or Z.imag")


def _refuse_empty(call: ArrayCall, reduced: Reduced) -> None:
    shape = shape_text(call.frame.kernel, reduced.array.shape)
    what = f"{call.name} of an array of shape {shape}, which is empty"
    for extent in reduced.unmasked_extents:
        remedy = "call the kernel with arrays that have elements"
        require(call.frame, call.node, Compare(">", extent, ZERO), what, (), remedy, late=True)
    if reduced.selection is None:
        return
    mask = reduced.selection.mask
    selects = mask.at

    def is_selected(_: Subscripts, inner: Subscripts) -> Value:
        return promotion.cast(promotion.number(selects(inner)), "int64")

    number = computed(call.frame, call.node, Sum((), "int64", (Term(mask.shape, is_selected),)))
    assert isinstance(number, Value)
    what = f"{call.name} of elements that a mask selects, of which there are none"
    remedy = "test that there are some before: if mask.any()"
    require(call.frame, call.node, Compare(">", number.expression, ZERO), what, (), remedy, late=True)


@compiles(np.min, "a", "axis", "-out", "keepdims", "initial")
def _min(call: ArrayCall) -> Operand:
    return _with_initial(call, extremum(call, "min"), np.minimum)


@compiles(np.max, "a", "axis", "-out", "keepdims", "initial")
def _max(call: ArrayCall) -> Operand:
    return _with_initial(call, extremum(call, "max"), np.maximum)


def _with_initial(call: ArrayCall, found: Operand, function: np.ufunc) -> Operand:
    """A result and the number that the reduction begins with, which takes the type of elements."""
    if not call.given("initial"):
        return found
    initial = call.value("initial")
    require_range(call.frame, call.node, initial, found.dtype)
    operands = [computed(call.frame, call.node, found), initial]
    return elementwise(
        call.frame,
        call.node,
        lambda values: functions.apply(function, [values[0], promotion.cast(values[1], values[0].dtype)]),
        operands,
    )


def _position(call: ArrayCall, symbol: str) -> Operand:
    """``np.argmin`` and ``np.argmax``: the first such element, or the first NaN."""
    frame, node = call.frame, call.node
    array = call.array("a")
    if not array.ndim:  # a number, which has one place
        return Value(ZERO)
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
    best = ResultPlace(frame, node, reduced.shape, array.dtype)
    where = ResultPlace(frame, node, reduced.shape, "int64")

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


@compiles(np.argmin, "a", "axis", "-out", "=keepdims")
def _argmin(call: ArrayCall) -> Operand:
    return _position(call, "<")


@compiles(np.argmax, "a", "axis", "-out", "=keepdims")
def _argmax(call: ArrayCall) -> Operand:
    return _position(call, ">")


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
    return folded(
        call, reduced, array.dtype, array.at([ZERO]), lambda old, element: promotion.binary(symbol, old, element)
    )


@compiles(builtins.min, "iterable")
def _python_min(call: ArrayCall) -> Operand:
    return _python_extremum(call, "min")


@compiles(builtins.max, "iterable")
def _python_max(call: ArrayCall) -> Operand:
    return _python_extremum(call, "max")
