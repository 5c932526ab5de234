"""Ranges elsewhere than in loops.

Of ranges that have names, ``rows = range(first, last)`` becomes ``start = first``, ``stop = last``, and a loop over
``rows`` one over ``range(start, stop)``.  One that is a subscript, as in ``A[range(n), columns]``, becomes the list of
its numbers.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterator, Sequence

from polytune.frontend.syntax.comprehensions import Meaning, placed
from polytune.syntax_trees import all_nodes, copied, nodes_inside

_SUBSCRIPT = "is_subscript"
"""The attribute of lists that take the place of ranges."""


def with_ranges_written(
    body: Sequence[ast.stmt], given: Collection[str], meaning: Meaning, fresh: Callable[[str], str]
) -> list[ast.stmt]:
    """The statements of a function with ranges where loops go over the names that they have, and lists where ranges
    are subscripts.

    A name has to mean a range wherever it is assigned, and nothing else may be done with it.

    Args:
        body: the statements, which stay as they are.
        given: the names that have a value before.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
    """
    lists = _ListWriter(meaning, fresh)
    body = [lists.visit(copied(each)) if lists.is_needed(each) else each for each in body]
    steps = _steps_of_ranges(body, given, meaning)
    if not steps:
        return body
    parts = {name: tuple(fresh(f"{name}_{part}") for part in ("start", "stop")) for name in steps}
    return [_RangeWriter(parts, steps).visit(copied(statement)) for statement in body]


def is_subscript(node: ast.AST) -> bool:
    """Return whether a list is the subscript that a range was, which is an array.

    Args:
        node: an expression.
    """
    return hasattr(node, _SUBSCRIPT)


class _ListWriter(ast.NodeTransformer):
    """Puts lists of their numbers in place of ranges that are subscripts."""

    def __init__(self, meaning: Meaning, fresh: Callable[[str], str]):
        self.meaning, self.fresh = meaning, fresh

    def is_needed(self, node: ast.AST) -> bool:
        subscripts = (each for each in ast.walk(node) if isinstance(each, ast.Subscript))
        return any(self.is_range(item) for each in subscripts for item in _items(each))

    def is_range(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and not node.keywords and self.meaning(node.func) is builtins.range

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        items = [self.listed(item) if self.is_range(item) else item for item in _items(node)]
        node.slice = ast.copy_location(ast.Tuple(items, ast.Load()), node) if len(items) > 1 else items[0]
        return node

    def listed(self, node: ast.expr) -> ast.expr:
        """The numbers of a range as a list."""
        name = self.fresh("number")
        over = ast.comprehension(ast.Name(name, ast.Store()), node, [], 0)
        made = placed(ast.ListComp(ast.Name(name, ast.Load()), [over]), node)
        setattr(made, _SUBSCRIPT, True)
        return made


def _items(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _steps_of_ranges(body: Sequence[ast.stmt], given: Collection[str], meaning: Meaning) -> dict[str, ast.expr | None]:
    """The names that mean ranges, and what the ranges of each count by; None where it is 1."""
    steps: dict[str, ast.expr | None] = {}
    others = set(given)
    uses: dict[str, int] = {}
    for node in nodes_inside(body):
        match node:
            case ast.Assign([ast.Name(name)], ast.Call(function, [_, *_] as arguments, [])) if meaning(
                function
            ) is builtins.range and not any(isinstance(each, ast.Starred) for each in arguments):
                step = arguments[2] if len(arguments) == 3 else None
                if name in steps and _text(steps[name]) != _text(step):
                    others.add(name)
                steps.setdefault(name, step)
                uses[name] = uses.get(name, 0) - 1
            case ast.For(_, source):
                for each in _gone_over(source):
                    uses[each.id] = uses.get(each.id, 0) - 1
            case ast.FunctionDef() | ast.Lambda():
                others |= {part.id for part in all_nodes(node) if isinstance(part, ast.Name)}
            case ast.Name(name):
                uses[name] = uses.get(name, 0) + 1
    return {
        name: step
        for name, step in steps.items()
        if name not in others and not uses[name] and (step is None or _is_constant(step))
    }


def _gone_over(source: ast.expr) -> Iterator[ast.Name]:
    """The names that a loop goes over, also by ``enumerate``, ``zip`` and ``reversed``."""
    match source:
        case ast.Name():
            yield source
        case ast.Call(ast.Name("enumerate" | "zip" | "reversed"), arguments):
            for each in arguments:
                yield from _gone_over(each)


def _text(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


class _RangeWriter(ast.NodeTransformer):
    """Writes the bounds of ranges in place of their names.

    Args:
        parts: the names of the bounds of the ranges that a name means.
        steps: what these count by.
    """

    def __init__(self, parts: dict[str, tuple[str, ...]], steps: dict[str, ast.expr | None]):
        self.parts, self.steps = parts, steps

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        match node:
            case ast.Assign([ast.Name(name)], ast.Call(args=arguments)) if name in self.parts:
                start, stop = (ast.Constant(0), arguments[0]) if len(arguments) == 1 else arguments[:2]
                targets: list[ast.expr] = [ast.Name(part, ast.Store()) for part in self.parts[name]]
                values = placed(ast.Tuple([start, stop], ast.Load()), node)
                return placed(ast.Assign([ast.Tuple(targets, ast.Store())], values), node)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        node.iter = self.written(node.iter)
        return node

    def written(self, source: ast.expr) -> ast.expr:
        """The source of a loop, with ranges in place of their names."""
        match source:
            case ast.Name(name) if name in self.parts:
                bounds: list[ast.expr] = [ast.Name(part, ast.Load()) for part in self.parts[name]]
                step = self.steps[name]
                arguments = bounds if step is None else [*bounds, step]
                return placed(ast.Call(ast.Name("range", ast.Load()), arguments, []), source)
            case ast.Call(ast.Name("enumerate" | "zip" | "reversed"), arguments):
                source.args = [self.written(each) for each in arguments]
        return source
