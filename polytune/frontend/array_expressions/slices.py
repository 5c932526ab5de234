"""Subscripts with slices, ``None`` and ``...``: parts of arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polytune.errors import UnsupportedSourceError
from polytune.frontend.array_expressions.affine_arithmetic import (
    ONE,
    ZERO,
    add,
    constant_of,
    integer,
    maximum,
    normal,
    quotient,
    subtract,
)
from polytune.frontend.array_expressions.data_subscripts import captured, from_either_end, is_of_data
from polytune.frontend.array_expressions.negative_subscripts import counted_from_the_end
from polytune.frontend.array_expressions.readers import Number
from polytune.frontend.array_expressions.sizes import (
    always,
    at_least,
    extent,
    greater,
    lesser,
    loop_bound,
    require,
    size_text,
)
from polytune.frontend.array_expressions.values import ArrayValue, Axis
from polytune.frontend.array_expressions.views import rearranged
from polytune.frontend.expression import Compare, Expression, Logical
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.parameters import derive, with_products
from polytune.frontend.polyhedral.affine import NotAffineError, as_index
from polytune.frontend.promotion import Value, binary, cast, compare, constant, logical, select
from polytune.frontend.scalars.subscript_ranges import is_never_negative
from polytune.frontend.syntax.refusals import counted
from polytune.signature import UNSIGNED_TYPES

_SIGNS = "from which end a bound counts is settled when the kernel is compiled"


def subscripts_of(node: ast.Subscript) -> list[ast.expr]:
    """The subscripts between the brackets."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def part_of(
    frame: Frame, node: ast.Subscript, value: ArrayValue, items: list[ast.expr], number: Number, single: Number
) -> ArrayValue:
    """``value[items]``: an array, of no dimensions where there is a subscript for each.

    Args:
        frame: where it stands.
        node: the whole expression.
        value: the array that is subscripted.
        items: the subscripts.
        number: reads an expression that is a number.
        single: reads a subscript that is one.

    Raises:
        UnsupportedSourceError: too many subscripts, or some that is not affine.
    """
    axes: list[Axis] = []
    shape: list[Expression] = []
    for item in complete(frame, node, value, items):
        if item is None:
            shape.append(ONE)
            continue
        length = value.shape[len(axes)]
        if isinstance(item, ast.Slice):
            first, step, count = sliced(frame, item, length, number)
            axes.append(Axis(first, len(shape), step))
            shape.append(count)
        else:
            axes.append(Axis(_index(frame, item, value, len(axes), single)))
    return rearranged(frame.kernel, value, axes, tuple(shape), frame.source.location(node))


def refused_truth(frame: Frame, node: ast.expr) -> UnsupportedSourceError:
    """The error for a truth value that is a subscript of an array."""
    text = frame.source.segment(node)
    return frame.source.refusal(
        node,
        f"the truth value {text} as a subscript of an array",
        "NumPy takes it for a mask of the whole array: the result has one dimension more, with the array or nothing",
        f"write int({text}) for the element of that number, A[None] for one more dimension, or an if",
    )


def complete(frame: Frame, node: ast.Subscript, value: ArrayValue, items: list[ast.expr]) -> list[ast.expr | None]:
    """The subscripts with slices for all dimensions that have none; None stands for a new dimension.

    Args:
        frame: where it stands.
        node: the whole expression.
        value: the array that is subscripted.
        items: the subscripts, slices, ``None`` and ``...`` as they are written.
    """
    new = [is_none(item) or (isinstance(item, ast.Attribute) and item.attr == "newaxis") for item in items]
    ellipses = [place for place, item in enumerate(items) if is_ellipsis(item)]
    missing = value.ndim - (len(items) - sum(new) - len(ellipses))
    if missing < 0 or len(ellipses) > 1:
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(node.value)} has {counted(value.ndim, 'dimension')} and is accessed with "
            f"{counted(value.ndim - missing, 'subscript')}"
            if missing < 0
            else "two ellipses in one subscript",
            "NumPy raises an error here",
            "write at most one subscript for each dimension, and at most one ...",
        )
    complete: list[ast.expr | None] = [None if is_new else item for item, is_new in zip(items, new, strict=True)]
    place = ellipses[0] if ellipses else len(complete)
    filling: list[ast.expr | None] = [ast.Slice() for _ in range(missing)]
    return complete[:place] + filling + complete[place + len(ellipses) :]


def affine_number(frame: Frame, node: ast.expr, what: str, number: Number) -> Expression:
    """The value of an integer expression in a subscript or a shape.

    Args:
        frame: where it stands.
        node: the expression.
        what: what it is of, for the message.
        number: reads an expression that is a number.

    Raises:
        UnsupportedSourceError: it is not affine.
    """
    value = with_products(frame, number(frame, node))
    try:
        frame.kernel.affine.function(value.expression)
    except NotAffineError as error:
        derived = derive(frame, frame.kernel.fresh("size"), value)
        if derived is not None:
            return derived.expression
        raise frame.source.refusal(
            node,
            f"{what} {frame.source.segment(node)} is not affine",
            f"which elements a part of an array has must be known without running the program, but it {error}",
            "use sums of loop variables, integer arguments and shapes; else loop over the elements",
        ) from None
    return normal(as_index(value.expression))


def _index(frame: Frame, node: ast.expr, value: ArrayValue, dimension: int, number: Number) -> Expression:
    """A single subscript; a negative constant counts from the end, and so does any that depends on data."""
    length = value.shape[dimension]
    given = with_products(frame, number(frame, node))
    if given.is_integer and (is_of_data(frame, given.expression) or is_of_data(frame, length)):
        index = from_either_end(given, length, is_unsigned=given.dtype == "uint64")
        return index if is_whole(frame, value, dimension) else in_part(index, length)
    subscript = affine_number(frame, node, "the subscript", number)
    known = constant_of(subscript)
    if known is not None and known < 0:
        subscript = add(length, subscript)
    elif given.dtype not in UNSIGNED_TYPES:  # of these, what is below 0 is beyond any end
        subscript = counted_from_the_end(frame, subscript, length)
    if not is_whole(frame, value, dimension):
        # Accesses are checked against the array in memory, of which this is only a part.
        text = frame.source.segment(node)
        for condition, how in (
            (Compare(">=", subscript, ZERO), "goes below 0; negative subscripts do not wrap round"),
            (Compare("<", subscript, length), f"goes past the end, which is {size_text(frame.kernel, length)}"),
        ):
            what = f"the subscript {text} of a part of an array {how}"
            require(frame, node, condition, what, (), "let the loops end sooner, or pass larger arrays")
    return subscript


OUTSIDE = 2**40
"""A subscript that no array has."""


def in_part(index: Expression, length: Expression) -> Expression:
    """A subscript of a part of an array, which is out of range of the array where it is out of range of the part.

    Args:
        index: the subscript.
        length: the extent of the part.
    """
    one = Value(index)
    inside = logical("and", [compare(">=", one, constant(0)), compare("<", one, Value(length, weak=True))])
    return select(inside, one, constant(OUTSIDE)).expression


def is_whole(frame: Frame, value: ArrayValue, dimension: int) -> bool:
    """Return whether a dimension is that of an array in memory, from end to end.

    Args:
        frame: where it stands.
        value: the array.
        dimension: one of its dimensions, counted from the front.
    """
    if value.region is None:
        return False
    for place, axis in enumerate(value.region.axes):
        if axis.dimension == dimension:
            whole = frame.kernel.extents[value.region.array, place].expression
            return axis.stride == 1 and axis.offset == ZERO and value.shape[dimension] == whole
    return False


def sliced(
    frame: Frame, node: ast.Slice, length: Expression, number: Number
) -> tuple[Expression, int | Expression, Expression]:
    """The first subscript of a slice, its step, and how many elements it has, as Python counts them.

    Args:
        frame: where it stands.
        node: the slice.
        length: the extent of the dimension.
        number: reads an expression that is a number.
    """
    bounds = [None if bound is None or is_none(bound) else bound for bound in (node.lower, node.upper)]
    step = 1 if node.step is None or is_none(node.step) else _step(frame, node.step, number)
    if not isinstance(step, int):
        return _sliced_by_step(frame, node, bounds, step, length, number)
    of_data = [bound is not None and _data_bound(frame, bound, number) for bound in bounds]
    if any(of_data):
        return _sliced_by_data(frame, bounds, step, length, number)
    lower, upper = (
        None if bound is None else _bound(frame, bound, length, number, forwards=step > 0) for bound in bounds
    )
    if step > 0:
        first = ZERO if lower is None else greater(frame, lower, ZERO)
        last = length if upper is None else lesser(frame, upper, length)
        distance = subtract(last, first)
    else:
        end = subtract(length, ONE)
        first = end if lower is None else lesser(frame, lower, end)
        last = integer(-1) if upper is None else greater(frame, upper, integer(-1))
        distance = subtract(first, last)
    size = abs(step)
    count = extent(frame, quotient(add(distance, integer(size - 1)), size))
    # Where there are no elements the first subscript means nothing, and may be any.
    return first, step, count


def _step(frame: Frame, node: ast.expr, number: Number) -> int | Expression:
    """The step of a slice: a constant, or an integer that stays what it is here."""
    value = with_products(frame, number(frame, node))
    if not value.is_integer or value.constant == 0:
        raise frame.source.refusal(
            node,
            f"the step {frame.source.segment(node)} of a slice",
            "a step is an integer that is not 0, and Python raises an error here",
            "use an integer that is not 0, or int(x) of a float",
        )
    if value.constant is not None:
        return int(value.constant)
    if is_of_data(frame, value.expression):
        return captured(frame, node, cast(value, "int64").expression)
    return normal(as_index(value.expression))


def _sliced_by_step(
    frame: Frame,
    node: ast.Slice,
    bounds: Sequence[ast.expr | None],
    step: Expression,
    length: Expression,
    number: Number,
) -> tuple[Expression, Expression, Expression]:
    """A slice with a step that is no constant: where it begins and how many elements it has is computed by the kernel
    as Python computes it, ``max(0, (stop - start + step - sign) // step)`` elements, also for a sign that depends on
    the call.
    """
    assert node.step is not None
    what = f"the step {frame.source.segment(node.step)} of a slice is 0"
    require(frame, node.step, Compare("!=", step, ZERO), what, (), "use a step that is not 0", late=True)
    is_forwards = compare(">", Value(step), constant(0))
    if always(frame, Compare(">", step, ZERO)):
        is_forwards = constant(True)
    elif always(frame, Compare("<", step, ZERO)):
        is_forwards = constant(False)
    last = subtract(length, ONE)
    least = select(is_forwards, constant(0), constant(-1)).expression
    most = select(is_forwards, Value(length, weak=True), Value(last, weak=True)).expression
    ends: list[Expression] = []
    front, back = (constant(0), Value(length, weak=True)), (Value(last, weak=True), constant(-1))
    for place, bound in enumerate(bounds):
        if bound is None:
            ends.append(select(is_forwards, front[place], back[place]).expression)
            continue
        value = with_products(frame, number(frame, bound))
        if not value.is_integer:
            affine_number(frame, bound, "the bound", number)  # which refuses it
        ends.append(_cut_off(cast(value, "int64"), length, least, most).expression)
    first = captured(frame, node, ends[0])
    distance = binary("-", Value(ends[1]), Value(first))
    sign = select(is_forwards, constant(1), constant(-1))
    steps = binary("//", binary("-", binary("+", distance, Value(step)), sign), Value(step))
    count = captured(frame, node, binary("max", constant(0), steps).expression)
    frame.kernel.most[count] = length
    frame.kernel.cut_off[first, step, count] = length
    return first, step, count


def _data_bound(frame: Frame, node: ast.expr, number: Number) -> bool:
    """Return whether the kernel is to find out from which end a bound counts: where data decide on the bound, or on
    whether a place is reached at which its sign is not known."""
    value = with_products(frame, number(frame, node))
    if not value.is_integer:
        return False
    if is_of_data(frame, value.expression):
        return True
    if not frame.on_data or frame.pure:
        return False
    bound = affine_number(frame, node, "the bound", number)
    is_negative, is_positive = always(frame, Compare("<", bound, ZERO)), at_least(frame, bound, ZERO)
    return constant_of(bound) is None and not is_negative and not is_positive


def _sliced_by_data(
    frame: Frame, bounds: Sequence[ast.expr | None], step: int, length: Expression, number: Number
) -> tuple[Expression, int, Expression]:
    """A slice with bounds that depend on data: they are cut off at the array's ends while the kernel runs."""
    ends: list[Expression] = [ZERO, length] if step > 0 else [subtract(length, ONE), integer(-1)]
    least, most = (ZERO, length) if step > 0 else (integer(-1), subtract(length, ONE))
    for place, bound in enumerate(bounds):
        if bound is not None and _data_bound(frame, bound, number):
            value = cast(with_products(frame, number(frame, bound)), "int64")
            ends[place] = captured(frame, bound, _cut_off(value, length, least, most).expression)
        elif bound is not None:
            end = _bound(frame, bound, length, number, forwards=step > 0)
            ends[place] = greater(frame, end, least) if (place == 1) == (step < 0) else lesser(frame, end, most)
    distance = subtract(ends[1], ends[0]) if step > 0 else subtract(ends[0], ends[1])
    count = normal(maximum(ZERO, quotient(add(distance, integer(abs(step) - 1)), abs(step))))
    frame.kernel.most[count] = length
    frame.kernel.cut_off[ends[0], step, loop_bound(count)] = length
    return ends[0], step, count


def _cut_off(bound: Value, length: Expression, least: Expression, most: Expression) -> Value:
    """Return where a slice begins or ends whose bound is only known while the kernel runs, as Python has it.

    Args:
        bound: as it is written.
        length: the extent of the dimension.
        least, most: where slices begin and end at most.
    """
    within = binary("min", bound, Value(most))
    if is_never_negative(bound.expression, length):
        return within
    from_end = binary("max", binary("+", bound, Value(length)), Value(least))
    return select(compare("<", bound, constant(0)), from_end, within)


def _bound(frame: Frame, node: ast.expr, length: Expression, number: Number, *, forwards: bool) -> Expression:
    """A bound of a slice, counted from the front.

    A negative constant counts from the end.  Of anything else the sign is proven or checked: it would make a choice
    of every bound.  What is written with a minus, as -k, is checked to count from the end.
    """
    value = affine_number(frame, node, "the bound", number)
    known = constant_of(value)
    if known is not None:
        return value if known >= 0 else add(length, value)
    if always(frame, Compare("<", value, ZERO)):
        return add(length, value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not at_least(frame, value, ZERO):
        text = f"the bound {frame.source.segment(node)} of a slice"
        require(
            frame,
            node,
            Compare("<", value, ZERO),
            f"{text} does not count from the end",
            (f"{text} does not count from the end, as it is ", value),
            "count from the length, as A[: len(A) - k], where k may be 0; for a negative k write A[:k]",
            reason=_SIGNS,
        )
        return add(length, value)
    if not at_least(frame, value, ZERO):
        # Before the array's first element it means that element, or the place before it, in either reading.
        before = Compare("<=" if forwards else "<", add(length, value), ZERO)
        text = f"the bound {frame.source.segment(node)} of a slice is negative"
        require(
            frame,
            node,
            Logical("or", (Compare(">=", value, ZERO), before)),
            text,
            (f"{text}: ", value),
            "what counts from the end is written as a negative constant, or from the length, as A[len(A) - k:]; where "
            "there is no such element, let the loop begin later",
            reason=_SIGNS,
        )
    return value
