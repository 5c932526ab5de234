"""References to elements of arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from polytune.frontend.affine import NotAffineError, as_index
from polytune.frontend.expression import Element, Expression
from polytune.frontend.frame import ArrayBinding, Frame, ObjectBinding
from polytune.frontend.names import lookup, obstacle
from polytune.frontend.parameters import with_products
from polytune.frontend.promotion import Value, binary

Reader = Callable[[Frame, ast.expr], Value]


def read_element(frame: Frame, node: ast.Subscript, read: Reader) -> Element:
    """The element that ``A[i, j]`` or ``A[i][j]`` refers to.

    Raises:
        UnsupportedSourceError: a subscript is not affine, or what is subscripted is no array.
    """
    base, subscripts = _flatten(node)
    while isinstance(base, ast.Attribute) and base.attr == "T":  # the element of the array with its axes swapped
        base, subscripts = base.value, subscripts[::-1]
    if not isinstance(base, ast.Name):
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(base)} is subscripted",
            "only arrays that are arguments, or made in the kernel, can be accessed",
            "give the array a name of its own, as an argument of the kernel",
        )
    binding = lookup(frame, base)
    if isinstance(binding, ObjectBinding) and isinstance(binding.value, np.ndarray | list | tuple | dict):
        kind = "array" if isinstance(binding.value, np.ndarray) else type(binding.value).__name__
        raise frame.source.refusal(
            base,
            f"{base.id!r}, {'an' if kind == 'array' else 'a'} {kind} from outside of the kernel, is subscripted",
            "a kernel accesses the arrays that it is called with, and those that it makes",
            f"add an argument {base.id} to the kernel and pass "
            + ("it" if kind == "array" else f"np.array({base.id}), or for a dictionary arrays of what is needed"),
        )
    if not isinstance(binding, ArrayBinding):
        raise frame.source.refusal(
            base,
            f"{base.id!r} is subscripted but is not an array",
            "in the types that the kernel is compiled for it is no array",
            "pass a NumPy array for it, or use it without a subscript",
        )
    array = frame.kernel.arrays[binding.array]
    indices = tuple(
        _index(frame, subscript, array.name, dimension, read) for dimension, subscript in enumerate(subscripts)
    )
    return frame.kernel.locations.record(Element(array.name, indices, array.dtype), frame.source.location(node))


def _flatten(node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]]:
    """The base and all subscripts of a chain such as ``A[i][j, k]``."""
    base: ast.expr = node
    chain: list[ast.expr] = []
    while isinstance(base, ast.Subscript):
        chain = [*(base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]), *chain]
        base = base.value
    return base, chain


def _index(frame: Frame, node: ast.expr, array: str, dimension: int, read: Reader) -> Expression:
    value = read(frame, node)
    known = value.constant
    if value.is_integer and known is not None and known < 0:
        value = binary("+", frame.kernel.extents[array, dimension], value)
    value = with_products(frame, value)
    try:
        frame.kernel.affine.function(value.expression)
    except NotAffineError as error:
        why, last = obstacle(frame, error)
        raise frame.source.refusal(
            node,
            f"the subscript {frame.source.segment(node)} of {array} is not affine",
            f"which element is accessed must be known without running the program, but the subscript {why}",
            last.remedy,
        ) from None
    return as_index(value.expression)
