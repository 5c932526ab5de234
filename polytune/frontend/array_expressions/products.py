"""Products of matrices and vectors, as sums."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO, add, constant_of
from polytune.frontend.array_expressions.elementwise import cast_array, computed, elementwise, narrowed, strong
from polytune.frontend.array_expressions.shapes import agree, broadcast, stretched
from polytune.frontend.array_expressions.short_sums import written_out
from polytune.frontend.array_expressions.sizes import loop_bound
from polytune.frontend.array_expressions.temporaries import allocate, assigned, emit, increased, kept, over, perform
from polytune.frontend.array_expressions.values import (
    ArrayValue,
    Axis,
    Operand,
    Shape,
    Subscripts,
    Sum,
    Term,
)
from polytune.frontend.array_expressions.views import element_of, in_memory
from polytune.frontend.expression import Element, Expression, Iterator
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.program import Node, RangeLoop
from polytune.frontend.promotion import Value

_FEWEST_SUMMED = 16
"""Factors of a sum from which on half of a symmetric matrix is worth a copy of the other half."""


def factor(frame: Frame, node: ast.AST, operand: Operand) -> ArrayValue:
    """Read an operand of a product, each element of which is used many times: what is costly to compute is kept.

    Args:
        frame: where it stands.
        node: the product, for its place.
        operand: one of its operands.

    Raises:
        UnsupportedSourceError: it is a number.
    """
    value = computed(frame, node, operand)
    if isinstance(value, Value):
        raise frame.source.refusal(
            node, "a matrix product with a number", "NumPy raises an error here", "write * for a product with a number"
        )
    if value.dtype == "bool":
        raise frame.source.refusal(
            node,
            "a product of arrays of truth values",
            "its elements would be truth values, not sums",
            "convert one: mask.astype(np.int64)",
        )
    return kept(frame, node, value) if value.is_costly else value


def product_term(left: Value, right: Value, dtype: str) -> Value:
    """The product of two elements, each of the type of the result first, as NumPy does.

    Args:
        left, right: the elements.
        dtype: the type of the result.
    """
    return strong(promotion.binary("*", promotion.cast(left, dtype), promotion.cast(right, dtype)))


def product_type(*dtypes: str) -> str:
    """The type of products of numbers of types."""
    kinds = [promotion.ScalarKind(dtype, False) for dtype in dtypes]
    return functools.reduce(promotion.join, kinds[1:], kinds[0]).dtype


def matrix_product(frame: Frame, node: ast.AST, first: Operand, second: Operand) -> Operand:
    """``first @ second``: of stacks of matrices too.  That of truth values says whether any pair is true.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        first, second: arrays of one dimension or more.
    """
    operands = [computed(frame, node, operand) for operand in (first, second)]
    dtypes = [operand.dtype for operand in operands if isinstance(operand, ArrayValue)]
    if dtypes and product_type(*dtypes) != promotion.wider(product_type(*dtypes)):
        wide = [cast_array(frame, node, each, promotion.wider(product_type(*dtypes))) for each in operands]
        return narrowed(frame, node, matrix_product(frame, node, *wide), product_type(*dtypes))
    if len(dtypes) < 2 or "bool" not in dtypes:
        return _sum_of_products(frame, node, *operands)
    number = next((dtype for dtype in dtypes if dtype != "bool"), "int64")
    numbers = [elementwise(frame, node, lambda values: promotion.cast(values[0], number), [each]) for each in operands]
    product = _sum_of_products(frame, node, *numbers)
    if dtypes != ["bool", "bool"]:
        return product
    counts = computed(frame, node, product)
    return elementwise(frame, node, lambda values: promotion.compare("!=", values[0], promotion.constant(0)), [counts])


def _sum_of_products(frame: Frame, node: ast.AST, first: Operand, second: Operand) -> Operand:
    left, right = factor(frame, node, first), factor(frame, node, second)
    if _is_transpose(left, right) and not frame.opaque and _is_worth_copying(left):
        return _symmetric_product(frame, node, left, right)
    row, column = left.ndim > 1, right.ndim > 1
    inner = left.shape[-1]
    agree(frame, node, inner, right.shape[-2 if column else -1], (left.shape, right.shape), "the factors of a product")
    stacks = broadcast(frame, node, [left.shape[:-2], right.shape[:-2]])
    shape = (*stacks, *left.shape[-2:-1], *(right.shape[-1:] if column else ()))
    left = stretched(frame, left, (*stacks, *left.shape[-2:])) if row else left
    right = stretched(frame, right, (*stacks, *right.shape[-2:])) if column else right
    dtype = product_type(left.dtype, right.dtype)

    def value(subscripts: Subscripts, summed: Subscripts) -> Value:
        stack, rest = list(subscripts[: len(stacks)]), list(subscripts[len(stacks) :])
        of_left = [*stack, rest[0], summed[0]] if row else [summed[0]]
        of_right = [*stack, summed[0], rest[-1]] if column else [summed[0]]
        return product_term(left.at(of_left), right.at(of_right), dtype)

    return written_out(frame.kernel, Sum(shape, dtype, (Term((inner,), value),)))


def _is_transpose(left: ArrayValue, right: ArrayValue) -> bool:
    """Return whether two matrices are the same part of an array, the one transposed."""
    if left.ndim != 2 or left.region is None or right.region is None or left.region.array != right.region.array:
        return False
    swapped = tuple(
        Axis(axis.offset, None if axis.dimension is None else 1 - axis.dimension, axis.stride)
        for axis in right.region.axes
    )
    return left.region.axes == swapped and left.shape == right.shape[::-1]


def _is_worth_copying(left: ArrayValue) -> bool:
    """Return whether sums are not known to be of few factors."""
    summed = constant_of(left.shape[1])
    return summed is None or summed >= _FEWEST_SUMMED


def _symmetric_product(frame: Frame, node: ast.AST, left: ArrayValue, right: ArrayValue) -> ArrayValue:
    """``X @ X.T``: what is on the diagonal and below it is computed, in the order of the sums of the whole product, and
    copied to above it."""
    extent, inner = left.shape
    dtype = product_type(left.dtype, right.dtype)
    region = allocate(frame, node, (extent, extent), dtype)
    location = frame.source.location(node)

    def half(element: Callable[[Iterator, Iterator], Sequence[Node]], *, below: bool) -> tuple[Node, ...]:
        def columns(rows: tuple[Iterator, ...]) -> Sequence[Node]:
            (row,) = rows
            (loop,) = over(frame, node, (extent,), lambda column: element(row, column[0]))
            assert isinstance(loop, RangeLoop)
            behind = add(row, ONE)
            start, stop = (ZERO, behind) if below else (behind, loop_bound(extent))
            return (RangeLoop(loop.variable, loop.iterator, start, stop, 1, loop.body, location),)

        return over(frame, node, (extent,), columns)

    def computed_element(row: Iterator, column: Iterator) -> Sequence[Node]:
        def added(summed: tuple[Iterator, ...]) -> Sequence[Node]:
            value = product_term(left.at([row, summed[0]]), right.at([summed[0], column]), dtype)
            return (perform(frame, node, increased(element_of(frame.kernel, region, (row, column)), value)),)

        first = perform(frame, node, assigned(frame, region, (row, column), promotion.constant(0)))
        return (first, *over(frame, node, (inner,), added))

    def copied_element(row: Iterator, column: Iterator) -> Sequence[Node]:
        value = Value(element_of(frame.kernel, region, (column, row)))
        return (perform(frame, node, assigned(frame, region, (row, column), value)),)

    emit(frame, node, half(computed_element, below=True))
    emit(frame, node, half(copied_element, below=False))
    return in_memory(frame.kernel, region, left.shape[:1] * 2, is_new=True)


def contraction(
    frame: Frame,
    node: ast.AST,
    operands: Sequence[ArrayValue],
    letters: Sequence[str],
    result: str,
) -> Operand:
    """Einstein's sum: the product of the operands over all letters that the result does not have.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        operands: arrays, or stacks of them.
        letters: the letters of each operand's dimensions, no letter of an operand twice.
        result: those of the result's.
    """
    extents: dict[str, Expression] = {}
    owner: dict[str, Shape] = {}
    for operand, own in zip(operands, letters, strict=True):
        for letter, extent in zip(own, operand.shape, strict=True):
            if letter in extents:
                agree(frame, node, extents[letter], extent, (owner[letter], operand.shape))
            else:
                extents[letter], owner[letter] = extent, operand.shape
    dtype = product_type(*(operand.dtype for operand in operands))
    summed_as = promotion.wider(dtype)
    over = [letter for letter in extents if letter not in result]

    def value(subscripts: Subscripts, summed: Subscripts) -> Value:
        at = dict(zip((*result, *over), (*subscripts, *summed), strict=True))
        total: Value | None = None
        for operand, own in zip(operands, letters, strict=True):
            element = promotion.cast(operand.at([at[letter] for letter in own]), summed_as)
            total = element if total is None else promotion.binary("*", total, element)
        assert total is not None
        return strong(total)

    terms = Term(tuple(extents[letter] for letter in over), value)
    products = Sum(tuple(extents[letter] for letter in result), summed_as, (terms,))
    return narrowed(frame, node, written_out(frame.kernel, products), dtype)


def outer_product(
    frame: Frame,
    node: ast.AST,
    first: Operand,
    second: Operand,
    build: Callable[[list[Value]], Value] | None = None,
) -> ArrayValue:
    """``np.outer``, or ``ufunc.outer`` for a function of two numbers.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        first, second: arrays; the result has the dimensions of both.
        build: makes an element of two; None for their product.
    """
    left, right = (factor(frame, node, operand) for operand in (first, second))
    made = build or (lambda values: promotion.binary("*", *values))
    sample = strong(made([Value(Element("", (), side.dtype)) for side in (left, right)]))

    def at(subscripts: Subscripts) -> Value:
        split = left.ndim
        return strong(made([left.at(subscripts[:split]), right.at(subscripts[split:])]))

    return ArrayValue((*left.shape, *right.shape), sample.dtype, at)
