"""``assert`` and ``raise`` at the top of a kernel: what Python tests of a call's arguments before anything runs.  And
what Python is to raise where one stands further down.
"""

from __future__ import annotations

import ast
import builtins
import copy
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from polytune.frontend.syntax.source import Source
from polytune.records import dataclass
from polytune.signature import Fixed, Items, Leaf, Signature, Structure
from polytune.syntax_trees import all_nodes, nodes_inside

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
    if statements is None:  # a call would be done twice: all of them are done where they stand
        return Preconditions((), tuple(source.tree.body))
    lines = [line for statement in statements for line in ast.unparse(statement).splitlines()]
    return Preconditions((*writer.imports, *lines), (*body, *waiting))


def without_tests(source: Source) -> Preconditions:
    """The function's statements without the tests at its top, for what else is to be said of one that is refused."""
    body = list(source.tree.body)
    tests = list(itertools.takewhile(lambda each: _is_test(each) or _is_assignment(each), body))
    return Preconditions((), tuple(each for each in body if each not in tests or not _is_test(each)))


def error_text(
    source: Source, node: ast.Raise, known: Mapping[str, Any], *, is_kernel: bool = True
) -> tuple[str, tuple[str, ...]]:
    """The text of an expression that makes the exception of a ``raise``, and of what gives its names a meaning.

    Args:
        source: the kernel, or a function that it calls.
        node: the statement.
        known: variables of it whose value is seen in the source.
        is_kernel: whether it is the kernel itself, whose arguments are known when the exception is made.

    Raises:
        UnsupportedSourceError: the exception is made of what is not known when the kernel has run.
    """
    if node.exc is None:
        raise source.refusal(
            node,
            "raise without an exception",
            "there is none that could be raised again",
            "write which one is raised: raise ValueError(...)",
        )
    writer = _Writer(source)
    assigned = {name for statement in source.tree.body for name in _names(statement, ast.Store)}
    if not is_kernel:
        assigned |= writer.arguments
    made = copy.deepcopy(node.exc)
    for name in (each for each in all_nodes(made) if isinstance(each, ast.Name)):
        if name.id in assigned and name.id not in known:
            raise source.refusal(
                node,
                f"an exception is made of {name.id!r}, a variable of {'the kernel' if is_kernel else source.name}",
                "exceptions are made when the kernel has run, of its arguments and of constants",
                "leave it out of the exception's text",
            )
        if name.id not in assigned and name.id not in writer.arguments:
            writer.import_of(name)
    return ast.unparse(_Inserted(known).visit(made)), tuple(writer.imports)


def structure_lines(source: Source, signature: Signature, used: Iterable[str]) -> tuple[str, ...]:
    """Statements that make arguments of the function of those of the generated module, where these are others.

    Args:
        source: the kernel.
        signature: the types of the arguments.
        used: what the arguments are needed for, as text.

    Raises:
        UnsupportedSourceError: a function is needed that a module cannot import.
    """
    names = {name for text in used for name in re.findall(r"\w+", text)}
    made = [(name, each) for name, each in signature.structure if name in names and each != Leaf(name)]
    lines = [f"{name} = {_structure_text(source, name, each)}" for name, each in made]
    if any("namedtuple(" in line for line in lines):
        lines.insert(0, "from collections import namedtuple")
    return tuple(lines)


def _structure_text(source: Source, name: str, structure: Structure) -> str:
    match structure:
        case Leaf(part):
            return part
        case Items(items, fields):
            inner = "".join(f"{_structure_text(source, name, item)}, " for item in items)
            return f"namedtuple({name!r}, {fields!r})({inner})" if fields else f"({inner})"
        case Fixed(value) if value is None or isinstance(value, str):
            return repr(value)
    raise source.refusal(
        source.tree,
        f"a test of the arguments, or an exception, uses {name!r}, a function or a generator",
        "tests are done by Python, in a module of their own, which does not have it",
        "test it before the kernel is called",
    )


class _Inserted(ast.NodeTransformer):
    """Puts constants in place of names."""

    def __init__(self, known: Mapping[str, Any]):
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self.known[node.id]) if node.id in self.known else node


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

    def needed(self, statements: Sequence[ast.stmt]) -> list[ast.stmt] | None:
        """The tests, and the assignments of what they use; None where one of these calls what might do something each
        time."""
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
                elif isinstance(node, ast.Call) and not _is_test(statement) and not self.is_pure(node):
                    return None
        return kept

    def is_pure(self, node: ast.Call) -> bool:
        """Return whether a call does nothing but compute a value."""
        function = self.meaning(node.func)
        module = (getattr(function, "__module__", None) or "").partition(".")[0]
        return function in _PURE_BUILTINS or module in _KNOWN_MODULES

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
