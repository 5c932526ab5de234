"""Arrays in place of which a loop gives their names shorter ones."""

from __future__ import annotations

import ast

from polytune.frontend.array_expressions.affine_arithmetic import constant_of, normal, subtract
from polytune.frontend.array_expressions.values import ArrayValue, Sum
from polytune.frontend.expression import Binary, Constant, Expression
from polytune.frontend.lowering.frame import Frame, NewKnowledgeError, Shorter
from polytune.syntax_trees import all_nodes

__all__ = ["key_of", "note_shorter", "place_of"]


def note_shorter(frame: Frame, node: ast.stmt, name: str, before: ArrayValue, after: ArrayValue | Sum) -> None:
    """Note that an array of one type and other extents takes the place of one in the innermost loop around, if it is
    shorter along one axis by a constant.

    Args:
        frame: where it stands.
        node: the assignment.
        name: what is assigned.
        before: the array until then.
        after: the one from then on.

    Raises:
        NewKnowledgeError: that was not known; the walk starts again.
    """
    if before.dtype != after.dtype or len(before.shape) != len(after.shape):
        return
    pairs = zip(before.shape, after.shape, strict=True)
    less = [constant_of(normal(subtract(old, _length(new)))) for old, new in pairs]
    shorter = [axis for axis, elements in enumerate(less) if elements != 0]
    if len(shorter) != 1:
        return
    (axis,) = shorter
    elements = less[axis]
    loops = [each for each in all_nodes(frame.source.tree) if isinstance(each, ast.For) and _is_inside(node, each)]
    if elements is None or elements < 0 or not loops:
        return
    innermost = max(loops, key=place_of)
    known = frame.kernel.knowledge.shorter.setdefault(key_of(frame, innermost), {})
    if name not in known:
        known[name] = Shorter(axis, elements, place_of(node))
        raise NewKnowledgeError


def _length(extent: Expression) -> Expression:
    """An extent where the array is not shorter than nothing: ``e`` for ``max(0, e)``."""
    match extent:
        case Binary("max", Constant(0), length) | Binary("max", length, Constant(0)):
            return length
    return extent


def key_of(frame: Frame, loop: ast.AST) -> tuple[str, int, int]:
    """The key of a loop: its file and its place there."""
    line, column = place_of(loop)
    return frame.source.file, frame.source.first_line + line, column


def place_of(node: ast.AST) -> tuple[int, int]:
    """The line and the column of a node."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _is_inside(node: ast.AST, loop: ast.For) -> bool:
    end = getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)
    return place_of(loop) < place_of(node) and end <= (loop.end_lineno or 0, loop.end_col_offset or 0)
