"""Calls of ``map``, as what they stand for: ``map(f, (x, y))`` is ``f(x), f(y)``, and ``map(f, A)`` a generator
expression, of which ``list`` is a list comprehension."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Sequence

from polytune.frontend.syntax.comprehensions import Meaning, placed

__all__ = ["with_maps_written"]


def with_maps_written(body: Sequence[ast.stmt], meaning: Meaning, fresh: Callable[[str], str]) -> list[ast.stmt]:
    """The statements of a function without calls of ``map``.

    Args:
        body: the statements, which stay as they are.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
    """
    writer = _MapWriter(meaning, fresh)
    return [writer.visit(copy.deepcopy(each)) if writer.has_maps(each) else each for each in body]


class _MapWriter(ast.NodeTransformer):
    def __init__(self, meaning: Meaning, fresh: Callable[[str], str]):
        self.meaning, self.fresh = meaning, fresh

    def has_maps(self, node: ast.AST) -> bool:
        return any(self.is_map(each) for each in ast.walk(node))

    def is_map(self, node: ast.AST) -> bool:
        """Return whether a node is a call of ``map`` of a function that has a name."""
        match node:
            case ast.Call(ast.Name() as called, [ast.Name() | ast.Attribute(), _, *_] as arguments, []):
                has_stars = any(isinstance(each, ast.Starred) for each in arguments)
                return not has_stars and self.meaning(called) is builtins.map
        return False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(ast.Name() as called, [ast.Call() as mapped], []) if self.is_map(mapped):
                kind = self.meaning(called)
                made = self.written(mapped)
                if isinstance(made, ast.Tuple):
                    if kind is builtins.list:
                        return ast.copy_location(ast.List(made.elts, ast.Load()), node)
                    if kind is builtins.tuple:
                        return made
                elif kind is builtins.list:
                    return ast.copy_location(ast.ListComp(made.elt, made.generators), node)
        if self.is_map(node):
            return self.written(node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def written(self, node: ast.Call) -> ast.Tuple | ast.GeneratorExp:
        """The results of a call of ``map``: as a tuple where what it goes over is written out."""
        function, *sources = [self.visit(each) for each in node.args]
        displays = [each.elts for each in sources if isinstance(each, ast.Tuple | ast.List)]
        is_plain = not any(isinstance(each, ast.Starred) for elements in displays for each in elements)
        if len(displays) == len(sources) and is_plain:
            results: list[ast.expr] = [
                ast.Call(copy.deepcopy(function), list(given), []) for given in zip(*displays, strict=False)
            ]
            return placed(ast.Tuple(results, ast.Load()), node)
        names = [self.fresh("mapped") for _ in sources]
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
        over = sources[0] if len(sources) == 1 else ast.Call(ast.Name("zip", ast.Load()), sources, [])
        target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
        value = ast.Call(function, [ast.Name(name, ast.Load()) for name in names], [])
        return placed(ast.GeneratorExp(value, [ast.comprehension(target, over, [], 0)]), node)
