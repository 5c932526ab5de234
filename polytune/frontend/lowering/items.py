"""Arrays and tuples that are items of tuples, under names of their own.

``pair[0][i]`` and ``pair.low.shape`` are an element and a shape of arrays that have no name in the source.  Here they
get one, ``pair[0]`` and ``pair.low``, which no identifier is, so that they can be used as names of arrays are.  A tuple
that is a subscript, as ``A[np.triu_indices(n)]``, ``A[pair]`` and ``A[start]``, is written as its items there.
"""

from __future__ import annotations

import ast

from polytune.frontend.array_expressions.calls import handler_of_several, method
from polytune.frontend.inlining.called_functions import CalledFunctions
from polytune.frontend.inlining.outside_calls import is_method
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import Meaning, TupleBinding, ValueBinding
from polytune.frontend.lowering.names import outside_object
from polytune.frontend.scalars.tuples import inlined_call, item_of
from polytune.frontend.syntax.comprehensions import placed
from polytune.frontend.syntax.headers import with_rewritten_expressions
from polytune.syntax_trees import all_nodes

_ONCE = ast.Assign | ast.AugAssign | ast.Return | ast.Expr | ast.If
"""Statements whose expressions are evaluated once, so that calls in them may be computed before."""


def with_items_named(frame: Frame, node: ast.stmt) -> ast.stmt:
    """A statement with names in place of items of tuples that are arrays or tuples, which are bound to these.

    Statements inside of it stay as they are: they are read when their turn comes.

    Args:
        frame: where it stands.
        node: the statement, which stays as it is.
    """
    names = _ItemNames(frame, may_compute=isinstance(node, _ONCE))
    if any(isinstance(binding, TupleBinding) for binding in frame.bindings.values()):
        return with_rewritten_expressions(node, names, names.has_items)
    return with_rewritten_expressions(node, names, names.has_tuples) if names.may_compute else node


def is_by_tuple(frame: Frame, node: ast.AST) -> bool:
    """Return whether an expression is an item or a part of a tuple, or has an item for a subscript: statements give
    these names."""
    names = _ItemNames(frame, may_compute=True)
    match node:
        case ast.Subscript(ast.Name(name), ast.Slice()) if isinstance(frame.bindings.get(name), TupleBinding):
            return item_of(frame, node) is not None
        case ast.Subscript(value, index):
            return names.is_subscript(index) or names.is_tuple(value)
        case ast.Attribute(value):
            return names.is_tuple(value)
    return False


def _holds_more_than_numbers(binding: object) -> bool:
    return isinstance(binding, TupleBinding) and not all(isinstance(item, ValueBinding) for item in binding.items)


class _ItemNames(ast.NodeTransformer):
    """Puts names in place of items.

    Attributes:
        frame: where the statement stands.
        may_compute: whether calls that give tuples may be computed before it.
    """

    def __init__(self, frame: Frame, *, may_compute: bool):
        self.frame, self.may_compute = frame, may_compute

    def has_items(self, node: ast.AST) -> bool:
        """Return whether an item of a tuple is asked for in an expression."""
        bindings = self.frame.bindings
        return self.has_tuples(node) or any(
            isinstance(part, ast.Subscript | ast.Attribute)
            and isinstance(part.value, ast.Name)
            and isinstance(bindings.get(part.value.id), TupleBinding)
            for part in all_nodes(node)
        )

    def has_tuples(self, node: ast.AST) -> bool:
        """Return whether a tuple is a subscript in an expression."""
        return any(isinstance(part, ast.Subscript) and self.is_subscript(part.slice) for part in all_nodes(node))

    def is_subscript(self, node: ast.AST) -> bool:
        """Return whether an expression, which is a subscript, is a tuple."""
        if isinstance(node, ast.Name) and isinstance(self.frame.bindings.get(node.id), TupleBinding):
            return True
        return self.is_tuple(node)

    def is_tuple(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(name):
                binding = self.frame.bindings.get(name)
                return binding is not None and _holds_more_than_numbers(binding)
            case ast.Call(function) if self.may_compute and not is_method(self.frame, function):
                called, knowledge = outside_object(self.frame, function), self.frame.kernel.knowledge
                return handler_of_several(called) is not None or CalledFunctions(
                    knowledge.raising, knowledge.writing
                ).gives_tuples(called)
            case ast.Call(ast.Attribute(_, name)) if self.may_compute:
                return handler_of_several(method(name)) is not None
        return False

    def items(self, node: ast.expr) -> ast.expr:
        """The names of the items of a tuple that is a subscript."""
        if isinstance(node, ast.Name):
            binding: Meaning | None = self.frame.bindings[node.id]  # type: ignore[assignment]
            name = node.id
        else:
            assert isinstance(node, ast.Call)
            binding, name = inlined_call(self.frame, node), self.frame.kernel.fresh("subscripts")
            if isinstance(binding, TupleBinding):
                self.frame.bindings[name] = binding
        if not isinstance(binding, TupleBinding):
            return node
        named = []
        for place, item in enumerate(binding.items):
            subscript = ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(place), ast.Load())
            named.append(self.named(placed(subscript, node), item, str(place)))
        return placed(ast.Tuple(named, ast.Load()), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if self.is_subscript(node.slice):
            node.slice = self.items(node.slice)
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
