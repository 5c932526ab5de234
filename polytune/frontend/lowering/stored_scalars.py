"""Scalars in memory, which values are stored in."""

from __future__ import annotations

import ast

from polytune.frontend.expression import Assign, Element, walk
from polytune.frontend.lowering.frame import AssignedInteger, Frame
from polytune.frontend.program import Perform
from polytune.frontend.promotion import Value, convert, kind_of


def keep(frame: Frame, node: ast.AST, value: Value, name: str = "temporary") -> Value:
    """Store a value in a new scalar, so that later writes do not change it; one that reads no memory stays as it is.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        value: what is stored.
        name: what the scalar's name begins with.
    """
    if not reads_memory(value):
        return value
    scalar = frame.kernel.fresh(name)
    return store_scalar(frame, node, scalar, value)


def store_scalar(frame: Frame, node: ast.AST, scalar: str, value: Value) -> Value:
    """Assign to a scalar in memory.  Return the scalar as a value.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        scalar: its name in the SCoP.
        value: what is assigned; the scalar's type becomes one that holds it.
    """
    location = frame.source.location(node)
    frame.kernel.widen(scalar, kind_of(value), location)
    target = frame.kernel.variable(scalar)
    frame.kernel.locations.record(target, location)
    operation = Assign(target, convert(value, target.dtype))
    if value.is_integer or value.dtype == "bool":
        assigned = AssignedInteger(target, value.expression, frame)
        frame.kernel.assigned_integers.setdefault(scalar, []).append(assigned)
    frame.nodes.append(Perform((operation,), location, frame.source.segment(node)))
    return frame.kernel.scalar(scalar)


def reads_memory(value: Value) -> bool:
    return any(isinstance(node, Element) for node in walk(value.expression))
