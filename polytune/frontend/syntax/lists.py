"""Lists that grow: what is known of them, and the marks of statements and expressions that stand for theirs."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from polytune.frontend.syntax.comprehensions import Meaning
from polytune.records import dataclass

__all__ = ["GrowingList", "appended_to", "count_of", "initial_elements", "lists_made", "returned_list"]


@dataclass(frozen=True)
class GrowingList:
    """A list that grows.

    Attributes:
        items: the names of the arrays with its elements; several for a list of tuples.
        count: the variable with the number of elements.
        kind: what an element is: ``number``, ``tuple`` or ``list``.
    """

    items: tuple[str, ...]
    count: str
    kind: str


def lists_made(node: ast.AST) -> GrowingList | None:
    """The list whose arrays a statement stands for; None for any other statement."""
    return getattr(node, "lists_made", None)


def appended_to(node: ast.AST) -> str | None:
    """The variable that counts the elements of an array to which a statement assigns one that may be new; None for any
    other statement."""
    return getattr(node, "appended_to", None)


def count_of(node: ast.AST) -> str | None:
    """The variable that counts the elements of a list, for an expression that is one of them; None for any other."""
    return getattr(node, "count_of", None)


def returned_list(node: ast.AST) -> GrowingList | None:
    """The list of tuples that an expression, a tuple of arrays, stands for; None for any other expression."""
    return getattr(node, "returned_list", None)


def initial_elements(value: ast.expr, meaning: Meaning) -> list[ast.expr] | None:
    """The elements of a list when it is made; None where an expression makes none."""
    match value:
        case ast.List(elements) if not any(isinstance(each, ast.Starred) for each in elements):
            return elements
        case ast.Call(function, [], []) if meaning(function) is builtins.list or _is_typed_list(meaning(function)):
            return []
        case ast.Call(ast.Attribute(owner, "empty_list"), [_], []) if _is_typed_list(meaning(owner)):
            return []
    return None


def _is_typed_list(value: Any) -> bool:
    return getattr(value, "__module__", "").startswith("numba.typed") and getattr(value, "__name__", "") == "List"
