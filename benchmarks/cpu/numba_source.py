"""A kernel's own source as a program for Numba: ``prange`` on given loops, and the functions it calls compiled too."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba

from polytune.frontend.syntax.source import inlinable, read_source


class NumbaSource:
    """A plain Python function as Numba would be given it.

    Attributes:
        text: the source, without decorators and annotations; ``prange`` stands on the lines that were asked for.
    """

    def __init__(self, function: FunctionType, prange_lines: frozenset[int] = frozenset()):
        """
        Args:
            function: a function whose source can be read.
            prange_lines: the lines of its file on which a ``for`` over ``range`` begins that is to run in parallel.

        Raises:
            UnsupportedSourceError: there is no source to read.
            ValueError: no loop over ``range`` begins on one of the lines.
        """
        source = read_source(function)
        shift = source.first_line - 1
        rewriter = _Rewriter({line - shift for line in prange_lines})
        tree = rewriter.visit(source.tree)
        if rewriter.lines:
            missing = ", ".join(str(line + shift) for line in sorted(rewriter.lines))
            raise ValueError(f"{function.__name__}: no loop over range begins on line {missing}")
        self.text = ast.unparse(ast.fix_missing_locations(tree))
        self._function = function
        self._is_parallel = bool(prange_lines)

    def compile(self, *, fastmath: bool = False) -> Callable[..., Any]:
        """The function that ``numba.njit`` makes of it, with ``parallel=True`` if there is a ``prange``."""
        options = {"fastmath": True} if fastmath else {}
        if self._is_parallel:
            options["parallel"] = True
        function = self._function
        outside = inspect.getclosurevars(function)
        namespace = {**function.__globals__, **outside.nonlocals, "prange": numba.prange}
        for name, value in {**outside.globals, **outside.nonlocals}.items():
            helper = inlinable(value)
            if helper is not None:
                namespace[name] = NumbaSource(helper).compile(fastmath=fastmath)
        file = f"<{function.__name__} for Numba, prange on {self.text.count('prange(')} loops>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        exec(compile(self.text, file, "exec"), namespace)
        return numba.njit(**options)(namespace[function.__name__])


class _Rewriter(ast.NodeTransformer):
    """Takes the decorators and annotations off a function, and gives ``prange`` to the loops on ``lines``.

    Afterwards ``lines`` holds those on which no loop over ``range`` begins.
    """

    def __init__(self, lines: set[int]):
        self.lines = set(lines)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = []
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        called = node.iter.func if isinstance(node.iter, ast.Call) else None
        if node.lineno in self.lines and isinstance(called, ast.Name) and called.id == "range":
            self.lines.remove(node.lineno)
            called.id = "prange"
        return self.generic_visit(node)
