"""Vectors in compiled code: registers of several lanes, with the meaning of their scalars lane by lane.

A ``Vector`` is a Numba type whose values LLVM keeps in vector registers, so that what a version says about registers is
what the processor does.  Operators mean what they mean for scalars: under the floating-point options of the function
that they stand in, a product and a sum may become one fused operation.  Loads and stores go through views
(``polytune.runtime.memory``), carry no wrap-around test, tolerate any alignment of whole elements, and touch no lane
that a mask leaves out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from polytune.runtime.memory import View, alignment_of, annotate, element_address

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

_BIT = ir.IntType(1)


class Vector(types.Type):
    """The Numba type of a vector.

    Attributes:
        dtype: Numba type of a lane, an integer or a float.
        lanes: how many lanes.
    """

    def __init__(self, dtype: types.Type, lanes: int):
        self.dtype, self.lanes = dtype, lanes
        super().__init__(name=f"Vector({dtype} x {lanes})")


class Mask(types.Type):
    """The Numba type of a choice of lanes."""

    def __init__(self, lanes: int):
        self.lanes = lanes
        super().__init__(name=f"Mask({lanes})")


_SCALARS = {
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.int32: ir.IntType(32),
    types.int64: ir.IntType(64),
}


def storage_of(vector: Vector) -> ir.VectorType:
    """The LLVM type of a vector."""
    return ir.VectorType(_SCALARS[vector.dtype], vector.lanes)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector):
        super().__init__(manager, vector, storage_of(vector))


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, mask: Mask):
        super().__init__(manager, mask, ir.VectorType(_BIT, mask.lanes))


# Between memory and registers


def vector_of(view: types.Type, lanes: types.Type) -> Vector:
    """The type of so many elements of a view.

    Raises:
        TypingError: it is no view of numbers, or the number is no literal.
    """
    if not isinstance(view, View) or view.dtype not in _SCALARS:
        raise TypingError(f"vectors are loaded and stored through views of numbers, not {view}")
    if not isinstance(lanes, types.IntegerLiteral):
        raise TypingError("the number of lanes is a literal integer")
    return Vector(view.dtype, lanes.literal_value)


def check_mask(mask: types.Type, lanes: int) -> None:
    """Refuse, as a ``TypingError``, what is no choice of so many lanes."""
    if mask != Mask(lanes):
        raise TypingError(f"{lanes} lanes are chosen by a mask of as many, not by {mask}")


def _suffix(vector: Vector) -> str:
    kind = "f" if isinstance(vector.dtype, types.Float) else "i"
    return f"v{vector.lanes}{kind}{vector.dtype.bitwidth}"


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
        storage, bits = storage_of(vector), ir.VectorType(_BIT, vector.lanes)
        kind = ir.FunctionType(storage, [ir.PointerType(), ir.IntType(32), bits, storage])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.{_suffix(vector)}.p0")
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


def check_store(view: types.Type, value: types.Type) -> None:
    """Refuse, as a ``TypingError``, what cannot be stored as a vector through a view."""
    if not isinstance(value, Vector) or not isinstance(view, View) or value.dtype != view.dtype:
        raise TypingError(f"cannot store {value} through {view}")
    if not view.mutable:
        raise TypingError(f"cannot store through {view}: its array is read-only")


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
        storage, bits = storage_of(value), ir.VectorType(_BIT, value.lanes)
        kind = ir.FunctionType(ir.VoidType(), [storage, ir.PointerType(), ir.IntType(32), bits])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.store.{_suffix(value)}.p0")
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
    if dtype not in _SCALARS or not isinstance(lanes, types.IntegerLiteral):
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
        vector, scalar = sig.args[0], _SCALARS[sig.args[0].dtype]
        if isinstance(vector.dtype, types.Float):
            kind = ir.FunctionType(scalar, [scalar, storage_of(vector)])
            name = f"llvm.vector.reduce.fadd.{_suffix(vector)}"
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            return builder.call(function, [ir.Constant(scalar, -0.0), args[0]], fastmath=("reassoc",))
        kind = ir.FunctionType(scalar, [storage_of(vector)])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.add.{_suffix(vector)}")
        return builder.call(function, args)

    return value.dtype(value), emit


_OPERATORS = {
    operator.add: ("fadd", "add"),
    operator.sub: ("fsub", "sub"),
    operator.mul: ("fmul", "mul"),
    operator.truediv: ("fdiv", ""),
}


def _register(key: Callable[..., Any], of_floats: str, of_integers: str) -> None:
    @infer_global(key)
    class _TypeArithmetic(AbstractTemplate):
        def generic(self, args, kws):
            known = len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1]
            if known and (of_integers or isinstance(args[0].dtype, types.Float)):
                return signature(args[0], *args)
            return None

    @lower_builtin(key, Vector, Vector)
    def _lower(context, builder, sig, args):
        name = of_floats if isinstance(sig.args[0].dtype, types.Float) else of_integers
        return getattr(builder, name)(*args)


for _key, _names in _OPERATORS.items():
    _register(_key, *_names)


_COMPARISONS = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}


def _register_comparison(key: Callable[..., Any], relation: str) -> None:
    """Comparisons of vectors are masks; where a lane is NaN all are false, but for ``!=``, which is true."""

    @infer_global(key)
    class _TypeComparison(AbstractTemplate):
        def generic(self, args, kws):
            known = len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1]
            return signature(Mask(args[0].lanes), *args) if known else None

    @lower_builtin(key, Vector, Vector)
    def _lower(context, builder, sig, args):
        if not isinstance(sig.args[0].dtype, types.Float):
            return builder.icmp_signed(relation, *args)
        compare = builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered
        return compare(relation, *args)


for _key, _relation in _COMPARISONS.items():
    _register_comparison(_key, _relation)


@infer_global(operator.or_)
class _TypeEither(AbstractTemplate):
    """The lanes of either of two masks."""

    def generic(self, args, kws):
        known = len(args) == 2 and isinstance(args[0], Mask) and args[0] == args[1]
        return signature(args[0], *args) if known else None


@lower_builtin(operator.or_, Mask, Mask)
def _lower_either(context, builder, sig, args):
    return builder.or_(*args)


@infer_global(operator.neg)
class _TypeNegation(AbstractTemplate):
    def generic(self, args, kws):
        return signature(args[0], *args) if isinstance(args[0], Vector) else None


@lower_builtin(operator.neg, Vector)
def _lower_negation(context, builder, sig, args):
    return builder.fneg(args[0]) if isinstance(sig.args[0].dtype, types.Float) else builder.neg(args[0])


@infer_global(abs)
class _TypeMagnitude(AbstractTemplate):
    def generic(self, args, kws):
        known = len(args) == 1 and isinstance(args[0], Vector) and isinstance(args[0].dtype, types.Float)
        return signature(args[0], *args) if known else None


@lower_builtin(abs, Vector)
def _lower_magnitude(context, builder, sig, args):
    storage = storage_of(sig.args[0])
    kind = ir.FunctionType(storage, [storage])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.{_suffix(sig.args[0])}"), args)
