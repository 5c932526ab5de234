"""Vectors in compiled code: registers of several lanes, with the meaning of their scalars lane by lane.

A ``Vector`` is a Numba type whose values LLVM keeps in vector registers, so that what a version says about registers is
what the processor does.  Operators mean what they mean for scalars: under the floating-point options of the function
that they stand in, a product and a sum may become one fused operation.  Loads and stores go through views
(``polytune.runtime.intrinsics.memory``), carry no wrap-around test, tolerate any alignment of whole elements, and touch
no lane that a mask leaves out.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polytune.runtime.intrinsics import vector_operators  # noqa: F401  (registers them)
from polytune.runtime.intrinsics.memory import View, alignment_of, annotate, element_address
from polytune.runtime.intrinsics.vector_types import (
    BIT,
    SCALARS,
    Mask,
    Vector,
    check_mask,
    check_store,
    storage_of,
    type_suffix,
    vector_of,
)

__all__ = [
    "Mask",
    "Vector",
    "between",
    "lane_sum",
    "load",
    "load_masked",
    "misalignment",
    "prefetch",
    "select",
    "shifted",
    "splat",
    "store",
    "store_masked",
]

# Between memory and registers


@intrinsic(prefer_literal=True)
def load(typing_context, view, lanes, index):
    """Consecutive elements of a view's contiguous axis as a vector.

    Args:
        view: a view of integers or floats with a contiguous axis.
        lanes: literal; how many.
        index: subscripts of the first one, a tuple of integers.
    """
    vector = vector_of(view, lanes)

    def emit(context, builder, sig, args):
        address = element_address(context, builder, sig.args[0], sig.args[2], args[0], args[2])
        loaded = builder.load(address, align=alignment_of(context, sig.args[0]), typ=storage_of(vector))
        annotate(builder.module, loaded, sig.args[0])
        return loaded

    return vector(view, lanes, index), emit


@intrinsic(prefer_literal=True)
def load_masked(typing_context, view, lanes, index, mask):
    """The elements of the lanes that a mask chooses, and zeros elsewhere; elements of other lanes are not touched, and
    need not be there.

    Args:
        view: a view of integers or floats with a contiguous axis.
        lanes: literal; how many.
        index: subscripts of the first lane, a tuple of integers.
        mask: of as many lanes.
    """
    vector = vector_of(view, lanes)
    check_mask(mask, vector.lanes)

    def emit(context, builder, sig, args):
        address = element_address(context, builder, sig.args[0], sig.args[2], args[0], args[2], inside=False)
        storage, bits = storage_of(vector), ir.VectorType(BIT, vector.lanes)
        kind = ir.FunctionType(storage, [ir.PointerType(), ir.IntType(32), bits, storage])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.{type_suffix(vector)}.p0")
        alignment = ir.IntType(32)(alignment_of(context, sig.args[0]))
        arguments = [builder.bitcast(address, ir.PointerType()), alignment, args[3], ir.Constant(storage, None)]
        loaded = builder.call(function, arguments)
        annotate(builder.module, loaded, sig.args[0])
        return loaded

    return vector(view, lanes, index, mask), emit


@intrinsic(prefer_literal=True)
def misalignment(typing_context, view, lanes, index):
    """Return how many elements an element lies past the last multiple, in memory, of the size of a vector.

    A vector that begins so many elements before it touches one line of a cache, where vectors are no longer than
    that and elements lie at multiples of their own size.

    Args:
        view: a view of integers or floats with a contiguous axis.
        lanes: literal; how many elements a vector has.
        index: subscripts of the element, a tuple of integers.
    """
    vector = vector_of(view, lanes)
    size = vector.dtype.bitwidth // 8

    def emit(context, builder, sig, args):
        address = element_address(context, builder, sig.args[0], sig.args[2], args[0], args[2], inside=False)
        number = builder.ptrtoint(address, ir.IntType(64))
        within = builder.and_(number, ir.Constant(number.type, vector.lanes * size - 1))
        return builder.udiv(within, ir.Constant(number.type, size))

    return types.int64(view, lanes, index), emit


@intrinsic
def prefetch(typing_context, view, index):
    """Bring the line of an element into the first cache; the element need not exist, as nothing is accessed.

    Args:
        view: a view of integers or floats.
        index: subscripts, a tuple of integers.
    """
    if not isinstance(view, View):
        raise TypingError(f"elements are prefetched through views, not through {view}")

    def emit(context, builder, sig, args):
        address = element_address(context, builder, sig.args[0], sig.args[1], args[0], args[1], inside=False)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(), number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, everywhere, data = number(0), number(3), number(1)
        builder.call(function, [builder.bitcast(address, ir.PointerType()), read, everywhere, data])
        return context.get_dummy_value()

    return types.void(view, index), emit


@intrinsic
def store(typing_context, view, index, value):
    """Store a vector to consecutive elements of a view's contiguous axis.

    Args:
        view: a view with a contiguous axis, of the type of the lanes.
        index: subscripts of the first one, a tuple of integers.
        value: the vector.
    """
    check_store(view, value)

    def emit(context, builder, sig, args):
        address = element_address(context, builder, sig.args[0], sig.args[1], args[0], args[1])
        address = builder.bitcast(address, storage_of(value).as_pointer())
        stored = builder.store(args[2], address, align=alignment_of(context, sig.args[0]))
        annotate(builder.module, stored, sig.args[0])
        return context.get_dummy_value()

    return types.void(view, index, value), emit


@intrinsic
def store_masked(typing_context, view, index, value, mask):
    """Store those lanes that a mask chooses; elements of other lanes are not touched, and need not be there.

    Args:
        view: a view with a contiguous axis, of the type of the lanes.
        index: subscripts of the first lane, a tuple of integers.
        value: the vector.
        mask: of as many lanes.
    """
    check_store(view, value)
    check_mask(mask, value.lanes)

    def emit(context, builder, sig, args):
        address = element_address(context, builder, sig.args[0], sig.args[1], args[0], args[1], inside=False)
        storage, bits = storage_of(value), ir.VectorType(BIT, value.lanes)
        kind = ir.FunctionType(ir.VoidType(), [storage, ir.PointerType(), ir.IntType(32), bits])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.store.{type_suffix(value)}.p0")
        alignment = ir.IntType(32)(alignment_of(context, sig.args[0]))
        stored = builder.call(function, [args[2], builder.bitcast(address, ir.PointerType()), alignment, args[3]])
        annotate(builder.module, stored, sig.args[0])
        return context.get_dummy_value()

    return types.void(view, index, value, mask), emit


def _splat(builder: ir.IRBuilder, value: ir.Value, storage: ir.VectorType) -> ir.Value:
    undefined = ir.Constant(storage, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.IntType(32)(0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), storage.count), None)
    return builder.shuffle_vector(first, undefined, places)


@intrinsic(prefer_literal=True)
def splat(typing_context, value, lanes):
    """A vector with one number in all of a literal number of lanes."""
    dtype = types.unliteral(value)
    if dtype not in SCALARS or not isinstance(lanes, types.IntegerLiteral):
        raise TypingError(f"cannot splat {value} to {lanes} lanes")
    vector = Vector(dtype, lanes.literal_value)

    def emit(context, builder, sig, args):
        scalar = context.cast(builder, args[0], sig.args[0], vector.dtype)
        return _splat(builder, scalar, storage_of(vector))

    return vector(value, lanes), emit


# Choices of lanes


@intrinsic(prefer_literal=True)
def between(typing_context, first, last, lanes):
    """The lanes ``l`` with ``first <= l < last``, of a literal number of lanes.

    Args:
        first, last: integers.
        lanes: literal; how many.
    """
    if not isinstance(lanes, types.IntegerLiteral):
        raise TypingError("the number of lanes is a literal integer")
    count = lanes.literal_value

    def emit(context, builder, sig, args):
        bounds = [context.cast(builder, args[k], sig.args[k], types.int64) for k in range(2)]
        storage = ir.VectorType(ir.IntType(64), count)
        numbers = ir.Constant(storage, list(range(count)))
        low, high = (_splat(builder, bound, storage) for bound in bounds)
        return builder.and_(builder.icmp_signed(">=", numbers, low), builder.icmp_signed("<", numbers, high))

    return Mask(count)(first, last, lanes), emit


@intrinsic
def select(typing_context, mask, value, otherwise):
    """The lanes of one vector where a mask says so, and of another elsewhere.

    Args:
        mask: of as many lanes as the vectors.
        value: where the mask is set.
        otherwise: elsewhere; of the type of ``value``.
    """
    if not isinstance(value, Vector) or value != otherwise or mask != Mask(value.lanes):
        raise TypingError(f"cannot choose from {value} and {otherwise} by {mask}")
    return value(mask, value, otherwise), lambda context, builder, sig, args: builder.select(*args)


@intrinsic(prefer_literal=True)
def shifted(typing_context, before, value, distance):
    """The lanes that are a literal ``distance`` below those of ``value``, which those of ``before`` precede.

    With 0 it is ``value``, with as many as there are lanes ``before``.

    Args:
        before: the vector in front.
        value: the vector behind, of the same type.
        distance: literal, from 0 to the number of lanes.
    """
    if not isinstance(value, Vector) or before != value or not isinstance(distance, types.IntegerLiteral):
        raise TypingError(f"cannot shift {value}, preceded by {before}, by {distance}")
    lanes, far = value.lanes, distance.literal_value
    if not 0 <= far <= lanes:
        raise TypingError(f"cannot shift {lanes} lanes by {far}")

    def emit(context, builder, sig, args):
        places = [lanes - far + lane for lane in range(lanes)]
        return builder.shuffle_vector(args[0], args[1], ir.Constant(ir.VectorType(ir.IntType(32), lanes), places))

    return value(before, value, distance), emit


# Arithmetic


@intrinsic
def lane_sum(typing_context, value):
    """The sum of all lanes, in any order."""
    if not isinstance(value, Vector):
        raise TypingError(f"lane_sum() takes a vector, not {value}")

    def emit(context, builder, sig, args):
        vector, scalar = sig.args[0], SCALARS[sig.args[0].dtype]
        if isinstance(vector.dtype, types.Float):
            kind = ir.FunctionType(scalar, [scalar, storage_of(vector)])
            name = f"llvm.vector.reduce.fadd.{type_suffix(vector)}"
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            return builder.call(function, [ir.Constant(scalar, -0.0), args[0]], fastmath=("reassoc",))
        kind = ir.FunctionType(scalar, [storage_of(vector)])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.add.{type_suffix(vector)}")
        return builder.call(function, args)

    return value.dtype(value), emit
