"""The meaning of a name at the place where it is read."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from polytune.frontend.array_expressions.sizes import require
from polytune.frontend.equivalents import equivalent
from polytune.frontend.lowering.frame import Frame, ReconsiderError, SidesOfBranchError, UnknownNameError
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    GeneratorMethod,
    GeneratorObject,
    Meaning,
    ObjectBinding,
    ScalarBinding,
    Stale,
    Unknown,
    UnsizedBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.constants import constant_array, tuple_of
from polytune.frontend.syntax.stencils import function_of_point, function_of_stencil
from polytune.signature import DATA_TYPES


def note_read(frame: Frame, binding: Stale) -> None:
    """Start the walk anew where a name is read that means different arrays after the sides of branches, once for each.

    Args:
        frame: where it is read.
        binding: what it means.

    Raises:
        SidesOfBranchError: the walk starts again.
    """
    known = frame.kernel.knowledge.read_after
    if not binding.branches <= known:
        known |= binding.branches
        raise SidesOfBranchError


def lookup(frame: Frame, node: ast.Name) -> Meaning:
    """Return what a name is bound to.

    Raises:
        UnsupportedSourceError: it is bound to nothing, or to different kinds of things.
        UnknownNameError: a refused statement was to assign it.
        SidesOfBranchError: it means an array that is not one for all ways that lead here, see ``note_read``.
        ReconsiderError: it was taken for an affine value, and its value differs between the ways that lead here.
    """
    name, binding = node.id, frame.bindings.get(node.id)
    if isinstance(binding, Unknown):
        raise UnknownNameError(name)
    if isinstance(binding, UnsizedBinding):
        raise frame.source.refusal(
            node,
            f"{name!r}, a part of what {binding.call} gives whose size depends on data",
            "of arrays, the shape must be known before the kernel runs",
            "compute it from the other parts: r = b - A @ x, and np.sum(r * r)",
        )
    if isinstance(binding, Stale):
        return _settled(frame, node, binding)
    if binding is not None:
        return binding
    if name in frame.assigned:
        if frame.unique(name) in frame.kernel.knowledge.unknown:
            raise UnknownNameError(name)
        if name in frame.carried:
            if frame.unique(name) not in frame.kernel.knowledge.in_memory:
                raise ReconsiderError(frame.unique(name))
            return ScalarBinding(frame.unique(name))
        raise frame.source.refusal(
            node,
            f"{name!r} is read before it is assigned",
            "it has no value here",
            f"assign {name!r} before this line",
        )
    try:
        value = frame.source.resolve(name)
        if isinstance(value, np.ndarray):
            return ArrayBinding(constant_array(frame, node, name, value))
        return tuple_of(value) or ObjectBinding(value)
    except KeyError:
        raise frame.source.refusal(
            node,
            f"the name {name!r} is not defined",
            "it is neither an argument, nor a variable of the kernel, nor a name of its module",
            "define it before the kernel is called, or pass it as an argument",
        ) from None


def _settled(frame: Frame, node: ast.Name, binding: Stale) -> Meaning:
    """Return what a name means whose value differs between the ways that lead here, if that is known after all.

    Args:
        frame: where it is read.
        node: the name.
        binding: what is known of it.

    Raises:
        UnsupportedSourceError, UnknownNameError, SidesOfBranchError, ReconsiderError: as ``lookup`` says.
    """
    name = node.id
    if frame.unique(name) in frame.kernel.knowledge.unknown:
        raise UnknownNameError(name)
    note_read(frame, binding)
    if binding.made is not None and binding.has_run is not None:
        what = f"the array {name!r} is read after a loop without iterations, which would have made it"
        remedy = f"pass arguments with which the loop runs, or begin with an array: {name} = np.zeros(...)"
        reason = "Python raises UnboundLocalError here, or has what an earlier loop made"
        require(frame, node, binding.has_run, what, (), remedy, reason=reason, late=True)
        return binding.made
    if binding.array and name in frame.kernel.results:
        raise frame.source.refusal(
            node,
            f"{frame.source.name} returns arrays of different types, shapes or numbers of dimensions",
            "what a call gives must be one array, whichever return runs",
            "give all that it returns one shape and type: return np.zeros(n, A.dtype), or A.astype(np.float64)",
        )
    divided = {branch[:3] for branch in binding.branches} - frame.kernel.knowledge.divided
    if binding.array and divided:
        frame.kernel.knowledge.divided |= divided
        raise SidesOfBranchError
    if binding.array:
        raise frame.source.refusal(
            node,
            f"the array {name!r} is read where it may be one of several",
            "it is assigned in a loop or a branch that ends before, and which array a name means must not depend "
            "on what has run",
            f"make the array before, and assign its elements there: {name}[:] = ...",
        )
    if frame.unique(name) in frame.kernel.knowledge.in_memory:
        raise frame.source.refusal(
            node,
            f"{name!r} means an array, a tuple or None on one way that leads here, and something else on another",
            "what a name means must be known without running the program",
            "use a name of its own for each",
        )
    raise ReconsiderError(frame.unique(name))


def outside_object(frame: Frame, node: ast.expr) -> Any:
    """The Python object that a dotted name such as ``math.sqrt``, or ``np.finfo(np.float32).max``, means, or None if
    it is nothing from outside."""
    if isinstance(node, ast.Name):
        binding = lookup(frame, node)
        return _without_numba(binding.value) if isinstance(binding, ObjectBinding) else None
    if isinstance(node, ast.Attribute):
        owner = outside_object(frame, node.value)
        if isinstance(owner, GeneratorObject):
            return GeneratorMethod(owner, node.attr)
        return None if owner is None else _without_numba(getattr(owner, node.attr, None))
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        function = outside_object(frame, node.func)
        if function is type:
            return _type_of_number(frame, node.args[0])
        if function is np.finfo or function is np.iinfo:
            try:
                return function(element_type(frame, node.args[0]))
            except (TypeError, ValueError):
                return None
    return None


def is_of_numba(function: object, name: str) -> bool:
    """Return whether a function is Numba's of this name."""
    module = getattr(function, "__module__", None) or ""
    return module.partition(".")[0] == "numba" and getattr(function, "__name__", "") == name


def _without_numba(value: Any) -> Any:
    """The type of NumPy's that a type of Numba's, as ``numba.float32``, stands for, or the function that is inlined in
    place of a library's, or of a stencil; any other object itself."""
    if type(value).__module__.startswith("numba.core.types"):
        name = {"boolean": "bool"}.get(str(value), str(value))
        return np.dtype(name).type if name in DATA_TYPES else value
    return equivalent(value) if function_of_point(value) is None else function_of_stencil(value)


def _type_of_number(frame: Frame, node: ast.expr) -> type | None:
    """Return what ``type(x)`` is of a variable or an element; None for anything else, or where it is not known yet."""
    value: Value | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        base = lookup(frame, node.value)
        if isinstance(base, ArrayBinding):
            array = frame.kernel.arrays[base.array]
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            is_element = len(items) == array.ndim and not any(isinstance(item, ast.Slice) for item in items)
            return np.dtype(array.dtype).type if is_element else None
    elif isinstance(node, ast.Name):
        binding = lookup(frame, node)
        if isinstance(binding, ValueBinding):
            value = binding.value
        elif isinstance(binding, ScalarBinding):
            value = frame.kernel.scalar(binding.scalar)
    if value is None:
        return None
    plain = {"bool": bool, "int64": int, "float64": float, "complex128": complex}
    return plain[value.dtype] if value.weak else np.dtype(value.dtype).type


def element_type(frame: Frame, node: ast.expr) -> Any:
    """Return what a name of an element type means, or an expression of such types."""
    found = computed_type(frame, node)
    return outside_object(frame, node) if found is None else found


_OF_TYPES = (np.dtype, np.result_type, np.promote_types, np.common_type)
"""Functions that give an element type of arrays, numbers and other such types."""


def computed_type(frame: Frame, node: ast.expr) -> Any:
    """Return the element type that an expression computes, as ``A.dtype`` of an array and ``np.result_type(A, B)`` do;
    None for any other expression."""
    match node:
        case ast.Attribute(ast.Name() as name, "dtype"):
            dtype = _type_of_array(frame, name)
            return None if dtype is None else np.dtype(dtype).type
        case ast.Call(ast.Attribute() as function, [_, *_] as arguments, []):
            called = outside_object(frame, function)
            if not any(called is each for each in _OF_TYPES):
                return None
            given = [_typed(frame, each) for each in arguments]
            try:
                return None if any(each is None for each in given) else np.dtype(called(*given)).type
            except (TypeError, ValueError, AttributeError):
                return None
    return None


def _typed(frame: Frame, node: ast.expr) -> Any:
    """Return something of the type that an expression has or names; None where that is not known."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        dtype = _type_of_array(frame, node)
        if dtype is not None:
            return np.empty(0, dtype)
        kind = _type_of_number(frame, node)
        if kind is not None:
            return kind(0)
    return element_type(frame, node)


def _type_of_array(frame: Frame, node: ast.Name) -> str | None:
    binding = lookup(frame, node)
    if isinstance(binding, ArrayBinding):
        return frame.kernel.arrays[binding.array].dtype
    return binding.view.dtype if isinstance(binding, ViewBinding) else None
