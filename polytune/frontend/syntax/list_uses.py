"""The uses of a list that grows, in the syntax tree, replaced by those of its arrays."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from polytune.errors import EMPTY_LIST
from polytune.frontend.syntax.comprehensions import Meaning, placed, required
from polytune.frontend.syntax.lists import GrowingList, initial_elements
from polytune.syntax_trees import all_nodes

__all__ = ["ListRewriter", "UnsupportedUseError"]

_ITERATED = (builtins.enumerate, builtins.zip, builtins.reversed)
_READERS = (builtins.sum, builtins.min, builtins.max, builtins.any, builtins.all, builtins.sorted)
_OF_NUMPY = (
    *("array", "asarray", "sum", "mean", "max", "min", "amax", "amin", "median", "std", "var", "prod", "any", "all"),
    *("argmax", "argmin", "sort", "unique", "cumsum", "diff"),
)
"""Functions of NumPy's that give something new of a list."""


class UnsupportedUseError(Exception):
    """Something is done with a list that arrays do not do."""


class ListRewriter(ast.NodeTransformer):
    """Replaces all uses of one list.

    Args:
        name: the list.
        growing: the arrays and the count that take its place.
        meaning: what a name outside of the function stands for.
        fresh: makes a name that nothing else has.

    Attributes:
        before: the statements that belong before the one that is looked at.
        is_read: whether the list has been read in it.
        is_certain: whether the expression that is looked at is evaluated whenever the statement is.
        place: the statement.
    """

    def __init__(self, name: str, growing: GrowingList, meaning: Meaning, fresh: Callable[[str], str]):
        self.name, self.growing, self.meaning, self.fresh = name, growing, meaning, fresh
        self.before: list[ast.stmt] = []
        self.is_read, self.is_certain = False, True
        self.place: ast.AST = ast.Pass()

    # Statements

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [made for statement in body for made in self.statement(statement)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement without the list, and what is now before it."""
        outer = self.before, self.is_read
        self.before, self.is_read, self.place = [], False, node
        made = self.rewritten(node)
        made = [*self.before, *made]
        self.before, self.is_read = outer
        return [placed(each, node) for each in made]

    def rewritten(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.AugAssign):  # which reads its target before its value
            self.is_read = self.is_mentioned(node.target)
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value) if (
                name == self.name
            ):
                initial = initial_elements(value, self.meaning)
                if initial is None:
                    raise UnsupportedUseError
                return [self.counted(ast.Constant(0)), *self.appended(initial)]
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), method), arguments, [])) if name == self.name:
                return self.method(method, arguments)
            case ast.AugAssign(ast.Name(name), ast.Add(), value) if name == self.name:
                return self.method("extend", [value])
            case ast.Delete([ast.Subscript(ast.Name(name), index)]) if name == self.name and _is_last(index):
                return self.method("pop", [])
            case ast.If(test, then, otherwise):
                node.test = self.condition(test)
                node.body, node.orelse = self.block(then), self.block(otherwise)
                return [node]
            case ast.While(test, body, otherwise):
                node.test = self.uncertain(test, self.condition)
                node.body, node.orelse = self.block(body), self.block(otherwise)
                return [node]
            case ast.For(target, source, body, otherwise):
                node.iter = self._source(target, source, body)
                node.target = self.visit(target)
                node.body, node.orelse = self.block(body), self.block(otherwise)
                return [node]
            case ast.With(_, body):
                node.items = [self.visit(item) for item in node.items]
                node.body = self.block(body)
                return [node]
            case ast.Match() | ast.FunctionDef() | ast.Try():
                if self.is_mentioned(node):
                    raise UnsupportedUseError
                return [node]
            case ast.Return(value) if value is not None:
                node.value = self.returned(value)
                return [node]
        return [self.visit(node)]

    def method(self, method: str, arguments: Sequence[ast.expr]) -> list[ast.stmt]:
        """A call of a method, for its effect."""
        match method, arguments:
            case "append", [element]:
                return self.appended([element])
            case "extend", [ast.List(elements) | ast.Tuple(elements)]:
                return self.appended(elements)
            case "extend", [value] if len(self.growing.items) == 1 and not self.is_mentioned(value):
                name = self.fresh("element")
                body = self.appended([ast.Name(name, ast.Load())])
                return [ast.For(ast.Name(name, ast.Store()), value, body, [])]
            case "pop", []:
                return self.popped()
            case "clear", []:
                return [self.counted(ast.Constant(0))]
        raise UnsupportedUseError

    def counted(self, value: ast.expr) -> ast.stmt:
        return ast.Assign([ast.Name(self.growing.count, ast.Store())], value)

    def appended(self, elements: Iterable[ast.expr]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for element in elements:
            parts = element.elts if isinstance(element, ast.Tuple | ast.List) else [element]
            if len(parts) != len(self.growing.items):
                raise UnsupportedUseError
            for name, part in zip(self.growing.items, parts, strict=True):
                value = self.visit(part)
                target = ast.Subscript(ast.Name(name, ast.Load()), self.count(), ast.Store())
                made.append(self.marked(ast.Assign([target], value)))
            made.append(ast.AugAssign(ast.Name(self.growing.count, ast.Store()), ast.Add(), ast.Constant(1)))
        return made

    def marked(self, node: ast.Assign) -> ast.Assign:
        node.appended_to = self.growing.count  # type: ignore[attr-defined]
        return node

    def popped(self) -> list[ast.stmt]:
        has_elements = ast.Compare(self.count(), [ast.Gt()], [ast.Constant(0)])
        remedy = "test that there are elements: if len(stack) > 0"
        test = required(has_elements, EMPTY_LIST, remedy, self.place)
        return [test, ast.AugAssign(ast.Name(self.growing.count, ast.Store()), ast.Sub(), ast.Constant(1))]

    # Expressions

    def count(self) -> ast.expr:
        return ast.Name(self.growing.count, ast.Load())

    def is_list(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def is_part(self, node: ast.AST) -> bool:
        """Return whether a node is a part of the list, as ``out[::-1]``."""
        return isinstance(node, ast.Subscript) and self.is_list(node.value) and isinstance(node.slice, ast.Slice)

    def is_mentioned(self, node: ast.AST) -> bool:
        return any(self.is_list(each) for each in all_nodes(node))

    def is_iterated(self, source: ast.expr) -> bool:
        """Return whether a loop goes over the list itself, and not over a part or a number of it."""
        match source:
            case ast.Call(function, arguments) if self.meaning(function) in _ITERATED:
                return any(self.is_iterated(each) for each in arguments)
        return self.is_list(source)

    def is_changed(self, body: Sequence[ast.stmt]) -> bool:
        """Return whether statements change how many elements there are."""
        for node in (part for statement in body for part in all_nodes(statement)):
            match node:
                case ast.Call(ast.Attribute(owner)) if self.is_list(owner):
                    return True
                case ast.Name(ctx=ast.Store() | ast.Del()) if self.is_list(node):
                    return True
                case ast.Delete() if self.is_mentioned(node):
                    return True
        return False

    def is_stored(self, body: Sequence[ast.stmt]) -> bool:
        """Return whether statements assign elements of the list."""
        parts = (part for statement in body for part in ast.walk(statement))
        stored = (each for each in parts if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store))
        return any(self.is_mentioned(each.value) for each in stored)

    def array(self, place: int = 0) -> ast.expr:
        """One of the arrays, as long as the list is."""
        return ast.Subscript(ast.Name(self.growing.items[place], ast.Load()), ast.Slice(upper=self.count()), ast.Load())

    def elements(self, target: ast.expr) -> ast.expr:
        """The list as what a loop goes over."""
        self.is_read = True
        if self.growing.kind == "number":
            return self.array()
        zipped = ast.Name("zip", ast.Load())
        if not isinstance(target, ast.Tuple) or self.meaning(zipped) is not builtins.zip:
            raise UnsupportedUseError
        return ast.Call(zipped, [self.array(place) for place in range(len(self.growing.items))], [])

    def _source(self, target: ast.expr, source: ast.expr, body: Sequence[ast.stmt]) -> ast.expr:
        """The source of a loop without the list."""
        has_part = any(map(self.is_part, ast.walk(source)))  # which is a copy in Python
        if (has_part or self.is_iterated(source)) and self.is_changed(body):
            raise UnsupportedUseError
        if has_part and self.is_stored(body):
            raise UnsupportedUseError
        if self.is_list(source):
            return self.elements(target)
        if self.is_part(source) and self.growing.kind == "number":
            self.is_read = True
            return self.elements_of(source)
        return self.read(source)

    def returned(self, node: ast.expr) -> ast.expr:
        """Return the expression of a result, with lists in it."""
        if isinstance(node, ast.Tuple):
            node.elts = [self.returned(each) for each in node.elts]
            return node
        if not self.is_list(node):
            return self.read(node)
        self.is_read = True
        if self.growing.kind == "number":
            return self.array()
        made = ast.Tuple([self.array(place) for place in range(len(self.growing.items))], ast.Load())
        made.returned_list = self.growing  # type: ignore[attr-defined]
        return made

    def condition(self, node: ast.expr) -> ast.expr:
        """An expression of which only is asked whether it is true."""
        if self.is_list(node):
            self.is_read = True
            return ast.Compare(self.count(), [ast.Gt()], [ast.Constant(0)])
        match node:
            case ast.UnaryOp(ast.Not(), operand):
                node.operand = self.condition(operand)
                return node
            case ast.BoolOp(_, [first, *others]):
                node.values = [self.condition(first), *(self.uncertain(each, self.condition) for each in others)]
                return node
        return self.read(node)

    def read(self, node: ast.expr) -> ast.expr:
        """An expression without the list."""
        made = self.visit(node)
        assert isinstance(made, ast.expr)
        return made

    def uncertain(self, node: ast.expr, read: Callable[[ast.expr], ast.expr]) -> ast.expr:
        """An expression that need not be evaluated, or is evaluated more than once."""
        before, self.is_certain = self.is_certain, False
        made = read(node)
        self.is_certain = before
        return made

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        node.values = [self.visit(node.values[0]), *(self.uncertain(each, self.visit) for each in node.values[1:])]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return self.condition(node)
        node.operand = self.visit(node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.condition(node.test)
        node.body, node.orelse = (self.uncertain(each, self.visit) for each in (node.body, node.orelse))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        if self.is_mentioned(node):
            raise UnsupportedUseError
        return node

    def comprehension(self, node: Any) -> Any:
        first = node.generators[0]
        first.iter = (
            self.array() if self.is_list(first.iter) and self.growing.kind == "number" else self.visit(first.iter)
        )
        rest = [first.target, *first.ifs, *node.generators[1:], *([node.elt] if hasattr(node, "elt") else [node.value])]
        if any(self.is_mentioned(each) for each in rest):
            raise UnsupportedUseError
        return node

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = comprehension

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), "pop"), [], []) if name == self.name:
                return self.pop()
            case ast.Call(function, [ast.Name(name)], []) if name == self.name and (
                self.meaning(function) is builtins.len
            ):
                self.is_read = True
                return self.count()
        own = [each for each in node.args if self.is_list(each) or self.is_part(each)]
        if own:
            node.args = [self.argument(node.func, each) if each in own else each for each in node.args]
            if self.growing.kind != "number":
                self.stack(node)
        return self.generic_visit(node)  # type: ignore[return-value]

    def pop(self) -> ast.expr:
        """The last element, which a statement before has taken off."""
        if not self.is_certain or self.is_read:
            raise UnsupportedUseError
        self.before += self.popped()
        names = [self.fresh(f"{self.name}_popped") for _ in self.growing.items]
        for name, items in zip(names, self.growing.items, strict=True):
            element = ast.Subscript(ast.Name(items, ast.Load()), self.count(), ast.Load())
            element.count_of = ""  # type: ignore[attr-defined]
            self.before.append(ast.Assign([ast.Name(name, ast.Store())], element))
        popped: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
        return popped[0] if self.growing.kind == "number" else ast.Tuple(popped, ast.Load())

    def argument(self, function: ast.expr, node: ast.expr) -> ast.expr:
        """The list as an argument."""
        self.is_read = True
        called = self.meaning(function)
        is_of_numpy = any(getattr(np, name) is called for name in _OF_NUMPY)
        if not is_of_numpy and not any(called is each for each in (*_ITERATED, *_READERS)):
            raise UnsupportedUseError
        return self.elements_of(node) if self.growing.kind == "number" else node

    def elements_of(self, node: ast.expr, place: int = 0) -> ast.expr:
        """The array of the elements of the list, or of a part of it."""
        if not isinstance(node, ast.Subscript):
            return self.array(place)
        part = ast.Subscript(self.array(place), self.visit(copy.deepcopy(node.slice)), ast.Load())
        return ast.copy_location(part, node)

    def stack(self, node: ast.Call) -> None:
        """Make ``np.array`` of a list of tuples a stack of their columns."""
        match node:
            case ast.Call(ast.Attribute(owner, "array" | "asarray"), [argument], []) if self.is_list(
                argument
            ) or self.is_part(argument):
                if self.meaning(owner) is np:
                    places = range(len(self.growing.items))
                    columns = ast.List([self.elements_of(argument, place) for place in places], ast.Load())
                    node.func = ast.Attribute(owner, "stack", ast.Load())
                    node.args = [columns, ast.Constant(1)]
                    return
        raise UnsupportedUseError

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(ast.Subscript(ast.Name(name), index), ast.Constant(int(place))) if (
                name == self.name and self.growing.kind != "number" and isinstance(node.ctx, ast.Load)
            ):
                if not -len(self.growing.items) <= place < len(self.growing.items):
                    raise UnsupportedUseError
                return self.element(self.growing.items[place], index, node)
            case ast.Subscript(ast.Name(name), index) if name == self.name:
                if isinstance(index, ast.Slice | ast.Tuple):
                    raise UnsupportedUseError
                if self.growing.kind == "number":
                    return self.element(self.growing.items[0], index, node)
                if not isinstance(node.ctx, ast.Load):
                    raise UnsupportedUseError
                parts = [self.element(items, copy.deepcopy(index), node) for items in self.growing.items]
                return ast.Tuple(parts, ast.Load())
            case ast.Subscript(_, ast.Name(name)) if name == self.name and self.growing.kind == "number":
                self.is_read = True
                node.value, node.slice = self.visit(node.value), self.array()
                return node
        return self.generic_visit(node)  # type: ignore[return-value]

    def element(self, items: str, index: ast.expr, node: ast.Subscript) -> ast.expr:
        """An element of one of the arrays, in place of a node.

        Args:
            items: the array.
            index: the subscript, in terms of lists.
            node: the reference to an element of the list.
        """
        made = ast.copy_location(ast.Subscript(ast.Name(items, ast.Load()), self.visit(index), node.ctx), node)
        made.count_of = self.growing.count  # type: ignore[attr-defined]
        self.is_read |= isinstance(node.ctx, ast.Load)
        return made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self.is_list(node):
            raise UnsupportedUseError
        return node


def _is_last(index: ast.expr) -> bool:
    match index:
        case ast.UnaryOp(ast.USub(), ast.Constant(1)):
            return True
    return False
