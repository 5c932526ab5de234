"""Vectors whose lanes lie along any axis of a view: a row apart, say, rather than next to one another.

Each lane is loaded or stored by itself and put into its place in a register: processors gather and scatter no faster
than that.  Iterations that go along the contiguous axis then find in the first cache what the first of them fetched.
What ``polytune.runtime.vectors`` says of loads and stores holds here too.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polytune.runtime.memory import View, alignment_of, annotate, element_address
from polytune.runtime.vectors import Mask, Vector, vector_type

__all__ = ["load_across", "load_some_across", "store_across", "store_some_across"]

_BYTE, _PLACE = ir.IntType(8), ir.IntType(32)


def _axis_of(view: types.Type, axis: types.Type) -> int:
    if not isinstance(view, View) or not isinstance(axis, types.IntegerLiteral):
        raise TypingError(f"lanes lie along a literal axis of a view, not along {axis} of {view}")
    if not 0 <= axis.literal_value < view.ndim:
        raise TypingError(f"{view} has no axis {axis.literal_value}")
    return axis.literal_value


def _check_mask(mask: types.Type, lanes: int) -> None:
    if mask != Mask(lanes):
        raise TypingError(f"{lanes} lanes are chosen by a mask of as many, not by {mask}")


def _check_store(view: types.Type, value: types.Type) -> None:
    if not isinstance(value, Vector) or not isinstance(view, View) or value.dtype != view.dtype:
        raise TypingError(f"cannot store {value} through {view}")
    if not view.mutable:
        raise TypingError(f"cannot store through {view}: its array is read-only")


class _Lanes:
    """The addresses of lanes, and the accesses to each of them.

    With a mask, a lane that it leaves out stands for a zero of the function's own.
    """

    def __init__(self, context, builder, view, index_type, value, index, axis: int, mask=None):
        self.context, self.builder, self.view, self.mask = context, builder, view, mask
        self.first = element_address(context, builder, view, index_type, value, index)
        self.element = context.get_data_type(view.dtype)
        intp = context.get_value_type(types.intp)
        if axis in view.dynamic_axes:
            self.step = getattr(context.make_helper(builder, view, value=value), f"stride_{axis}")
        else:
            self.step = ir.Constant(intp, context.get_abi_sizeof(self.element))
        if mask is not None:
            self.own = cgutils.alloca_once_value(builder, ir.Constant(self.element, 0))

    def address(self, lane: int) -> ir.Value:
        builder = self.builder
        offset = builder.mul(self.step, ir.Constant(self.step.type, lane), flags=("nsw",))
        if self.mask is None:
            return builder.gep(self.first, [offset], inbounds=True, source_etype=_BYTE)
        # The address of a lane that is left out may lie anywhere.
        address = builder.gep(self.first, [offset], source_etype=_BYTE)
        return builder.select(builder.extract_element(self.mask, _PLACE(lane)), address, self.own)

    def load(self, storage: ir.VectorType) -> ir.Value:
        if self.mask is not None:
            self.builder.store(ir.Constant(self.element, 0), self.own)
        result = ir.Constant(storage, ir.Undefined)
        for lane in range(storage.count):
            loaded = self.builder.load(self.address(lane), align=self.alignment, typ=self.element)
            annotate(self.builder.module, loaded, self.view)
            result = self.builder.insert_element(result, loaded, _PLACE(lane))
        return result

    def store(self, value: ir.Value) -> None:
        for lane in range(value.type.count):
            part = self.builder.extract_element(value, _PLACE(lane))
            stored = self.builder.store(part, self.address(lane), align=self.alignment)
            annotate(self.builder.module, stored, self.view)

    @property
    def alignment(self) -> int:
        return alignment_of(self.context, self.view)


@intrinsic(prefer_literal=True)
def load_across(typing_context, view, lanes, index, axis):
    """Elements of a view that follow one another along an axis, as a vector.

    Args:
        view: a view of integers or floats.
        lanes: literal; how many.
        index: subscripts of the first one, a tuple of integers.
        axis: literal; the position of the subscript that grows from lane to lane.
    """
    vector, along = vector_type(view, lanes), _axis_of(view, axis)

    def emit(context, builder, sig, args):
        places = _Lanes(context, builder, sig.args[0], sig.args[2], args[0], args[2], along)
        return places.load(context.get_value_type(vector))

    return vector(view, lanes, index, axis), emit


@intrinsic(prefer_literal=True)
def load_some_across(typing_context, view, lanes, index, axis, mask):
    """Those lanes that a mask chooses, and zeros elsewhere; see ``load_across``."""
    vector, along = vector_type(view, lanes), _axis_of(view, axis)
    _check_mask(mask, vector.lanes)

    def emit(context, builder, sig, args):
        places = _Lanes(context, builder, sig.args[0], sig.args[2], args[0], args[2], along, args[4])
        return places.load(context.get_value_type(vector))

    return vector(view, lanes, index, axis, mask), emit


@intrinsic(prefer_literal=True)
def store_across(typing_context, view, index, axis, value):
    """Store a vector to elements that follow one another along an axis, the first one at ``index``."""
    _check_store(view, value)
    along = _axis_of(view, axis)

    def emit(context, builder, sig, args):
        _Lanes(context, builder, sig.args[0], sig.args[1], args[0], args[1], along).store(args[3])
        return context.get_dummy_value()

    return types.void(view, index, axis, value), emit


@intrinsic(prefer_literal=True)
def store_some_across(typing_context, view, index, axis, value, mask):
    """Store those lanes that a mask chooses; see ``store_across``."""
    _check_store(view, value)
    _check_mask(mask, value.lanes)
    along = _axis_of(view, axis)

    def emit(context, builder, sig, args):
        _Lanes(context, builder, sig.args[0], sig.args[1], args[0], args[1], along, args[4]).store(args[3])
        return context.get_dummy_value()

    return types.void(view, index, axis, value, mask), emit
