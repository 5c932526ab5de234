"""Slices as objects: ``row = slice(first, last)`` and ``np.s_[1:-1]``, written where they are subscripts.

``A[row, 0]`` becomes ``A[row.start:row.stop, 0]``, in which ``row.start`` is a name, which no identifier is, of
what the bound was where the slice was made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

import numpy as np

from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import Meaning, ObjectBinding, SliceObject, ValueBinding
from polytune.frontend.lowering.names import outside_object
from polytune.frontend.lowering.stored_scalars import keep
from polytune.frontend.scalars.numbers import number
from polytune.frontend.syntax.comprehensions import placed
from polytune.frontend.syntax.headers import with_rewritten_expressions
from polytune.syntax_trees import all_nodes, nodes_inside

_BOUNDS = ("start", "stop", "step")


def has_slice_objects(body: Iterable[ast.stmt], meanings: Mapping[str, Meaning]) -> bool:
    """Return whether statements may make slices, or get some as arguments.

    Args:
        body: the statements.
        meanings: the arguments.
    """
    return any(map(_is_slice, meanings.values())) or any(_may_be_slice(part) for part in nodes_inside(body))


def _is_slice(binding: object) -> bool:
    return isinstance(binding, ObjectBinding) and isinstance(binding.value, SliceObject)


def _may_be_slice(node: ast.AST) -> bool:
    return (isinstance(node, ast.Name) and node.id == "slice") or (
        isinstance(node, ast.Attribute) and node.attr == "s_"
    )


def bind_slice(frame: Frame, node: ast.stmt) -> bool:
    """Give a name its meaning, if a statement assigns a slice to it.  Return whether it does.

    Args:
        frame: where it stands.
        node: any statement.
    """
    match node:
        case ast.Assign([ast.Name(name)], value):
            made = _written(frame, value)
        case _:
            return False
    if made is None:
        return False

    def meaning(bound: ast.expr | None) -> Meaning | None:
        if bound is None or (isinstance(bound, ast.Constant) and bound.value is None):
            return None
        return ValueBinding(keep(frame, bound, number(frame, bound)))

    frame.bindings[name] = ObjectBinding(SliceObject(tuple(map(meaning, (made.lower, made.upper, made.step)))))
    return True


def with_slices_written(frame: Frame, node: ast.stmt) -> ast.stmt:
    """A statement with slices as they are written in place of those that are objects.

    Statements inside of it stay as they are: they are read when their turn comes.

    Args:
        frame: where it stands.
        node: the statement, which stays as it is.
    """
    names = {name for name, binding in frame.bindings.items() if _is_slice(binding)}
    writer = _SliceWriter(frame, names)
    return with_rewritten_expressions(node, writer, writer.has_slices)


def _written(frame: Frame, node: ast.expr) -> ast.Slice | None:
    """A call of ``slice``, or ``np.s_[1:2]``, as a slice between brackets; None for any other expression."""
    match node:
        case ast.Call(ast.Name("slice") as function, [_, *_] as arguments, []) if len(arguments) <= 3:
            if outside_object(frame, function) is slice:
                start, stop, step = [None, *arguments, None] if len(arguments) == 1 else [*arguments, None][:3]
                return placed(ast.Slice(start, stop, step), node)
        case ast.Subscript(ast.Attribute(_, "s_") as maker, ast.Slice() as written):
            if outside_object(frame, maker) is np.s_:
                return written
    return None


class _SliceWriter(ast.NodeTransformer):
    """Writes slices in place of objects.

    Args:
        frame: where it stands.
        names: those that mean slices.
    """

    def __init__(self, frame: Frame, names: set[str]):
        self.frame, self.names = frame, names

    def has_slices(self, node: ast.AST) -> bool:
        """Return whether there may be slices that are objects in an expression."""
        return any(
            _may_be_slice(part) or (isinstance(part, ast.Name) and part.id in self.names) for part in all_nodes(node)
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [self.item(item) for item in node.slice.elts]
        else:
            node.slice = self.item(node.slice)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.names and node.attr in _BOUNDS:
            return self.bound(node.value, _BOUNDS.index(node.attr)) or placed(ast.Constant(None), node)
        return node

    def item(self, node: ast.expr) -> ast.expr:
        """A subscript."""
        if isinstance(node, ast.Name) and node.id in self.names:
            start, stop, step = (self.bound(node, place) for place in range(3))
            return placed(ast.Slice(start, stop, step), node)
        return _written(self.frame, node) or node

    def bound(self, node: ast.Name, place: int) -> ast.expr | None:
        """A bound of a slice that has a name, as a name."""
        binding = self.frame.bindings[node.id]
        assert isinstance(binding, ObjectBinding)
        meaning = binding.value.bounds[place]
        if meaning is None:
            return None
        name = f"{node.id}.{_BOUNDS[place]}"
        self.frame.bindings[name] = meaning
        return placed(ast.Name(name, ast.Load()), node)
