"""Vectors whose lanes lie a step apart in memory: backwards, every so many elements, or in another row each.

Where they are at most ``NEAR`` elements apart along the contiguous axis, the elements from the first to the last lane
are one wide masked load or store, and a shuffle.  What is between lanes, and lanes that a mask leaves out, are not
touched, so that nothing outside of the array is, and no other thread's element is stored.  Else each lane is loaded or
stored by itself: processors gather and scatter no faster than that.  Iterations that go along the contiguous axis then
find in the first cache what the first of them fetched.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polytune.runtime.intrinsics.memory import View, alignment_of, annotate, element_address
from polytune.runtime.intrinsics.vector_types import Vector, check_mask, check_store, storage_of, vector_of

__all__ = ["NEAR", "load_apart", "load_apart_masked", "store_apart", "store_apart_masked"]

NEAR = 4
"""Up to how many elements apart lanes along the contiguous axis are loaded and stored in whole vectors."""

_BIT, _BYTE, _INT32, _INT64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _literals(*values: types.Type) -> tuple[int, ...]:
    if not all(isinstance(value, types.IntegerLiteral) for value in values):
        raise TypingError("the axis and the step of lanes are literal integers")
    return tuple(value.literal_value for value in values)


def _is_near(view: View, axis: int, step: int) -> bool:
    if not 0 <= axis < view.ndim or step == 0:
        raise TypingError(f"lanes of a {view} cannot be {step} apart along axis {axis}")
    return axis not in view.dynamic_axes and abs(step) <= NEAR


class _Wide:
    """All elements from the least lane to the greatest one, as one vector in memory."""

    def __init__(self, context: Any, builder: ir.IRBuilder, view: View, vector: Vector, step: int):
        self.builder, self.view, self.lanes, self.step = builder, view, vector.lanes, abs(step)
        self.backwards = step < 0
        self.width = vector.lanes * self.step
        self.storage = ir.VectorType(storage_of(vector).element, self.width)
        self.bits = ir.VectorType(_BIT, self.width)
        self.alignment = _INT32(alignment_of(context, view))
        self.element = context.get_data_type(view.dtype)
        kind = "f" if isinstance(vector.dtype, types.Float) else "i"
        self.suffix = f"v{self.width}{kind}{vector.dtype.bitwidth}.p0"

    def place(self, lane: int) -> int:
        """Return where in the wide vector a lane is."""
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


def _addresses(context, builder, view: View, value, first, place: tuple[int, ...], lanes: int) -> list[ir.Value]:
    """Return where lanes far apart lie; at those that a mask leaves out there need be no element."""
    axis, step = place
    if axis in view.dynamic_axes:
        source = context.make_helper(builder, view, value=value)
        stride = builder.mul(getattr(source, f"stride_{axis}"), _INT64(step))
    else:
        stride = _INT64(step * context.get_abi_sizeof(context.get_data_type(view.dtype)))
    return [builder.gep(first, [builder.mul(stride, _INT64(lane))], source_etype=_BYTE) for lane in range(lanes)]


def _gather(context, builder, view: View, vector: Vector, addresses: list[ir.Value], chosen) -> ir.Value:
    """Lanes far apart, those that a mask chooses, and zeros elsewhere."""
    storage, alignment = storage_of(vector), alignment_of(context, view)
    if chosen is None:
        gathered = ir.Constant(storage, ir.Undefined)
        for lane, address in enumerate(addresses):
            loaded = builder.load(address, align=alignment, typ=storage.element)
            annotate(builder.module, loaded, view)
            gathered = builder.insert_element(gathered, loaded, _INT32(lane))
        return gathered
    pointers = ir.VectorType(ir.PointerType(), vector.lanes)
    many = ir.Constant(pointers, ir.Undefined)
    for lane, address in enumerate(addresses):
        many = builder.insert_element(many, builder.bitcast(address, ir.PointerType()), _INT32(lane))
    kind = ir.FunctionType(storage, [pointers, _INT32, ir.VectorType(_BIT, vector.lanes), storage])
    letter = "f" if isinstance(vector.dtype, types.Float) else "i"
    name = f"llvm.masked.gather.v{vector.lanes}{letter}{vector.dtype.bitwidth}.v{vector.lanes}p0"
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    loaded = builder.call(function, [many, _INT32(alignment), chosen, ir.Constant(storage, None)])
    annotate(builder.module, loaded, view)
    return loaded


def _scatter(context, builder, view: View, value: ir.Value, addresses: list[ir.Value], chosen) -> None:
    """Store lanes far apart, those that a mask chooses; the others go to a place of the function's own."""
    own = cgutils.alloca_once(builder, value.type.element) if chosen is not None else None
    for lane, element in enumerate(addresses):
        address = element
        if own is not None:
            address = builder.select(builder.extract_element(chosen, _INT32(lane)), element, own)
        part = builder.extract_element(value, _INT32(lane))
        stored = builder.store(part, address, align=alignment_of(context, view))
        annotate(builder.module, stored, view)


def _loader(view: types.Type, lanes: types.Type, axis: types.Type, step: types.Type) -> tuple[Vector, Any]:
    vector, place = vector_of(view, lanes), _literals(axis, step)
    near = _is_near(view, *place)

    def emit(context, builder, sig, args):
        first = element_address(context, builder, sig.args[0], sig.args[2], args[0], args[2])
        chosen = args[5] if len(args) > 5 else None
        if near:
            return _Wide(context, builder, sig.args[0], vector, place[1]).load(first, chosen)
        addresses = _addresses(context, builder, sig.args[0], args[0], first, place, vector.lanes)
        return _gather(context, builder, sig.args[0], vector, addresses, chosen)

    return vector, emit


@intrinsic(prefer_literal=True)
def load_apart(typing_context, view, lanes, index, axis, step):
    """Elements of a view a step apart as a vector.

    Args:
        view: a view of integers or floats.
        lanes: literal; how many.
        index: subscripts of the first one, a tuple of integers.
        axis, step: literal; by how much which subscript grows from one to the next, not 0.
    """
    vector, emit = _loader(view, lanes, axis, step)
    return vector(view, lanes, index, axis, step), emit


@intrinsic(prefer_literal=True)
def load_apart_masked(typing_context, view, lanes, index, axis, step, mask):
    """The elements of the lanes that a mask chooses, a step apart, and zeros elsewhere; elements of other lanes need
    not be there.

    Args:
        view: a view of integers or floats.
        lanes: literal; how many.
        index: subscripts of the first lane, a tuple of integers.
        axis, step: literal; by how much which subscript grows from one lane to the next, not 0.
        mask: of as many lanes.
    """
    vector, emit = _loader(view, lanes, axis, step)
    check_mask(mask, vector.lanes)
    return vector(view, lanes, index, axis, step, mask), emit


def _storer(view: types.Type, value: types.Type, axis: types.Type, step: types.Type) -> Any:
    check_store(view, value)
    place = _literals(axis, step)
    near = _is_near(view, *place)

    def emit(context, builder, sig, args):
        first = element_address(context, builder, sig.args[0], sig.args[1], args[0], args[1])
        chosen = args[5] if len(args) > 5 else None
        if near:
            _Wide(context, builder, sig.args[0], value, place[1]).store(first, args[4], chosen)
        else:
            addresses = _addresses(context, builder, sig.args[0], args[0], first, place, value.lanes)
            _scatter(context, builder, sig.args[0], args[4], addresses, chosen)
        return context.get_dummy_value()

    return emit


@intrinsic(prefer_literal=True)
def store_apart(typing_context, view, index, axis, step, value):
    """Store a vector to elements of a view a step apart.

    Args:
        view: a view of the type of the lanes.
        index: subscripts of the first one, a tuple of integers.
        axis, step: literal; by how much which subscript grows from one lane to the next, not 0.
        value: the vector.
    """
    return types.void(view, index, axis, step, value), _storer(view, value, axis, step)


@intrinsic(prefer_literal=True)
def store_apart_masked(typing_context, view, index, axis, step, value, mask):
    """Store those lanes that a mask chooses to elements a step apart; elements of other lanes need not be there.

    Args:
        view: a view of the type of the lanes.
        index: subscripts of the first lane, a tuple of integers.
        axis, step: literal; by how much which subscript grows from one lane to the next, not 0.
        value: the vector.
        mask: of as many lanes.
    """
    emit = _storer(view, value, axis, step)
    check_mask(mask, value.lanes)
    return types.void(view, index, axis, step, value, mask), emit
