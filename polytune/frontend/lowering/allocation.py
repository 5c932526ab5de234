"""Arrays that the kernel makes for itself: ``np.empty``, ``np.zeros`` and their ``_like`` forms."""

from __future__ import annotations

import ast

import numpy as np

from polytune.frontend.array_expressions.calls import element_type_of, expression_type
from polytune.frontend.array_expressions.sizes import require_size
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ArrayBinding
from polytune.frontend.lowering.names import lookup, outside_object
from polytune.frontend.lowering.parameters import derive
from polytune.frontend.polyhedral.affine import as_index
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.numbers import number
from polytune.frontend.scalars.tuples import read_shape, unstarred
from polytune.frontend.scop import Array, ArrayRole
from polytune.signature import DATA_TYPES

_MAKERS = (np.empty, np.zeros, np.empty_like, np.zeros_like)


def is_allocation(frame: Frame, node: ast.expr) -> bool:
    """Return whether an expression makes a new array."""
    if not isinstance(node, ast.Call):
        return False
    function = outside_object(frame, node.func)
    return any(function is maker for maker in _MAKERS)


def allocate(frame: Frame, target: ast.Name, node: ast.expr) -> str | None:
    """Declare the array that ``target = np.empty(...)`` makes outside all loops.  Return its name in the SCoP; None
    where its shape depends on data.

    Args:
        frame: where it stands.
        target: the name that it is assigned to.
        node: the call.

    Raises:
        UnsupportedSourceError: its type is not known beforehand.
    """
    assert isinstance(node, ast.Call)
    kernel, source = frame.kernel, frame.source
    name = frame.unique(target.id)
    maker = outside_object(frame, node.func)
    arguments = _arguments(frame, node)
    like = maker in (np.empty_like, np.zeros_like)
    dtype = "float64"
    if like:
        model = arguments.get("prototype")
        binding = lookup(frame, model) if isinstance(model, ast.Name) else None
        if not isinstance(binding, ArrayBinding):
            raise _refuse_arguments(frame, node)
        array = kernel.arrays[binding.array]
        dtype = array.dtype
        extents = tuple(kernel.extents[array.name, dimension] for dimension in range(array.ndim))
    else:
        if "shape" not in arguments:
            raise _refuse_arguments(frame, node)
        extents = _shape(frame, arguments["shape"])
    if "dtype" in arguments:
        dtype = expression_type(frame, arguments["dtype"]) or element_type_of(frame, arguments["dtype"], DATA_TYPES)
    if frame.assigned[target.id] != 1 or name in kernel.arrays:
        name = kernel.fresh(name)
    found = [_extent(frame, f"{name}_{dimension}", extent) for dimension, extent in enumerate(extents)]
    affine = tuple(extent for extent in found if extent is not None)
    if len(affine) < len(found):
        return None
    for size in affine:
        require_size(frame, node, size.expression)
    kernel.extents.update({(name, dimension): extent for dimension, extent in enumerate(affine)})
    kernel.arrays[name] = Array(
        name,
        dtype,
        ArrayRole.LOCAL,
        tuple(as_index(extent.expression) for extent in affine),
        zeroed=maker in (np.zeros, np.zeros_like),
        location=source.location(target),
    )
    return name


def _arguments(frame: Frame, node: ast.Call) -> dict[str, ast.expr]:
    like = outside_object(frame, node.func) in (np.empty_like, np.zeros_like)
    names = ("prototype" if like else "shape", "dtype")
    arguments = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        key = "prototype" if keyword.arg == "a" else keyword.arg
        if key not in names or key in arguments:
            raise _refuse_arguments(frame, node)
        arguments[key] = keyword.value
    if len(node.args) > len(names) or any(isinstance(value, ast.Starred) for value in arguments.values()):
        raise _refuse_arguments(frame, node)
    return arguments


def _refuse_arguments(frame: Frame, node: ast.Call) -> Exception:
    return frame.source.refusal(
        node,
        f"{frame.source.segment(node)} is called with arguments that are not compiled",
        "a local array is C-contiguous, and has a shape and a type",
        "write np.empty((n, m)), np.zeros(n, dtype=np.float32) or np.empty_like(A)",
    )


def _shape(frame: Frame, node: ast.expr) -> tuple[Value, ...]:
    known = read_shape(frame, node)
    if known is not None:
        return known
    elements = unstarred(frame, node.elts) if isinstance(node, ast.Tuple | ast.List) else [node]
    return tuple(number(frame, element) for element in elements)


def _extent(frame: Frame, name: str, value: Value) -> Value | None:
    """An extent that is known when the kernel starts; None for any other number."""
    if not value.is_integer:
        return None
    if frame.kernel.affine.is_function(value.expression):
        return value
    return derive(frame, frame.kernel.fresh(name), value)
