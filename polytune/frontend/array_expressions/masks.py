"""Subscripts that are arrays of truth values, and choices by them."""

from __future__ import annotations

import ast

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.conversions import check_update, check_written
from polytune.frontend.array_expressions.counted import extracted
from polytune.frontend.array_expressions.data_subscripts import written
from polytune.frontend.array_expressions.elementwise import arithmetic, as_array, chosen, computed, elementwise
from polytune.frontend.array_expressions.readers import Evaluate
from polytune.frontend.array_expressions.shapes import agree
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Selection, Subscripts
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


def read_index(frame: Frame, node: ast.Subscript, evaluate: Evaluate) -> tuple[ArrayValue | None, Evaluate]:
    """The mask that a subscript is, or None, and what reads expressions without reading the subscript again.

    Args:
        frame: where it stands.
        node: the whole expression.
        evaluate: reads an expression.
    """
    if isinstance(node.slice, ast.Tuple):
        return None, evaluate
    index, place = computed(frame, node, evaluate(frame, node.slice)), node.slice

    def again(frame: Frame, node: ast.expr) -> Operand:
        return index if node is place else evaluate(frame, node)

    return index if isinstance(index, ArrayValue) and index.dtype == "bool" else None, again


def selected(frame: Frame, node: ast.Subscript, base: ArrayValue, mask: ArrayValue) -> Selection:
    """``A[mask]``.

    Args:
        frame: where it stands.
        node: the whole expression.
        base: the array that is subscripted.
        mask: truth values of the shape of its leading dimensions.

    Raises:
        UnsupportedSourceError: the mask is not of the array's shape.
    """
    _check_mask(frame, node, base, mask)
    # Within a statement equal texts are equal masks; names for selections are given copies.
    return Selection(base, mask, ast.dump(node.slice), extracted)


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
    key: str


def masked_target(frame: Frame, node: ast.Subscript, target: ArrayValue, mask: ArrayValue) -> Masked:
    """Read ``A[mask]`` as a target.

    Args:
        frame: where it stands.
        node: the whole expression.
        target: the array.
        mask: truth values of its shape.

    Raises:
        UnsupportedSourceError: the mask is not of the array's shape.
    """
    _check_mask(frame, node, target, mask)
    return Masked(target, mask, ast.dump(node.slice))


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
    if symbol:
        check_update(frame, node, symbol, target, (value.dtype, new.dtype))
    writer = getattr(node, "writer", None)
    if writer is not None:
        check_written(frame, node, writer, target, new)
    converted = elementwise(frame, node, lambda values: _cast(values[0], target.dtype), [new])
    store(frame, node, target, chosen(frame, node, masked.mask, converted, target))


def _cast(value: Value, dtype: str) -> Value:
    return promotion.truth(value) if dtype == "bool" else promotion.cast(promotion.number(value), dtype)
