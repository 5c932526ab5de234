"""Random arguments for a kernel of which only the source is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import islpy as isl
import numpy as np

from polytune.errors import ArgumentError
from polytune.frontend.expression import Argument, Extent
from polytune.frontend.promotion import is_inexact
from polytune.frontend.scop import ArrayRole, Scop
from polytune.pipeline import Stages
from polytune.signature import ArrayType


def example_arguments(stages: Stages, sizes: Mapping[str, int], rng: np.random.Generator) -> tuple[Any, ...]:
    """Arguments with the least shapes that the kernel's accesses allow for given values of its parameters.

    Floats are uniform in [0.5, 1.5), integers in 0 .. 9.

    Args:
        stages: the kernel and the types of its arguments.
        sizes: a value for every parameter that is an extent or an integer argument.
        rng: where the contents come from.

    Raises:
        ArgumentError: a size is missing or unknown, or negative where it is an extent.
    """
    scop = stages.scop
    needed = [p.name for p in scop.parameters if isinstance(p.source, (Extent, Argument))]
    unknown = [name for name in sizes if name not in needed]
    missing = [name for name in needed if name not in sizes]
    if unknown or missing:
        problem = f"unknown: {', '.join(unknown)}" if unknown else f"missing: {', '.join(missing)}"
        raise ArgumentError(f"{scop.name} has the sizes {', '.join(needed) or 'none'}; {problem}")
    for parameter in scop.parameters:
        if parameter.nonnegative and sizes.get(parameter.name, 0) < 0:
            raise ArgumentError(f"{scop.name}: {parameter.name} is an extent and cannot be {sizes[parameter.name]}")
    values: list[Any] = []
    for name, kind in scop.signature.arguments:
        if isinstance(kind, ArrayType):
            shape = _least_shape(scop, name, kind.ndim, sizes)
            array = rng.random(shape) + 0.5 if is_inexact(kind.dtype) else rng.integers(0, 10, shape)
            values.append(np.asarray(array, kind.dtype, order="F" if kind.layout == "F" else "C"))
        elif name in sizes:
            values.append(int(sizes[name]))
        else:
            values.append(float(rng.random() + 0.5) if is_inexact(kind.dtype) else int(rng.integers(0, 10)))
    return tuple(values)


def _least_shape(scop: Scop, array: str, ndim: int, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The extents of the least shape: per axis the parameter that is its extent, else one more than the largest
    subscript."""
    shape = [0] * ndim
    named = {
        p.source.dimension: p.name for p in scop.parameters if isinstance(p.source, Extent) and p.source.array == array
    }
    if any(item.role is ArrayRole.ARGUMENT and item.name == array for item in scop.arrays):
        for statement in scop.statements:
            for access in statement.accesses:
                if access.array != array:
                    continue
                touched = access.relation.range()
                for name, value in sizes.items():
                    position = touched.find_dim_by_name(isl.dim_type.param, name)
                    if position >= 0:
                        touched = touched.fix_val(
                            isl.dim_type.param, position, isl.Val.int_from_si(touched.get_ctx(), value)
                        )
                if touched.is_empty():
                    continue
                for axis in range(ndim):
                    largest = touched.dim_max_val(axis)
                    if largest.is_int():
                        shape[axis] = max(shape[axis], largest.to_python() + 1)
    return tuple(sizes[named[axis]] if axis in named else shape[axis] for axis in range(ndim))
