"""Rewriting of a statement's own expressions, those of its header where it has other statements inside."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from polytune.syntax_trees import copied

_HEADERS: dict[type[ast.stmt], tuple[str, ...]] = {
    ast.For: ("iter",),
    ast.If: ("test",),
    ast.While: ("test",),
    ast.With: (),
    ast.FunctionDef: (),
}
"""The fields of expressions of statements that have others inside."""


def with_rewritten_expressions(
    node: ast.stmt, rewriter: ast.NodeTransformer, is_concerned: Callable[[ast.AST], bool]
) -> ast.stmt:
    """Return a statement with its own expressions rewritten.

    Statements inside of it stay as they are: they are read when their turn comes.

    Args:
        node: the statement, which stays as it is; it is returned itself where nothing is rewritten.
        rewriter: what rewrites copies of the expressions.
        is_concerned: whether there may be something to rewrite in an expression.
    """
    changed = {}
    for field in _HEADERS.get(type(node), node._fields):
        value = getattr(node, field, None)
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, ast.AST) and is_concerned(part) for part in parts):
            rewritten = [rewriter.visit(copied(part)) if isinstance(part, ast.AST) else part for part in parts]
            changed[field] = rewritten if isinstance(value, list) else rewritten[0]
    if not changed:
        return node
    new = copy.copy(node)
    for field, value in changed.items():
        setattr(new, field, value)
    return new
