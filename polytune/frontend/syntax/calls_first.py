"""Calls of functions that do more than compute a value, taken out of the expressions in which they stand.

``A[i] + drawn(state) % n``, where the function changes the state, becomes three lines: one for what is read before the
call, one for the call, one for the rest.  So each such call stands alone on the right side of an assignment, in the
order in which Python evaluates an expression.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from polytune.frontend.generated_names import generated
from polytune.frontend.inlining.called_functions import CalledFunctions, draws
from polytune.frontend.syntax.comprehensions import Meaning, placed
from polytune.frontend.syntax.desugaring import changed
from polytune.frontend.syntax.jumps import own_jumps
from polytune.frontend.syntax.source import inlinable
from polytune.syntax_trees import all_nodes, nodes_inside

_SCOPES = ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp


RAISED = generated("raised")
"""The variable that says which exception a function that is called has raised: its number, 0 for none."""

GUARDED = "is_guarded"
"""The attribute of calls after which the function returns if they have raised an exception."""

PASSED_ON = "passed on"
"""The mark of a return that passes on the exception of a function that was called."""


def with_calls_first(
    body: Sequence[ast.stmt], meaning: Meaning, fresh: Callable[[str], str], functions: CalledFunctions
) -> list[ast.stmt]:
    """The statements of a function with each call that may write arrays, or raise an exception, in a statement of its
    own; after one that may raise, the function returns if it has.

    A call that need not be evaluated gets there under a condition.  One in a comprehension stays where it is.

    Args:
        body: the statements, which stay as they are.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
        functions: tells which do so.
    """
    nested = {node.name: node for node in nodes_inside(body) if isinstance(node, ast.FunctionDef)}

    def definition(call: ast.Call) -> ast.FunctionDef | None:
        return nested.get(call.func.id) if isinstance(call.func, ast.Name) else None

    def raises(call: ast.Call) -> bool:
        inner = definition(call)
        return functions.raises(inlinable(meaning(call.func)) if inner is None else inner)

    def is_separate(call: ast.Call) -> bool:
        inner = definition(call)
        writes = functions.writes(meaning(call.func)) if inner is None else functions.in_body(inner.body, meaning)
        return writes or raises(call)

    def loops(call: ast.Call) -> bool:
        inner = definition(call)
        if inner is None:
            return _is_reduction(call, meaning) or draws(call, meaning) or functions.loops(meaning(call.func))
        return functions.has_loops(inner.body, meaning)

    return _Separator(is_separate, raises, loops, fresh).block(body)


_REDUCTIONS = (
    *(builtins.sum, builtins.min, builtins.max, builtins.any, builtins.all, np.sum, np.prod, np.min, np.max),
    *(np.mean, np.median, np.std, np.var, np.any, np.all, np.argmin, np.argmax, np.count_nonzero, np.ptp),
    *(np.nansum, np.nanprod, np.nanmin, np.nanmax, np.nanmean, np.nanmedian, np.nanstd, np.nanvar, np.linalg.norm),
)


_OF_TWO = (np.allclose, np.array_equal, np.dot, np.vdot)

_TOLERANCES = ("rtol", "atol", "equal_nan")

_METHODS = frozenset(each.__name__ for each in _REDUCTIONS if hasattr(np.ndarray, each.__name__))


def _is_reduction(call: ast.Call, meaning: Meaning) -> bool:
    """Return whether a call may make one number of whole arrays, which loops compute."""
    if any(each.arg not in _TOLERANCES for each in call.keywords) or any(
        isinstance(each, _SCOPES) for each in call.args
    ):
        return False
    function = meaning(call.func)
    if function is None:
        return isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS and not call.args
    functions = {1: _REDUCTIONS, 2: _OF_TWO}.get(len(call.args), ())
    return any(function is each for each in functions)


def _is_of_sizes(test: ast.expr) -> bool:
    """Return whether a test compares nothing but names, constants, lengths and extents, and costs nothing twice."""
    match test:
        case ast.Compare(left, _, others):
            return all(map(_is_size, [left, *others]))
        case ast.BoolOp(_, operands):
            return all(map(_is_of_sizes, operands))
        case ast.UnaryOp(ast.Not(), operand):
            return _is_of_sizes(operand)
    return False


def _is_size(node: ast.expr) -> bool:
    match node:
        case ast.Name() | ast.Constant() | ast.Attribute(ast.Name(), "shape" | "size" | "ndim"):
            return True
        case ast.Subscript(ast.Attribute(ast.Name(), "shape"), ast.Constant() | ast.UnaryOp(_, ast.Constant())):
            return True
        case ast.Call(ast.Name("len"), [ast.Name()], []):
            return True
        case ast.BinOp(left, _, right):
            return _is_size(left) and _is_size(right)
        case ast.UnaryOp(ast.USub(), operand):
            return _is_size(operand)
    return False


class _Separator:
    """Takes calls out of statements.

    Args:
        is_separate: whether a call is to stand alone.
        raises: whether a call may raise an exception.
        loops: whether what a call gives is computed by loops, which stand before the statement: so they do for a call
            that need not be evaluated.
        fresh: gives a name that the function does not have, like the one given.
    """

    def __init__(
        self,
        is_separate: Callable[[ast.Call], bool],
        raises: Callable[[ast.Call], bool],
        loops: Callable[[ast.Call], bool],
        fresh: Callable[[str], str],
    ):
        self.is_separate, self.raises, self.loops, self.fresh = is_separate, raises, loops, fresh

    def is_alone(self, call: ast.Call, certain: bool) -> bool:
        """Return whether a call is to stand alone."""
        return self.is_separate(call) or (not certain and self.loops(call))

    def has_calls(self, node: ast.AST | None, certain: bool = True) -> bool:
        """Return whether a node has calls in it that are to stand alone.

        Args:
            node: a statement, an expression, or anything else in a tree.
            certain: whether it is evaluated whenever its statement is.
        """
        match node:
            case None | ast.FunctionDef():
                return False
            case ast.Call() if self.is_alone(node, certain):
                return True
            case ast.BoolOp(_, [first, *later]):
                return self.has_calls(first, certain) or any(self.has_calls(each, False) for each in later)
            case ast.IfExp(test, then, otherwise):
                return self.has_calls(test, certain) or self.has_calls(then, False) or self.has_calls(otherwise, False)
            case ast.While(test, body, otherwise):
                return self.has_calls(test, False) or any(map(self.has_calls, [*body, *otherwise]))
            case _ if isinstance(node, _SCOPES):
                return any(isinstance(part, ast.Call) and self.is_separate(part) for part in all_nodes(node))
        return any(self.has_calls(child, certain) for child in ast.iter_child_nodes(node))

    def block(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        return [made for statement in body for made in self.statement(statement)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement, and what is now before it."""
        if not self.has_calls(node):
            return [node]
        before: list[ast.stmt] = []
        match node:
            case ast.If(test, then, otherwise):
                test = self.expression(test, before)
                made: ast.stmt = changed(node, test=test, body=self.block(then), orelse=self.block(otherwise))
            case ast.While():
                return self.loop(node)
            case ast.For(_, source, body, otherwise):
                source = self.expression(source, before)
                made = changed(node, iter=source, body=self.block(body), orelse=self.block(otherwise))
            case ast.With(_, body):
                made = changed(node, body=self.block(body))
            case ast.Assert(test):
                made = changed(node, test=self.expression(test, before))
            case ast.Assign([ast.Name() | ast.Tuple()] as targets, ast.Call() as call) if self.raises(call) and not any(
                map(self.has_calls, targets)
            ):
                made = changed(node, value=self.alone(call, before))
                return [*before, made, self.guard(call)]
            case ast.Expr(ast.Call() as call) if self.raises(call):
                made = changed(node, value=self.alone(call, before))
                return [*before, made, self.guard(call)]
            case ast.Assign(targets, value):
                value = self.alone(value, before)
                if any(map(self.has_calls, targets)) or self.raises_alone(value):
                    value = self.settled(value, before)
                made = changed(node, value=value, targets=[self.expression(each, before) for each in targets])
            case ast.AugAssign(ast.Subscript() as target, operator, value) if self.has_calls(value):
                target = self.target(target, before)
                old = self.settled(changed(target, ctx=ast.Load()), before)
                new = placed(ast.BinOp(old, operator, self.expression(value, before)), node)
                made = ast.copy_location(ast.Assign([target], new), node)
            case ast.AugAssign(target, _, value):
                if isinstance(target, ast.Subscript):
                    target = self.target(target, before)
                made = changed(node, target=target, value=self.expression(value, before))
            case ast.AnnAssign(value=ast.expr() as value) | ast.Return(ast.expr() as value) | ast.Expr(value):
                value = self.alone(value, before)
                made = changed(node, value=self.settled(value, before) if self.raises_alone(value) else value)
            case _:
                return [node]
        return [*before, made]

    def raises_alone(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and self.raises(value)

    def guard(self, call: ast.Call) -> ast.stmt:
        """A return, if a call has raised an exception."""
        left = ast.Return(None)
        left.raised = PASSED_ON  # type: ignore[attr-defined]
        test = ast.Compare(ast.Name(RAISED, ast.Load()), [ast.NotEq()], [ast.Constant(0)])
        return placed(ast.If(test, [left], []), call)

    def loop(self, node: ast.While) -> list[ast.stmt]:
        """A ``while``; what is taken out of its test is done in each iteration, and the test then ends the loop."""
        before: list[ast.stmt] = []
        test = self.expression(node.test, before, certain=False)
        body, otherwise = self.block(node.body), self.block(node.orelse)
        if not before:
            return [changed(node, body=body, orelse=otherwise)]
        if otherwise and any(isinstance(jump, ast.Break) for jump in own_jumps(node.body)):
            return [changed(node, body=body, orelse=otherwise)]
        ended = placed(ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], []), node.test)
        endless = ast.While(placed(ast.Constant(True), node.test), [*before, ended, *body], [])
        return [ast.copy_location(endless, node), *otherwise]

    def target(self, node: ast.Subscript, before: list[ast.stmt]) -> ast.Subscript:
        """An element or part that is updated, with its subscripts as they are before the value is computed."""
        inner = self.expression(node.slice, before)
        return changed(node, slice=self.settled(inner, before))

    def alone(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """The value of a statement, where a call may stay if it is all of it."""
        if isinstance(node, ast.Call) and self.is_separate(node):
            return self.guarded(self.parts(node, before, True))
        return self.expression(node, before)

    def guarded(self, node: ast.expr) -> ast.expr:
        """An expression, marked if it is a call that may raise an exception."""
        if isinstance(node, ast.Call) and self.raises(node):
            node = copy.copy(node)
            setattr(node, GUARDED, True)
        return node

    def expression(self, node: ast.expr, before: list[ast.stmt], *, certain: bool = True) -> ast.expr:
        """An expression without calls that are to stand alone; these, and what is evaluated before them, get names.

        Args:
            node: the expression.
            before: gets the statements that come before the one in which it stands.
            certain: whether it is evaluated whenever its statement is.
        """
        if not self.has_calls(node, certain) or isinstance(node, _SCOPES):
            return node
        match node:
            case ast.BoolOp(operator, [first, *later]) if any(self.has_calls(each, False) for each in later):
                return self.in_turn(node, operator, first, later, before, certain)
            case ast.IfExp(test, then, otherwise) if self.has_calls(then, False) or self.has_calls(otherwise, False):
                return self.chosen(node, test, then, otherwise, before, certain)
            case ast.Compare(comparators=[_, *later]) if any(self.has_calls(each, certain) for each in later):
                return node
        made = self.parts(node, before, certain)
        return self.named(made, before) if isinstance(node, ast.Call) and self.is_alone(node, certain) else made

    def parts(self, node: ast.expr, before: list[ast.stmt], certain: bool) -> ast.expr:
        """An expression whose parts have no calls that are to stand alone."""
        fields = [(name, getattr(node, name)) for name in node._fields]
        flat = [part for _, value in fields for part in (value if isinstance(value, list) else [value])]
        places = [
            place for place, part in enumerate(flat) if isinstance(part, ast.AST) and self.has_calls(part, certain)
        ]
        if not places:
            return node
        done: list[Any] = []
        for place, part in enumerate(flat):
            inside = part.value if isinstance(part, ast.keyword) else part
            if isinstance(inside, ast.expr):
                inside = self.expression(inside, before, certain=certain)
                is_callee = isinstance(node, ast.Call) and place == 0
                if place < places[-1] and not is_callee and not (isinstance(node, ast.Subscript) and place == 0):
                    inside = self.settled(inside, before)
            done.append(changed(part, value=inside) if isinstance(part, ast.keyword) else inside)
        left = iter(done)
        taken = {name: [next(left) for _ in value] if isinstance(value, list) else next(left) for name, value in fields}
        return changed(node, **taken)

    def settled(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """The value that an expression has here, before what a call changes after it."""
        match node:
            case ast.Name() | ast.Constant() | ast.Attribute(ast.Name()):
                return node
            case ast.Tuple(items) | ast.List(items):
                return changed(node, elts=[self.settled(each, before) for each in items])
            case ast.Starred(value):
                return changed(node, value=self.settled(value, before))
            case ast.Slice(first, last, step):
                ends = [None if each is None else self.settled(each, before) for each in (first, last, step)]
                return changed(node, lower=ends[0], upper=ends[1], step=ends[2])
            case _ if isinstance(node, _SCOPES):
                return node
        return self.named(node, before)

    def named(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        name = self.fresh("value")
        before.append(self.assignment(name, self.guarded(node)))
        if isinstance(node, ast.Call) and self.raises(node):
            before.append(self.guard(node))
        return placed(ast.Name(name, ast.Load()), node)

    def assignment(self, name: str, value: ast.expr) -> ast.stmt:
        return placed(ast.Assign([ast.Name(name, ast.Store())], value), value)

    def in_turn(
        self,
        node: ast.expr,
        operator: ast.boolop,
        first: ast.expr,
        later: Sequence[ast.expr],
        before: list[ast.stmt],
        certain: bool,
    ) -> ast.expr:
        """``and`` or ``or``, each operand under a condition on those before it.

        A comparison of sizes is that condition itself, so that what follows may rely on it, as ``np.all(A == B)`` does
        after ``A.shape == B.shape``.
        """
        name = self.fresh("value")
        current = placed(ast.Name(name, ast.Load()), node)
        before.append(self.assignment(name, self.expression(first, before, certain=certain)))
        around = before
        for previous, operand in zip([first, *later], later, strict=False):
            inside: list[ast.stmt] = []
            inside.append(self.assignment(name, self.expression(operand, inside, certain=False)))
            test: ast.expr = copy.deepcopy(previous) if _is_of_sizes(previous) else copy.copy(current)
            if isinstance(operator, ast.Or):
                test = placed(ast.UnaryOp(ast.Not(), test), operand)
            around.append(placed(ast.If(test, inside, []), operand))
            around = inside
        return current

    def chosen(
        self,
        node: ast.expr,
        test: ast.expr,
        then: ast.expr,
        otherwise: ast.expr,
        before: list[ast.stmt],
        certain: bool,
    ) -> ast.expr:
        """``then if test else otherwise`` as a branch."""
        name = self.fresh("value")
        test = self.expression(test, before, certain=certain)
        sides: list[list[ast.stmt]] = []
        for side in (then, otherwise):
            inside: list[ast.stmt] = []
            inside.append(self.assignment(name, self.expression(side, inside, certain=False)))
            sides.append(inside)
        before.append(placed(ast.If(test, *sides), node))
        return placed(ast.Name(name, ast.Load()), node)
