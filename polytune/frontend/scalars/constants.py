"""Arrays, lists and tuples of numbers from outside of a kernel: constant arrays in it."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from polytune.frontend.expression import Constant
from polytune.frontend.lowering.frame import Frame, KernelWalk
from polytune.frontend.lowering.meanings import Meaning, TupleBinding, ValueBinding
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.named_tuples import named_fields
from polytune.frontend.scop import Array, ArrayRole
from polytune.signature import DATA_TYPES

MOST_ELEMENTS = 4096
"""The most elements of a constant array: its values stand in the generated text, and are looked at in each call."""


def constant_array(frame: Frame, node: ast.expr, name: str, value: Any) -> str:
    """The array of a kernel that holds what a name from outside means; its name in the SCoP.

    Args:
        frame: where it is used.
        node: the place.
        name: the name.
        value: a NumPy array, or a tuple of constants.

    Raises:
        UnsupportedSourceError: it is too large, or of a type that kernels have not.
    """
    kernel = frame.kernel
    known = kernel.constants.get(value if isinstance(value, TupleBinding) else id(value))
    if known is not None:
        return known[0]
    values = np.asarray(_numbers(value) if isinstance(value, TupleBinding) else value)
    if values.dtype.name not in DATA_TYPES or values.ndim == 0 or values.size > MOST_ELEMENTS:
        what = f"{values.dtype.name}, {values.ndim} dimensions, {values.size} elements"
        raise frame.source.refusal(
            node,
            f"{name!r} from outside of the kernel holds {what}",
            f"it is a constant array in the kernel, of {', '.join(DATA_TYPES)}, with at least one dimension and "
            f"{MOST_ELEMENTS} elements at most",
            f"add an argument {name} to the kernel and pass an array",
        )
    return _declare(kernel, name, value, values)


def _numbers(binding: TupleBinding) -> list[Any]:
    return [item.value.constant for item in binding.items if isinstance(item, ValueBinding)]


def _declare(kernel: KernelWalk, name: str, value: Any, values: np.ndarray) -> str:
    unique = kernel.fresh(f"{name}_constant")
    kernel.constants[value if isinstance(value, TupleBinding) else id(value)] = unique, value
    shape = tuple(Constant(extent, "int64") for extent in values.shape)
    for dimension, extent in enumerate(shape):
        kernel.extents[unique, dimension] = Value(extent, weak=True)
    kernel.arrays[unique] = Array(
        unique, values.dtype.name, ArrayRole.CONSTANT, shape, values=tuple(values.ravel().tolist())
    )
    return unique


def tuple_of(value: Any) -> Meaning | None:
    """A list or tuple of numbers from outside, of which the elements are told apart by constants; None for others."""
    if not isinstance(value, list | tuple):
        return None
    items: list[Meaning] = []
    for item in value:
        inner = tuple_of(item)
        if inner is not None:
            items.append(inner)
        elif isinstance(item, bool | int | float) and not isinstance(item, np.generic):
            dtype = "bool" if isinstance(item, bool) else "int64" if isinstance(item, int) else "float64"
            items.append(ValueBinding(Value(Constant(item, dtype), weak=True)))
        else:
            return None
    fields = named_fields(type(value))
    return TupleBinding(tuple(items), fields, type(value) if fields else None, isinstance(value, list))
