"""The functions of a file of Python, found without running the file.

What functions need from outside is made of the file's text: modules and their names by importing them, where a function
uses them; other functions, without their decorators; and variables that are computed from constants.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import math
import sys
from collections import namedtuple
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from polytune.cli.target import import_file, package_of
from polytune.decorator import kernel
from polytune.errors import PolytuneError
from polytune.records import dataclass

_Definition = ast.FunctionDef | ast.AsyncFunctionDef

_OF_CONSTANTS = (
    *(np.array, np.asarray, np.zeros, np.ones, np.full, np.arange, np.linspace, np.eye, np.dtype, np.finfo, np.iinfo),
    *(abs, bool, float, int, len, max, min, round, sum, tuple, list, range, namedtuple),
)
"""The callables that compute constants, beside the functions of ``math``, NumPy's functions of numbers and its
types."""

_OF_ARRAYS = {name for name in dir(np.ndarray) if callable(getattr(np.ndarray, name))}.difference(
    *(dir(each) for each in (object, str, bytes, list, dict, set, complex, int, float))
)
"""The methods that arrays have, and numbers and containers of Python have not."""


@dataclass(frozen=True)
class FileFunctions:
    """The functions of a file that have something to compile.

    Attributes:
        functions: in the order of the file.
        computed: the names of the file that only running it would give a value.
    """

    functions: tuple[FunctionType, ...]
    computed: frozenset[str]


def functions_of(file: Path, *, is_run: bool = False) -> FileFunctions:
    """The functions of a file that have a loop or an array expression or are decorated as kernels, methods of classes
    included.

    Args:
        file: a file of Python.
        is_run: whether to import the file, so that all of its names have their values.

    Raises:
        PolytuneError: the file is no Python, or fails where it is run.
    """
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError as error:
        place = f"{file}:{error.lineno}" if error.lineno else f"{file}"  # of null bytes there is no line
        raise PolytuneError(f"{place}: {error.msg}") from None
    except ValueError as error:
        raise PolytuneError(f"{file} is not Python: {error}") from None
    top = list(_top_level(tree.body))
    methods = [
        (statement, method)
        for statement in top
        if isinstance(statement, ast.ClassDef)
        for method in statement.body
        if isinstance(method, _Definition)
    ]
    plain = [statement for statement in top if isinstance(statement, _Definition)]
    if is_run:
        names = dict(vars(import_file(file)))
        computed: frozenset[str] = frozenset()
    else:
        namespace = _Namespace(file)
        used = _read_names([*plain, *(method for _, method in methods)])
        computed = namespace.fill(top, used)
        names = namespace.names
    defined = [(each.name, _function(file, each, names)) for each in plain]
    names |= dict(defined)
    defined += [(f"{owner.name}.{each.name}", _function(file, each, names)) for owner, each in methods]
    trees = [*plain, *(method for _, method in methods)]
    found: list[FunctionType] = []
    for (name, function), each in zip(defined, trees, strict=True):
        function.__qualname__ = name
        if _computes(each, names):
            found.append(function)
    found.sort(key=lambda function: function.__code__.co_firstlineno)
    return FileFunctions(tuple(found), computed)


def _read_names(statements: Iterable[ast.AST]) -> set[str]:
    nodes = (node for statement in statements for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those under conditions included."""
    for statement in body:
        match statement:
            case ast.If(_, then, otherwise):
                yield from _top_level((*then, *otherwise))
            case ast.Try(inner, handlers, otherwise, final):
                inside = [each for handler in handlers for each in handler.body]
                yield from _top_level((*inside, *inner, *otherwise, *final))
            case ast.With(body=inner):
                yield from _top_level(inner)
            case _:
                yield statement


def _computes(tree: _Definition, names: dict[str, Any]) -> bool:
    """Return whether a function has a loop or an array expression, or is said to be a kernel."""
    if any(_value(each, names) is kernel for each in tree.decorator_list):
        return True
    given = tree.args
    arguments = {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)} - {"self", "cls"}
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.Slice | ast.MatMult):
            return True
        if isinstance(node, ast.Call):
            owner: ast.expr = node.func
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if owner is not node.func and isinstance(owner, ast.Name):
                if names.get(owner.id) is np:
                    return True
                if owner.id in arguments and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_ARRAYS:
                    return True
    return False


def _value(decorator: ast.expr, names: dict[str, Any]) -> object:
    """The object that a decorator names, as far as the names of the file tell; of a call the one that is called."""
    match decorator:
        case ast.Call(function):
            return _value(function, names)
        case ast.Attribute(owner, attribute):
            return getattr(_value(owner, names), attribute, None)
        case ast.Name(name):
            return names.get(name)
    return None


def _function(file: Path, tree: _Definition, names: dict[str, Any]) -> FunctionType:
    """The function object of a definition; nothing of the file runs for it."""
    bare = type(tree)(**{name: getattr(tree, name) for name in tree._fields})
    bare.decorator_list, bare.returns = [], None
    given = tree.args
    arguments = ast.arguments(
        posonlyargs=[_bare(each) for each in given.posonlyargs],
        args=[_bare(each) for each in given.args],
        vararg=given.vararg and _bare(given.vararg),
        kwonlyargs=[_bare(each) for each in given.kwonlyargs],
        kw_defaults=[each and _constant(each) for each in given.kw_defaults],
        kwarg=given.kwarg and _bare(given.kwarg),
        defaults=[_constant(each) for each in given.defaults],
    )
    bare.args = arguments
    ast.copy_location(bare, tree)
    module = ast.fix_missing_locations(ast.Module([bare], []))
    others = names.copy()
    exec(compile(module, str(file), "exec", dont_inherit=True), names)
    made = names.pop(tree.name)
    if tree.name in others:
        names[tree.name] = others[tree.name]
    assert isinstance(made, FunctionType)
    return made


def _bare(argument: ast.arg) -> ast.arg:
    return ast.copy_location(ast.arg(argument.arg, None), argument)


def _constant(default: ast.expr) -> ast.expr:
    """A default value; None in place of one that is computed."""
    try:
        ast.literal_eval(default)
    except ValueError:
        return ast.copy_location(ast.Constant(None), default)
    return default


def _named_tuple(statement: ast.ClassDef) -> type:
    """The class of named tuples that a definition makes, without its annotations and methods."""
    fields = [each for each in statement.body if isinstance(each, ast.AnnAssign)]
    names = [each.target.id for each in fields if isinstance(each.target, ast.Name)]
    given = [ast.literal_eval(_constant(each.value)) for each in fields if each.value is not None]
    return namedtuple(statement.name, names, defaults=given)


@dataclass
class _Namespace:
    """The names of a module, as far as they are known without running it."""

    file: Path
    names: dict[str, Any] = field(default_factory=dict)

    def fill(self, statements: Sequence[ast.stmt], used: set[str]) -> frozenset[str]:
        """Give names their values.  Return those whose values are not known.

        Args:
            statements: what stands at the top of the module.
            used: the names that its functions use.
        """
        package, root = package_of(self.file)
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
        self.names.update(__name__=f"polytune_check.{self.file.stem}", __file__=str(self.file), __package__=package)
        assignments = [each for each in statements if isinstance(each, ast.Assign | ast.AnnAssign)]
        bases = [base for each in statements if isinstance(each, ast.ClassDef) for base in each.bases]
        used = used | _read_names(assignments) | _read_names(bases)
        unknown: set[str] = set()
        for statement in statements:
            match statement:
                case ast.Import(aliases) | ast.ImportFrom(_, aliases):
                    for alias in aliases:
                        name = alias.asname or alias.name.partition(".")[0]
                        if (name in used or name == "*") and not self.imported(statement, alias):
                            unknown.add(name)
                case ast.Assign(targets, value):
                    unknown |= self.assigned(statement, targets, value)
                case ast.AnnAssign(target, value=ast.expr() as value):
                    unknown |= self.assigned(statement, [target], value)
                case ast.AugAssign(ast.Name(name)):
                    self.names.pop(name, None)
                    unknown.add(name)
                case ast.ClassDef(name) if name in used and self.is_named_tuple(statement):
                    self.names[name] = _named_tuple(statement)
        return frozenset(unknown - self.names.keys())

    def is_named_tuple(self, statement: ast.ClassDef) -> bool:
        """Return whether a class has nothing but the fields of a named tuple; what it stands on is imported."""
        names = {each.id for each in statement.bases if isinstance(each, ast.Name)}
        return bool(names) and all(self.names.get(name) is NamedTuple for name in names)

    def imported(self, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
        """Import one thing.  Return whether that was possible."""
        only = copy.copy(statement)
        only.names = [alias]
        return self.executed(only)

    def assigned(self, statement: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> set[str]:
        """Assign names the value of an expression of constants.  Return the names whose value is not known."""
        stored = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        is_plain = all(isinstance(target, ast.Name | ast.Tuple) for target in targets)
        bare = ast.copy_location(ast.Assign(list(targets), value), statement)
        if is_plain and self.is_constant(value) and self.executed(bare):
            return set()
        for name in stored:
            self.names.pop(name, None)
        return stored

    def executed(self, statement: ast.stmt) -> bool:
        """Execute one statement.  Return whether it raised no exception."""
        module = ast.fix_missing_locations(ast.Module([statement], []))
        with contextlib.redirect_stdout(sys.stderr):
            try:
                exec(compile(module, str(self.file), "exec", dont_inherit=True), self.names)
            except Exception:
                return False
        return True

    def is_constant(self, node: ast.expr) -> bool:
        """Return whether an expression has a value that is computed from constants alone."""
        match node:
            case ast.Constant():
                return True
            case ast.Name(name):
                return name in self.names or any(each is getattr(builtins, name, None) for each in _OF_CONSTANTS)
            case ast.Attribute(owner, attribute):
                # Of modules that are not imported for a function nothing is known.
                return self.is_constant(owner) and not attribute.startswith("_")
            case ast.Call(function, arguments, keywords):
                values = [*arguments, *(keyword.value for keyword in keywords)]
                return self.is_constant(function) and self.is_known(function) and all(map(self.is_constant, values))
            case ast.Tuple() | ast.List() | ast.UnaryOp() | ast.BinOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
                return all(self.is_constant(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
            case ast.Subscript(value, index):
                return self.is_constant(value) and self.is_constant(index)
            case ast.Slice(lower, upper, step):
                return all(each is None or self.is_constant(each) for each in (lower, upper, step))
        return False

    def is_known(self, function: ast.expr) -> bool:
        """Return whether what is called does nothing but compute a value."""
        called = eval(compile(ast.Expression(function), str(self.file), "eval", dont_inherit=True), self.names)
        if any(called is each for each in _OF_CONSTANTS) or isinstance(called, np.ufunc):
            return True
        if isinstance(called, type):
            return issubclass(called, np.generic)
        return getattr(math, getattr(called, "__name__", ""), None) is called
