"""Functions of NumPy's that give several arrays: ``histogram`` and ``meshgrid``; arrays that are unpacked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, constant_of, integer
from polytune.frontend.array_expressions.calling import array_meaning
from polytune.frontend.array_expressions.calls import ArrayCall, matched
from polytune.frontend.array_expressions.grids import meshgrid
from polytune.frontend.array_expressions.histograms import histogram
from polytune.frontend.array_expressions.readers import Evaluate, ShapeOf
from polytune.frontend.array_expressions.sizes import require
from polytune.frontend.array_expressions.values import ArrayValue, Axis
from polytune.frontend.array_expressions.views import rearranged
from polytune.frontend.equivalents.counting import equal_bins
from polytune.frontend.expression import Compare, Expression
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import Meaning, TupleBinding, ValueBinding
from polytune.frontend.syntax.refusals import counted

MOST_PARTS = 64
"""An array of more parts is not unpacked."""

_FUNCTIONS: dict[Any, tuple[tuple[str, ...], Callable[[ArrayCall], Sequence[ArrayValue]]]] = {
    equal_bins: (("a", "bins", "range", "weights"), histogram),
    np.meshgrid: (("*xi", "indexing", "sparse"), meshgrid),
}


def several_arrays(
    frame: Frame,
    node: ast.Call,
    function: Any,
    evaluate: Evaluate,
    shape_of: ShapeOf,
) -> TupleBinding | None:
    """The arrays that a call gives; None where its function gives no several ones.

    Args:
        frame: where it stands.
        node: the call.
        function: what is called.
        evaluate: reads an expression.
        shape_of: reads a tuple of integers, such as a shape; None for what is none.

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


def parts_along_first(
    frame: Frame, node: ast.expr, array: ArrayValue, wanted: int | None
) -> tuple[Meaning, ...] | None:
    """Return what an array is unpacked into; None where it has no dimensions, or too many parts.

    How many parts there are is seen in the source, or else is what is wanted, which each call is checked for.

    Args:
        frame: where it stands.
        node: the expression that is unpacked.
        array: its value.
        wanted: how many names there are for the parts; None where one of them takes any number.

    Raises:
        UnsupportedSourceError: no call has so many.
    """
    if not array.shape:
        return None
    count = constant_of(array.shape[0])
    if count is None:
        if wanted is None:
            return None
        count = wanted
        text = f"{frame.source.segment(node)} is unpacked into {counted(wanted, 'name')}"
        require(
            frame,
            node,
            Compare("==", array.shape[0], integer(wanted)),
            text,
            (f"{text} and has ", array.shape[0], " parts"),
            "name as many variables as there are parts along the first dimension",
        )
    if count > MOST_PARTS:
        return None
    return tuple(_part(frame, node, array, integer(place)) for place in range(count))


def _part(frame: Frame, node: ast.expr, array: ArrayValue, place: Expression) -> Meaning:
    axes = (Axis(place), *(Axis(ZERO, dimension) for dimension in range(array.ndim - 1)))
    part = rearranged(frame.kernel, array, axes, array.shape[1:])
    return array_meaning(frame, node, part) if part.shape else ValueBinding(part.at(()))
