"""The source of functions that stand at the left edge of their files, as generated ones do."""

from __future__ import annotations

import ast
import linecache
from types import CodeType, FunctionType

from polytune.runtime.native.kinds import NotNativeError

__all__ = ["lines_of", "parsed"]


def lines_of(code: CodeType) -> list[str]:
    """The lines of a function, from its decorators on; none where there is no file."""
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    begun = next((number for number, line in enumerate(lines) if line.startswith("def ")), len(lines))
    behind = (number for number in range(begun + 1, len(lines)) if lines[number].strip() and _begins(lines[number]))
    return lines[: next(behind, len(lines))]


def _begins(line: str) -> bool:
    """Return whether a line is the first of a new statement at the left edge."""
    return line[0] not in " \t#)"


def parsed(function: FunctionType) -> ast.FunctionDef:
    """The syntax of a function.

    Raises:
        NotNativeError: there is no source, or it is no function.
    """
    try:
        (node,) = ast.parse("".join(lines_of(function.__code__))).body
    except (SyntaxError, ValueError) as error:
        raise NotNativeError(f"{function.__name__} has no source") from error
    if not isinstance(node, ast.FunctionDef):
        raise NotNativeError(f"{function.__name__} is no function")
    return node
