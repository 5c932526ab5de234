"""The Numba types of vectors and masks, which LLVM keeps in vector registers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import models, register_model

from polytune.runtime.intrinsics.memory import View

__all__ = ["BIT", "SCALARS", "Mask", "Vector", "check_mask", "check_store", "storage_of", "type_suffix", "vector_of"]

BIT = ir.IntType(1)
"""The LLVM type of a lane of a mask."""


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


SCALARS = {
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.int32: ir.IntType(32),
    types.int64: ir.IntType(64),
}
"""The LLVM types of lanes by their Numba types."""


def storage_of(vector: Vector) -> ir.VectorType:
    """The LLVM type of a vector."""
    return ir.VectorType(SCALARS[vector.dtype], vector.lanes)


def type_suffix(vector: Vector) -> str:
    """Return how the names of LLVM's intrinsics for a vector end, such as ``v4f64``."""
    kind = "f" if isinstance(vector.dtype, types.Float) else "i"
    return f"v{vector.lanes}{kind}{vector.dtype.bitwidth}"


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector):
        super().__init__(manager, vector, storage_of(vector))


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, mask: Mask):
        super().__init__(manager, mask, ir.VectorType(BIT, mask.lanes))


def vector_of(view: types.Type, lanes: types.Type) -> Vector:
    """The type of so many elements of a view.

    Raises:
        TypingError: it is no view of numbers, or the number is no literal.
    """
    if not isinstance(view, View) or view.dtype not in SCALARS:
        raise TypingError(f"vectors are loaded and stored through views of numbers, not {view}")
    if not isinstance(lanes, types.IntegerLiteral):
        raise TypingError("the number of lanes is a literal integer")
    return Vector(view.dtype, lanes.literal_value)


def check_mask(mask: types.Type, lanes: int) -> None:
    """Refuse, as a ``TypingError``, what is no choice of so many lanes."""
    if mask != Mask(lanes):
        raise TypingError(f"{lanes} lanes are chosen by a mask of as many, not by {mask}")


def check_store(view: types.Type, value: types.Type) -> None:
    """Refuse, as a ``TypingError``, what cannot be stored as a vector through a view."""
    if not isinstance(value, Vector) or not isinstance(view, View) or value.dtype != view.dtype:
        raise TypingError(f"cannot store {value} through {view}")
    if not view.mutable:
        raise TypingError(f"cannot store through {view}: its array is read-only")
