"""Syntax that stands for other syntax, replaced in the tree before anything else looks at it.

Assignments in expressions become statements before the one that they are in; ``match`` becomes branches; assignments of
shapes become calls of ``reshape``; a function without a name gets one; sums and extrema of generator expressions become
loops, and short comprehensions are written out (``comprehensions``).  What need not be evaluated, as the second operand
of ``and``, stays where it is, and so does what stands after something that reads the name that it assigns.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from polytune.frontend.lowering.frame import assigned_names
from polytune.frontend.lowering.shape_assignments import assigned_shapes, reshapes
from polytune.frontend.syntax import comprehensions
from polytune.frontend.syntax.comprehensions import Meaning, placed
from polytune.frontend.syntax.exchanges import with_exchanges_written
from polytune.frontend.syntax.jumps import own_jumps
from polytune.frontend.syntax.list_arrays import with_lists_as_arrays
from polytune.frontend.syntax.list_displays import filled_array
from polytune.frontend.syntax.maps import with_maps_written
from polytune.frontend.syntax.matching import branches
from polytune.frontend.syntax.ranges import with_ranges_written
from polytune.frontend.syntax.sorted_lists import with_sorted_lists
from polytune.frontend.syntax.source import gives_nothing
from polytune.syntax_trees import all_nodes

Changed = TypeVar("Changed", bound=ast.AST)


def desugared(
    body: Sequence[ast.stmt], meaning: Meaning, fresh: Callable[[str], str], arguments: Iterable[str] = ()
) -> list[ast.stmt]:
    """The statements of a function without syntax that stands for other syntax.

    Args:
        body: the statements, which stay as they are.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
        arguments: the names that have a value before.
    """
    arguments = list(arguments)
    body = with_maps_written(body, meaning, fresh)
    body = with_exchanges_written(body, meaning, fresh, arguments)
    body = with_ranges_written(body, arguments, meaning, fresh)
    body = with_sorted_lists(body, meaning, fresh)
    body = with_lists_as_arrays(body, arguments, meaning, fresh)
    return _Desugarer(meaning, fresh, assigned_names(body)).block(body)


class _Desugarer:
    def __init__(self, meaning: Meaning, fresh: Callable[[str], str], local: Collection[str]):
        self.meaning, self.fresh, self.local = meaning, fresh, local

    def block(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        return [made for statement in body for made in self.statement(statement)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement, and what is now before it."""
        match node:
            case ast.Match():
                found = branches(node, self.fresh)
                return [node] if found is None else self.block(found)
            case ast.Assign([ast.Name(name)], ast.Lambda() as function):
                return self.block([_named(name, function, node)])
            case ast.Assign(targets) if names := assigned_shapes(targets, self.local):
                return self.block(reshapes(node, names, self.fresh))
            case ast.If(test, then, otherwise):
                before, test = self.hoisted(test)
                made = ast.copy_location(ast.If(test, self.block(then), self.block(otherwise)), node)
                return [*before, made]
            case ast.While():
                return self.loop(node)
            case ast.For(_, source):
                before, source = self.hoisted(source)
                return [
                    *before,
                    changed(node, iter=source, body=self.block(node.body), orelse=self.block(node.orelse)),
                ]
            case ast.With(items, body) if all(map(self.is_silent, items)):
                return self.block(body)
            case ast.With():
                return [changed(node, body=self.block(node.body))]
            case ast.FunctionDef():
                return [node]  # inlined, it comes here by itself
            case ast.Return(ast.Call() as call) if gives_nothing(self.meaning(call.func)):
                return self.block([placed(ast.Expr(call), node), placed(ast.Return(None), node)])
            case ast.Assign([ast.Name() as name], ast.Call() as call) if gives_nothing(self.meaning(call.func)):
                nothing = placed(ast.Assign([name], ast.Constant(None)), node)
                return self.block([placed(ast.Expr(call), node), nothing])
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Return() | ast.Expr() if node.value is not None:
                read = {node.target.id} if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) else ()
                before, value = self.hoisted(node.value, read)
                return [node] if value is node.value else [*before, changed(node, value=value)]
        return [node]

    def is_silent(self, item: ast.withitem) -> bool:
        """Return whether a with block says of floating-point errors that nothing is done: a kernel tells of none
        anyway."""
        call = item.context_expr
        return (
            item.optional_vars is None
            and isinstance(call, ast.Call)
            and self.meaning(call.func) is np.errstate
            and not call.args
            and all(isinstance(each.value, ast.Constant) and each.value.value == "ignore" for each in call.keywords)
        )

    def loop(self, node: ast.While) -> list[ast.stmt]:
        """A ``while``; where statements belong to its test, they are done in each iteration, and end the loop."""
        before, test = self.hoisted(node.test)
        body, otherwise = self.block(node.body), self.block(node.orelse)
        if not before:
            return [changed(node, test=test, body=body, orelse=otherwise)]
        if otherwise and any(isinstance(jump, ast.Break) for jump in own_jumps(node.body)):
            return [node]
        ended = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
        placed(ended, node.test)
        endless = ast.While(placed(ast.Constant(True), node.test), [*before, ended, *body], [])
        return [ast.copy_location(endless, node), *otherwise]

    def hoisted(self, node: ast.expr, read: Iterable[str] = ()) -> tuple[list[ast.stmt], ast.expr]:
        """The statements that an expression stands for besides its value, and the expression without them.

        Args:
            node: the expression.
            read: the names that have been read before it.
        """
        hoister = _Hoister(self, set(read))
        changed = hoister.expression(node, certain=True)
        return hoister.before, changed


class _Hoister:
    """Goes through an expression in the order in which it is evaluated.

    Attributes:
        before: the statements that have been taken out.
        read: the names that have been read so far.
    """

    def __init__(self, around: _Desugarer, read: set[str]):
        self.around, self.read = around, read
        self.before: list[ast.stmt] = []

    def expression(self, node: ast.expr, *, certain: bool) -> ast.expr:
        """The expression without what is taken out.

        Args:
            node: the expression.
            certain: whether it is evaluated whenever the whole one is.
        """
        match node:
            case ast.Name(name):
                self.read.add(name)
                return node
            case ast.NamedExpr(ast.Name(name), value) if certain and name not in self.read:
                value = self.expression(value, certain=True)
                self.before.append(placed(ast.Assign([ast.Name(name, ast.Store())], value), node))
                self.read.add(name)
                return placed(ast.Name(name, ast.Load()), node)
            case ast.ListComp() | ast.Call():
                filled = filled_array(node, self.around.meaning) if isinstance(node, ast.Call) else None
                if filled is not None:
                    return self.expression(filled, certain=certain)
                display = comprehensions.written_out(node, self.around.meaning)
                if display is not None:
                    return self.expression(display, certain=certain)
                found = comprehensions.reduced(node, self.around.meaning, self.around.fresh) if certain else None
                if found is not None:
                    before, value = found
                    self.before += self.around.block(before)
                    return value
            case ast.BoolOp(_, [first, *later]):
                operands = [self.expression(first, certain=certain)]
                operands += [self.expression(operand, certain=False) for operand in later]
                return changed(node, values=operands)
            case ast.Compare(left, _, [second, *later]):
                left, second = self.expression(left, certain=certain), self.expression(second, certain=certain)
                others = [self.expression(each, certain=False) for each in later]
                return changed(node, left=left, comparators=[second, *others])
            case ast.IfExp(test, then, otherwise):
                test = self.expression(test, certain=certain)
                sides = [self.expression(side, certain=False) for side in (then, otherwise)]
                return changed(node, test=test, body=sides[0], orelse=sides[1])
        if isinstance(node, ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
            self.read |= {each.id for each in all_nodes(node) if isinstance(each, ast.Name)}
            return node
        if isinstance(node, ast.Call) and certain:
            node = changed(node, func=self.named(node.func), args=[self.named(each) for each in node.args])
        changes = {name: self.field(value, certain) for name, value in ast.iter_fields(node)}
        return changed(node, **changes)

    def named(self, node: ast.expr) -> ast.expr:
        """Return what is called, or is an argument; a function without a name is defined before, and has one."""
        if not isinstance(node, ast.Lambda):
            return node
        name = self.around.fresh("function")
        self.before.append(_named(name, node, node))
        return placed(ast.Name(name, ast.Load()), node)

    def field(self, value: Any, certain: bool) -> Any:
        """A field of a node, with the expressions in it changed."""
        if isinstance(value, list):
            found = [self.field(each, certain) for each in value]
            return value if all(new is old for new, old in zip(found, value, strict=True)) else found
        if isinstance(value, ast.expr):
            return self.expression(value, certain=certain)
        if isinstance(value, ast.keyword):
            return changed(value, value=self.expression(value.value, certain=certain))
        return value


def _named(name: str, function: ast.Lambda, place: ast.AST) -> ast.stmt:
    """A function without a name, with one."""
    result = ast.copy_location(ast.Return(function.body), function.body)
    made = ast.FunctionDef(name, function.args, [result], [])
    return ast.copy_location(made, place)


def changed(node: Changed, **changes: Any) -> Changed:
    """A node with other fields; itself where they are what they were.

    Args:
        node: the node, which stays as it is.
        changes: the fields by name.
    """
    if all(getattr(node, name) is value for name, value in changes.items()):
        return node
    made = copy.copy(node)
    for name, value in changes.items():
        setattr(made, name, value)
    return made
