"""Comprehensions and generator expressions in the syntax tree: reduced by loops, or written out where short."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from polytune.syntax_trees import all_nodes, copied

Made = TypeVar("Made", bound=ast.AST)

Meaning = Callable[[ast.expr], Any]
"""The Python object that a name, or an attribute of one, from outside of a function means; None for anything else."""

MOST_WRITTEN_OUT = 16
"""A comprehension of more elements is not written out."""

_REDUCERS = (builtins.sum, builtins.min, builtins.max, builtins.any, builtins.all, math.prod)
_DISPLAYS = (builtins.tuple, builtins.list)

Comprehension = ast.GeneratorExp | ast.ListComp


_DEFAULT = "test that there are some before, or say what is meant where there are none: default=0"


def placed(made: Made, place: ast.AST) -> Made:
    """A new node, and what is new below it, at the place of another one."""
    for node in all_nodes(made):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return made


def required(test: ast.expr, otherwise: str, remedy: str, place: ast.AST) -> ast.stmt:
    """A statement that only goes on where a test holds, and else raises the error of what does not fit.

    Args:
        test: a comparison of integers.
        otherwise: what is wrong where it does not hold.
        remedy: what to do about it.
        place: where it stands in the source.
    """
    made = placed(ast.Assert(test, ast.Constant(otherwise)), place)
    made.remedy = remedy  # type: ignore[attr-defined]
    return made


def remedy_of(node: ast.AST) -> str | None:
    """Return what to do where a statement that ``required`` has made does not hold; None for any other node."""
    return getattr(node, "remedy", None)


def is_required(node: ast.AST) -> bool:
    """Return whether a node is a statement that ``required`` has made."""
    return remedy_of(node) is not None


class _Replacer(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]):
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.values.get(node.id)
        if value is None:
            return node
        if isinstance(node.ctx, ast.Store):
            assert isinstance(value, ast.Name)
            return ast.copy_location(ast.Name(value.id, ast.Store()), node)
        return ast.copy_location(copied(value), node) if isinstance(value, ast.Name) else copied(value)


def replaced(node: Made, values: Mapping[str, ast.expr]) -> Made:
    """A copy of a node with names replaced.

    Args:
        node: an expression or statement.
        values: what stands in place of names; for names that are assigned, names.
    """
    return _Replacer(values).visit(copied(node))  # type: ignore[no-any-return]


def reduced(node: ast.expr, meaning: Meaning, fresh: Callable[[str], str]) -> tuple[list[ast.stmt], ast.expr] | None:
    """``sum(...)``, ``min``, ``max``, ``any``, ``all`` or ``math.prod`` of a comprehension as loops, and what then has
    the value; None for any other expression.

    Args:
        node: the expression.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
    """
    if not isinstance(node, ast.Call) or not node.args:
        return None
    function = meaning(node.func)
    comprehension = _comprehension(node.args[0], meaning, fresh)
    if comprehension is None or not any(function is each for each in _REDUCERS):
        return None
    if any(generator.is_async for generator in comprehension.generators):
        return None
    given = {str(keyword.arg): keyword.value for keyword in node.keywords}
    others = node.args[1:]
    comprehension = with_own_names(comprehension, fresh)
    maker = _Loops(node, comprehension, meaning, fresh)
    if function is builtins.sum and len(others) + len(given) <= 1 and given.keys() <= {"start"}:
        return maker.folded(ast.Add(), (others or [given.get("start", ast.Constant(0))])[0])
    if function is math.prod and not others and given.keys() <= {"start"}:
        return maker.folded(ast.Mult(), given.get("start", ast.Constant(1)))
    if (function is builtins.min or function is builtins.max) and not others and given.keys() <= {"default"}:
        return maker.extremum(node.func, given.get("default"))
    if (function is builtins.any or function is builtins.all) and not others and not given:
        return maker.truth(is_any=function is builtins.any)
    return None


def _comprehension(node: ast.expr, meaning: Meaning, fresh: Callable[[str], str]) -> Comprehension | None:
    """A comprehension, or a call of ``map`` as one."""
    if isinstance(node, Comprehension):
        return node
    if isinstance(node, ast.Call) and meaning(node.func) is builtins.map and len(node.args) == 2:
        name = fresh("element")
        call = ast.Call(node.args[0], [ast.Name(name, ast.Load())], [])
        generator = ast.comprehension(ast.Name(name, ast.Store()), node.args[1], [], 0)
        return placed(ast.GeneratorExp(call, [generator]), node)
    return None


def with_own_names(node: Comprehension, fresh: Callable[[str], str]) -> Comprehension:
    """A comprehension whose variables are no variables of the function around."""
    first, *others = node.generators
    names = {
        each.id: ast.Name(fresh(each.id), ast.Load())
        for generator in node.generators
        for each in all_nodes(generator.target)
        if isinstance(each, ast.Name)
    }
    # What the first one goes over is evaluated outside.
    target, tests = replaced(first.target, names), [replaced(test, names) for test in first.ifs]
    generators = [ast.comprehension(target, first.iter, tests, 0), *(replaced(each, names) for each in others)]
    made = ast.GeneratorExp(replaced(node.elt, names), generators)
    return ast.copy_location(made, node)


def loops_around(body: Sequence[ast.stmt], comprehension: Comprehension) -> list[ast.stmt]:
    """The loops of a comprehension around statements."""
    made = list(body)
    for generator in reversed(comprehension.generators):
        for test in reversed(generator.ifs):
            made = [ast.copy_location(ast.If(test, made, []), test)]
        made = [placed(ast.For(generator.target, generator.iter, made, []), comprehension)]
    return made


class _Loops:
    """Makes the loops of a comprehension.

    Args:
        node: the call.
        comprehension: its argument.
        meaning: what names from outside of the function mean.
        fresh: makes names.
    """

    def __init__(self, node: ast.Call, comprehension: Comprehension, meaning: Meaning, fresh: Callable[[str], str]):
        self.node, self.comprehension, self.meaning, self.fresh = node, comprehension, meaning, fresh

    def loops(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return loops_around(body, self.comprehension)

    def folded(self, operator: ast.operator, start: ast.expr) -> tuple[list[ast.stmt], ast.expr]:
        """A sum or product."""
        total = self.fresh("total")
        update = ast.AugAssign(ast.Name(total, ast.Store()), operator, self.comprehension.elt)
        loops = self.loops([placed(update, self.comprehension.elt)])
        return [self.assignment(total, start), *loops], self.name(total)

    def extremum(self, function: ast.expr, default: ast.expr | None) -> tuple[list[ast.stmt], ast.expr]:
        """The least or the greatest element."""
        best, element = self.fresh("best"), self.comprehension.elt
        nothing = f"{ast.unparse(function)}() of a sequence that has no elements"
        first = self.first() if default is None else None
        call = ast.Call(function, [ast.Name(best, ast.Load()), element], [])
        if first is not None:
            value, has_elements = first
            test = required(has_elements, nothing, _DEFAULT, self.node)
            return [test, self.assignment(best, value), *self.loops([self.assignment(best, call)])], self.name(best)
        found, current = self.fresh("found"), self.fresh("current")
        call.args[1] = ast.Name(current, ast.Load())
        is_first = ast.Compare(ast.Name(found, ast.Load()), [ast.Eq()], [ast.Constant(0)])
        taken = [self.assignment(best, ast.Name(current, ast.Load())), self.assignment(found, ast.Constant(1))]
        choice = placed(ast.If(is_first, taken, [self.assignment(best, call)]), self.comprehension)
        made = [self.assignment(found, ast.Constant(0))]
        made += [] if default is None else [self.assignment(best, default)]
        made += self.loops([self.assignment(current, element), choice])
        if default is None:
            is_found = ast.Compare(ast.Name(found, ast.Load()), [ast.NotEq()], [ast.Constant(0)])
            made.append(required(is_found, nothing, _DEFAULT, self.node))
        return made, self.name(best)

    def first(self) -> tuple[ast.expr, ast.expr] | None:
        """The first element of all, and whether there is one; None where that is not seen in the source."""
        generator = self.comprehension.generators[0]
        if len(self.comprehension.generators) > 1 or generator.ifs or not isinstance(generator.target, ast.Name):
            return None
        match generator.iter:
            case ast.Call(function, [*bounds]) if self.meaning(function) is builtins.range and len(bounds) < 3:
                start: ast.expr = bounds[0] if len(bounds) == 2 else ast.Constant(0)
                test = ast.Compare(copied(start), [ast.Lt()], [copied(bounds[-1])])
            case ast.Name() | ast.Subscript() as array if self.meaning(ast.Name("len", ast.Load())) is builtins.len:
                start = ast.Subscript(array, ast.Constant(0), ast.Load())
                length = ast.Call(ast.Name("len", ast.Load()), [copied(array)], [])
                test = ast.Compare(length, [ast.Gt()], [ast.Constant(0)])
            case _:
                return None
        value = replaced(self.comprehension.elt, {generator.target.id: placed(start, generator.iter)})
        return value, placed(test, generator.iter)

    def truth(self, *, is_any: bool) -> tuple[list[ast.stmt], ast.expr]:
        """Return whether any element is true, or all are; the loop ends with the one that says so."""
        found, test = self.fresh("found"), self.comprehension.elt
        if not is_any:
            test = placed(ast.UnaryOp(ast.Not(), test), test)
        noted = [self.assignment(found, ast.Constant(1))]
        if len(self.comprehension.generators) == 1:
            noted.append(placed(ast.Break(), self.comprehension))
        loops = self.loops([ast.copy_location(ast.If(test, noted, []), test)])
        operator = ast.NotEq() if is_any else ast.Eq()
        value = placed(ast.Compare(ast.Name(found, ast.Load()), [operator], [ast.Constant(0)]), self.node)
        return [self.assignment(found, ast.Constant(0)), *loops], value

    def assignment(self, name: str, value: ast.expr) -> ast.stmt:
        return placed(ast.Assign([ast.Name(name, ast.Store())], value), self.comprehension)

    def name(self, name: str) -> ast.expr:
        return placed(ast.Name(name, ast.Load()), self.node)


def written_out(node: ast.expr, meaning: Meaning) -> ast.expr | None:
    """A list of a constant number of elements that a comprehension makes, ``tuple(...)`` of a generator expression, or
    the ``sum(...)`` of one, ``start + first + second + ...``; None for any other expression.

    The elements that are summed may so be arrays, of which each sum is another one.

    Args:
        node: the expression.
        meaning: what names from outside of the function mean.
    """
    match node:
        case ast.ListComp():
            elements = _elements(node, meaning)
            return None if elements is None else placed(ast.List(elements, ast.Load()), node)
        case ast.Call(function, [ast.GeneratorExp() | ast.ListComp() as comprehension, *others], keywords):
            pass
        case _:
            return None
    called = meaning(function)
    if any(called is each for each in _DISPLAYS) and not others and not keywords:
        elements = _elements(comprehension, meaning)
        kind = ast.Tuple if called is builtins.tuple else ast.List
        return None if elements is None else placed(kind(elements, ast.Load()), node)
    start = [*others, *(keyword.value for keyword in keywords if keyword.arg == "start")]
    if called is not builtins.sum or len(start) > 1 or len(start) < len(others) + len(keywords):
        return None
    elements = _elements(comprehension, meaning)
    if elements is None:
        return None
    total: ast.expr = start[0] if start else ast.Constant(0)
    for element in elements:
        total = ast.BinOp(total, ast.Add(), element)
    return placed(total, node)


def _elements(node: Comprehension, meaning: Meaning) -> list[ast.expr] | None:
    """The elements of a comprehension, of which the source shows how many there are; None where it does not, and where
    they are more than are written out, or assign names."""
    if any(isinstance(each, ast.NamedExpr) for each in all_nodes(node)):
        return None
    ways: list[dict[str, ast.expr]] = [{}]
    for generator in node.generators:
        further: list[dict[str, ast.expr]] = []
        for names in ways:
            values = None if generator.is_async else _values(replaced(generator.iter, names), meaning)
            for value in values or ():
                found = _names(generator.target, value)
                if found is None:
                    return None
                outcomes = [_outcome(replaced(test, names | found), meaning) for test in generator.ifs]
                if None in outcomes:
                    return None
                further += [names | found] * all(outcomes)
            if values is None or len(further) > MOST_WRITTEN_OUT:
                return None
        ways = further
    return [replaced(node.elt, names) for names in ways]


def _outcome(test: ast.expr, meaning: Meaning) -> bool | None:
    """The outcome of a test of constants; None for any other test."""
    value = _constant(test, meaning)
    return None if value is None else bool(value)


_ARITHMETIC = (
    *(ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop, ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv),
    *(ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Constant, ast.Tuple),
)
"""The nodes that an expression of constants may consist of, besides calls of ``abs``."""


def _constant(node: ast.expr, meaning: Meaning) -> Any:
    """The value of an expression of constants; None for any other one."""
    calls = [each for each in all_nodes(node) if isinstance(each, ast.Call)]
    functions = [call.func for call in calls if isinstance(call.func, ast.Name) and call.func.id == "abs"]
    if len(functions) < len(calls) or any(meaning(each) is not builtins.abs for each in functions):
        return None
    rest = [each for each in all_nodes(node) if not (isinstance(each, ast.Call) or each in functions)]
    if not all(isinstance(each, _ARITHMETIC) for each in rest) or any(map(_may_be_large, rest)):
        return None
    try:
        return eval(compile(ast.Expression(placed(node, node)), "<constant>", "eval"), {"__builtins__": {"abs": abs}})
    except (TypeError, ZeroDivisionError):
        return None


def _may_be_large(node: ast.AST) -> bool:
    """Return whether a part of an expression is no number, or computes with tuples, which may become long."""
    match node:
        case ast.Constant(value):
            return not isinstance(value, int | float)
        case ast.BinOp(left, _, right):
            return isinstance(left, ast.Tuple) or isinstance(right, ast.Tuple)
    return False


def _values(node: ast.expr, meaning: Meaning) -> list[ast.expr] | None:
    """The values of a range of constants, or of a tuple or list that is written out."""
    if isinstance(node, ast.Tuple | ast.List) and not any(isinstance(each, ast.Starred) for each in node.elts):
        return node.elts
    if isinstance(node, ast.Call) and meaning(node.func) is builtins.range and 1 <= len(node.args) <= 3:
        bounds = [_integer(each, meaning) for each in node.args]
        known = [bound for bound in bounds if bound is not None]
        if len(known) == len(bounds) and not (len(known) == 3 and known[2] == 0):
            numbers = range(*known)
            if len(numbers) <= MOST_WRITTEN_OUT:
                return [placed(ast.Constant(number), node) for number in numbers]
    return None


def _integer(node: ast.expr, meaning: Meaning) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        value = _constant(node, meaning)
        value = meaning(node) if value is None else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _names(target: ast.expr, value: ast.expr) -> dict[str, ast.expr] | None:
    """Return what the names of a target mean for a value; None where that is not seen in the source."""
    match target, value:
        case ast.Name(name), _:
            return {name: value}
        case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
            found: dict[str, ast.expr] = {}
            for inner, each in zip(targets, values, strict=True):
                names = _names(inner, each)
                if names is None:
                    return None
                found |= names
            return found
    return None
