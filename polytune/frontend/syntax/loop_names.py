"""The names in a loop, by its syntax: which it gives a new meaning, which are read after that, and of which arrays it
may change elements, under other names, too."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.syntax_trees import all_nodes, nodes_inside

__all__ = ["AnyLoop", "arrays_changed", "begins_new", "is_left_behind", "mentions", "names_replaced"]

AnyLoop = ast.For | ast.While

_CHANGING_METHODS = "fill", "itemset", "partition", "put", "sort"
_CHANGING_FUNCTIONS = np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask


def is_left_behind(tree: ast.AST, loop: AnyLoop, names: Collection[str]) -> bool:
    """Return whether nothing reads names that a loop gives a new meaning, before they get another one.

    Args:
        tree: the function.
        loop: a loop in it.
        names: the names.
    """
    for block, position in _blocks(tree, loop):
        if not all(begins_new(name, block.after(position)) for name in names):
            return False
        if block.is_loop and not all(begins_new(name, block.statements) for name in names):
            return False
    return True


def names_replaced(loop: AnyLoop, arrays: Collection[str]) -> set[str]:
    """The names that a loop gives a new meaning: those that it assigns, and numbers that it updates.

    Args:
        loop: the loop.
        arrays: the names of arrays when it begins, of which an update changes the elements.
    """
    updated = {id(node.target) for node in nodes_inside([loop]) if isinstance(node, ast.AugAssign)}
    return {
        node.id
        for node in nodes_inside([loop])
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and not (id(node) in updated and node.id in arrays)
    }


@dataclass(frozen=True)
class _Following:
    """Statements that follow one another, and whether they are the body of a loop."""

    statements: tuple[ast.stmt, ...]
    is_loop: bool

    def after(self, position: int) -> tuple[ast.stmt, ...]:
        return self.statements[position + 1 :]


def _blocks(tree: ast.AST, loop: ast.AST) -> Iterator[tuple[_Following, int]]:
    """The blocks that a loop is in, and its place in each, or that of the statement around it."""
    for field in ("body", "orelse", "cases"):
        statements = [each for each in getattr(tree, field, ()) if isinstance(each, ast.AST)]
        for position, statement in enumerate(statements):
            if any(node is loop for node in all_nodes(statement)):
                if all(isinstance(each, ast.stmt) for each in statements):
                    plain = tuple(each for each in statements if isinstance(each, ast.stmt))
                    yield _Following(plain, isinstance(tree, AnyLoop) and field == "body"), position
                if statement is not loop:
                    yield from _blocks(statement, loop)


def begins_new(name: str, statements: Sequence[ast.stmt]) -> bool:
    """Return whether the first statement that mentions a name gives it a meaning without reading it, or none does."""
    for statement in statements:
        if not mentions(name, [statement]):
            continue
        match statement:
            case ast.Assign(targets, value):
                return not mentions(name, [value]) and all(_only_stores(name, target) for target in targets)
            case ast.For(target, source, body):
                if mentions(name, [source]):
                    return False
                return mentions(name, [target]) or begins_new(name, body)
            case ast.While(test, body):
                return not mentions(name, [test]) and begins_new(name, body)
        return False
    return True


def _only_stores(name: str, target: ast.expr) -> bool:
    return all(
        isinstance(node.ctx, ast.Store) for node in all_nodes(target) if isinstance(node, ast.Name) and node.id == name
    )


def mentions(name: str, nodes: Iterable[ast.AST]) -> bool:
    """Return whether a name is in any of some nodes."""
    return any(isinstance(part, ast.Name) and part.id == name for node in nodes for part in all_nodes(node))


def arrays_changed(loop: AnyLoop, meaning: Any) -> list[str]:
    """The names of arrays whose elements a loop may change, also under other names, in order.

    Args:
        loop: the loop.
        meaning: gives what names from outside of the function mean, and attributes of them; None for any others.
    """
    changed: dict[str, None] = {}
    parts: dict[str, set[str]] = {}
    for node in nodes_inside([loop]):
        match node:
            case ast.Assign(targets, value):
                for target in targets:
                    _note_target(target, value, meaning, changed, parts)
            case ast.AnnAssign(target, _, ast.expr() as value) | ast.For(target, value):
                _note_target(target, value, meaning, changed, parts)
            case ast.AugAssign(target):
                changed |= dict.fromkeys(_shown(target, meaning))
            case ast.Call():
                for argument in _changed_arguments(node, meaning):
                    changed |= dict.fromkeys(_shown(argument, meaning))
    while True:
        more = {other for name in changed for other in parts.get(name, ())} - changed.keys()
        if not more:
            return sorted(changed)
        changed |= dict.fromkeys(more)


def _note_target(
    target: ast.expr, value: ast.expr, meaning: Any, changed: dict[str, None], parts: dict[str, set[str]]
) -> None:
    """Note what an assignment changes, and of what arrays its names show a part then.

    Args:
        target: what is assigned to.
        value: the right side.
        meaning: what names from outside mean.
        changed: the names of arrays that are changed.
        parts: for each name those of arrays that it may show a part of.
    """
    match target:
        case ast.Name(name):
            parts.setdefault(name, set()).update(_shown(value, meaning))
        case ast.Tuple(items) | ast.List(items):
            given = value.elts if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(items) else []
            is_in_step = given and not any(isinstance(each, ast.Starred) for each in (*items, *given))
            for place, item in enumerate(items):
                _note_target(item, given[place] if is_in_step else value, meaning, changed, parts)
        case ast.Starred(inner):
            _note_target(inner, value, meaning, changed, parts)
        case _:
            changed |= dict.fromkeys(_shown(target, meaning))


def _shown(node: ast.expr, meaning: Any) -> set[str]:
    """The names of arrays of which the value of an expression may be a part, as ``A`` for ``A[1:].T``."""
    match node:
        case ast.Name(name):
            return {name}
        case ast.Subscript(value) | ast.Attribute(value) | ast.Starred(value):
            return _shown(value, meaning)
        case ast.Call(function, arguments, keywords):
            called = meaning(function)
            if isinstance(called, np.ufunc):
                return set()
            given = [*arguments, *(each.value for each in keywords)]
            owner = [function.value] if called is None and isinstance(function, ast.Attribute) else []
            return {name for each in (*owner, *given) for name in _shown(each, meaning)}
        case ast.IfExp(_, then, otherwise):
            return _shown(then, meaning) | _shown(otherwise, meaning)
        case ast.BoolOp(_, items) | ast.Tuple(items) | ast.List(items):
            return {name for item in items for name in _shown(item, meaning)}
    return set()


def _changed_arguments(call: ast.Call, meaning: Any) -> Iterator[ast.expr]:
    """The arguments of a call of NumPy's that it changes."""
    yield from (each.value for each in call.keywords if each.arg == "out")
    function = meaning(call.func)
    if isinstance(function, np.ufunc):
        yield from call.args[function.nin :]
    elif any(function is each for each in _CHANGING_FUNCTIONS) or isinstance(
        getattr(function, "__self__", None), np.ufunc
    ):
        yield from call.args[:1]  # of methods of ufuncs `at` changes it
    elif function is None and isinstance(call.func, ast.Attribute) and call.func.attr in _CHANGING_METHODS:
        yield call.func.value
    elif function is not None:
        yield from (each for each in call.args[1:] if isinstance(each, ast.Starred))
