"""Loops at whose end two or three arrays exchange their names, written out for two or three iterations.

``for t in range(n): v[...] = f(u); u, v = v, u`` becomes ``for k in range((n + 1) // 2)`` with a body for ``t = 2 * k``
and one for ``t = 2 * k + 1``, in which the names are exchanged; what follows is written once for each way in which
the loop may leave the names.  So no name means another array after an iteration, and none is copied.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence

from polytune.frontend.syntax.comprehensions import Meaning, placed, replaced
from polytune.frontend.syntax.source import nodes_inside

__all__ = ["with_exchanges_written"]

_MOST_INSIDE, _MOST_AFTER = 24, 12
"""The most statements of such a loop, and after it, of which there are to be two or three."""

_Names = Mapping[str, str]
"""The names that mean, after an iteration, what others meant before it."""


def with_exchanges_written(
    body: Sequence[ast.stmt], meaning: Meaning, fresh: Callable[[str], str], arguments: Sequence[str]
) -> list[ast.stmt]:
    """The statements of a function with the loops written out at whose end arrays exchange their names.

    These are loops over a range, not inside of others, that end in no other way and in whose function nothing else
    assigns the names but before them.

    Args:
        body: the statements, which stay as they are.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
        arguments: the names that have a value before.
    """
    for place, node in enumerate(body):
        match node:
            case ast.For(ast.Name(variable), ast.Call(function, [_, *_] as bounds, []), inside, []):
                if meaning(function) is not range or len(bounds) > 2:
                    continue
            case _:
                continue
        found = _exchange(inside)
        if found is None:
            continue
        names, inside = found
        after = with_exchanges_written(body[place + 1 :], meaning, fresh, arguments)
        start, stop = bounds if len(bounds) == 2 else (ast.Constant(0), bounds[0])
        if not _is_plain(start) or not _is_plain(stop):
            continue
        named = {each.id for each in (start, stop) if isinstance(each, ast.Name)}
        if not _may_be_written(inside, after, names, variable, named, body):
            continue
        counter = fresh(variable)
        count = ast.BinOp(stop, ast.Sub(), start) if len(bounds) == 2 else stop
        loop = _written(node, inside, names, (variable, counter), start, count)
        return [*body[:place], placed(loop, node), *_following(after, names, count, node)]
    return list(body)


def _exchange(body: Sequence[ast.stmt]) -> tuple[_Names, list[ast.stmt]] | None:
    """The names that the end of a loop's body exchanges, and the body without that; None where it does not."""
    match body:
        case [*inside, ast.Assign([ast.Tuple(targets)], ast.Tuple(values))] if len(targets) in (2, 3):
            pairs = [(to.id, of.id) for to, of in zip(targets, values, strict=False) if _are_names(to, of)]  # type: ignore[attr-defined]
            names, count = dict(pairs), len(targets)
        case [
            *inside,
            ast.Assign([ast.Name(kept)], ast.Name(first)),
            ast.Assign([ast.Name(one)], ast.Name(other)),
            ast.Assign([ast.Name(another)], ast.Name(last)),
        ] if (one, another, last) == (first, other, kept):
            names, count = {first: other, other: first}, 2
        case _:
            return None
    is_permutation = len(names) == count and set(names) == set(names.values())
    # Where one of three stays, two would do.
    return (names, inside) if is_permutation and inside and all(to != of for to, of in names.items()) else None


def _are_names(*nodes: ast.expr) -> bool:
    return all(isinstance(node, ast.Name) for node in nodes)


def _is_plain(node: ast.expr) -> bool:
    """Return whether a bound is a name or a constant, which may be written several times."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and type(node.value) is int)


def _may_be_written(
    inside: Sequence[ast.stmt],
    after: Sequence[ast.stmt],
    names: _Names,
    variable: str,
    bounds: set[str],
    body: Sequence[ast.stmt],
) -> bool:
    """Return whether a loop may be written out: it is short, ends where it ends, and its names are arrays'.

    Args:
        inside: its body without the exchange.
        after: what follows it.
        names: what it exchanges.
        variable: its variable.
        bounds: the names in its bounds.
        body: the statements of the function.
    """
    nodes, later = nodes_inside(inside), nodes_inside(after)
    if sum(isinstance(node, ast.stmt) for node in nodes) > _MOST_INSIDE:
        return False
    if any(isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Lambda | ast.FunctionDef) for node in nodes):
        return False
    if any(isinstance(node, ast.Lambda | ast.FunctionDef | ast.Nonlocal) for node in nodes_inside(body)):
        return False
    stored = {node.id for node in (*nodes, *later) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    mentioned = {node.id for node in nodes if isinstance(node, ast.Name)}
    if stored & {variable, *names, *bounds} or any(_mentions(each, variable) for each in after):
        return False
    if sum(isinstance(node, ast.stmt) for node in later) > _MOST_AFTER:
        return False
    return names.keys() <= mentioned and names.keys() <= _subscripted(body)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _subscripted(body: Sequence[ast.stmt]) -> set[str]:
    """The names that are subscripted, which only arrays, lists and tuples are."""
    subscripts = (node.value for node in nodes_inside(body) if isinstance(node, ast.Subscript))
    return {node.id for node in subscripts if isinstance(node, ast.Name)}


def _written(
    node: ast.For,
    inside: Sequence[ast.stmt],
    names: _Names,
    variables: tuple[str, str],
    start: ast.expr,
    count: ast.expr,
) -> ast.For:
    """The loop over as many iterations at once as bring the names back to what they meant.

    Args:
        node: the loop.
        inside: its body without the exchange.
        names: what that exchanges.
        variables: its variable, and that of the new loop.
        start: its first value.
        count: how many iterations it has, where these are any.
    """
    variable, counter = variables
    order = len(names)

    def number(step: int) -> ast.expr:
        """The number of iterations of the old loop before one."""
        first = ast.BinOp(ast.Constant(order), ast.Mult(), ast.Name(counter, ast.Load()))
        return ast.BinOp(first, ast.Add(), ast.Constant(step)) if step else first

    body: list[ast.stmt] = []
    for step in reversed(range(order)):
        value = number(step)
        if not (isinstance(start, ast.Constant) and start.value == 0):
            value = ast.BinOp(copy.deepcopy(start), ast.Add(), value)
        meanings = {variable: value, **_renamed(names, step)}
        own = [replaced(copy.deepcopy(each), meanings) for each in inside]
        body = [*own, *body]
        if step:
            body = [ast.If(ast.Compare(number(step), [ast.Lt()], [copy.deepcopy(count)]), body, [])]
    rounded = ast.BinOp(ast.BinOp(count, ast.Add(), ast.Constant(order - 1)), ast.FloorDiv(), ast.Constant(order))
    assert isinstance(node.iter, ast.Call)
    over = ast.Call(node.iter.func, [rounded], [])
    return ast.For(ast.Name(counter, ast.Store()), over, body, [])


def _renamed(names: _Names, times: int) -> dict[str, ast.expr]:
    """The names after so many exchanges, by those before."""
    meanings = {name: name for name in names}
    for _ in range(times):
        meanings = {name: meanings[other] for name, other in names.items()}
    return {name: ast.Name(other, ast.Load()) for name, other in meanings.items()}


def _following(after: Sequence[ast.stmt], names: _Names, count: ast.expr, node: ast.For) -> list[ast.stmt]:
    """The statements after the loop, with the names as it leaves them.

    Args:
        after: the statements.
        names: what an iteration exchanges.
        count: how many iterations there are, where these are any.
        node: the loop.
    """
    if not any(_mentions(each, name) for each in after for name in names):
        return list(after)
    made: list[ast.stmt] = list(after)
    for step in range(1, len(names)):
        own = [replaced(copy.deepcopy(each), _renamed(names, step)) for each in after]
        rest = ast.BinOp(copy.deepcopy(count), ast.Mod(), ast.Constant(len(names)))
        is_left = ast.Compare(rest, [ast.Eq()], [ast.Constant(step)])
        has_any = ast.Compare(copy.deepcopy(count), [ast.Gt()], [ast.Constant(0)])
        made = [placed(ast.If(ast.BoolOp(ast.And(), [has_any, is_left]), own, made), node)]
    return made
