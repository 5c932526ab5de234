"""The normal form of a function's source: what it says, without comments, documentation, layout and place.

Modules and histories are kept under it, so that neither a comment, nor a move to another line, file or machine loses
them.  What is kept names places by their normal form too; `NormalForm.original` finds them in the user's file again.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from functools import cached_property
from types import FunctionType

from polytune.errors import PolytuneError, SourceLocation

__all__ = ["NormalForm", "normal_location", "normal_text", "original_location"]


def normal_text(function: FunctionType) -> str:
    """A function's source in its normal form, names and annotations as they are; what its code holds where there is no
    source."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        return f"{function.__code__.co_code.hex()} {function.__code__.co_consts!r}"
    try:
        return ast.unparse(_stripped(ast.parse(textwrap.dedent(text))))
    except SyntaxError:  # an expression over several lines, of which a lambda is a part
        return text


def _stripped(tree: ast.Module) -> ast.Module:
    """The tree without documentation and without decorators: settings of the kernel are no part of its source."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.decorator_list = []
            first, *rest = node.body
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = rest or [ast.copy_location(ast.Pass(), first)]
    return tree


class NormalForm:
    """Places of one function, in the user's file and in the normal form.

    Args:
        function: the function.
        number: what tells it from others of its name that belong to the same kernel.

    Attributes:
        file: what stands for the file in places of the normal form.
    """

    def __init__(self, function: FunctionType, number: int):
        self._function = function
        self.file = f"<{function.__name__} {number}>"

    def __getstate__(self) -> dict[str, object]:
        """The places alone, for another process to name them by; it has no function to find them in."""
        return {"file": self.file, "file_of_user": self.file_of_user, "_pairs": self._pairs}

    @cached_property
    def _pairs(self) -> list[tuple[SourceLocation, SourceLocation]]:
        """Each node's place in the user's file and in the normal form."""
        from polytune.frontend.syntax.source import Source, read_source

        try:
            source = read_source(self._function)
        except PolytuneError:
            return []
        tree = _stripped(ast.Module([source.tree], []))
        text = ast.unparse(tree)
        normal = ast.parse(text)
        form = Source(self._function, normal.body[0], self.file, tuple(text.splitlines()), 1, 0)  # type: ignore[arg-type]
        both = [list(_placed(each)) for each in (tree, normal)]
        if [type(node) for node in both[0]] != [type(node) for node in both[1]]:  # unparsing has changed something
            both = [nodes[:1] for nodes in both]
        return [(source.location(node), form.location(twin)) for node, twin in zip(*both, strict=True)]

    @cached_property
    def file_of_user(self) -> str:
        """The user's file."""
        return self._function.__code__.co_filename

    def normal(self, place: SourceLocation) -> SourceLocation | None:
        """A place of the user's file in the normal form; None where it is not of this function."""
        if place.file != self.file_of_user:
            return None
        nodes = dict(self._pairs[::-1])  # of several nodes with one place, the first
        if place in nodes:
            return nodes[place]
        of_line = [normal for original, normal in self._pairs if original.line == place.line]
        return of_line[0] if of_line else None

    def original(self, place: SourceLocation) -> SourceLocation | None:
        """A place of the normal form in the user's file as it is now; None where it is not of this function."""
        if place.file != self.file:
            return None
        for original, normal in self._pairs:
            if normal == place:
                return original
        code = self._function.__code__
        return SourceLocation(code.co_filename, code.co_firstlineno)


def _placed(tree: ast.Module) -> list[ast.AST]:
    """The nodes that have a place, in an order that depends on the tree alone."""
    return [node for node in ast.walk(tree) if hasattr(node, "lineno")]


def normal_location(forms: Sequence[NormalForm], place: SourceLocation) -> SourceLocation:
    """A place of one of several functions in its normal form."""
    found = (form.normal(place) for form in forms)
    return next((each for each in found if each is not None), SourceLocation(forms[0].file, 1))


def original_location(forms: Sequence[NormalForm], place: SourceLocation) -> SourceLocation:
    """A place of the normal form of one of several functions, in the user's file."""
    found = (form.original(place) for form in forms)
    return next((each for each in found if each is not None), place)
