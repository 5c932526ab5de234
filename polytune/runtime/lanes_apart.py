"""Vectors whose lanes lie a step apart along the contiguous axis of a view: backwards, or every so many elements.

All elements from the first to the last lane are one wide masked load or store, and a shuffle.  What is between lanes,
and lanes that a mask leaves out, are not touched, so that nothing outside of the array is, and no other thread's
element is stored.  What ``polytune.runtime.vectors`` says of loads and stores holds here too.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polytune.runtime.memory import View, alignment_of, annotate, element_address
from polytune.runtime.vectors import Mask, Vector, vector_type

__all__ = ["NEAR", "load_apart", "load_some_apart", "store_apart", "store_some_apart"]

NEAR = 4
"""Up to how many elements apart lanes may be."""

_BIT, _INT32, _INT64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)


def _step_of(view: types.Type, step: types.Type) -> int:
    if not isinstance(view, View) or len(view.dynamic_axes) == view.ndim:
        raise TypingError(f"lanes are apart along the contiguous axis of a view, which {view} does not have")
    if not isinstance(step, types.IntegerLiteral) or not 1 <= abs(step.literal_value) <= NEAR:
        raise TypingError(f"lanes are a literal number of elements apart, {NEAR} at most, not {step}")
    return step.literal_value


def _check_mask(mask: types.Type, lanes: int) -> None:
    if mask != Mask(lanes):
        raise TypingError(f"{lanes} lanes are chosen by a mask of as many, not by {mask}")


def _check_store(view: types.Type, value: types.Type) -> None:
    if not isinstance(value, Vector) or not isinstance(view, View) or value.dtype != view.dtype:
        raise TypingError(f"cannot store {value} through {view}")
    if not view.mutable:
        raise TypingError(f"cannot store through {view}: its array is read-only")


class _Wide:
    """All elements from the least lane to the greatest one, as one vector in memory."""

    def __init__(self, context: Any, builder: ir.IRBuilder, view: View, vector: Vector, step: int):
        self.builder, self.view, self.lanes, self.step = builder, view, vector.lanes, abs(step)
        self.backwards = step < 0
        self.width = vector.lanes * self.step
        self.storage = ir.VectorType(context.get_value_type(vector.dtype), self.width)
        self.bits = ir.VectorType(_BIT, self.width)
        self.alignment = _INT32(alignment_of(context, view))
        self.element = context.get_data_type(view.dtype)
        kind = "f" if isinstance(vector.dtype, types.Float) else "i"
        self.suffix = f"v{self.width}{kind}{vector.dtype.bitwidth}.p0"

    def place(self, lane: int) -> int:
        """Where in the wide vector a lane is."""
        return (self.lanes - 1 - lane if self.backwards else lane) * self.step

    def address(self, first: ir.Value) -> ir.Value:
        """The address of the least lane, given that of the first one; there need be no element."""
        if self.backwards:
            first = self.builder.gep(first, [_INT64(-(self.lanes - 1) * self.step)], source_etype=self.element)
        return self.builder.bitcast(first, ir.PointerType())

    def mask(self, chosen: ir.Value | None) -> ir.Value:
        """The elements that are lanes, those that a mask chooses."""
        lane_at = {self.place(lane): lane for lane in range(self.lanes)}
        if chosen is None:
            return ir.Constant(self.bits, [int(place in lane_at) for place in range(self.width)])
        nothing = ir.Constant(ir.VectorType(_BIT, self.lanes), None)
        return self.shuffle(chosen, nothing, [lane_at.get(place, self.lanes) for place in range(self.width)])

    def shuffle(self, first: ir.Value, second: ir.Value, places: list[int]) -> ir.Value:
        return self.builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(_INT32, len(places)), places))

    def load(self, first: ir.Value, chosen: ir.Value | None) -> ir.Value:
        zeros = ir.Constant(self.storage, None)
        kind = ir.FunctionType(self.storage, [ir.PointerType(), _INT32, self.bits, self.storage])
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.masked.load.{self.suffix}")
        arguments = [self.address(first), self.alignment, self.mask(chosen), zeros]
        loaded = self.builder.call(function, arguments)
        annotate(self.builder.module, loaded, self.view)
        return self.shuffle(loaded, zeros, [self.place(lane) for lane in range(self.lanes)])

    def store(self, first: ir.Value, value: ir.Value, chosen: ir.Value | None) -> None:
        lane_at = {self.place(lane): lane for lane in range(self.lanes)}
        wide = self.shuffle(value, value, [lane_at.get(place, 0) for place in range(self.width)])
        kind = ir.FunctionType(ir.VoidType(), [self.storage, ir.PointerType(), _INT32, self.bits])
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.masked.store.{self.suffix}")
        stored = self.builder.call(function, [wide, self.address(first), self.alignment, self.mask(chosen)])
        annotate(self.builder.module, stored, self.view)


def _loader(view: types.Type, lanes: types.Type, step: types.Type) -> tuple[Vector, Any]:
    vector, far = vector_type(view, lanes), _step_of(view, step)

    def emit(context, builder, sig, args):
        first = element_address(context, builder, sig.args[0], sig.args[2], args[0], args[2])
        return _Wide(context, builder, sig.args[0], vector, far).load(first, args[4] if len(args) > 4 else None)

    return vector, emit


@intrinsic(prefer_literal=True)
def load_apart(typing_context, view, lanes, index, step):
    """Elements of a view's contiguous axis a step apart, as a vector.

    Args:
        view: a view of integers or floats with a contiguous axis.
        lanes: literal; how many.
        index: subscripts of the first one, a tuple of integers.
        step: literal; by how much the subscript of the contiguous axis grows from lane to lane, at most ``NEAR`` in
            either direction, and not 0.
    """
    vector, emit = _loader(view, lanes, step)
    return vector(view, lanes, index, step), emit


@intrinsic(prefer_literal=True)
def load_some_apart(typing_context, view, lanes, index, step, mask):
    """Those lanes that a mask chooses, and zeros elsewhere; see ``load_apart``."""
    vector, emit = _loader(view, lanes, step)
    _check_mask(mask, vector.lanes)
    return vector(view, lanes, index, step, mask), emit


def _storer(view: types.Type, value: types.Type, step: types.Type) -> Any:
    _check_store(view, value)
    far = _step_of(view, step)

    def emit(context, builder, sig, args):
        first = element_address(context, builder, sig.args[0], sig.args[1], args[0], args[1])
        wide = _Wide(context, builder, sig.args[0], value, far)
        wide.store(first, args[3], args[4] if len(args) > 4 else None)
        return context.get_dummy_value()

    return emit


@intrinsic(prefer_literal=True)
def store_apart(typing_context, view, index, step, value):
    """Store a vector to elements of a view's contiguous axis a step apart, the first one at ``index``; see
    ``load_apart``."""
    return types.void(view, index, step, value), _storer(view, value, step)


@intrinsic(prefer_literal=True)
def store_some_apart(typing_context, view, index, step, value, mask):
    """Store those lanes that a mask chooses; see ``store_apart``."""
    emit = _storer(view, value, step)
    _check_mask(mask, value.lanes)
    return types.void(view, index, step, value, mask), emit
