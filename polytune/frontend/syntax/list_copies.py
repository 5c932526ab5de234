"""Copies of lists that grow, in the syntax tree: as loops that append.

``a = list(b)``, ``a = b[::-1]``, ``a.extend(b)`` and ``b.reverse()`` become loops over the elements of ``b``, so that
each list keeps a name of its own (``list_arrays.py``).  So does ``front = new`` where nobody can tell a copy from the
list itself: where ``new`` means another list before it is used again, as in a search by levels.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Sequence

from polytune.frontend.syntax.comprehensions import Meaning, placed
from polytune.frontend.syntax.list_displays import made_by_loops
from polytune.frontend.syntax.lists import initial_elements
from polytune.syntax_trees import all_nodes, copied

__all__ = ["with_copies_as_loops"]


def with_copies_as_loops(
    body: Sequence[ast.stmt], lists: Collection[str], meaning: Meaning, fresh: Callable[[str], str]
) -> list[ast.stmt]:
    """The statements of a function with loops in place of copies of lists.

    Args:
        body: the statements, which stay as they are.
        lists: the names of the lists, as far as they are known by what is done with them.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
    """
    is_known = all(meaning(ast.Name(each.__name__, ast.Load())) is each for each in (range, len))
    if not lists or not is_known:
        return list(body)
    return _ListCopier(lists, body, meaning, fresh).block(copied(list(body)))


class _ListCopier:
    """Writes loops in place of copies.

    Args:
        lists: the names of the lists.
        body: the statements of the function.
        meaning: what names from outside of the function mean.
        fresh: gives a name that the function does not have, like the one given.
    """

    def __init__(self, lists: Collection[str], body: Sequence[ast.stmt], meaning: Meaning, fresh: Callable[[str], str]):
        self.lists, self.body, self.meaning, self.fresh = lists, body, meaning, fresh
        self.lists = [name for name in lists if self.is_always_list(name)]

    def is_always_list(self, name: str) -> bool:
        """Return whether a name means nothing but lists, as it does not after ``out = np.array(out)``."""
        assigned = 0
        for node in (part for each in self.body for part in all_nodes(each)):
            match node:
                case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                    pairs = list(zip(targets, values, strict=True))
                case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                    pairs = [(target, value)]
                case ast.AugAssign(ast.Name(target), ast.Add()) if target == name:
                    assigned += 1
                    continue
                case _:
                    continue
            assigned += sum(isinstance(to, ast.Name) and to.id == name and self.is_list(value) for to, value in pairs)
        nodes = (part for each in self.body for part in all_nodes(each))
        stored = sum(
            isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store) for part in nodes
        )
        return stored == assigned

    def is_list(self, value: ast.expr) -> bool:
        """Return whether an expression is a list, as far as the names are lists."""
        if isinstance(value, ast.Name):
            return value.id in self.lists
        is_made = initial_elements(value, self.meaning) is not None or made_by_loops(value, self.meaning)
        return is_made or self.source(value) is not None

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements that follow one another, and those in them."""
        made: list[ast.stmt] = []
        for place, node in enumerate(body):
            match node:
                case ast.If() | ast.For() | ast.While():
                    node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                case ast.With():
                    node.body = self.block(node.body)
            written = self.written(node, body, place)
            made += [node] if written is None else [placed(each, node) for each in written]
        return made

    def written(self, node: ast.stmt, body: Sequence[ast.stmt], place: int) -> list[ast.stmt] | None:
        """The loops in place of a statement; None for one that copies no list.

        Args:
            node: the statement.
            body: those that it is one of.
            place: its place among them.
        """
        match node:
            case ast.Assign([ast.Name(name)], ast.Name(other)):
                if other in self.lists and name != other and self.is_left(other, body, place):
                    return self.copied(name, other)
            case ast.Assign([ast.Tuple([ast.Name(name), ast.Name(last)])], ast.Tuple([ast.Name(other), value])):
                # front, new = new, []
                is_new = initial_elements(value, self.meaning) == []
                if is_new and last == other and name != other and other in self.lists:
                    return [*self.copied(name, other), ast.Assign([ast.Name(other, ast.Store())], value)]
            case ast.Assign([ast.Name(name)], value):
                found = self.source(value)
                if found is not None and found[0] != name:
                    return self.copied(name, *found)
            case ast.Return(ast.expr() as value):
                return self.returned(value)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "extend"), [ast.Name(other)], [])):
                if name in self.lists and other in self.lists and name != other:
                    return [self.appending(name, other)]
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "reverse"), [], [])) if name in self.lists:
                return [self.reversing(name)]
        return None

    def returned(self, value: ast.expr) -> list[ast.stmt] | None:
        """The loops for copies that are returned, alone or in a tuple; None where there is none."""
        made: list[ast.stmt] = []
        results = value.elts if isinstance(value, ast.Tuple) else [value]
        if any(isinstance(each, ast.Attribute) and each.attr == "pop" for each in all_nodes(value)):
            return None  # a copy of what is left then
        named: list[ast.expr] = []
        for each in results:
            found = self.source(each)
            if found is not None:
                name = self.fresh("result")
                made += self.copied(name, *found)
                each = ast.Name(name, ast.Load())
            named.append(each)
        if not made:
            return None
        return [*made, ast.Return(ast.Tuple(named, ast.Load()) if isinstance(value, ast.Tuple) else named[0])]

    def source(self, value: ast.expr) -> tuple[str, bool] | None:
        """The list that an expression is a copy of, and whether it is backwards; None for any other expression."""
        match value:
            case ast.Call(function, [ast.Name(name)], []) if self.meaning(function) is builtins.list:
                found = name, False
            case ast.Call(ast.Attribute(ast.Name(name), "copy"), [], []):
                found = name, False
            case ast.Subscript(ast.Name(name), ast.Slice(None, None, None)):
                found = name, False
            case ast.Subscript(ast.Name(name), ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1)))):
                found = name, True
            case ast.Call(function, [ast.Call(inner, [ast.Name(name)], [])], []) if (
                self.meaning(function) is builtins.list and self.meaning(inner) is builtins.reversed
            ):
                found = name, True
            case _:
                return None
        return found if found[0] in self.lists else None

    def is_left(self, name: str, body: Sequence[ast.stmt], place: int) -> bool:
        """Return whether a name means another list before it is used again after a statement.

        So it does where the next of these statements with the name makes a list, or where it is made among those
        before and has no other use in the function.
        """
        for following in body[place + 1 :]:
            if _mentions(following, name):
                return self.makes(following, name)
            if any(isinstance(each, ast.Break | ast.Continue | ast.Return) for each in all_nodes(following)):
                break  # the next one may be elsewhere
        own = [each for each in body[: place + 1] if _mentions(each, name)]
        inside = sum(_count(each, name) for each in own)
        return self.makes(own[0], name) and inside == sum(_count(each, name) for each in self.body)

    def makes(self, node: ast.stmt, name: str) -> bool:
        """Return whether a statement makes a list of this name, of nothing that the name means before."""
        match node:
            case ast.Assign([ast.Name(target)], value) if target == name:
                return initial_elements(value, self.meaning) is not None and not _mentions(value, name)
        return False

    # Loops

    def copied(self, name: str, other: str, is_backwards: bool = False) -> list[ast.stmt]:
        empty = ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load()))
        return [empty, self.appending(name, other, is_backwards)]

    def appending(self, name: str, other: str, is_backwards: bool = False) -> ast.stmt:
        """The loop that appends the elements of a list to another one."""
        place = self.fresh("place")
        number: ast.expr = ast.Name(place, ast.Load())
        if is_backwards:
            number = ast.BinOp(_last(other), ast.Sub(), number)
        element: ast.expr = ast.Subscript(ast.Name(other, ast.Load()), number, ast.Load())
        parts = self.parts(other)
        if parts:
            whole = element
            element = ast.Tuple(
                [ast.Subscript(copied(whole), ast.Constant(each), ast.Load()) for each in range(parts)],
                ast.Load(),
            )
        method = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
        return _loop(place, _length(other), ast.Expr(ast.Call(method, [element], [])))

    def parts(self, name: str) -> int:
        """Return how many numbers are in each element of a list, if these are tuples; 0 where they are numbers."""
        for node in (part for each in self.body for part in all_nodes(each)):
            match node:
                case ast.Call(ast.Attribute(ast.Name(owner), "append"), [ast.Tuple(items)]) if owner == name:
                    return len(items)
                case ast.Assign([ast.Name(target)], ast.List([ast.Tuple(items), *_])) if target == name:
                    return len(items)
                case ast.Assign([ast.Name(target)], ast.ListComp(ast.Tuple(items))) if target == name:
                    return len(items)
        return 0

    def reversing(self, name: str) -> ast.stmt:
        """The loop that exchanges the elements of a list with those as far from its other end."""
        place = self.fresh("place")
        numbers = ast.Name(place, ast.Load()), ast.BinOp(_last(name), ast.Sub(), ast.Name(place, ast.Load()))

        def elements(which: Sequence[ast.expr], context: ast.expr_context) -> ast.Tuple:
            return ast.Tuple([ast.Subscript(ast.Name(name, ast.Load()), each, context) for each in which], context)

        exchange = ast.Assign([elements(numbers, ast.Store())], elements(copied(numbers[::-1]), ast.Load()))
        return _loop(place, ast.BinOp(_length(name), ast.FloorDiv(), ast.Constant(2)), exchange)


def _loop(variable: str, count: ast.expr, statement: ast.stmt) -> ast.For:
    numbers = ast.Call(ast.Name("range", ast.Load()), [count], [])
    return ast.For(ast.Name(variable, ast.Store()), numbers, [statement], [])


def _length(name: str) -> ast.expr:
    return ast.Call(ast.Name("len", ast.Load()), [ast.Name(name, ast.Load())], [])


def _last(name: str) -> ast.expr:
    return ast.BinOp(_length(name), ast.Sub(), ast.Constant(1))


def _count(node: ast.AST, name: str) -> int:
    return sum(isinstance(each, ast.Name) and each.id == name for each in all_nodes(node))


def _mentions(node: ast.AST, name: str) -> bool:
    return _count(node, name) > 0
