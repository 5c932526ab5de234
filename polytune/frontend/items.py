"""Arrays and tuples that are items of tuples, under names of their own.

``pair[0][i]`` and ``pair.low.shape`` are an element and a shape of arrays that have no name in the source.  Here they
get one, ``pair[0]`` and ``pair.low``, which no identifier is, so that they can be used as names of arrays are.
"""

from __future__ import annotations

import ast

from polytune.frontend.frame import Frame
from polytune.frontend.headers import with_rewritten_expressions
from polytune.frontend.meanings import Meaning, TupleBinding, ValueBinding


def with_items_named(frame: Frame, node: ast.stmt) -> ast.stmt:
    """A statement with names in place of items of tuples that are arrays or tuples, which are bound to these.

    Statements inside of it stay as they are: they are read when their turn comes.

    Args:
        frame: where it stands.
        node: the statement, which stays as it is.
    """
    if not any(_holds_more_than_numbers(binding) for binding in frame.bindings.values()):
        return node
    names = _ItemNames(frame)
    return with_rewritten_expressions(node, names, names.has_items)


def _holds_more_than_numbers(binding: object) -> bool:
    return isinstance(binding, TupleBinding) and not all(isinstance(item, ValueBinding) for item in binding.items)


class _ItemNames(ast.NodeTransformer):
    """Puts names in place of items."""

    def __init__(self, frame: Frame):
        self.frame = frame

    def has_items(self, node: ast.AST) -> bool:
        """Return whether an item of a tuple is asked for in an expression."""
        bindings = self.frame.bindings
        return any(
            isinstance(part, ast.Subscript | ast.Attribute)
            and isinstance(part.value, ast.Name)
            and isinstance(bindings.get(part.value.id), TupleBinding)
            for part in ast.walk(node)
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        tuple_binding = self.binding(node)
        position = self.position(node.slice)
        if tuple_binding is None or position is None:
            return node
        items = tuple_binding.items
        return self.named(node, items[position], str(position)) if -len(items) <= position < len(items) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        tuple_binding = self.binding(node)
        if tuple_binding is None or node.attr not in tuple_binding.fields:
            return node
        return self.named(node, tuple_binding.items[tuple_binding.fields.index(node.attr)], node.attr)

    def binding(self, node: ast.Subscript | ast.Attribute) -> TupleBinding | None:
        """The tuple that an item of is read."""
        if not isinstance(node.ctx, ast.Load) or not isinstance(node.value, ast.Name):
            return None
        found = self.frame.bindings.get(node.value.id)
        return found if isinstance(found, TupleBinding) else None

    def position(self, node: ast.expr) -> int | None:
        """The number of an item; None where it is not known."""
        match node:
            case ast.Constant(int(number)):
                return int(number)
            case ast.UnaryOp(ast.USub(), ast.Constant(int(number))):
                return -number
            case ast.BinOp(left, ast.Add() | ast.Sub() as operator, right):
                sides = self.position(left), self.position(right)
                if sides[0] is None or sides[1] is None:
                    return None
                return sides[0] + sides[1] if isinstance(operator, ast.Add) else sides[0] - sides[1]
            case ast.Name(name):
                binding = self.frame.bindings.get(name)
                value = binding.value.constant if isinstance(binding, ValueBinding) else None
                return value if isinstance(value, int) else None
        return None

    def named(self, node: ast.Subscript | ast.Attribute, item: Meaning, which: str) -> ast.expr:
        """The name of an item, unless it is a number."""
        if isinstance(item, ValueBinding):
            return node
        assert isinstance(node.value, ast.Name)
        name = f"{node.value.id}.{which}" if isinstance(node, ast.Attribute) else f"{node.value.id}[{which}]"
        self.frame.bindings[name] = item
        return ast.copy_location(ast.Name(name, ast.Load()), node)
