"""Jumps as branches: what ``return``, ``break`` and ``continue`` skip stands under conditions, in the syntax tree.

After a branch that always jumps, what follows goes into its other side.  After one that jumps on some ways only, a flag
says whether it has.  Loops that an iteration may end early are of two kinds:

- where nothing but single statements, and loops of this kind, are inside, the loop is left as it is, marked
  (``is_sequential``), and becomes part of one statement;
- where it has other loops inside, as a time loop that ends when its sweeps have converged, it runs through all of its
  iterations, and a flag says whether those do anything.  So the loops inside are scheduled as any others.

Where no loops are around one of the second kind, it has another body (``ends``), in which iterations need not ask: the
code of its versions ends the loop where the flag has been set.  One of the first kind, and a ``while``, has one of the
second kind beside it then (``instead``), for where its body is found to have loops, as array expressions are.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from polytune.frontend.syntax.comprehensions import is_required, placed
from polytune.records import dataclass
from polytune.syntax_trees import all_nodes, nodes_inside

Made = TypeVar("Made", bound=ast.AST)

Fresh = Callable[[str], str]


@dataclass(frozen=True)
class Structured:
    """A body without jumps, but for ``break`` and ``continue`` in sequential loops.

    Attributes:
        statements: the body; of each ``return`` nothing follows on its way, and it has a number, ``site``, from 1.
        returned: the variable that says at which site the function has returned, 0 where at none; None where it ends
            with its only ``return``, or has none.
    """

    statements: list[ast.stmt]
    returned: str | None


ANY_NUMBER = 1 << 62
"""More iterations than a loop can have in a lifetime."""


@dataclass(frozen=True)
class Turns:
    """A loop that counts, in place of one that is part of a statement.

    Attributes:
        statements: those before the loop, and the loop.
        flag: its flag, where it is right only if the code of versions ends it; empty where it need not.
        function: the name that stands for ``range`` in it; empty where it has the source's own.
    """

    statements: list[ast.stmt]
    flag: str = ""
    function: str = ""


@dataclass(frozen=True)
class Ending:
    """The end of a counted loop by a jump, no loops around it.

    Attributes:
        flag: the variable that is assigned 1 where the loop ends with the iteration that does so, 0 before the loop.
        body: what an iteration does if the loop has not ended before.
        may_not_begin: whether it may have ended before its first iteration.
    """

    flag: str
    body: list[ast.stmt]
    may_not_begin: bool = False

    def after(self, statements: Sequence[ast.stmt]) -> Ending:
        """Return the same with statements before the body."""
        return replace(self, body=[*statements, *self.body])


def structured(body: Sequence[ast.stmt], fresh: Fresh, is_over_values: Callable[[ast.expr], bool]) -> Structured:
    """The body of a function with its jumps made branches.

    Args:
        body: its statements, which stay as they are.
        fresh: gives a name that the function does not have, like the one given.
        is_over_values: whether what a loop goes over are values that are seen in the source, so that it is written out.
    """
    body = [_Raising().visit(copy.deepcopy(each)) if _raises(each) else each for each in body]
    returns = _jumps(body, ast.Return)
    jumps = (ast.Break, ast.Continue, ast.While)
    has_else = any(isinstance(node, ast.For) and node.orelse for node in nodes_inside(body))
    if not returns and not has_else and not any(isinstance(node, jumps) for node in nodes_inside(body)):
        return Structured(list(body), None)
    is_plain = not returns or (len(returns) == 1 and returns[0] is body[-1])
    returned = None if is_plain else fresh("returned")
    statements, _ = _Structurer(fresh, returned, is_over_values).block(body, _Around())
    if returned is not None:
        statements = [_assignment(returned, 0, body[0]), *statements]
    return Structured(statements, returned)


def items_returned(body: Sequence[ast.stmt]) -> int | None:
    """Return how many values each ``return`` of a function gives, as a tuple of as many; None where they do not."""
    values = [node.value for node in nodes_inside(body) if isinstance(node, ast.Return) and node.value is not None]
    counts = {len(value.elts) if isinstance(value, ast.Tuple) else None for value in values}
    has_stars = any(isinstance(node, ast.Starred) for value in values for node in ast.iter_child_nodes(value))
    return counts.pop() if len(counts) == 1 and not has_stars else None


def with_one_return(
    body: Sequence[ast.stmt], results: Sequence[str], fresh: Fresh, is_over_values: Callable[[ast.expr], bool]
) -> list[ast.stmt] | None:
    """The body of a function with one name for what it returns, or one for each item of the tuples that it returns,
    which stand alone at its end; None where a loop returns.

    Args:
        body: its statements, which stay as they are; all ways to their end lead to a ``return``.
        results: the names.
        fresh: gives a name that the function does not have, like the one given.
        is_over_values: see `structured`.
    """
    if any(_jumps([node], ast.Return) for node in nodes_inside(body) if isinstance(node, ast.For | ast.While)):
        return None
    made, last = structured(body, fresh, is_over_values), body[-1]
    statements = _Assigning(results).visit(ast.Module([copy.deepcopy(each) for each in made.statements], [])).body
    if made.returned is not None and not _is_read(made.returned, statements):
        statements = _without(made.returned, statements)
    names: list[ast.expr] = [ast.Name(name, ast.Load()) for name in results]
    return [*statements, placed(ast.Return(names[0] if len(names) == 1 else ast.Tuple(names, ast.Load())), last)]


class _Assigning(ast.NodeTransformer):
    """Puts assignments to names in place of returns of values."""

    def __init__(self, names: Sequence[str]):
        self.names = names

    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        if node.value is None:
            return node  # it stands for a ``raise``: what the call gives is not read
        values = node.value.elts if isinstance(node.value, ast.Tuple) and len(self.names) > 1 else [node.value]
        pairs = zip(self.names, values, strict=True)
        return [placed(ast.Assign([ast.Name(name, ast.Store())], value), node) for name, value in pairs]


@dataclass(frozen=True)
class _Around:
    """The innermost loop around.

    Attributes:
        kind: ``""`` outside of loops, ``"sequential"`` where jumps stay, ``"counted"`` where they are flags.
        left: the flag that says that an iteration is over; ``ended`` the one that says that the loop is.
    """

    kind: str = ""
    left: str | None = None
    ended: str | None = None


class _Structurer:
    def __init__(self, fresh: Fresh, returned: str | None, is_over_values: Callable[[ast.expr], bool]):
        self.fresh, self.returned, self.is_over_values = fresh, returned, is_over_values
        self.sites = 0

    def block(self, body: Sequence[ast.stmt], around: _Around) -> tuple[list[ast.stmt], bool]:
        """The statements with their jumps made branches, and whether control never comes to their end."""
        made: list[ast.stmt] = []
        for position, statement in enumerate(body):
            rest = body[position + 1 :]
            match statement:
                case ast.Return():
                    return [*made, *self.leave(statement, around)], True
                case ast.Break():
                    return [*made, *self.end(statement, around)], True
                case ast.Continue():
                    return [*made, *self.skip(statement, around)], True
                case ast.If() if self.may_leave(statement, around):
                    then, then_left = self.block(statement.body, around)
                    if then_left and around.kind != "sequential":
                        otherwise, left = self.block([*statement.orelse, *rest], around)
                        return [*made, _branch(statement, then, otherwise)], left
                    otherwise, otherwise_left = self.block(statement.orelse, around)
                    if otherwise_left and around.kind != "sequential":
                        again, left = self.block([*statement.body, *rest], around)
                        return [*made, _branch(statement, again, otherwise)], left
                    made.append(_branch(statement, then, otherwise))
                    if then_left and otherwise_left:
                        return made, True
                    if around.kind == "sequential" or not rest:
                        continue
                    flag = around.left if around.kind else self.returned
                    assert flag is not None
                    return [*made, self.unless(flag, rest, around)], False
                case ast.If(_, inside, others):
                    made.append(_branch(statement, self.block(inside, around)[0], self.block(others, around)[0]))
                case ast.For(orelse=otherwise) | ast.While(orelse=otherwise) if otherwise:
                    again, left = self.block([*self.without_else(statement), *rest], around)
                    return [*made, *again], left
                case ast.For() | ast.While():
                    made += self.loop(statement, around)
                    if self.returned is not None and _jumps([statement], ast.Return):
                        # Whether the loop has returned is asked at its end.
                        made += self.after_loop(statement, rest, around)
                        return made, False
                case _:
                    made.append(statement)
        return made, False

    def without_else(self, node: ast.For | ast.While) -> list[ast.stmt]:
        """A loop with an ``else``, and what the else holds after it, unless the loop has ended by a ``break``."""
        if not any(isinstance(jump, ast.Break) for jump in own_jumps(node.body)):
            return [_copied(node, node.body, orelse=[]), *node.orelse]
        broken = self.fresh("broken")
        body = _noting_breaks(node.body, broken)
        loop = _copied(node, body, orelse=[])
        return [_assignment(broken, 0, node), loop, _branch_on(broken, "==", node.orelse, node.orelse[0])]

    def after_loop(self, loop: ast.stmt, rest: Sequence[ast.stmt], around: _Around) -> list[ast.stmt]:
        """Return what follows a loop that may have returned."""
        assert self.returned is not None
        if around.kind == "sequential":
            leave = _branch_on(self.returned, "!=", [ast.copy_location(ast.Break(), loop)], loop)
            return [leave, *self.block(rest, around)[0]]
        made: list[ast.stmt] = []
        if around.kind == "counted":
            assert around.left is not None and around.ended is not None
            flags: list[ast.stmt] = [_assignment(around.left, 1, loop), _assignment(around.ended, 1, loop)]
            made.append(_branch_on(self.returned, "!=", flags, loop))
        return [*made, self.unless(self.returned, rest, around)] if rest else made

    def unless(self, flag: str, rest: Sequence[ast.stmt], around: _Around) -> ast.stmt:
        """Return what follows, where a flag is not set."""
        return _branch_on(flag, "==", self.block(rest, around)[0], rest[0])

    def may_leave(self, statement: ast.stmt, around: _Around) -> bool:
        """Return whether a statement holds a jump out of the block it stands in."""
        if _jumps([statement], ast.Return):
            return True
        return bool(around.kind) and bool(own_jumps([statement]))

    def leave(self, statement: ast.Return, around: _Around) -> list[ast.stmt]:
        """A ``return``."""
        self.sites += 1
        numbered = ast.copy_location(ast.Return(statement.value), statement)
        numbered.site = self.sites  # type: ignore[attr-defined]
        numbered.raised = getattr(statement, "raised", None)  # type: ignore[attr-defined]
        made: list[ast.stmt] = [numbered]
        if self.returned is not None:
            made.append(_assignment(self.returned, self.sites, statement))
        return made + (self.end(statement, around) if around.kind else [])

    def end(self, statement: ast.stmt, around: _Around) -> list[ast.stmt]:
        """A ``break``."""
        if around.kind != "counted":
            return [ast.copy_location(ast.Break(), statement)]
        assert around.ended is not None
        return [_assignment(around.ended, 1, statement), *self.skip(statement, around)]

    def skip(self, statement: ast.stmt, around: _Around) -> list[ast.stmt]:
        """A ``continue``."""
        if around.kind == "sequential":
            return [ast.copy_location(ast.Continue(), statement)]
        return [] if around.left is None else [_assignment(around.left, 1, statement)]

    def loop(self, node: ast.For | ast.While, around: _Around) -> list[ast.stmt]:
        """A loop, and what stands before it."""
        if not isinstance(node, ast.While) and not (_ends_early(node) and self.is_sequential(node)):
            return self.counted(node, around)
        made = _copied(node, self.block(node.body, _Around("sequential"))[0])
        made.is_sequential = True
        if not around.kind and not _jumps(node.body, ast.Return):
            made.instead = self.turns(node) if isinstance(node, ast.While) else Turns(self.counted(node, around))
        return [made]

    def iteration(self, node: ast.For | ast.While, ended: str | None) -> list[ast.stmt]:
        """The body of a loop that counts, of which a flag may say that it has ended."""
        left = self.fresh("left") if own_jumps(node.body) or ended is not None else None
        inside = self.block(node.body, _Around("counted", left, ended))[0]
        if left is not None and _is_read(left, inside):
            return [_assignment(left, 0, node.body[0]), *inside]
        return _without(left, inside)

    def turns(self, node: ast.While) -> Turns:
        """A ``while`` as a loop that counts: its test is made before, and at the end of each iteration."""
        ended, count, function = (self.fresh(name) for name in ("ended", "turn", "range"))
        inside = self.iteration(node, ended)
        going: ast.expr = copy.deepcopy(node.test)
        first = ast.IfExp(going, ast.Constant(0), ast.UnaryOp(ast.USub(), ast.Constant(1)))
        before = _placed(ast.Assign([ast.Name(ended, ast.Store())], first), node, deep=False)
        if not (isinstance(node.test, ast.Constant) and node.test.value):
            over = ast.copy_location(ast.UnaryOp(ast.Not(), copy.deepcopy(node.test)), node.test)
            last: ast.stmt = ast.copy_location(ast.If(over, [_assignment(ended, 1, node)], []), node)
            has_break = any(isinstance(jump, ast.Break) for jump in own_jumps(node.body))
            inside = [*inside, _branch_on(ended, "==", [last], node) if has_break else last]
        times = ast.Call(ast.Name(function, ast.Load()), [ast.Constant(ANY_NUMBER)], [])
        loop: Any = _placed(ast.For(ast.Name(count, ast.Store()), times, [], []), node)
        loop.body = inside
        loop.ends = Ending(ended, inside, may_not_begin=True)
        return Turns([before, loop], ended, function)

    def counted(self, node: ast.For, around: _Around) -> list[ast.stmt]:
        """A loop that goes through all of its iterations, and what stands before it."""
        ended = self.fresh("ended") if _ends_early(node) else None
        inside = self.iteration(node, ended)
        if ended is None:
            return [_copied(node, inside)]
        runs = self.fresh("runs")
        going = ast.IfExp(_compared(ended, "==", 0), ast.Constant(1), ast.Constant(0))
        first = _placed(ast.Assign([ast.Name(runs, ast.Store())], going), node.body[0])
        # After the loop its variables have the values of the last iteration that did anything.
        counted, renamed = copy.deepcopy(node.target), []
        for name in (part for part in all_nodes(counted) if isinstance(part, ast.Name)):
            own = self.fresh(name.id)
            moved = ast.Assign([ast.Name(name.id, ast.Store())], ast.Name(own, ast.Load()))
            renamed.append(_placed(moved, node.target))
            name.id = own
        body = [*renamed, *inside]
        made = _copied(node, [first, _branch_on(runs, "!=", body, node.body[0])])
        made.target = counted
        made.variable = node.target.id if isinstance(node.target, ast.Name) else None
        if not around.kind:
            made.ends = Ending(ended, body)
        return [_assignment(ended, 0, node), made]

    def is_sequential(self, node: ast.For) -> bool:
        """Return whether all counted loops inside may end early too, and it is not over values that are seen in the
        source."""
        if self.is_over_values(node.iter):
            return False
        loops = [inner for inner in nodes_inside(node.body) if isinstance(inner, ast.For)]
        return all(_ends_early(inner) or self.is_over_values(inner.iter) for inner in loops)


def _ends_early(node: ast.For | ast.While) -> bool:
    """Return whether a loop has a ``break`` of its own, or a ``return`` inside."""
    own = any(isinstance(jump, ast.Break) for jump in own_jumps(node.body))
    return own or bool(_jumps(node.body, ast.Return))


def _raises(statement: ast.stmt) -> bool:
    return any(not is_required(each) for each in _jumps([statement], (ast.Raise, ast.Assert)))


class _Raising(ast.NodeTransformer):
    """Makes a ``return`` of each ``raise``, marked (``raised``), and one under a condition of each ``assert``."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node  # it is another function's

    def visit_Raise(self, node: ast.Raise) -> ast.Return:
        made = ast.copy_location(ast.Return(None), node)
        made.raised = node  # type: ignore[attr-defined]
        return made

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if is_required(node):
            return node
        arguments = [] if node.msg is None else [node.msg]
        error = ast.Call(ast.Name("AssertionError", ast.Load()), arguments, [])
        raised = self.visit_Raise(_placed(ast.Raise(error), node))
        test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node)
        return ast.copy_location(ast.If(test, [raised], []), node)


def _jumps(statements: Sequence[ast.stmt], kind: type[ast.stmt] | tuple[type[ast.stmt], ...]) -> list[Any]:
    return [node for node in nodes_inside(statements) if isinstance(node, kind)]


def own_jumps(statements: Sequence[ast.stmt]) -> list[ast.AST]:
    """Every ``break`` and ``continue`` of the loop that the statements are the body of, or are in."""
    found: list[ast.AST] = []
    for statement in statements:
        match statement:
            case ast.Break() | ast.Continue():
                found.append(statement)
            case ast.If(_, then, otherwise):
                found += own_jumps([*then, *otherwise])
            case ast.For(orelse=otherwise) | ast.While(orelse=otherwise):
                found += own_jumps(otherwise)
    return found


def _noting_breaks(statements: Sequence[ast.stmt], flag: str) -> list[ast.stmt]:
    """Statements of a loop with a flag set before each ``break`` of it."""
    made: list[ast.stmt] = []
    for statement in statements:
        match statement:
            case ast.Break():
                made.append(_assignment(flag, 1, statement))
            case ast.If(_, then, otherwise) if own_jumps([statement]):
                statement = _branch(statement, _noting_breaks(then, flag), _noting_breaks(otherwise, flag))
            case ast.For(orelse=otherwise) | ast.While(orelse=otherwise) if own_jumps(otherwise):
                statement = _copied(statement, statement.body, orelse=_noting_breaks(otherwise, flag))
        made.append(statement)
    return made


def _is_read(name: str, statements: Sequence[ast.stmt]) -> bool:
    names = (node for node in nodes_inside(statements) if isinstance(node, ast.Name))
    return any(node.id == name and isinstance(node.ctx, ast.Load) for node in names)


def _without(name: str | None, statements: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without the assignments to a flag that nothing reads."""
    made: list[ast.stmt] = []
    for statement in statements:
        match statement:
            case ast.Assign([ast.Name(target)]) if target == name:
                continue
            case ast.If(_, then, otherwise):
                statement = _branch(statement, _without(name, then), _without(name, otherwise))
        made.append(statement)
    return made


def _branch(node: ast.If, then: list[ast.stmt], otherwise: list[ast.stmt]) -> ast.If:
    return ast.copy_location(ast.If(node.test, then or [ast.copy_location(ast.Pass(), node)], otherwise), node)


def _branch_on(flag: str, symbol: str, then: list[ast.stmt], place: ast.AST) -> ast.If:
    return _placed(ast.If(_compared(flag, symbol, 0), then or [ast.Pass()], []), place, deep=False)


def _compared(flag: str, symbol: str, value: int) -> ast.Compare:
    operator = ast.Eq() if symbol == "==" else ast.NotEq()
    return ast.Compare(ast.Name(flag, ast.Load()), [operator], [ast.Constant(value)])


def _assignment(name: str, value: int, place: ast.AST) -> ast.Assign:
    return _placed(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), place)


def _placed(made: Made, place: ast.AST, *, deep: bool = True) -> Made:
    """A new node, and all that is new below it, at the place of another one."""
    below: ast.AST = made.test if isinstance(made, ast.If) and not deep else made
    ast.copy_location(made, place)
    for node in all_nodes(below):
        ast.copy_location(node, place)
    return made


def _copied(node: Any, body: list[ast.stmt], **changes: Any) -> Any:
    """A loop with another body."""
    fields = {name: getattr(node, name) for name in node._fields} | changes
    fields["body"] = body or [ast.copy_location(ast.Pass(), node)]
    return ast.copy_location(type(node)(**fields), node)
