"""Reading of the package's own source, for tests of how it is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["statements"]


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """A module and every statement in it, wherever it stands.

    Expressions, of which there are ten times as many nodes, are not looked at: no statement is inside of one.
    """
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, field, ())
