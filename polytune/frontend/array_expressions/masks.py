"""Subscripts that are arrays of truth values, and choices by them."""

from __future__ import annotations

import ast
from collections.abc import Hashable

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.conversions import check_update, check_written
from polytune.frontend.array_expressions.counted import extracted, extracted_rows
from polytune.frontend.array_expressions.data_subscripts import written
from polytune.frontend.array_expressions.elementwise import arithmetic, as_array, chosen, computed, elementwise
from polytune.frontend.array_expressions.readers import Evaluate, Number
from polytune.frontend.array_expressions.shapes import agree
from polytune.frontend.array_expressions.sizes import require_range
from polytune.frontend.array_expressions.slices import complete, is_ellipsis, is_none, part_of, subscripts_of
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Selection, Subscripts
from polytune.frontend.array_expressions.views import permuted
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.stored_scalars import reads_memory, store_scalar
from polytune.frontend.promotion import Value
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.refusals import counted
from polytune.records import dataclass


@compiles(np.where, "condition", "x", "y")
def _where(call: ArrayCall) -> Operand:
    return chosen(call.frame, call.node, call.value("condition"), call.value("x"), call.value("y"))


def either(
    frame: Frame, node: ast.IfExp, test: Value, then: ArrayValue | Value, otherwise: ArrayValue | Value
) -> ArrayValue:
    """``then if test else otherwise`` of arrays of one shape and type.

    Args:
        frame: where it stands.
        node: the whole expression.
        test: the condition, a number.
        then, otherwise: both sides.

    Raises:
        UnsupportedSourceError: they are of different types or numbers of dimensions.
    """
    if not frame.pure and reads_memory(test):
        # Also of arrays without elements the condition is read, and once.
        test = promotion.truth(store_scalar(frame, node, frame.kernel.fresh("chosen"), test))
    left, right = as_array(then), as_array(otherwise)
    if left.ndim != right.ndim or left.dtype != right.dtype:
        kinds = [f"{each.dtype} with {counted(each.ndim, 'dimension')}" for each in (left, right)]
        raise frame.source.refusal(
            node,
            f"a choice between an array of {kinds[0]} and one of {kinds[1]}",
            "of arrays, the type and the number of dimensions must not depend on a condition",
            "convert one of them, as A.astype(np.float64), or write an if statement with what is done in each case",
        )
    for one, other in zip(left.shape, right.shape, strict=True):
        agree(frame, node, one, other, (left.shape, right.shape), "arrays between which a condition chooses,")
    in_memory = [side.region.array for side in (left, right) if side.region is not None and not side.is_new]
    arrays = frame.kernel.arrays
    seen = [name for name in in_memory if arrays[name].role is not ArrayRole.LOCAL] or in_memory

    def at(subscripts: Subscripts) -> Value:
        return promotion.select(test, left.at(subscripts), right.at(subscripts))

    costly = left.is_costly or right.is_costly
    return ArrayValue(left.shape, left.dtype, at, is_costly=costly, view_of=seen[0] if seen else None)


def reading_once(frame: Frame, node: ast.Subscript, evaluate: Evaluate) -> Evaluate:
    """Read the subscripts of an expression that are no slices, and return what reads expressions without reading these
    again.

    Args:
        frame: where it stands.
        node: the whole expression.
        evaluate: reads an expression.
    """
    items = [item for item in subscripts_of(node) if not _keeps_dimensions(item)]
    known = {item: computed(frame, node, evaluate(frame, item)) for item in items}

    def again(frame: Frame, node: ast.expr) -> Operand:
        return known[node] if node in known else evaluate(frame, node)

    return again


def selected(
    frame: Frame, node: ast.Subscript, base: ArrayValue, evaluate: Evaluate, number: Number, single: Number
) -> Selection | None:
    """The selection by a mask, ``A[mask]``, ``A[mask, j]`` or ``A[:, mask]``; None where there is no mask, or another
    array beside it.

    As in NumPy, what stands in place of the mask's dimensions and of single integers is first if these are no
    neighbours.

    Args:
        frame: where it stands.
        node: the whole expression.
        base: the array that is subscripted.
        evaluate: reads an expression.
        number: reads an expression that is a number.
        single: reads a subscript that is one.

    Raises:
        UnsupportedSourceError: the mask is not of the array's shape.
    """
    items = subscripts_of(node)
    indices = [place for place, item in enumerate(items) if not _keeps_dimensions(item)]
    values = [evaluate(frame, items[place]) for place in indices]
    arrays = [(place, value) for place, value in zip(indices, values, strict=True) if isinstance(value, ArrayValue)]
    if len(arrays) != 1:
        return None
    place, mask = arrays[0]
    if mask.dtype != "bool" or not mask.ndim:
        return None
    if len(items) == 1 and mask.ndim > base.ndim:
        _check_mask(frame, node, base, mask)
    slices: list[ast.expr] = [ast.copy_location(ast.Slice(), node) for _ in range(mask.ndim)]
    wanted = complete(frame, node, base, [*items[:place], *slices, *items[place + 1 :]])
    part = part_of(frame, node, base, [_NEW if item is None else item for item in wanted], number, single)
    before = wanted[: wanted.index(slices[0])]
    first = sum(item is None or isinstance(item, ast.Slice) for item in before)
    if indices != list(range(indices[0], indices[-1] + 1)):
        others = [dimension for dimension in range(part.ndim) if not first <= dimension < first + mask.ndim]
        part = permuted(frame.kernel, part, (*range(first, first + mask.ndim), *others))
        first = 0
    masked = ArrayValue(part.shape[first : first + mask.ndim], part.dtype, part.at)
    _check_mask(frame, node, masked, mask)
    # Within a statement equal texts are equal masks; names for selections are given copies.
    text = ast.dump(items[place])
    if part.ndim == mask.ndim:
        return Selection(part, mask, text, extracted)
    return Selection(part, mask, (text, first, part.ndim), extracted_rows, first=first)


_NEW = ast.Constant(None)


def _keeps_dimensions(node: ast.expr) -> bool:
    """Return whether a subscript is a slice, a new dimension or ``...``."""
    is_new = isinstance(node, ast.Attribute) and node.attr == "newaxis"
    return isinstance(node, ast.Slice) or is_none(node) or is_ellipsis(node) or is_new


def _check_mask(frame: Frame, node: ast.AST, array: ArrayValue, mask: ArrayValue) -> None:
    if mask.ndim != array.ndim:
        raise frame.source.refusal(
            node,
            f"a mask of {counted(mask.ndim, 'dimension')} on an array of {counted(array.ndim, 'dimension')}",
            "NumPy raises an error here",
            "use a mask with a truth value for each element, or for each row",
        )
    for left, right in zip(array.shape, mask.shape, strict=True):
        remedy = "pass a mask of the array's shape"
        agree(frame, node, left, right, (array.shape, mask.shape), "an array and its mask,", remedy)


def named(frame: Frame, node: ast.AST, selection: Selection) -> Selection:
    """A selection that a name can mean: what it selects from, and its mask, may change later.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        selection: what is assigned to the name.
    """
    mask = _kept_mask(frame, node, selection.mask)
    values = kept(frame, node, selection.values, "selected")
    assert mask.region is not None
    return Selection(values, mask, mask.region.array, extracted, is_named=True, place=frame)


def _kept_mask(frame: Frame, node: ast.AST, mask: ArrayValue) -> ArrayValue:
    """A copy of a mask; one for all that is selected by it until it changes.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        mask: truth values.
    """
    kernel, region = frame.kernel, mask.region
    if region is None:
        return kept(frame, node, mask, "mask")
    copy, nodes, position = kernel.masks.get(region, (None, None, 0))
    if copy is not None and nodes is frame.nodes and region.array not in written(frame.nodes[position:]):
        return copy
    copy = kept(frame, node, mask, "mask")
    kernel.masks[region] = copy, frame.nodes, len(frame.nodes)
    return copy


@dataclass(frozen=True)
class Masked:
    """The target ``A[mask]``: an array and the elements of it that are assigned."""

    target: ArrayValue
    mask: ArrayValue
    key: Hashable


def masked_target(selection: Selection) -> Masked | None:
    """The selection as a target; None where it is of rows, of which few may be assigned among many."""
    if not selection.is_of_elements:
        return None
    return Masked(selection.values, selection.mask, selection.key)


def is_chosen(masked: Masked, value: Operand) -> bool:
    """Return whether each element of a target has a value of its own that it is assigned or not: where it is a number,
    or what the same mask selects."""
    if isinstance(value, Selection):
        return value.key == masked.key
    return isinstance(value, Value) or not value.shape


def store_masked(frame: Frame, node: ast.AST, masked: Masked, value: Operand, symbol: str | None) -> None:
    """Lower ``A[mask] = value``, or with a symbol ``A[mask] symbol= value``, for a value that ``is_chosen``.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        masked: the target.
        value: the right side.
        symbol: the operator of an update; None for a plain assignment.
    """
    target = masked.target
    value = value.values if isinstance(value, Selection) else computed(frame, node, value)
    new = computed(frame, node, arithmetic(frame, node, symbol, target, value) if symbol else value)
    require_range(frame, node, new, target.dtype)
    if symbol:
        check_update(frame, node, symbol, target, (value.dtype, new.dtype))
    writer = getattr(node, "writer", None)
    if writer is not None:
        check_written(frame, node, writer, target, new)
    converted = elementwise(frame, node, lambda values: _cast(values[0], target.dtype), [new])
    store(frame, node, target, chosen(frame, node, masked.mask, converted, target))


def _cast(value: Value, dtype: str) -> Value:
    return promotion.truth(value) if dtype == "bool" else promotion.cast(promotion.number(value), dtype)
