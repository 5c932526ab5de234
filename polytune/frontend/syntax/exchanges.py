"""Loops in which two or three arrays exchange their names, written out for two or three iterations.

``for t in range(n): v[...] = f(u); u, v = v, u`` becomes ``for k in range((n + 1) // 2)`` with a body for ``t = 2 * k``
and one for ``t = 2 * k + 1``, in which the names are exchanged; what follows is written once for each way in which
the loop may leave the names.  So no name means another array after an iteration, and none is copied.

A loop that may end early, by ``break``, notes in a variable how it leaves the names.  So does a ``while``, whose test
stands between the iterations, too.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence

from polytune.frontend.syntax.comprehensions import Meaning, placed, replaced
from polytune.frontend.syntax.jumps import own_jumps
from polytune.records import dataclass
from polytune.syntax_trees import all_nodes, nodes_inside

__all__ = ["with_exchanges_written"]

_MOST_INSIDE, _MOST_AFTER = 24, 12
"""The most statements of such a loop, and after it, of which there are to be two or three."""

_Names = Mapping[str, str]
"""The names that mean, after an iteration, what others meant before it."""

_Fresh = Callable[[str], str]


@dataclass(frozen=True)
class _Exchange:
    """A loop's body with an exchange.

    Attributes:
        before, after: the statements before the exchange, and after it.
        names: what it exchanges.
        kept: a third name by way of which it does so; empty where there is none.
    """

    before: list[ast.stmt]
    after: list[ast.stmt]
    names: _Names
    kept: str

    @property
    def statements(self) -> list[ast.stmt]:
        """All but the exchange."""
        return [*self.before, *self.after]


@dataclass(frozen=True)
class _SweepRange:
    """The range of a loop that is written out.

    Attributes:
        variable: its variable.
        is_read: whether that is read after the loop.
        counter: that of the loop written out.
        start: its first value.
        count: how many iterations it has, where these are any.
    """

    variable: str
    is_read: bool
    counter: str
    start: ast.expr
    count: ast.expr


def with_exchanges_written(
    body: Sequence[ast.stmt], meaning: Meaning, fresh: _Fresh, arguments: Sequence[str]
) -> list[ast.stmt]:
    """The statements of a function with the loops written out in which arrays exchange their names.

    These are loops over a range, and such with a test, not inside of others, in which nothing else assigns the names.

    Args:
        body: the statements, which stay as they are.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
        arguments: the names that have a value before.
    """
    for place, node in enumerate(body):
        if not isinstance(node, ast.For | ast.While) or node.orelse:
            continue
        found = _exchange(node.body)
        rest = body[place + 1 :]
        if found is None or not _may_be_written(found, rest, body):
            continue
        after = with_exchanges_written(rest, meaning, fresh, arguments)
        is_read = any(_mentions(each, name) for each in after for name in found.names)
        ends = isinstance(node, ast.While) or any(isinstance(jump, ast.Break) for jump in own_jumps(node.body))
        way = fresh("way") if is_read and ends else ""
        if isinstance(node, ast.While):
            if _stored(found.statements) & found.names.keys():
                continue
            made: list[ast.stmt] = [_while_written(node, found, way)]
            if way:
                made.insert(0, _assigned(way, ast.Constant(0)))
            following = _following(after, found.names, _equals(way), node)
        else:
            counted = _counted(node, found, after, meaning, fresh)
            if counted is None:
                continue
            before, range_of = counted
            made = [*before, _for_written(node, found, range_of, way)]
            if way:
                made.insert(-1, _assigned(way, _way_of(range_of.count, len(found.names))))
            test = _equals(way) if way else _left_in_way(range_of.count, len(found.names))
            following = _following(after, found.names, test, node)
        return [*body[:place], *(placed(each, node) for each in made), *following]
    return list(body)


def _exchange(body: Sequence[ast.stmt]) -> _Exchange | None:
    """Return what a loop's body exchanges, between statements; None where it does not, or more than once."""
    found: list[_Exchange] = []
    for place in range(len(body)):
        names: dict[str, str] = {}
        kept, end, count = "", place + 1, 2
        match body[place : place + 3]:
            case [ast.Assign([ast.Tuple(targets)], ast.Tuple(values)), *_] if len(targets) in (2, 3):
                pairs = zip(targets, values, strict=False)
                names = {to.id: of.id for to, of in pairs if _are_names(to, of)}  # type: ignore[attr-defined]
                count = len(targets)
            case [
                ast.Assign([ast.Name(kept)], ast.Name(first)),
                ast.Assign([ast.Name(one)], ast.Name(other)),
                ast.Assign([ast.Name(another)], ast.Name(last)),
            ] if (one, another, last) == (first, other, kept):
                names, end = {first: other, other: first}, place + 3
        is_permutation = len(names) == count and set(names) == set(names.values())
        # Where one of three stays, two would do.
        if is_permutation and all(to != of for to, of in names.items()):
            found.append(_Exchange(list(body[:place]), list(body[end:]), names, kept))
    return found[0] if len(found) == 1 and found[0].statements else None


def _are_names(*nodes: ast.expr) -> bool:
    return all(isinstance(node, ast.Name) for node in nodes)


def _is_plain(node: ast.expr) -> bool:
    """Return whether a bound is a name or a constant, which may be written several times."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and type(node.value) is int)


def _stored(body: Sequence[ast.stmt]) -> set[str]:
    """The names that statements assign."""
    names = (node for node in nodes_inside(body) if isinstance(node, ast.Name))
    return {node.id for node in names if not isinstance(node.ctx, ast.Load)}


def _may_be_written(found: _Exchange, rest: Sequence[ast.stmt], body: Sequence[ast.stmt]) -> bool:
    """Return whether a loop may be written out: it is short, no iteration skips the exchange, and the names are
    arrays'.

    Args:
        found: its body.
        rest: what follows it.
        body: the statements of the function.
    """
    nodes, later = nodes_inside(found.statements), nodes_inside(rest)
    if sum(isinstance(node, ast.stmt) for node in nodes) > _MOST_INSIDE:
        return False
    if any(isinstance(jump, ast.Continue) for jump in own_jumps(found.statements)):
        return False
    if any(isinstance(node, ast.Lambda | ast.FunctionDef | ast.Nonlocal) for node in nodes_inside(body)):
        return False
    if sum(isinstance(node, ast.stmt) for node in later) > _MOST_AFTER:
        return False
    mentioned = {node.id for node in nodes if isinstance(node, ast.Name)}
    if found.kept and (found.kept in mentioned or any(_mentions(each, found.kept) for each in rest)):
        return False
    return found.names.keys() <= mentioned and found.names.keys() <= _likely_arrays(body)


def _counted(
    node: ast.For, found: _Exchange, after: Sequence[ast.stmt], meaning: Meaning, fresh: _Fresh
) -> tuple[list[ast.stmt], _SweepRange] | None:
    """Return what a loop over a range counts, and what has to stand before it; None for any other loop.

    Args:
        node: the loop.
        found: its body.
        after: what follows it.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have.
    """
    match node:
        case ast.For(ast.Name(variable), ast.Call(function, [_, *_] as given, [])):
            if meaning(function) is not range or len(given) > 2:
                return None
        case _:
            return None
    stored = _stored(found.statements)
    if stored & {variable, *found.names}:
        return None
    before: list[ast.stmt] = []
    bounds = list(given)
    for place, bound in enumerate(bounds):
        if not _is_plain(bound) or (isinstance(bound, ast.Name) and bound.id in stored):
            name = fresh("bound")
            before.append(_assigned(name, bound))
            bounds[place] = ast.Name(name, ast.Load())
    start, stop = bounds if len(bounds) == 2 else (ast.Constant(0), bounds[0])
    count = ast.BinOp(stop, ast.Sub(), start) if len(bounds) == 2 else stop
    is_read = any(_mentions(each, variable) for each in after)
    return before, _SweepRange(variable, is_read, fresh(variable), start, count)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in all_nodes(node))


def _likely_arrays(body: Sequence[ast.stmt]) -> set[str]:
    """The names that are subscripted, have attributes or are passed to functions, as arrays are and numbers seldom."""
    found: list[ast.expr] = []
    for node in nodes_inside(body):
        match node:
            case ast.Subscript(value) | ast.Attribute(value):
                found.append(value)
            case ast.Call(_, arguments):
                found += arguments
    return {node.id for node in found if isinstance(node, ast.Name)}


def _iteration(found: _Exchange, step: int, way: str, meanings: Mapping[str, ast.expr]) -> list[ast.stmt]:
    """The statements of an iteration.

    Args:
        found: the body.
        step: how many iterations there are before it since the names meant what they mean before the loop.
        way: the variable that says how the loop leaves the names; empty where none does.
        meanings: what stands in place of further names.
    """
    made: list[ast.stmt] = []
    for block, exchanges in ((found.before, step), (found.after, step + 1)):
        values = {**meanings, **_renamed(found.names, exchanges)}
        own = [replaced(each, values) for each in block]
        made += _noting(own, way, exchanges % len(found.names))
    return made


def _noting(statements: Sequence[ast.stmt], way: str, exchanges: int) -> list[ast.stmt]:
    """Statements of a loop that note, before each ``break`` of it, how it leaves the names, in a variable if it has a
    name."""
    if not way:
        return list(statements)
    made: list[ast.stmt] = []
    for statement in statements:
        match statement:
            case ast.Break():
                made.append(_assigned(way, ast.Constant(exchanges)))
            case ast.If(test, then, otherwise) if own_jumps([statement]):
                sides = _noting(then, way, exchanges), _noting(otherwise, way, exchanges)
                statement = ast.copy_location(ast.If(test, *sides), statement)
            case ast.For() | ast.While() if own_jumps([statement]):  # in its else
                statement = copy.copy(statement)
                statement.orelse = _noting(statement.orelse, way, exchanges)
        made.append(statement)
    return made


def _for_written(node: ast.For, found: _Exchange, over: _SweepRange, way: str) -> ast.For:
    """The loop over as many iterations at once as bring the names back to what they meant.

    Args:
        node: the loop.
        found: its body.
        over: what it counts.
        way: the variable that says how it leaves the names; empty where none does.
    """
    order = len(found.names)

    def number(step: int) -> ast.expr:
        """The number of iterations of the old loop before one."""
        first = ast.BinOp(ast.Constant(order), ast.Mult(), ast.Name(over.counter, ast.Load()))
        return ast.BinOp(first, ast.Add(), ast.Constant(step)) if step else first

    body: list[ast.stmt] = []
    for step in reversed(range(order)):
        value = number(step)
        if not (isinstance(over.start, ast.Constant) and over.start.value == 0):
            value = ast.BinOp(copy.deepcopy(over.start), ast.Add(), value)
        own = _iteration(found, step, way, {over.variable: value})
        body = [*([_assigned(over.variable, value)] if over.is_read else []), *own, *body]
        if step:
            body = [ast.If(ast.Compare(number(step), [ast.Lt()], [copy.deepcopy(over.count)]), body, [])]
    rounded = ast.BinOp(ast.BinOp(over.count, ast.Add(), ast.Constant(order - 1)), ast.FloorDiv(), ast.Constant(order))
    assert isinstance(node.iter, ast.Call)
    return ast.For(ast.Name(over.counter, ast.Store()), ast.Call(node.iter.func, [rounded], []), body, [])


def _while_written(node: ast.While, found: _Exchange, way: str) -> ast.While:
    """The loop with a test, with such tests between the iterations that bring the names back to what they meant.

    Args:
        node: the loop.
        found: its body.
        way: the variable that says how it leaves the names; empty where none does.
    """
    always = isinstance(node.test, ast.Constant) and bool(node.test.value)
    body: list[ast.stmt] = []
    for step in range(len(found.names)):
        if step and not always:
            test = ast.UnaryOp(ast.Not(), replaced(node.test, _renamed(found.names, step)))
            body.append(ast.If(test, _noting([ast.Break()], way, step), []))
        body += _iteration(found, step, way, {})
    return ast.While(node.test, body, [])


def _renamed(names: _Names, times: int) -> dict[str, ast.expr]:
    """The names after so many exchanges, by those before."""
    meanings = {name: name for name in names}
    for _ in range(times):
        meanings = {name: meanings[other] for name, other in names.items()}
    return {name: ast.Name(other, ast.Load()) for name, other in meanings.items()}


def _assigned(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(value))


def _equals(way: str) -> Callable[[int], ast.expr]:
    """Return what tests whether a loop leaves the names after so many exchanges, by the variable that says so."""
    return lambda step: ast.Compare(ast.Name(way, ast.Load()), [ast.Eq()], [ast.Constant(step)])


def _left_in_way(count: ast.expr, order: int) -> Callable[[int], ast.expr]:
    """Return the same for a loop that ends with its last iteration.

    Args:
        count: how many iterations there are, where these are any.
        order: after how many exchanges the names mean again what they meant.
    """

    def test(step: int) -> ast.expr:
        rest = ast.BinOp(copy.deepcopy(count), ast.Mod(), ast.Constant(order))
        has_any = ast.Compare(copy.deepcopy(count), [ast.Gt()], [ast.Constant(0)])
        return ast.BoolOp(ast.And(), [has_any, ast.Compare(rest, [ast.Eq()], [ast.Constant(step)])])

    return test


def _way_of(count: ast.expr, order: int) -> ast.expr:
    """The number of exchanges after which a loop leaves the names that ends with its last iteration; see
    ``_left_in_way``."""
    has_any = ast.Compare(copy.deepcopy(count), [ast.Gt()], [ast.Constant(0)])
    rest = ast.BinOp(copy.deepcopy(count), ast.Mod(), ast.Constant(order))
    return ast.IfExp(has_any, rest, ast.Constant(0))


def _following(
    after: Sequence[ast.stmt], names: _Names, is_left: Callable[[int], ast.expr], node: ast.AST
) -> list[ast.stmt]:
    """The statements after the loop, with the names as it leaves them.

    Args:
        after: the statements.
        names: what an iteration exchanges.
        is_left: makes the test whether it leaves them after so many exchanges.
        node: the loop.
    """
    if not any(_mentions(each, name) for each in after for name in names):
        return list(after)
    made: list[ast.stmt] = list(after)
    for step in range(1, len(names)):
        own = [replaced(each, _renamed(names, step)) for each in after]
        made = [placed(ast.If(is_left(step), own, made), node)]
    return made
