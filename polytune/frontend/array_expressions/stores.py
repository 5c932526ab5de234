"""Assignments to parts of arrays: everything on the right side is read before anything is written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import islpy as isl

from polytune.frontend.array_expressions.affine_arithmetic import ZERO
from polytune.frontend.array_expressions.conversions import check_update
from polytune.frontend.array_expressions.elementwise import arithmetic, as_array, computed, negated
from polytune.frontend.array_expressions.shapes import agree, fit_by_data, is_one, stretched, without_ones
from polytune.frontend.array_expressions.sizes import known, require_range
from polytune.frontend.array_expressions.temporaries import (
    allocate,
    assigned,
    emit,
    kept,
    over,
    perform,
    scalar,
    summed,
)
from polytune.frontend.array_expressions.values import ArrayRegion, ArrayValue, Axis, Operand, Shape, Subscripts, Sum
from polytune.frontend.array_expressions.views import element_of, moved
from polytune.frontend.expression import (
    Assign,
    Branch,
    Compare,
    Element,
    Expression,
    Iterator,
    Operation,
    map_children,
    walk,
)
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.polyhedral.affine import NotAffineError
from polytune.frontend.polyhedral.budget import QUESTION_BUDGET, within_budget
from polytune.frontend.program import Node
from polytune.frontend.promotion import Value, is_inexact


def store(frame: Frame, node: ast.AST, target: ArrayValue, operand: Operand) -> None:
    """Lower ``target[...] = operand``.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        target: an array in memory.
        operand: what is assigned, whose shape is broadcast to that of the target.

    Raises:
        UnsupportedSourceError: the shapes do not fit.
    """
    if isinstance(operand, Sum) and _sum_directly(frame, node, target, operand, adding=False):
        return
    require_range(frame, node, operand, target.dtype)
    _assign(frame, node, target, as_array(computed(frame, node, operand)))


def store_in_all(frame: Frame, node: ast.AST, targets: Sequence[ArrayValue], operand: Operand) -> None:
    """Lower ``target = target = operand``: sums are computed in one of the targets, where the others have no element of
    it at another place.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        targets: arrays in memory, in the order in which they are assigned.
        operand: what is assigned, whose shape is broadcast to that of each target.

    Raises:
        UnsupportedSourceError: the shapes do not fit.
    """
    if isinstance(operand, Sum):
        for place in reversed(range(len(targets))):
            others = [target for number, target in enumerate(targets) if number != place]
            if all(_keeps(frame, targets[place], other) for other in others) and _sum_directly(
                frame, node, targets[place], operand, adding=False
            ):
                for other in others:
                    store(frame, node, other, targets[place])
                return
    value = computed(frame, node, operand)
    if isinstance(value, ArrayValue) and value.region is None:  # a view shows what the first assignment has changed
        value = kept(frame, node, value)
    elif isinstance(value, Value) and any(isinstance(part, Element) for part in walk(value.expression)):
        variable = scalar(frame, node, value.dtype, "value")
        emit(frame, node, (perform(frame, node, Assign(variable, value.expression)),))
        value = Value(variable)
    for target in targets:
        store(frame, node, target, value)


def _keeps(frame: Frame, target: ArrayValue, other: ArrayValue) -> bool:
    """Return whether a part of an array is what it was after it has been assigned to another part.

    So it is where no element has two places in them, as the diagonal of a matrix in the same part of a row and of a
    column.
    """
    if target.region is None or other.region is None:
        return False
    if target.region.array != other.region.array:
        return True
    points, others = _iterators(frame, target.shape), _iterators(frame, other.shape)
    element, assigned_to = (
        element_of(frame.kernel, target.region, points),
        element_of(frame.kernel, other.region, others),
    )

    def question() -> bool:
        affine = frame.kernel.affine
        same = _where_equal(frame, element, assigned_to).intersect(known(frame))
        for iterators, shape in ((points, target.shape), (others, other.shape)):
            same = same.intersect(_within(frame, iterators, shape))
        if len(points) == len(others):
            at_one_place = affine.universe()
            for first, second in zip(points, others, strict=True):
                at_one_place = at_one_place.intersect(affine.condition(Compare("==", first, second)))
            same = same.subtract(at_one_place)
        return bool(same.is_empty())

    return _is_proven(frame, question)


def _is_proven(frame: Frame, question: Callable[[], bool]) -> bool:
    """Return whether isl answers a question with yes; of what depends on data nothing is proven."""
    try:
        return bool(within_budget(frame.kernel.affine.context, QUESTION_BUDGET, question, needed=True))
    except NotAffineError:
        return False


def update(frame: Frame, node: ast.AST, symbol: str, target: ArrayValue, operand: Operand) -> None:
    """Lower ``target[...] symbol= operand``.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        symbol: the operator.
        target: an array in memory.
        operand: the right side, whose shape is broadcast to that of the target.

    Raises:
        UnsupportedSourceError: the shapes do not fit, or NumPy does not convert the result to the target's type.
    """
    if (
        isinstance(operand, Sum)
        and operand.finish is None
        and symbol in ("+", "-")
        and not (frame.kernel.strict and is_inexact(operand.dtype))
    ):
        total = operand
        if symbol == "-":
            negative = negated(frame, node, operand)
            assert isinstance(negative, Sum)
            total = negative
        if _sum_directly(frame, node, target, total, adding=True):
            return
    result = computed(frame, node, arithmetic(frame, node, symbol, target, computed(frame, node, operand)))
    if target.ndim:
        check_update(frame, node, symbol, target, (operand.dtype, result.dtype))
    _assign(frame, node, target, as_array(result))


def _assign(frame: Frame, node: ast.AST, target: ArrayValue, value: ArrayValue) -> None:
    region = _region(frame, node, target)
    value = without_ones(frame, node, value, target.shape)
    fits = fit_by_data(frame, value.shape, target.shape)
    value = _unaffected(frame, node, region, target.shape, stretched(frame, value, target.shape))

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        operation: Operation = assigned(frame, region, iterators, value.at(iterators))
        if fits is not None:  # else nothing is written, and the call raises an error
            operation = Branch(fits, (operation,))
        return (perform(frame, node, operation),)

    emit(frame, node, over(frame, node, target.shape, body))


def _region(frame: Frame, node: ast.AST, target: ArrayValue) -> ArrayRegion:
    if target.region is None:
        raise frame.source.refusal(
            node,
            "an assignment to a part of a result",
            "what is computed is in no array that could be changed",
            "give the result a name, and assign to a part of that",
        )
    dimensions = [axis.dimension for axis in target.region.axes if axis.dimension is not None]
    if len(set(dimensions)) < len(dimensions):
        raise frame.source.refusal(
            node,
            "a diagonal is assigned to",
            "NumPy shows it as a view that is read-only, and raises an error here",
            "use np.fill_diagonal, or a loop over the elements: A[i, i] = ...",
        )
    return target.region


def _unaffected(frame: Frame, node: ast.AST, region: ArrayRegion, shape: Shape, value: ArrayValue) -> ArrayValue:
    """The value, with copies of what the assignment would overwrite before it is read."""
    earlier, later = _iterators(frame, shape), _iterators(frame, shape)
    expression = value.at(later).expression
    affected = [
        element
        for element in dict.fromkeys(part for part in walk(expression) if isinstance(part, Element))
        if element.array == region.array and _is_affected(frame, region, shape, earlier, later, element)
    ]
    copies: dict[Element, Expression] = {}
    for element in affected:
        used = [iterator for iterator in later if any(part == iterator for part in walk(element))]
        if used and len(used) == len(later):
            return kept(frame, node, value)
        extents = tuple(shape[later.index(iterator)] for iterator in used)
        copies[element] = _copy(frame, node, element, used, extents)
    if not copies:
        return value
    at_later = replaced(expression, copies)

    def at(subscripts: Subscripts) -> Value:
        places = dict(zip(later, subscripts, strict=True))
        return Value(moved(frame.kernel, at_later, places), weak=value.dtype == "bool")

    return ArrayValue(shape, value.dtype, at)


def _iterators(frame: Frame, shape: Shape) -> tuple[Iterator, ...]:
    return tuple(Iterator(frame.kernel.fresh("point")) for _ in shape)


def _copy(frame: Frame, node: ast.AST, element: Element, used: Sequence[Iterator], extents: Shape) -> Expression:
    """The element, which depends on some iterators, from a copy that is made before."""
    if not used:
        target = scalar(frame, node, element.dtype, "saved")
        emit(frame, node, (perform(frame, node, Assign(target, element)),))
        return target
    region = allocate(frame, node, extents, element.dtype, "saved")

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        value = moved(frame.kernel, element, dict(zip(used, iterators, strict=True)))
        return (perform(frame, node, assigned(frame, region, iterators, Value(value))),)

    emit(frame, node, over(frame, node, extents, body))
    return element_of(frame.kernel, region, used)


def replaced(expression: Any, by: dict[Element, Expression]) -> Any:
    """The expression with some elements replaced."""
    if isinstance(expression, Element) and expression in by:
        return by[expression]
    return map_children(expression, lambda child: replaced(child, by))


def _is_affected(
    frame: Frame,
    region: ArrayRegion,
    shape: Shape,
    earlier: tuple[Iterator, ...],
    later: tuple[Iterator, ...],
    element: Element,
) -> bool:
    """Return whether some iteration may read what an iteration before it has written.

    Iterations follow one another in the order of their subscripts.  An element that is read where it is written is
    read first.
    """
    if element == element_of(frame.kernel, region, later):
        return False
    if not shape:
        return False
    written = element_of(frame.kernel, region, earlier)

    def question() -> bool:
        affine = frame.kernel.affine
        same = _where_equal(frame, written, element).intersect(known(frame))
        for iterators in (earlier, later):
            same = same.intersect(_within(frame, iterators, shape))
        before = isl.Set.empty(same.get_space())
        so_far = same
        for first, second in zip(earlier, later, strict=True):
            before = before.union(so_far.intersect(affine.condition(Compare("<", first, second))))
            so_far = so_far.intersect(affine.condition(Compare("==", first, second)))
        return bool(before.is_empty())

    return not _is_proven(frame, question)


def _where_equal(frame: Frame, left: Element, right: Element) -> isl.Set:
    """Return where two elements of an array may be the same: subscripts that depend on data may be any."""
    affine = frame.kernel.affine
    found = affine.universe()
    for one, other in zip(left.subscripts, right.subscripts, strict=True):
        if affine.is_function(one) and affine.is_function(other):
            found = found.intersect(affine.condition(Compare("==", one, other)))
    return found


def _within(frame: Frame, iterators: Sequence[Iterator], shape: Shape) -> isl.Set:
    affine = frame.kernel.affine
    found = affine.universe()
    for iterator, extent in zip(iterators, shape, strict=True):
        found = found.intersect(affine.condition(Compare(">=", iterator, ZERO)))
        found = found.intersect(affine.condition(Compare("<", iterator, extent)))
    return found


def _sum_directly(frame: Frame, node: ast.AST, target: ArrayValue, operand: Sum, *, adding: bool) -> bool:
    """Compute sums where they are to be, if nothing that they need is there.  Return whether that was possible."""
    region = target.region
    if region is None or operand.dtype != region.dtype or len(operand.shape) != target.ndim:
        return False
    for left, right in zip(operand.shape, target.shape, strict=True):
        if is_one(frame, left) != is_one(frame, right) or fit_by_data(frame, (left,), (right,)) is not None:
            return False
        agree(frame, node, left, right, (operand.shape, target.shape), "a value and what it is assigned to,")
    earlier, later = _iterators(frame, target.shape), _iterators(frame, target.shape)
    for term in operand.terms:
        inner = _iterators(frame, term.extents)
        for element in _reads(term.value(later, inner), region.array):
            if not _is_apart(frame, region, target.shape, earlier, later, element, inner, term.extents):
                return False
    if operand.finish is not None:
        here = element_of(frame.kernel, region, later)
        if any(element != here for element in _reads(operand.finish(later, Value(here)), region.array)):
            return False
        if _count_of(here, operand.finish(later, Value(here))) > 1:
            return False
    start = operand.start
    if start is not None:
        value = start.at(later) if isinstance(start, ArrayValue) else start
        for element in _reads(value, region.array):
            if _is_affected(frame, region, target.shape, earlier, later, element):
                return False
    nodes = summed(
        frame,
        node,
        operand,
        lambda subscripts: element_of(frame.kernel, region, subscripts),
        adding=adding,
    )
    emit(frame, node, nodes)
    return True


def _count_of(element: Element, value: Value) -> int:
    """Return how often an element occurs in a value."""
    return sum(part == element for part in walk(value.expression))


def _reads(value: Value, array: str) -> list[Element]:
    return [part for part in walk(value.expression) if isinstance(part, Element) and part.array == array]


def _is_apart(
    frame: Frame,
    region: ArrayRegion,
    shape: Shape,
    earlier: tuple[Iterator, ...],
    later: tuple[Iterator, ...],
    element: Element,
    inner: tuple[Iterator, ...],
    extents: Shape,
) -> bool:
    """Return whether an element that a term reads is none that is written."""

    def question() -> bool:
        same = _where_equal(frame, element_of(frame.kernel, region, earlier), element).intersect(known(frame))
        for iterators, bounds in ((earlier, shape), (later, shape), (inner, extents)):
            same = same.intersect(_within(frame, iterators, bounds))
        return bool(same.is_empty())

    return _is_proven(frame, question)


def element_target(frame: Frame, node: ast.AST, element: Element) -> ArrayValue:
    """A single element as an array of no dimensions, which sums can be added up in.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        element: the element.
    """
    axes = tuple(Axis(subscript) for subscript in element.subscripts)
    region = ArrayRegion(element.array, element.dtype, axes, frame.source.location(node))
    return ArrayValue((), element.dtype, lambda subscripts: Value(element), region)
