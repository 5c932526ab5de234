"""``assert`` and ``raise`` at the top of a kernel: what Python tests of a call's arguments before anything runs."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from polytune.frontend.source import Source, nodes_inside
from polytune.records import dataclass

_NUMBERS = (bool, int, float, str)
_PURE_BUILTINS = (abs, all, any, bool, float, int, isinstance, len, max, min, range, repr, round, str, sum, tuple, type)
_KNOWN_MODULES = ("numpy", "math")


@dataclass(frozen=True)
class Preconditions:
    """The tests at the top of a function.

    Attributes:
        lines: the text of Python statements on the function's arguments, which raise what the function would raise.
        body: the function's statements without these tests.
    """

    lines: tuple[str, ...]
    body: tuple[ast.stmt, ...]


def preconditions(source: Source) -> Preconditions:
    """The tests at the top of a function, before anything but assignments of names.

    Raises:
        UnsupportedSourceError: a test uses something that is not known before the kernel runs.
    """
    body: list[ast.stmt] = []
    tests: list[ast.stmt] = []
    assignments: list[ast.stmt] = []
    waiting = list(source.tree.body)
    while waiting:
        statement = waiting[0]
        if _is_test(statement):
            tests.append(statement)
        elif _is_assignment(statement):
            body.append(statement)
            (tests or assignments).append(statement)
        elif isinstance(statement, ast.Pass) or (isinstance(statement, ast.Expr) and _is_constant(statement.value)):
            body.append(statement)
        else:
            break
        waiting.pop(0)
    while tests and not _is_test(tests[-1]):
        tests.pop()
    if not tests:
        return Preconditions((), tuple(source.tree.body))
    writer = _Writer(source)
    statements = writer.needed([*assignments, *tests])
    lines = [line for statement in statements for line in ast.unparse(statement).splitlines()]
    return Preconditions((*writer.imports, *lines), (*body, *waiting))


def without_tests(source: Source) -> Preconditions:
    """The function's statements without the tests at its top, for what else is to be said of one that is refused."""
    body = list(source.tree.body)
    tests = list(itertools.takewhile(lambda each: _is_test(each) or _is_assignment(each), body))
    return Preconditions((), tuple(each for each in body if each not in tests or not _is_test(each)))


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _is_test(statement: ast.stmt) -> bool:
    """Return whether a statement does nothing but raise exceptions, or not."""
    match statement:
        case ast.Assert() | ast.Raise():
            return True
        case ast.If(_, then, otherwise):
            inner = [each for each in (*then, *otherwise) if not isinstance(each, ast.Pass)]
            return bool(inner) and all(map(_is_test, inner))
    return False


def _is_assignment(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign([target]) | ast.AnnAssign(target, value=ast.expr()):
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            return all(isinstance(each, ast.Name) for each in targets)
    return False


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    parts = nodes_inside([statement])
    return {node.id for node in parts if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


class _Writer:
    """Finds out what tests need, and how a module of its own comes by it."""

    def __init__(self, source: Source):
        self.source = source
        arguments = source.tree.args
        self.arguments = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        self.imports: dict[str, None] = {}

    def needed(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The tests, and the assignments of what they use."""
        kept: list[ast.stmt] = []
        wanted: set[str] = set()
        for statement in reversed(statements):
            if _is_test(statement) or _names(statement, ast.Store) & wanted:
                wanted |= _names(statement, ast.Load)
                kept.insert(0, statement)
        local = {name for statement in kept for name in _names(statement, ast.Store)} | self.arguments
        for statement in kept:
            for node in nodes_inside([statement]):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
                    self.import_of(node)
                elif isinstance(node, ast.Call) and not _is_test(statement):
                    self.refuse_unknown(node)
        return kept

    def refuse_unknown(self, node: ast.Call) -> None:
        """Refuse a call that would run twice, in the test and in the kernel, and might do something each time."""
        function = self.meaning(node.func)
        module = (getattr(function, "__module__", None) or "").partition(".")[0]
        if function not in _PURE_BUILTINS and module not in _KNOWN_MODULES:
            raise self.source.refusal(
                node,
                f"{self.source.segment(node)} is called before a test of the arguments that uses its value",
                "tests are done before the kernel runs, and the call would be done twice",
                "test the arguments first",
            )

    def meaning(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            try:
                return self.source.resolve(node.id)
            except KeyError:
                return None
        return getattr(self.meaning(node.value), node.attr, None) if isinstance(node, ast.Attribute) else None

    def import_of(self, node: ast.Name) -> None:
        """Note the statement that gives a name its meaning."""
        name = node.id
        try:
            value = self.source.resolve(name)
        except KeyError:
            value = None
        if value is not None and getattr(builtins, name, None) is value:
            return
        if isinstance(value, _NUMBERS):
            self.imports[f"{name} = {value!r}"] = None
        elif isinstance(value, ModuleType):
            self.imports[f"import {value.__name__} as {name}"] = None
        elif getattr(value, "__module__", None) and getattr(value, "__qualname__", "<locals>").isidentifier():
            self.imports[f"from {value.__module__} import {value.__qualname__} as {name}"] = None
        else:
            raise self.source.refusal(
                node,
                f"{name!r} is used in a test of the arguments",
                "tests are done by Python, in a module of their own, which has no such name",
                "use arguments, numbers, and exceptions and functions that are defined at the top of a module",
            )
