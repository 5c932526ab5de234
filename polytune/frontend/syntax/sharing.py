"""The question whether one array may stand for what are two: names of arrays that a function assigns, in the syntax
tree.

Where a name must mean the same array in every iteration, the elements of another array are assigned in place of it:
``before = now`` copies.  In Python both names then have one array, which nobody can tell from a copy until its elements
are changed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from polytune.syntax_trees import all_nodes

Names = frozenset[str]

CALLER = ""
"""Stands for the caller's own name of an argument, which is never assigned."""

_VIEWS = frozenset(
    (
        *("transpose", "swapaxes", "moveaxis", "flip", "fliplr", "flipud", "squeeze", "expand_dims", "broadcast_to"),
        *("reshape", "ravel", "asarray", "diagonal", "real", "imag", "zip", "enumerate", "reversed", "diag", "rot90"),
    )
)
"""Functions and methods that may give what they are given."""

_CHANGES = frozenset(
    ("sort", "fill", "partition", "put", "shuffle", "copyto", "fill_diagonal", "place", "putmask", "at")
)
"""Functions and methods that may change what they are given."""


def may_be_copied(
    function: ast.AST,
    statement: ast.stmt,
    names: Iterable[str],
    effects: Callable[[ast.Call], Effects | None],
    *,
    before: bool,
    to_the_end: bool,
) -> bool:
    """Return whether no elements of an array are changed while several of its names are used, from a statement on.

    Args:
        function: the definition that the statement is in.
        statement: where the names begin to have an array in common.
        names: these names.
        effects: what a call of a function of the user's may do with its arguments; None for any other.
        before: whether they have it before the statement, not only after it.
        to_the_end: whether what the function returns may be one of several names of it.
    """
    path = _path(function, statement)
    if path is None:
        return False
    flow = _Flow(Roots(effects))
    shared = frozenset(names)
    if before:
        shared = flow.block([statement], shared)
    for block, position, owner in reversed(path):
        shared = flow.block(block[position + 1 :], shared)
        if isinstance(owner, ast.For | ast.While):
            shared = flow.loop(owner, shared)
    return not flow.is_changed and (to_the_end or not flow.is_returned)


def _path(node: ast.AST, statement: ast.stmt) -> list[tuple[Sequence[ast.stmt], int, ast.AST]] | None:
    """The blocks that lead to a statement, outermost first, each with the place in it and what has the block."""
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        for position, each in enumerate(block):
            if _is_same(each, statement):
                return [(block, position, node)]
            below = _path(each, statement)
            if below is not None:
                return [(block, position, node), *below]
    return None


def _is_same(left: ast.stmt, right: ast.stmt) -> bool:
    """Return whether two statements are one of the source, of which a pass may have made another one."""
    places = [(each.lineno, each.col_offset, each.end_lineno, each.end_col_offset) for each in (left, right)]
    return left is right or places[0] == places[1]


class Effects(NamedTuple):
    """The effects of a function on the arrays that it is given.

    Attributes:
        changes: whether it may change their elements.
        gives: whether what it gives may be one of them, or a part.
    """

    changes: bool
    gives: bool


UNKNOWN = Effects(changes=True, gives=True)
"""The effects of a function of which nothing is known."""


class Roots:
    """Tells of what arrays expressions may be parts, and which a node may change.

    Args:
        effects: what a call of a function of the user's may do with its arguments; None for any other.
    """

    def __init__(self, effects: Callable[[ast.Call], Effects | None]):
        self._effects = effects

    def changed(self, node: ast.AST) -> Names:
        """The names of arrays of which a node itself may change elements."""
        match node:
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                return self.of(node)
            case ast.AugAssign(target=target):
                return self.of(target)
            case ast.Call(function, arguments, keywords):
                name = function.attr if isinstance(function, ast.Attribute) else ""
                given = [*arguments, *(keyword.value for keyword in keywords)]
                effects = self._effects(node)
                if name in _CHANGES or (effects is not None and effects.changes):
                    return self.of(function).union(*(self.of(each) for each in given))
                return frozenset().union(*(self.of(each.value) for each in keywords if each.arg == "out"))
        return frozenset()

    def of(self, node: ast.expr) -> Names:
        """The names of arrays that an expression may be a part of."""
        match node:
            case ast.Name(name):
                return frozenset((name,))
            case ast.Subscript(value) | ast.Attribute(value) | ast.Starred(value):
                return self.of(value)
            case ast.Tuple(items) | ast.List(items):
                return frozenset().union(*map(self.of, items))
            case ast.IfExp(_, then, otherwise):
                return self.of(then) | self.of(otherwise)
            case ast.Call(function, arguments, keywords):
                name = getattr(function, "attr", getattr(function, "id", ""))
                given = [*arguments, *(keyword.value for keyword in keywords)]
                effects = self._effects(node)
                if name in _VIEWS or (effects is not None and effects.gives):
                    return self.of(function).union(*map(self.of, given))
                return frozenset().union(*(self.of(each.value) for each in keywords if each.arg == "out"))
        return frozenset()


class _Flow:
    """Follows the names of an array through statements.

    Attributes:
        is_changed: whether elements may have been changed while it had several names.
        is_returned: whether it may have been returned then.
    """

    def __init__(self, arrays: Roots):
        self.roots, self.changed = arrays.of, arrays.changed
        self.is_changed = self.is_returned = False
        self.jumped: Names = frozenset()

    def block(self, statements: Sequence[ast.stmt], names: Names) -> Names:
        """The names that may have the array after statements."""
        for statement in statements:
            names = self.statement(statement, names)
        return names

    def statement(self, node: ast.stmt, names: Names) -> Names:
        match node:
            case ast.If(test, then, otherwise):
                self.look(test, names)
                return self.block(then, names) | self.block(otherwise, names)
            case ast.For() | ast.While():
                return self.block(node.orelse, self.loop(node, names))
            case ast.Break() | ast.Continue() | ast.Return():
                self.look(node, names)
                self.jumped |= names
                if isinstance(node, ast.Return) and node.value is not None and len(names) > 1:
                    self.is_returned |= bool(self.roots(node.value) & names)
                return names
            case ast.Assign(targets, value):
                self.look(node, names)
                gives = bool(self.roots(value) & names)
                for target in targets:
                    names = self.assigned(target, value, names, gives)
                return names
        self.look(node, names)
        return names

    def loop(self, node: ast.For | ast.While, names: Names) -> Names:
        """The names after a loop, which may have any number of iterations."""
        outer, self.jumped = self.jumped, frozenset()
        while True:
            inside = names
            if isinstance(node, ast.For):
                self.look(node.iter, names)
                inside = self.assigned(node.target, node.iter, names, bool(self.roots(node.iter) & names))
            else:
                self.look(node.test, names)
            after = names | self.block(node.body, inside) | self.jumped
            if after == names:
                break
            names = after
        self.jumped |= outer
        return names

    def assigned(self, target: ast.expr, value: ast.expr, names: Names, gives: bool) -> Names:
        """The names after an assignment."""
        match target, value:
            case ast.Name(name), _:
                return names | {name} if gives else names - {name}
            case ast.Tuple(targets) | ast.List(targets), ast.Tuple(values) if len(targets) == len(values):
                given = [bool(self.roots(each) & names) for each in values]
                for inner, each, gives_each in zip(targets, values, given, strict=True):
                    names = self.assigned(inner, each, names, gives_each)
            case ast.Tuple(targets) | ast.List(targets), _:
                for inner in targets:
                    names = self.assigned(inner, value, names, gives)
        return names

    def look(self, node: ast.AST, names: Names) -> None:
        """Note whether a node changes elements of the array, while it has several names."""
        if len(names) > 1:
            self.is_changed |= any(self.changed(each) & names for each in all_nodes(node))
