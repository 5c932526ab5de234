"""NumPy's functions of products: ``dot``, ``matmul``, ``outer``, ``einsum`` and their like."""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Sequence

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ONE
from polytune.frontend.array_expressions.averages import lost_degrees, mean_of
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.elementwise import arithmetic, cast_array, computed, elementwise
from polytune.frontend.array_expressions.library_functions import norm_of_order
from polytune.frontend.array_expressions.products import contraction, factor, matrix_product, outer_product
from polytune.frontend.array_expressions.reductions import Reduced, sum_type, total
from polytune.frontend.array_expressions.short_sums import written_out
from polytune.frontend.array_expressions.sizes import require
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.array_expressions.views import permuted
from polytune.frontend.expression import Compare, Expression
from polytune.frontend.promotion import Value
from polytune.frontend.scalars import functions
from polytune.frontend.scalars.complex_numbers import conjugated, squared_magnitude


@compiles(np.matmul, "a", "b")
def _matmul(call: ArrayCall) -> Operand:
    return matrix_product(call.frame, call.node, call.operand("a"), call.operand("b"))


@compiles(np.dot, "a", "b")
def _dot(call: ArrayCall) -> Operand:
    left, right = call.value("a"), call.value("b")
    if isinstance(left, Value) or isinstance(right, Value):
        return arithmetic(call.frame, call.node, "*", left, right)
    if (left.ndim > 2 and right.ndim > 1) or right.ndim > 2:
        raise call.refusal("np.dot of arrays of more than two dimensions", "write np.tensordot, np.einsum or @")
    return matrix_product(call.frame, call.node, left, right)


@compiles(np.vdot, "a", "b")
def _vdot(call: ArrayCall) -> Operand:
    left, right = call.array("a"), call.array("b")
    if left.ndim != 1 or right.ndim != 1:
        raise call.refusal("np.vdot of arrays that are no vectors", "write np.sum(A * B)")
    if left.dtype in promotion.COMPLEX:
        conjugate = elementwise(call.frame, call.node, lambda values: conjugated(values[0]), [left])
        assert isinstance(conjugate, ArrayValue)
        left = conjugate
    return matrix_product(call.frame, call.node, left, right)


@compiles(np.inner, "a", "b")
def _inner(call: ArrayCall) -> Operand:
    left, right = factor(call.frame, call.node, call.operand("a")), factor(call.frame, call.node, call.operand("b"))
    letters = string.ascii_letters
    first, second = letters[: left.ndim - 1], letters[left.ndim : left.ndim + right.ndim - 1]
    return contraction(call.frame, call.node, [left, right], [first + "Z", second + "Z"], first + second)


@compiles(np.outer, "a", "b")
def _outer(call: ArrayCall) -> Operand:
    left, right = call.array("a"), call.array("b")
    if left.ndim != 1 or right.ndim != 1:
        raise call.refusal("np.outer of arrays that are no vectors", "write A[:, :, None] * b, with new dimensions")
    return outer_product(call.frame, call.node, left, right)


def outer_method(ufunc: np.ufunc) -> Callable[[ArrayCall], Operand]:
    """Return what compiles ``ufunc.outer``."""

    def handler(call: ArrayCall) -> Operand:
        return outer_product(
            call.frame, call.node, call.operand("a"), call.operand("b"), lambda values: functions.apply(ufunc, values)
        )

    return handler


@compiles(np.tensordot, "a", "b", "axes")
def _tensordot(call: ArrayCall) -> Operand:
    left, right = factor(call.frame, call.node, call.operand("a")), factor(call.frame, call.node, call.operand("b"))
    pairs = _pairs(call, left, right)
    letters = iter(string.ascii_letters)
    first = [next(letters) for _ in range(left.ndim)]
    second = [next(letters) for _ in range(right.ndim)]
    for one, other in pairs:
        second[other] = first[one]
    summed = {first[one] for one, _ in pairs}
    result = "".join(letter for letter in (*first, *second) if letter not in summed)
    return contraction(call.frame, call.node, [left, right], ["".join(first), "".join(second)], result)


def _pairs(call: ArrayCall, left: ArrayValue, right: ArrayValue) -> list[tuple[int, int]]:
    node = call.arguments.get("axes")
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == 2:
        sides = []
        for each, side in zip(node.elts, (left, right), strict=True):
            items = each.elts if isinstance(each, ast.Tuple | ast.List) else [each]
            found = [call.evaluate(call.frame, item) for item in items]
            numbers = [value.constant if isinstance(value, Value) else None for value in found]
            if any(not isinstance(number, int) or not -side.ndim <= number < side.ndim for number in numbers):
                raise call.refusal("axes of np.tensordot that there are not", "name dimensions that there are")
            sides.append([int(number or 0) % side.ndim for number in numbers])
        if len(sides[0]) == len(sides[1]):
            return list(zip(*sides, strict=True))
    count = 2 if node is None else call.constant("axes")
    if not isinstance(count, int) or not 0 <= count <= min(left.ndim, right.ndim):
        raise call.refusal("these axes of np.tensordot", "write how many, or two lists of as many dimensions")
    return [(left.ndim - count + place, place) for place in range(count)]


@compiles(np.einsum, "subscripts", "*operands")
def _einsum(call: ArrayCall) -> Operand:
    text = call.constant("subscripts")
    given = call.argument("operands")
    nodes = given.elts if isinstance(given, ast.Tuple) else [given]
    operands = [factor(call.frame, call.node, call.evaluate(call.frame, node)) for node in nodes]
    found = _letters_of(text.replace(" ", ""), [each.ndim for each in operands]) if isinstance(text, str) else None
    if found is None:
        remedy = "write a constant text of a letter for each dimension, commas and ->: np.einsum('ij,jk->ik', A, B)"
        raise call.refusal("subscripts of np.einsum that are not compiled", remedy)
    letters, result = found
    if len(operands) == 1 and set(result) == set(letters[0]):  # nothing is added up: a view
        if len(result) < len(letters[0]):
            raise call.refusal("np.einsum of a diagonal that is not added up", "write np.diagonal(A)")
        return permuted(call.frame.kernel, operands[0], [letters[0].index(letter) for letter in result])
    return contraction(call.frame, call.node, operands, letters, result)


_REST = "..."
"""The dimensions in subscripts of einsum that have no letters."""


def _letters_of(text: str, dimensions: Sequence[int]) -> tuple[list[str], str] | None:
    """Return the letters of each operand's dimensions, and of the result's, with letters of their own for those that
    have none; None where there are not as many, or the result has one twice or one that no operand has.

    Args:
        text: subscripts of einsum, without spaces.
        dimensions: how many each operand has.
    """
    inputs, arrow, result = text.partition("->")
    letters = inputs.split(",")
    if len(letters) != len(dimensions):
        return None
    unused = [letter for letter in string.ascii_letters if letter not in text]
    without = [count - len(own.replace(_REST, "", 1)) for own, count in zip(letters, dimensions, strict=True)]
    if any(rest < 0 or (rest > 0 and _REST not in own) for own, rest in zip(letters, without, strict=True)):
        return None
    most = max(without, default=0)
    if most > len(unused) or (arrow and most and _REST not in result):
        return None
    # They are counted from the last one, as dimensions that are stretched are.
    letters = [
        own.replace(_REST, "".join(unused[most - rest : most])) for own, rest in zip(letters, without, strict=True)
    ]
    joined = "".join(letters)
    if not arrow:
        named = sorted(letter for letter in set(joined) - set(unused) if joined.count(letter) == 1)
        result = "".join((*unused[:most], *named))
    result = result.replace(_REST, "".join(unused[:most]))
    is_known = all(letter.isascii() and letter.isalpha() for letter in joined) and set(result) <= set(joined)
    return (letters, result) if is_known and len(set(result)) == len(result) else None


def require_matrix(call: ArrayCall, variables: Expression) -> None:
    """See to it that there is not one variable alone, of which NumPy gives a number in place of a matrix."""
    reason = "it is a number in NumPy, where that of several is a matrix"
    remedy = "compute np.var(...) of one variable, or pass several"
    what = f"{call.name} of one variable alone"
    require(call.frame, call.node, Compare("!=", variables, ONE), what, (), remedy, reason=reason)


@compiles(np.cov, "m", "y", "rowvar", "bias", "ddof")
def _cov(call: ArrayCall) -> Operand:
    """``np.cov`` of variables in rows, or in columns: the products of distances from the means."""
    frame, node = call.frame, call.node
    array = cast_array(frame, node, call.array("m"), "float64")
    if not isinstance(array, ArrayValue) or array.ndim != 2 or call.given("y"):
        raise call.refusal("np.cov of an array that is no matrix", "pass a matrix with a row for each variable")
    if not call.constant("rowvar", True):
        array = permuted(frame.kernel, array, (1, 0))
    lost = lost_degrees(call, 0 if call.constant("bias", False) else 1)
    if not lost.is_integer:
        raise call.refusal("np.cov with a ddof that is no integer", "pass an integer")
    require_matrix(call, array.shape[0])
    means = computed(frame, node, mean_of(frame, node, Reduced(array, (1,), True), "float64"))
    distances = computed(frame, node, arithmetic(frame, node, "-", array, means))
    assert isinstance(distances, ArrayValue)
    distances = kept(frame, node, distances)
    products = matrix_product(frame, node, distances, permuted(frame.kernel, distances, (1, 0)))
    freedom = promotion.binary("-", Value(array.shape[1], weak=True), lost)
    count = promotion.cast(functions.apply(np.maximum, [freedom, promotion.constant(0)]), "float64")
    return arithmetic(frame, node, "/", products, count)


@compiles(np.linalg.norm, "x", "ord", "axis", "keepdims")
def _norm(call: ArrayCall) -> Operand:
    """The square root of the sum of squares; norms of other orders are calls of the library."""
    if call.given("ord") or call.given("axis") or call.given("keepdims"):
        return norm_of_order(call)
    array = call.array("x")
    dtype = array.dtype if promotion.is_inexact(array.dtype) else "float64"

    def squared(values: list[Value]) -> Value:
        return squared_magnitude(promotion.cast(promotion.number(values[0]), dtype))

    squares = elementwise(call.frame, call.node, squared, [array])
    assert isinstance(squares, ArrayValue)
    sums = total(Reduced(squares, range(array.ndim), False), sum_type(promotion.part_type(dtype)))
    totals = written_out(call.frame.kernel, sums)
    return elementwise(call.frame, call.node, lambda values: functions.apply(np.sqrt, values), [totals])
