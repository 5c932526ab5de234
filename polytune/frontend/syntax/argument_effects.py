"""Effects of functions on the arrays that they are given: whether they may change them, or give them back."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

from polytune.errors import UnsupportedSourceError
from polytune.frontend.syntax.sharing import UNKNOWN, Effects, Roots
from polytune.frontend.syntax.source import inlinable, meaning_outside, read_source
from polytune.syntax_trees import all_nodes


def effects_of(function: Any, around: frozenset[Any] = frozenset()) -> Effects:
    """Return what a function of the user's may do with the arrays that it is given.

    Args:
        function: what is called, which can be inlined.
        around: the functions that are being looked at; one that calls itself may do anything.
    """
    if not isinstance(function, FunctionType) or function in around:
        return UNKNOWN  # one that is defined in another sees the names of that, too
    try:
        source = read_source(function)
    except UnsupportedSourceError:  # which is said where it is inlined
        return UNKNOWN
    inside = [node for statement in source.tree.body for node in all_nodes(statement)]
    if any(isinstance(node, ast.FunctionDef | ast.Lambda | ast.NamedExpr) for node in inside):
        return UNKNOWN
    given = {node.arg for node in all_nodes(source.tree.args) if isinstance(node, ast.arg)}
    own = given | {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    meaning = meaning_outside(source, own)

    def of_call(call: ast.Call) -> Effects | None:
        root: ast.expr = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in own:  # a function that is an argument, or a method
            return UNKNOWN if root is call.func else None
        called = inlinable(meaning(call.func))
        return None if called is None else effects_of(called, around | {function})

    return _effects(source.tree, Roots(of_call))


def _effects(tree: ast.FunctionDef, roots: Roots) -> Effects:
    """Return what the body of a function may do with the arrays that it is given, in whatever order its statements are.

    Args:
        tree: the function.
        roots: tells of what arrays expressions may be parts.
    """
    arguments = tree.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    names = frozenset(each.arg for each in given if each is not None)
    nodes = [node for statement in tree.body for node in all_nodes(statement)]
    while True:
        more = names.union(*(_named(node, names, roots.of) for node in nodes))
        if more == names:
            break
        names = more
    changes = any(roots.changed(node) & names for node in nodes)
    gives = any(isinstance(node, ast.Return) and node.value and roots.of(node.value) & names for node in nodes)
    return Effects(changes, bool(gives))


def _named(node: ast.AST, names: frozenset[str], roots: Callable[[ast.expr], frozenset[str]]) -> frozenset[str]:
    """The names that a node gives to arrays that have some already."""
    match node:
        case ast.Assign(targets, value) if roots(value) & names:
            return frozenset(part.id for target in targets for part in all_nodes(target) if isinstance(part, ast.Name))
        case ast.AnnAssign(ast.Name(name), _, ast.expr() as value) if roots(value) & names:
            return frozenset((name,))
        case ast.For(target, source) if roots(source) & names:
            return frozenset(part.id for part in all_nodes(target) if isinstance(part, ast.Name))
    return frozenset()
