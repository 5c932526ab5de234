"""Statements after branches in which a name gets one array or another, moved into these branches.

After ``source = A if even else B`` nothing is known of the name but that it is one of two arrays.  With a copy of what
follows at the end of each side, the name means one array everywhere: ``if even: source = A; use(source)``, ``else:
source = B; use(source)``.  That is done for the branches that a walk has found to need it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Sequence

from polytune.frontend.syntax.desugaring import changed
from polytune.frontend.syntax.source import Source
from polytune.syntax_trees import all_nodes

_MOST_COPIES = 100
"""The most statements of a function that are copied."""

Place = tuple[str, int, int]
"""The file of a statement, its line there, and its column."""


def with_tails_in_branches(
    statements: Sequence[ast.stmt], source: Source, branches: Collection[Place], *, is_kernel: bool
) -> list[ast.stmt]:
    """Return the statements of a function, in which what follows some branches stands at the end of their sides.

    Args:
        statements: the statements, which stay as they are.
        source: where they come from.
        branches: the places of the branches.
        is_kernel: whether the function is the kernel: of any other the caller wants one array, so that it would not
            help to return one or another.
    """
    return _Tails(source, branches, is_kernel=is_kernel).block(statements) if branches else list(statements)


class _Tails:
    """Moves what follows branches into them, as long as not too much is copied."""

    def __init__(self, source: Source, branches: Collection[Place], *, is_kernel: bool):
        self.source, self.branches, self.is_kernel = source, branches, is_kernel
        self.left = _MOST_COPIES

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for position, node in enumerate(statements):
            branch, rest = self.branch(node), statements[position + 1 :]
            size = sum(isinstance(part, ast.stmt) for each in rest for part in all_nodes(each))
            is_wanted = bool(rest) and (self.is_kernel or not isinstance(rest[0], ast.Return))
            if branch is not None and is_wanted and size <= self.left:
                self.left -= size
                then = self.block(_joined(branch.body, rest))
                otherwise = self.block(_joined(branch.orelse, copy.deepcopy(rest)))
                return [*made, changed(branch, body=then, orelse=otherwise)]
            made.append(self.inside(node))
        return made

    def branch(self, node: ast.stmt) -> ast.If | None:
        """A statement that is one of the branches, as an ``if``; None for any other."""
        if (self.source.file, self.source.first_line + node.lineno, node.col_offset) not in self.branches:
            return None
        match node:
            case ast.If():
                return node
            case ast.Assign(targets, ast.IfExp(test, then, otherwise)):
                sides = [[ast.copy_location(ast.Assign(targets, side), node)] for side in (then, otherwise)]
                return ast.copy_location(ast.If(test, list[ast.stmt](sides[0]), list[ast.stmt](sides[1])), node)
        return None

    def inside(self, node: ast.stmt) -> ast.stmt:
        """A statement with those that stand in it."""
        if not isinstance(node, ast.If | ast.For | ast.While | ast.With):
            return node
        bodies = [name for name in ("body", "orelse") if getattr(node, name, None)]
        return changed(node, **{name: self.block(getattr(node, name)) for name in bodies})


def _joined(body: Sequence[ast.stmt], rest: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements one after the other, but for what is never reached."""
    ends = bool(body) and isinstance(body[-1], ast.Return | ast.Break | ast.Continue | ast.Raise)
    return list(body) if ends else [*body, *rest]
