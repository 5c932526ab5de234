"""What stands in statements, in the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable

_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def nodes_inside(statements: Iterable[ast.AST]) -> list[ast.AST]:
    """All nodes in statements, in source order, but for those in functions and classes that are defined there."""
    found: list[ast.AST] = []
    waiting = list(statements)[::-1]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, _DEFINITIONS):
            waiting += list(ast.iter_child_nodes(node))[::-1]
    return found
