"""Effects of functions that a kernel calls besides the value that they give: writes of arrays, exceptions, loops."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import field
from types import FunctionType
from typing import Any

import numpy as np

from polytune.draws import METHODS
from polytune.errors import UnsupportedSourceError
from polytune.frontend.lowering.frame import assigned_names
from polytune.frontend.lowering.meanings import Binding, GeneratorMethod, GeneratorObject, ObjectBinding
from polytune.frontend.scalars.named_tuples import named_fields
from polytune.frontend.syntax.comprehensions import Meaning
from polytune.frontend.syntax.source import (
    NestedFunction,
    Source,
    definition_of,
    inlinable,
    meaning_outside,
    read_source,
)
from polytune.records import dataclass
from polytune.syntax_trees import all_nodes, nodes_inside

_MAKING = (
    *(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.zeros, np.ones, np.empty, np.full, np.eye),
    *(np.identity, np.arange, np.linspace, np.stack, np.hstack, np.vstack, np.column_stack, np.concatenate),
)
"""Functions that make arrays even where all that they are given are numbers."""


def _makes_array(function: Any) -> bool:
    """Return whether a Python object is a function of NumPy's that makes arrays of numbers."""
    return any(function is each for each in _MAKING)


_GENERATORS = (np.random.mtrand._rand, random._inst)


def draws(call: ast.Call, meaning: Meaning) -> bool:
    """Return whether a call draws a random number, of a generator that is an argument too: its methods are no array's.

    Args:
        call: the call.
        meaning: what names from outside mean.
    """
    function = meaning(call.func)
    if function is None or isinstance(function, GeneratorMethod):
        return isinstance(call.func, ast.Attribute) and call.func.attr in METHODS
    owner = getattr(function, "__self__", None)
    return any(owner is each for each in _GENERATORS)


@dataclass
class CalledFunctions:
    """Tells which functions may write arrays, by what their source looks like, and which raise exceptions.

    Attributes:
        raising: the definitions of those that raise exceptions, as earlier walks have found.
        known: whether they may write, of functions that have been asked for.
        looping: whether they have loops, or make arrays.
        making: whether they make arrays.
        giving: whether they return tuples.
    """

    raising: set[Hashable] = field(default_factory=set)
    known: dict[Any, bool] = field(default_factory=dict)
    looping: dict[Any, bool] = field(default_factory=dict)
    making: dict[Any, bool] = field(default_factory=dict)
    giving: dict[Any, bool] = field(default_factory=dict)

    def raises(self, function: FunctionType | NestedFunction | ast.FunctionDef | None) -> bool:
        """Return whether a function raises exceptions."""
        return function is not None and definition_of(function) in self.raising

    def writes(self, function: Any) -> bool:
        """Return whether a Python object is a function of the user's that may write arrays, or calls one that may."""
        return self._asked(function, self.known, self.in_body)

    def loops(self, function: Any) -> bool:
        """Return whether a Python object is a function of the user's with loops, new arrays or random numbers, or calls
        one, so that statements compute what it gives."""
        return self._asked(function, self.looping, self.has_loops)

    def _asked(self, function: Any, known: dict[Any, bool], answer: Callable[[list[ast.stmt], Meaning], bool]) -> bool:
        plain = inlinable(function)
        if plain is None:
            return False
        if plain not in known:
            known[plain] = False  # one that calls itself is refused
            try:
                source = plain.source if isinstance(plain, NestedFunction) else read_source(plain)
            except UnsupportedSourceError:  # which is said where it is inlined
                return False
            known[plain] = answer(source.tree.body, meaning_outside(source, local_names(source)))
        return known[plain]

    def makes_arrays(self, function: Any) -> bool:
        """Return whether a Python object is a function of the user's that makes arrays, or calls one."""
        return self._asked(function, self.making, self.has_new_arrays)

    def gives_tuples(self, function: Any) -> bool:
        """Return whether a Python object is a class of named tuples, or a function of the user's that gives tuples."""
        return bool(named_fields(function)) or self._asked(function, self.giving, self.returns_tuples)

    def returns_tuples(self, body: Iterable[ast.stmt], meaning: Meaning) -> bool:
        """Return whether statements return tuples, or what functions give that return some, or assign such in branches.

        Args:
            body: the statements.
            meaning: what names from outside of their function mean.
        """
        for node in nodes_inside(body):
            match node:
                case ast.Return(ast.Tuple() | ast.List()):
                    return True
                case ast.Return(ast.Call(function)) if self.gives_tuples(meaning(function)):
                    return True
                case ast.If(_, then, otherwise) if self.assigns_tuples([*then, *otherwise], meaning):
                    return True
        return False

    def assigns_tuples(self, body: Iterable[ast.stmt], meaning: Meaning) -> bool:
        """Return whether statements assign tuples to names.

        Args:
            body: the statements.
            meaning: what names from outside of their function mean.
        """
        assigned = (node.value for node in nodes_inside(body) if isinstance(node, ast.Assign))
        calls = (value for value in assigned if isinstance(value, ast.Call))
        return any(self.gives_tuples(meaning(call.func)) for call in calls)

    def has_new_arrays(self, body: Iterable[ast.stmt], meaning: Meaning) -> bool:
        """Return whether statements make arrays of numbers, or call functions that do.

        Args:
            body: the statements.
            meaning: what names from outside of their function mean.
        """
        called = [meaning(node.func) for node in nodes_inside(body) if isinstance(node, ast.Call)]
        return any(_makes_array(each) or self.makes_arrays(each) for each in called)

    def has_loops(self, body: Iterable[ast.stmt], meaning: Meaning) -> bool:
        """Return whether statements have loops, or make arrays, or draw random numbers, or call functions that do.

        Args:
            body: the statements.
            meaning: what names from outside of their function mean.
        """
        return any(
            isinstance(node, ast.For | ast.While | ast.GeneratorExp | ast.ListComp)
            or (isinstance(node, ast.Call) and self._is_statement(node, meaning))
            for node in nodes_inside(body)
        )

    def _is_statement(self, call: ast.Call, meaning: Meaning) -> bool:
        """Return whether statements compute what a call gives."""
        function = meaning(call.func)
        return _makes_array(function) or draws(call, meaning) or self.loops(function)

    def in_body(self, body: Iterable[ast.stmt], meaning: Meaning) -> bool:
        """Return whether statements seem to change elements of arrays, or call functions that do.

        Args:
            body: the statements.
            meaning: what names from outside of their function mean.
        """
        for node in nodes_inside(body):
            match node:
                case ast.Subscript(ctx=ast.Store()) | ast.Call(keywords=[*_, ast.keyword("out")]):
                    return True
                case ast.Expr(ast.Call(function)) if inlinable(meaning(function)) is None:
                    return True  # as A.sort()
                case ast.FunctionDef(body=inside) if self.in_body(inside, meaning):
                    return True
                case ast.Call(function) if self.writes(meaning(function)):
                    return True
        return False


def local_names(source: Source) -> set[str]:
    """The names that a function has itself, its arguments among them."""
    arguments = {argument.arg for argument in all_nodes(source.tree.args) if isinstance(argument, ast.arg)}
    return arguments | set(assigned_names(source.tree.body))


def meaning_in(bindings: Mapping[str, Binding], outside: Meaning) -> Meaning:
    """Return what says what names mean that are functions: those from outside, and arguments.

    Args:
        bindings: the meanings of arguments.
        outside: what says what names from outside mean.
    """

    def meaning(node: ast.expr) -> Any:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = bindings.get(node.value.id)
            if isinstance(owner, ObjectBinding) and isinstance(owner.value, GeneratorObject):
                return GeneratorMethod(owner.value, node.attr)
        binding = bindings.get(node.id) if isinstance(node, ast.Name) else None
        return binding.value if isinstance(binding, ObjectBinding) else outside(node)

    return meaning
