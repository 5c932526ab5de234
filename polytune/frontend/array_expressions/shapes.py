"""Shapes that meet: broadcasting, and what has to agree."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO, constant_of, maximum
from polytune.frontend.array_expressions.data_subscripts import captured, is_of_data
from polytune.frontend.array_expressions.sizes import always, are_equal, greatest, require, shape_text, size_text
from polytune.frontend.array_expressions.values import ArrayValue, Shape, Subscripts
from polytune.frontend.expression import Compare, Expression, Extent, Logical, ParameterValue
from polytune.frontend.lowering.frame import Frame, Place
from polytune.frontend.promotion import Value, compare, constant, logical, select

_REMEDY = (
    "pass arrays whose shapes fit; an extent of 1 is stretched where it is one of an array that is passed, or where "
    "the source shows it: as A[:, None], with keepdims=True, or as the row A[0] of an array"
)


def is_one(frame: Frame, extent: Expression) -> bool:
    """Return whether an extent is proven to be 1, so that it may be stretched."""
    known = constant_of(extent)
    return known == 1 if known is not None else are_equal(frame, extent, ONE)


def broadcast(frame: Frame, node: ast.AST, shapes: Sequence[Shape]) -> Shape:
    """The shape that NumPy makes of several; what must agree and is not proven to is checked at each call.

    Args:
        frame: where they meet.
        node: the expression, for its place.
        shapes: those of the operands, with any numbers of dimensions.

    Raises:
        UnsupportedSourceError: they never fit.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Expression] = []
    owners: list[Shape] = []
    for place in range(rank):
        _require_single(frame, node, [shape[place - rank] for shape in shapes if len(shape) >= rank - place])
        chosen: Expression = ONE
        owner: Shape = ()
        for shape in shapes:
            dimension = place - (rank - len(shape))
            if dimension < 0 or is_one(frame, shape[dimension]):
                continue
            if is_one(frame, chosen):
                chosen, owner = shape[dimension], shape
            elif _fit_by_data(frame, chosen, shape[dimension]):
                chosen = _fitting(frame, node, chosen, shape[dimension], (owner, shape))
            else:
                may_be_stretched(frame, chosen, shape[dimension])
                agree(frame, node, chosen, shape[dimension], (owner, shape))
        result.append(chosen)
        owners.append(owner)
    return tuple(result)


def _fit_by_data(frame: Frame, left: Expression, right: Expression) -> bool:
    """Return whether only the running kernel can tell if two extents that meet are equal, or one of them is 1."""
    of_data = is_of_data(frame, left) or is_of_data(frame, right)
    return of_data and not are_equal(frame, left, right)


def _fitting(
    frame: Frame, node: ast.AST, left: Expression, right: Expression, shapes: tuple[Shape, Shape]
) -> Expression:
    """The extent that NumPy makes of two that depend on data; that they fit is tested while the kernel runs.

    Args:
        frame: where they meet.
        node: the expression, for its place.
        left, right: the extents.
        shapes: those that the extents are of.
    """
    pairs = (left, right), (left, ONE), (right, ONE)
    first, second = (shape_text(frame.kernel, shape) for shape in shapes)
    what = f"operands with shapes {first} and {second} do not fit"
    require(frame, node, Logical("or", tuple(Compare("==", *pair) for pair in pairs)), what, (), _REMEDY)
    first_extent, second_extent = Value(left, weak=True), Value(right, weak=True)
    either = [compare("==", second_extent, each) for each in (first_extent, constant(1))]
    # Where they do not fit there is nothing that may be computed.
    others = select(logical("or", either), first_extent, constant(0))
    extent = select(compare("==", first_extent, constant(1)), second_extent, others)
    chosen = captured(frame, node, extent.expression)
    frame.kernel.most[chosen] = maximum(greatest(frame, left), greatest(frame, right))
    return chosen


def _require_single(frame: Frame, node: ast.AST, extents: Sequence[Expression]) -> None:
    """See to it that extents of 0 or 1, as that of A[:1], are 1 where they meet others: only then they stretch."""
    for extent in extents:
        others = (other for other in extents if other != extent and not is_one(frame, other))
        differs = constant_of(extent) is None and any(not are_equal(frame, extent, other) for other in others)
        if differs and always(frame, Compare("<=", extent, ONE)):
            what = f"an extent of {size_text(frame.kernel, extent)}, which is 0, meets another one"
            require(frame, node, Compare(">=", extent, ONE), what, (what,), "pass arrays that are not empty")


def may_be_stretched(frame: Frame, left: Expression, right: Expression) -> None:
    """Record that the meaning depends on which of two extents that meet is 1, where they are those of arguments.

    Args:
        frame: where they meet.
        left, right: the extents.
    """
    if not are_equal(frame, left, right):
        places = tuple(filter(None, (_place(frame, extent) for extent in (left, right))))
        if places:
            frame.kernel.stretched[places] = None


def _place(frame: Frame, extent: Expression) -> Place | None:
    """The dimension of an argument that an extent is; None for any other."""
    parameter = frame.kernel.parameters.get(extent.name) if isinstance(extent, ParameterValue) else None
    source = None if parameter is None else parameter.source
    return (source.array, source.dimension) if isinstance(source, Extent) else None


def agree(
    frame: Frame,
    node: ast.AST,
    left: Expression,
    right: Expression,
    shapes: tuple[Shape, Shape],
    what: str = "",
    remedy: str = _REMEDY,
) -> None:
    """See to it that two extents are equal, of two shapes that a refusal names.

    Args:
        frame: where they meet.
        node: the expression, for its place.
        left, right: the extents.
        shapes: those that the extents are of.
        what: what has these shapes, for the message; empty for operands.
        remedy: what to do where they differ.
    """
    if are_equal(frame, left, right):
        return
    first, second = (shape_text(frame.kernel, shape) for shape in shapes)
    what = what or "operands"
    parts: list[str | Expression] = [f"{what} with shapes {first} and {second} do not fit: they are "]
    for number, shape in enumerate(shapes):
        parts.append(" and (" if number else "(")
        for dimension, extent in enumerate(shape):
            parts += [", "] if dimension else []
            parts.append(extent)
        parts.append(",)" if len(shape) == 1 else ")")
    require(
        frame, node, Compare("==", left, right), f"{what} with shapes {first} and {second} do not fit", parts, remedy
    )


def stretched(frame: Frame, value: ArrayValue, shape: Shape) -> ArrayValue:
    """The array as one of the given shape, with the elements of extents of 1 repeated.

    Args:
        frame: where it stands.
        value: the array.
        shape: what `broadcast` has made of its shape and others.
    """
    missing = len(shape) - value.ndim
    pairs = list(zip(value.shape, shape[missing:], strict=True))
    ones = [is_one(frame, extent) and not is_one(frame, wanted) for extent, wanted in pairs]
    by_data = [not is_one(frame, extent) and _fit_by_data(frame, extent, wanted) for extent, wanted in pairs]
    if not missing and not any(ones) and not any(by_data):
        return value
    at = value.at

    def place(dimension: int, subscript: Expression) -> Expression:
        if by_data[dimension]:
            is_single = compare("==", Value(value.shape[dimension], weak=True), constant(1))
            return select(is_single, constant(0), Value(subscript)).expression
        return ZERO if ones[dimension] else subscript

    def element(subscripts: Subscripts) -> Value:
        return at([place(dimension, each) for dimension, each in enumerate(subscripts[missing:])])

    return ArrayValue(shape, value.dtype, element, is_costly=value.is_costly)


def fit_by_data(frame: Frame, shape: Shape, wanted: Shape) -> Expression | None:
    """The condition under which a shape fits that of what it is assigned to, where only the running kernel knows; None
    where that is known before.

    Args:
        frame: where it stands.
        shape: that of the value, which has no more dimensions.
        wanted: that of the target.
    """
    pairs = zip(shape, wanted[len(wanted) - len(shape) :], strict=True)
    found = tuple(_fits(*pair) for pair in pairs if not is_one(frame, pair[0]) and _fit_by_data(frame, *pair))
    return Logical("and", found) if len(found) > 1 else found[0] if found else None


def _fits(extent: Expression, wanted: Expression) -> Logical:
    return Logical("or", (Compare("==", extent, wanted), Compare("==", extent, ONE)))


def without_ones(frame: Frame, node: ast.AST, value: ArrayValue, shape: Shape) -> ArrayValue:
    """The value without leading extents of 1 that the target has not; the other extents fit the target's.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        value: what is assigned.
        shape: that of the target.

    Raises:
        UnsupportedSourceError: they do not fit.
    """
    extra = max(value.ndim - len(shape), 0)
    for extent in value.shape[:extra]:
        agree(frame, node, extent, ONE, (value.shape, shape), "a value and what it is assigned to,")
    if extra:
        at = value.at
        value = ArrayValue(
            value.shape[extra:],
            value.dtype,
            lambda subscripts: at([*([ZERO] * extra), *subscripts]),
            is_costly=value.is_costly,
        )
    missing = len(shape) - value.ndim
    for place, extent in enumerate(value.shape):
        if not is_one(frame, extent):
            wanted = shape[missing + place]
            if _fit_by_data(frame, extent, wanted):
                fits = _fits(extent, wanted)
                texts = shape_text(frame.kernel, value.shape), shape_text(frame.kernel, shape)
                what = f"a value and what it is assigned to, with shapes {texts[0]} and {texts[1]}, do not fit"
                require(frame, node, fits, what, (), _REMEDY)
            else:
                may_be_stretched(frame, extent, wanted)
                agree(frame, node, extent, wanted, (value.shape, shape), "a value and what it is assigned to,")
    return value
