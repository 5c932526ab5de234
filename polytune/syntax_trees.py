"""The nodes of syntax trees, in two orders, and copies of trees, in a part of the time that Python's own functions
take: the frontend asks for them again and again, before and after each of its rewrites.

What Python's grammar says of a node is not looked at for each one again, and whether a name is read or assigned
(``ast.Load``, ``ast.Store``), which is no node of its own to anybody, is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, TypeVar

__all__ = ["all_nodes", "copied", "nodes_inside"]

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

_NOT_NODES = frozenset(
    (
        *("arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind"),
        *("level", "module", "simple", "type_comment"),
    )
)
"""Fields that never hold nodes, but for contexts."""

_WITHOUT_PLACE = ast.expr_context | ast.boolop | ast.operator | ast.unaryop | ast.cmpop
"""Nodes that are the same wherever they stand."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of classes of nodes that may hold nodes, in the order of the source."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        is_constant = issubclass(kind, ast.Constant)
        self[kind] = () if is_constant else tuple(name for name in kind._fields if name not in _NOT_NODES)
        return self[kind]


class _FieldsInside(_Fields):
    """The same from the last one to the first, and none of definitions of functions and classes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = () if issubclass(kind, _DEFINITIONS) else _FIELDS[kind][::-1]
        return self[kind]


_FIELDS, _FIELDS_INSIDE = _Fields(), _FieldsInside()


def all_nodes(node: ast.AST) -> list[ast.AST]:
    """A node and all that are below it, outer ones first, as ``ast.walk`` has them."""
    found = [node]
    for each in found:  # it grows meanwhile
        for name in _FIELDS[type(each)]:
            child = getattr(each, name, None)
            if child is None:
                continue
            if type(child) is list:
                found += [part for part in child if isinstance(part, ast.AST)]
            elif isinstance(child, ast.AST):
                found.append(child)
    return found


def nodes_inside(statements: Iterable[ast.AST]) -> list[ast.AST]:
    """All nodes in statements, in source order, but for those in functions and classes that are defined there."""
    found: list[ast.AST] = []
    waiting = list(statements)[::-1]
    while waiting:
        node = waiting.pop()
        found.append(node)
        for name in _FIELDS_INSIDE[type(node)]:
            child = getattr(node, name, None)
            if child is None:
                continue
            if type(child) is list:
                waiting += [part for part in reversed(child) if isinstance(part, ast.AST)]
            elif isinstance(child, ast.AST):
                waiting.append(child)
    return found


Tree = TypeVar("Tree")


def copied(tree: Tree) -> Tree:
    """A copy of a node with all below it, or of several, as ``copy.deepcopy`` makes; of what marks nodes, nodes
    alone are copied.

    A node that stands at two places does so in the copy too.
    """
    made: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if isinstance(value, list):
            return [copy(each) for each in value]
        if type(value) is tuple:
            return tuple(copy(each) for each in value)
        if not isinstance(value, ast.AST) or isinstance(value, _WITHOUT_PLACE):
            return value
        twin = made.get(id(value))
        if twin is None:
            kind = type(value)
            twin = made[id(value)] = kind.__new__(kind)
            parts = vars(twin)
            for name, part in vars(value).items():
                is_plain = type(part) is str or type(part) is int or part is None
                parts[name] = part if is_plain else copy(part)
        return twin

    return copy(tree)  # type: ignore[no-any-return]
