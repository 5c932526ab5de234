"""Scalars in memory, which values are stored in."""

from __future__ import annotations

import ast

from polytune.frontend.expression import Assign, Element, walk
from polytune.frontend.lowering.frame import AssignedInteger, Frame, NewKnowledgeError
from polytune.frontend.program import Perform
from polytune.frontend.promotion import Value, convert, kind_of, kind_of_variable
from polytune.frontend.syntax.source import definition_of
from polytune.frontend.syntax.webs import has_webs


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


def store_variable(frame: Frame, node: ast.AST, name: str, value: Value) -> None:
    """Assign to a variable of the source that is in memory.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        name: its name in the function.
        value: what is assigned.

    Raises:
        NewKnowledgeError: the name turned out to stand for several variables, of different types.
    """
    kernel, scalar = frame.kernel, frame.unique(name)
    assigned = kind_of_variable(kind_of(value))
    for known in (kernel.knowledge.kinds.get(scalar), kernel.kinds.get(scalar)):
        if known is not None and (known.kind.dtype, known.holds) != (assigned.kind.dtype, assigned.holds):
            separate(frame, name)
    store_scalar(frame, node, scalar, value)


def separate(frame: Frame, name: str) -> None:
    """Give each web of a name a variable of its own; nothing is done where it has one web, or this was done before.

    Args:
        frame: where it stands.
        name: the name.

    Raises:
        NewKnowledgeError: it was not known that the name stands for several variables.
    """
    knowledge = frame.kernel.knowledge
    separated = knowledge.separated.setdefault(definition_of(frame.kernel.calls[-1]), set())
    if name not in separated and has_webs(frame.source.tree, name):
        separated.add(name)
        # What was found of variables may come from the type that was common to them.
        knowledge.kinds.clear()
        knowledge.in_memory.discard(frame.unique(name))
        raise NewKnowledgeError


def reads_memory(value: Value) -> bool:
    return any(isinstance(node, Element) for node in walk(value.expression))
