"""Operations on arrays, element by element, with NumPy's promotion and broadcasting."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.shapes import broadcast, is_one, stretched
from polytune.frontend.array_expressions.sizes import are_equal, require_exponent, require_range
from polytune.frontend.array_expressions.temporaries import kept, settled
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Selection, Shape, Subscripts, Sum
from polytune.frontend.expression import Binary, Call, Element, walk
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value
from polytune.frontend.rewrites.powers import is_whole
from polytune.frontend.scalars import bits

Build = Callable[[list[Value]], Value]

CHEAP_FUNCTIONS = ("minimum", "maximum", "fmin", "fmax", "sign", "floor", "ceil", "trunc", "rint", "copysign")
"""The functions that cost about what an addition does."""


def computed(frame: Frame, node: ast.AST, operand: Operand) -> ArrayValue | Value:
    """The operand with its sums, if it has any, computed.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        operand: its value.

    What a mask selects becomes an array, of as many elements as the data say.
    """
    if isinstance(operand, Selection):
        return operand.extract(frame, node, operand)
    return settled(frame, node, operand) if isinstance(operand, Sum) else operand


def kind_of_operand(operand: Operand) -> promotion.ScalarKind:
    """The type of a number, or of an array's elements."""
    return promotion.ScalarKind(operand.dtype, isinstance(operand, Value) and operand.weak)


def require_ranges(frame: Frame, node: ast.AST, function: Any, operands: Sequence[Operand]) -> None:
    """See to it that Python's integers among operands are some of the type that they become.

    Args:
        frame: where they stand.
        node: the expression, for its place.
        function: NumPy's function that they are operands of; only types of integers and functions whose results are
            integers, where all operands are, make integers of them.
        operands: its operands, arrays and numbers.
    """
    if not operands:
        return
    dtype = ""
    if isinstance(function, type) and issubclass(function, np.integer):
        dtype = np.dtype(function).name
    elif isinstance(function, np.ufunc) and "BB->B" in function.types:
        dtype = reduce(promotion.join, map(kind_of_operand, operands)).dtype
    for operand in operands if dtype else ():
        require_range(frame, node, operand, dtype)


def as_array(operand: ArrayValue | Value) -> ArrayValue:
    """A number as an array of no dimensions."""
    if isinstance(operand, ArrayValue):
        return operand
    return ArrayValue((), operand.dtype, lambda subscripts: operand)


def elementwise(frame: Frame, node: ast.AST, build: Build, operands: Sequence[Operand]) -> ArrayValue | Value:
    """Return what is made of operands element by element: an array, or a number where all of them are numbers.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        build: makes the result's element of the operands' elements, in their order.
        operands: arrays whose shapes are broadcast, and numbers.
    """
    if any(isinstance(operand, Selection) for operand in operands):
        return _of_selections(frame, node, build, operands)  # type: ignore[return-value]
    values = [computed(frame, node, operand) for operand in operands]
    if all(isinstance(value, Value) for value in values):
        return build(values)  # type: ignore[arg-type]
    shape = broadcast(frame, node, [value.shape for value in values if isinstance(value, ArrayValue)])
    parts = [
        stretched(frame, _worth_keeping(frame, node, value, shape), shape) if isinstance(value, ArrayValue) else value
        for value in values
    ]

    def at(subscripts: Subscripts) -> Value:
        return strong(build([part.at(subscripts) if isinstance(part, ArrayValue) else part for part in parts]))

    sample = strong(build([_sample(part) for part in parts]))
    costly = any(isinstance(part, ArrayValue) and part.is_costly for part in parts)
    return ArrayValue(shape, sample.dtype, at, is_costly=costly or _is_costly(sample))


def _of_selections(
    frame: Frame, node: ast.AST, build: Build, operands: Sequence[Operand]
) -> Selection | ArrayValue | Value:
    """Return what ``build`` makes of elements that one mask selects, and of numbers: a selection by that mask.

    Where they meet an array, or what another mask selects, it is an array of as many elements as the data say.
    """
    selections = [operand for operand in operands if isinstance(operand, Selection)]
    first = selections[0]
    if any(_meets(operand, first) for operand in operands):
        return elementwise(frame, node, build, [computed(frame, node, operand) for operand in operands])
    parts = [operand.values if isinstance(operand, Selection) else operand for operand in operands]
    values = elementwise(frame, node, build, parts)
    assert isinstance(values, ArrayValue)
    is_named = all(each.is_named for each in selections)

    def extract(frame: Frame, node: ast.AST, selection: Selection) -> ArrayValue:
        """The same of arrays that are there already, or are made once for a name."""
        made = elementwise(frame, node, build, [computed(frame, node, operand) for operand in operands])
        assert isinstance(made, ArrayValue)
        return made

    way = extract if is_named else first.extract
    return Selection(values, first.mask, first.key, way, is_named, first=first.first)


def _meets(operand: Operand, selection: Selection) -> bool:
    """Return whether an operand is an array that need not have as many elements as a mask selects: it has more
    dimensions than the rows that are selected."""
    if isinstance(operand, Selection):
        return operand.key != selection.key
    return not isinstance(operand, Value) and len(operand.shape) > len(selection.shape) - selection.last


def _worth_keeping(frame: Frame, node: ast.AST, value: ArrayValue, shape: Shape) -> ArrayValue:
    """A costly array whose elements are going to be used several times, in memory."""
    if not value.is_costly or frame.pure or frame.opaque:
        return value
    missing = len(shape) - value.ndim
    repeated = missing or any(
        is_one(frame, extent) and not is_one(frame, shape[missing + place]) for place, extent in enumerate(value.shape)
    )
    return kept(frame, node, value) if repeated else value


def strong(value: Value) -> Value:
    """A value as an element of an array, which never takes the type of what it meets."""
    return value if value.dtype == "bool" else replace(value, weak=False)


def _sample(part: ArrayValue | Value) -> Value:
    """A value of the type of an array's elements, from which types of results are found."""
    if isinstance(part, Value):
        return part
    return Value(Element("", (), part.dtype), weak=part.dtype == "bool")


def _is_costly(sample: Value) -> bool:
    for part in walk(sample.expression):
        match part:
            case Call(function) if function not in CHEAP_FUNCTIONS:
                return True
            case Binary("**", _, exponent) if not is_whole(exponent):
                return True
            case Binary("/" | "//" | "%"):
                return True
    return False


def cast_array(frame: Frame, node: ast.AST, operand: Operand, dtype: str) -> ArrayValue | Value:
    """An array with its elements converted.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        operand: the array.
        dtype: the type that its elements become, ``bool`` included.
    """

    def build(values: list[Value]) -> Value:
        return promotion.truth(values[0]) if dtype == "bool" else promotion.cast(promotion.number(values[0]), dtype)

    return elementwise(frame, node, build, [operand])


def narrowed(frame: Frame, node: ast.AST, operand: Operand, dtype: str) -> Operand:
    """Return what has been computed in the ``wider`` type of another one, as numbers of that.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        operand: what has been computed.
        dtype: the type that it is for.
    """
    return operand if promotion.wider(dtype) == dtype else cast_array(frame, node, operand, dtype)


def is_truth(operand: Operand) -> bool:
    """Return whether an operand is an array of truth values."""
    return isinstance(operand, ArrayValue) and operand.dtype == "bool"


def arithmetic(frame: Frame, node: ast.AST, symbol: str, left: Operand, right: Operand) -> Operand:
    """``left symbol right`` for ``+ - * / // % ** & | ^ << >>``.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        symbol: the operator.
        left, right: arrays whose shapes are broadcast, or numbers.
    """
    if symbol != "/":
        dtype = promotion.join(kind_of_operand(left), kind_of_operand(right)).dtype
        require_range(frame, node, left, dtype)
        require_range(frame, node, right, dtype)
    if symbol in bits.OPERATORS:
        return elementwise(frame, node, lambda values: bits.bits(symbol, *values), [left, right])
    if left.dtype == right.dtype == "bool" and symbol in ("+", "*"):
        return logical(frame, node, "or" if symbol == "+" else "and", left, right)
    if is_truth(left) and is_truth(right) and symbol != "/":
        raise frame.source.refusal(
            node,
            f"{symbol} of two arrays of truth values",
            "NumPy raises an error here, or computes with 8 bits",
            "convert one: mask.astype(np.int64)",
        )
    if symbol in ("+", "-"):
        merged = _merged(frame, node, symbol, left, right)
        if merged is not None:
            return merged

    is_half = isinstance(right, Value) and right.weak and right.constant == 0.5
    if symbol == "**" and is_half and isinstance(left, ArrayValue) and left.dtype.startswith("float"):
        # A square root to NumPy: of an infinity below zero it is NaN.
        return elementwise(frame, node, lambda values: promotion.call("sqrt", values, python=False), [left])

    if symbol == "**" and isinstance(right, Value):
        require_exponent(frame, node, kind_of_operand(left), right)
    finished = _finished(frame, node, symbol, left, right)
    if finished is not None:
        return finished

    def build(values: list[Value]) -> Value:
        return promotion.binary(symbol, *(promotion.number(value) for value in values))

    return elementwise(frame, node, build, [left, right])


def negated(frame: Frame, node: ast.AST, operand: Operand) -> Operand:
    """``-operand``.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        operand: an array or a number; of sums that are still to be computed all terms change their signs.
    """
    if isinstance(operand, Sum) and operand.finish is None:
        terms = tuple(replace(term, is_negative=not term.is_negative) for term in operand.terms)
        start = None if operand.start is None else negated(frame, node, operand.start)
        assert not isinstance(start, Sum | Selection)
        return replace(operand, terms=terms, start=start)
    if is_truth(operand):
        raise frame.source.refusal(
            node, "- of an array of truth values", "NumPy raises an error here", "write ~mask, or np.logical_not(mask)"
        )
    return elementwise(frame, node, lambda values: promotion.negate(values[0]), [operand])


def compared(frame: Frame, node: ast.AST, symbol: str, left: Operand, right: Operand) -> ArrayValue | Value:
    """``left symbol right`` for comparisons.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        symbol: ``<``, ``<=``, ``>``, ``>=``, ``==`` or ``!=``.
        left, right: arrays whose shapes are broadcast, or numbers.
    """

    def build(values: list[Value]) -> Value:
        return promotion.compare(symbol, *(promotion.number(value) for value in values))

    return elementwise(frame, node, build, [left, right])


def logical(frame: Frame, node: ast.AST, symbol: str, left: Operand, right: Operand) -> ArrayValue | Value:
    """``and`` and ``or``, element by element.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        symbol: ``and`` or ``or``.
        left, right: arrays whose shapes are broadcast, or numbers; all of them are taken for truth values.
    """

    def build(values: list[Value]) -> Value:
        return promotion.logical(symbol, [promotion.truth(value) for value in values])

    return elementwise(frame, node, build, [left, right])


def inverted(frame: Frame, node: ast.AST, operand: Operand) -> ArrayValue | Value:
    """``not``, element by element.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        operand: an array or a number, taken for truth values.
    """
    return elementwise(frame, node, lambda values: promotion.negation(promotion.truth(values[0])), [operand])


def chosen(frame: Frame, node: ast.AST, test: Operand, then: Operand, otherwise: Operand) -> ArrayValue | Value:
    """``np.where``.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        test: taken for truth values.
        then, otherwise: where the test is true, and elsewhere; the shapes of all three are broadcast.
    """

    def build(values: list[Value]) -> Value:
        sides = values[1:]
        # Also a side that is known to be chosen has the type of both, and is no number of Python's own.
        if any(each.dtype != "bool" for each in sides):
            dtype = promotion.join(*map(promotion.kind_of, sides)).dtype
            sides = [each if each.dtype == dtype else promotion.cast(each, dtype) for each in sides]
        return replace(promotion.select(promotion.truth(values[0]), *sides), weak=False)

    return elementwise(frame, node, build, [test, then, otherwise])


def _merged(frame: Frame, node: ast.AST, symbol: str, left: Operand, right: Operand) -> Sum | None:
    """A sum of sums as one, so that all terms are added up where the result is to be.

    That changes the order of additions, which strict kernels must keep; of integers it is of no consequence.
    """
    target = left if isinstance(left, Sum) else right
    if any(isinstance(side, Sum) and side.finish is not None for side in (left, right)):
        return None
    if not isinstance(target, Sum) or (frame.kernel.strict and promotion.is_inexact(target.dtype)):
        return None
    negative = symbol == "-"
    if negative and not isinstance(right, Sum) and target.dtype.startswith("uint"):
        return None  # a sum that begins below 0 is none of such numbers
    if isinstance(left, Sum) and isinstance(right, Sum):
        other = negated(frame, node, right) if negative else right
        assert isinstance(other, Sum)
        if left.dtype != right.dtype or not _same_shape(frame, left.shape, right.shape):
            return None
        start = _start(frame, node, "+", left.start, other.start)
        return replace(left, terms=(*left.terms, *other.terms), start=start)
    if isinstance(left, Sum):
        if not _may_start(frame, node, left, right):
            return None
        return replace(left, start=_start(frame, node, symbol, left.start, _fitted(frame, node, right, left.shape)))
    assert isinstance(right, Sum)
    if not _may_start(frame, node, right, left):
        return None
    other = negated(frame, node, right) if negative else right
    assert isinstance(other, Sum)
    return replace(other, start=_start(frame, node, "+", _fitted(frame, node, left, right.shape), other.start))


def _finished(frame: Frame, node: ast.AST, symbol: str, left: Operand, right: Operand) -> Sum | None:
    """An operation on sums and something else as what becomes of each sum where it is added up."""
    total, other = (left, right) if isinstance(left, Sum) else (right, left)
    if not isinstance(total, Sum) or isinstance(other, Sum) or not _may_start(frame, node, total, other):
        return None
    if symbol == "**" or (symbol == "/" and not promotion.is_inexact(total.dtype)):
        return None  # the type may be another one
    fitted = _fitted(frame, node, other, total.shape)
    before, total_is_left = total.finish, total is left

    def finish(subscripts: Subscripts, value: Value) -> Value:
        value = before(subscripts, value) if before is not None else value
        element = fitted.at(subscripts) if isinstance(fitted, ArrayValue) else fitted
        sides = (value, element) if total_is_left else (element, value)
        return strong(promotion.binary(symbol, *(promotion.number(side) for side in sides)))

    return replace(total, finish=finish)


def _same_shape(frame: Frame, left: Shape, right: Shape) -> bool:
    return len(left) == len(right) and all(are_equal(frame, *pair) for pair in zip(left, right, strict=True))


def _may_start(frame: Frame, node: ast.AST, total: Sum, other: Operand) -> bool:
    """Return whether something added to sums changes neither their type nor their shape."""
    assert not isinstance(other, Sum)
    if isinstance(other, Selection):
        return False
    if isinstance(other, ArrayValue):
        missing = len(total.shape) - other.ndim
        if missing < 0 or other.dtype == "bool":
            return False
        for place, extent in enumerate(other.shape):
            if is_one(frame, total.shape[missing + place]) and not is_one(frame, extent):
                return False
    elif other.dtype == "bool":
        return False
    kind = promotion.join(promotion.ScalarKind(total.dtype, False), promotion.kind_of(_sample(other)))
    return kind.dtype == total.dtype


def _fitted(frame: Frame, node: ast.AST, other: Operand, shape: Shape) -> ArrayValue | Value:
    """An operand as an array of a shape that it can be stretched to."""
    assert not isinstance(other, Sum | Selection)
    if isinstance(other, Value):
        return other
    broadcast(frame, node, [shape, other.shape])
    return stretched(frame, _worth_keeping(frame, node, other, shape), shape)


def _start(
    frame: Frame, node: ast.AST, symbol: str, left: ArrayValue | Value | None, right: ArrayValue | Value | None
) -> ArrayValue | Value | None:
    if left is None or right is None:
        if left is None and right is not None and symbol == "-":
            return computed(frame, node, negated(frame, node, right))
        return right if left is None else left
    return computed(frame, node, arithmetic(frame, node, symbol, left, right))
