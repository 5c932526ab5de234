"""Arrays that the kernel makes for itself: ``np.empty``, ``np.zeros`` and their ``_like`` forms."""

from __future__ import annotations

import ast

import numpy as np

from polytune.frontend.affine import as_index
from polytune.frontend.array_expressions.calls import element_type_of
from polytune.frontend.array_expressions.sizes import require_size
from polytune.frontend.frame import Frame
from polytune.frontend.meanings import ArrayBinding
from polytune.frontend.names import lookup, outside_object
from polytune.frontend.numbers import number
from polytune.frontend.parameters import derive
from polytune.frontend.promotion import Value
from polytune.frontend.scop import Array, ArrayRole
from polytune.frontend.tuples import read_shape, unstarred
from polytune.signature import DATA_TYPES

_MAKERS = (np.empty, np.zeros, np.empty_like, np.zeros_like)


def is_allocation(frame: Frame, node: ast.expr) -> bool:
    """Return whether an expression makes a new array."""
    if not isinstance(node, ast.Call):
        return False
    function = outside_object(frame, node.func)
    return any(function is maker for maker in _MAKERS)


def allocate(frame: Frame, target: ast.Name, node: ast.expr) -> str:
    """Declare the array that ``target = np.empty(...)`` makes outside all loops.  Return its name in the SCoP.

    Args:
        frame: where it stands.
        target: the name that it is assigned to.
        node: the call.

    Raises:
        UnsupportedSourceError: its shape or type is not known beforehand.
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
        dtype = element_type_of(frame, arguments["dtype"], among=DATA_TYPES)
    if frame.assigned[target.id] != 1 or name in kernel.arrays:
        name = kernel.fresh(name)
    affine = tuple(_extent(frame, node, f"{name}_{dimension}", extent) for dimension, extent in enumerate(extents))
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


def _extent(frame: Frame, node: ast.AST, name: str, value: Value) -> Value:
    if value.is_integer:
        if frame.kernel.affine.is_function(value.expression):
            return value
        derived = derive(frame, frame.kernel.fresh(name), value)
        if derived is not None:
            return derived
    raise frame.source.refusal(
        node,
        "the shape of a local array depends on data",
        "its size must be known when the kernel starts, from its integer arguments and the shapes of its arrays",
        "pass the size as an integer argument, or the array itself as an argument",
    )
