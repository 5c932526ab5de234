"""Functions of NumPy's that give several arrays: ``histogram`` and ``meshgrid``; arrays that are unpacked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, constant_of, integer
from polytune.frontend.array_expressions.calling import array_meaning
from polytune.frontend.array_expressions.calls import ArrayCall, Evaluate, matched
from polytune.frontend.array_expressions.grids import meshgrid
from polytune.frontend.array_expressions.histograms import histogram
from polytune.frontend.array_expressions.values import ArrayValue, Axis
from polytune.frontend.array_expressions.views import rearranged
from polytune.frontend.expression import Expression
from polytune.frontend.frame import Frame, Meaning, TupleBinding, ValueBinding
from polytune.frontend.promotion import Value

MOST_PARTS = 64
"""An array of more parts is not unpacked."""

_FUNCTIONS: dict[Any, tuple[tuple[str, ...], Callable[[ArrayCall], Sequence[ArrayValue]]]] = {
    np.histogram: (("a", "bins", "range", "density", "weights"), histogram),
    np.meshgrid: (("*xi", "indexing", "sparse"), meshgrid),
}


def several_arrays(
    frame: Frame,
    node: ast.Call,
    function: Any,
    evaluate: Evaluate,
    shape_of: Callable[[Frame, ast.expr], tuple[Value, ...] | None],
) -> TupleBinding | None:
    """The arrays that a call gives; None where its function gives no several ones.

    Raises:
        UnsupportedSourceError: its arguments are not compiled.
    """
    try:
        known = _FUNCTIONS.get(function)
    except TypeError:  # not hashable
        return None
    if known is None:
        return None
    parameters, compile_call = known
    name = frame.source.segment(node.func)
    if parameters[0].startswith("*"):  # takes all that is given by position
        named = ast.copy_location(ast.Call(node.func, [], node.keywords), node)
        arguments = matched(frame, named, name, parameters[1:], None)
        arguments[parameters[0][1:]] = ast.copy_location(ast.Tuple(list(node.args), ast.Load()), node)
    else:
        arguments = matched(frame, node, name, parameters, None)
    found = compile_call(ArrayCall(frame, node, name, arguments, None, parameters[0], evaluate, shape_of))
    return TupleBinding(tuple(array_meaning(frame, node, array) for array in found))


def parts_along_first(frame: Frame, node: ast.expr, array: ArrayValue) -> tuple[Meaning, ...] | None:
    """Return what an array is unpacked into; None where it is not seen how many parts there are."""
    count = constant_of(array.shape[0]) if array.shape else None
    if count is None or count > MOST_PARTS:
        return None
    return tuple(_part(frame, node, array, integer(place)) for place in range(count))


def _part(frame: Frame, node: ast.expr, array: ArrayValue, place: Expression) -> Meaning:
    axes = (Axis(place), *(Axis(ZERO, dimension) for dimension in range(array.ndim - 1)))
    part = rearranged(frame.kernel, array, axes, array.shape[1:])
    return array_meaning(frame, node, part) if part.shape else ValueBinding(part.at(()))
