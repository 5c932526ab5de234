"""Subscripts that are arrays of integers: elements gathered from an array, and scattered to one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from polytune.frontend.array_expressions.affine_arithmetic import ONE
from polytune.frontend.array_expressions.conversions import check_update
from polytune.frontend.array_expressions.counted import places_of
from polytune.frontend.array_expressions.data_subscripts import from_either_end
from polytune.frontend.array_expressions.elementwise import arithmetic, as_array, computed
from polytune.frontend.array_expressions.readers import Evaluate, Number
from polytune.frontend.array_expressions.shapes import agree, broadcast, stretched, without_ones
from polytune.frontend.array_expressions.sizes import require_range
from polytune.frontend.array_expressions.slices import complete, is_ellipsis, is_none, is_whole, sliced
from polytune.frontend.array_expressions.temporaries import assigned_element, emit, kept, over, perform
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand, Shape, Subscripts
from polytune.frontend.array_expressions.views import element_of, position
from polytune.frontend.expression import Element, Expression, Iterator, walk
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.program import Node
from polytune.frontend.promotion import INTEGERS, Value
from polytune.records import dataclass


@dataclass(frozen=True)
class Gathered:
    """The elements that a subscript with arrays of integers selects.

    Attributes:
        base: the array that they are elements of.
        shape: that of the selection.
        subscripts: those of the base, of subscripts of the selection.
    """

    base: ArrayValue
    shape: Shape
    subscripts: Callable[[Subscripts], list[Expression]]

    def value(self) -> ArrayValue:
        """The elements as an array."""
        base = self.base
        return ArrayValue(self.shape, base.dtype, lambda subscripts: base.at(self.subscripts(subscripts)))


def gathered(
    frame: Frame, node: ast.Subscript, base: ArrayValue, items: list[ast.expr], evaluate: Evaluate, number: Number
) -> Gathered:
    """``base[items]``, where some items are arrays of integers.

    As in NumPy, these and single integers are stretched to one shape, the dimensions of which stand in the place of
    theirs if these are neighbours, and else first.

    Args:
        frame: where it stands.
        node: the whole expression.
        base: the array that is subscripted.
        items: the subscripts.
        evaluate: reads an expression.
        number: reads an expression that is a number.

    Raises:
        UnsupportedSourceError: an item is an array of anything else.
    """
    items, masks, evaluate = _with_places(frame, items, evaluate)
    parts = complete(frame, node, base, items)
    places: dict[int, ArrayValue] = {}  # the arrays by the dimensions that they select from
    chosen: list[ast.expr] = []  # the subscripts that they are
    slices: dict[int, Axis] = {}
    order: list[tuple[int | None, Expression | None]] = []  # per item the dimension of the base and a slice's extent
    dimension = 0
    for item in parts:
        if item is None:
            order.append((None, ONE))
            continue
        if isinstance(item, ast.Slice):
            first, step, count = sliced(frame, item, base.shape[dimension], number)
            slices[dimension] = Axis(first, len(order), step)
            order.append((dimension, count))
        else:
            places[dimension] = _index_array(frame, item, evaluate)
            if item in masks:
                pair = base.shape[dimension : dimension + 1], (masks[item],)
                agree(frame, node, pair[0][0], masks[item], pair, "an array and its mask,", _MASK_REMEDY)
            chosen.append(item)
            order.append((dimension, None))
        dimension += 1
    if any(not is_whole(frame, base, place) for place, item in zip(places, chosen, strict=True) if item not in masks):
        base = kept(frame, node, base)  # numbers are tested against the array in memory
    own = broadcast(frame, node, [array.shape for array in places.values()])
    arrays = {place: stretched(frame, array, own) for place, array in places.items()}
    at = [place for place, (_, count) in enumerate(order) if count is None]
    together = at == list(range(at[0], at[-1] + 1))
    before = [place for place in range(len(order)) if place not in at and together and place < at[0]]
    after = [place for place in range(len(order)) if place not in at and place not in before]
    extents = [count for _, count in order]
    shape = tuple(extent for p in before if (extent := extents[p]) is not None)
    shape += own + tuple(extent for p in after if (extent := extents[p]) is not None)
    result_of = {place: number for number, place in enumerate(before)}
    result_of |= {place: len(before) + len(own) + number for number, place in enumerate(after)}

    def subscripts(given: Subscripts) -> list[Expression]:
        selected = list(given[len(before) : len(before) + len(own)])
        found: list[Expression] = []
        for place in range(base.ndim):
            if place in arrays:
                found.append(from_either_end(arrays[place].at(selected), base.shape[place]))
            else:
                axis = slices[place]
                assert axis.dimension is not None
                found.append(position(replace(axis, dimension=result_of[axis.dimension]), given))
        return found

    return Gathered(base, shape, subscripts)


_MASK_REMEDY = "pass a mask with as many truth values as the array has there"


def _with_places(
    frame: Frame, items: list[ast.expr], evaluate: Evaluate
) -> tuple[list[ast.expr], dict[ast.expr, Expression], Evaluate]:
    """Subscripts with the places of what is true in place of masks, the extents of the masks by the subscripts that
    these have become, and what reads them.

    Args:
        frame: where they stand.
        items: the subscripts.
        evaluate: reads an expression.
    """
    known: dict[ast.expr, ArrayValue | Value] = {}
    extents: dict[ast.expr, Expression] = {}
    found: list[ast.expr] = []
    for item in items:
        if isinstance(item, ast.Slice) or is_none(item) or is_ellipsis(item):
            found.append(item)
            continue
        value = computed(frame, item, evaluate(frame, item))
        if not isinstance(value, ArrayValue) or value.dtype != "bool" or not value.ndim:
            known[item] = value
            found.append(item)
            continue
        for array, extent in zip(places_of(frame, item, value), value.shape, strict=True):
            subscript = ast.copy_location(ast.Name("", ast.Load()), item)
            known[subscript], extents[subscript] = array, extent
            found.append(subscript)

    def read(frame: Frame, node: ast.expr) -> Operand:
        return known[node] if node in known else evaluate(frame, node)

    return found, extents, read


def _index_array(frame: Frame, node: ast.expr, evaluate: Evaluate) -> ArrayValue:
    index = as_array(computed(frame, node, evaluate(frame, node)))
    if index.dtype not in INTEGERS:
        raise frame.source.refusal(
            node,
            f"elements selected by an array of {index.dtype}",
            "which elements are accessed is said by integers, or by truth values",
            "convert it: index.astype(np.int64)",
        )
    return index


def scatter(frame: Frame, node: ast.stmt, target: Gathered, value: Operand, symbol: str | None) -> None:
    """Lower ``A[index] = value``, or with a symbol ``A[index] symbol= value``: of several values for one element, the
    last one stays.

    Args:
        frame: where it stands.
        node: the assignment.
        target: the elements that are assigned.
        value: the right side, whose shape is broadcast to that of the target.
        symbol: the operator of an update; None for a plain assignment.

    Raises:
        UnsupportedSourceError: what is subscripted is no array in memory, or the shapes do not fit.
    """
    region = target.base.region
    if region is None:
        raise frame.source.refusal(
            node,
            "an assignment to elements of a result",
            "what is computed is in no array that could be changed",
            "give the result a name, and assign to elements of that",
        )
    new = computed(frame, node, arithmetic(frame, node, symbol, target.value(), value) if symbol else value)
    require_range(frame, node, new, target.base.dtype)
    if symbol:
        check_update(frame, node, symbol, target.base, (value.dtype, new.dtype))
    array = as_array(new)
    array = without_ones(frame, node, array, target.shape)
    probe = [Iterator(frame.kernel.fresh("point")) for _ in array.shape]
    reads = [part for part in walk(array.at(probe).expression) if isinstance(part, Element)]
    if any(part.array == region.array for part in reads):
        array = kept(frame, node, array)  # everything is read before anything is written
    array = stretched(frame, array, target.shape)

    def body(iterators: tuple[Iterator, ...]) -> Sequence[Node]:
        element = element_of(frame.kernel, region, target.subscripts(iterators))
        return (perform(frame, node, assigned_element(element, array.at(iterators))),)

    emit(frame, node, over(frame, node, target.shape, body))
