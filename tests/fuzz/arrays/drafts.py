"""Programs while they are written: what names stand for at a place, and whether NumPy runs what is there so far."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

LARGEST = 1e5
"""A statement after which some number is larger is left out."""
_LOOKS = 4
_INTEGERS = 2**53


@dataclass
class Block:
    """A compound statement.

    Attributes:
        header: its first line.
        body: what is in it.
        first: lines before the body.
    """

    header: str
    body: list[Node] = field(default_factory=list)
    first: list[str] = field(default_factory=list)


Node = str | Block


@dataclass(frozen=True)
class Place:
    """Where a statement is written.

    Attributes:
        iterators: variables of the loops around.
        depth: how many compound statements are around.
        in_for: whether the innermost loop is a ``for``.
    """

    iterators: tuple[str, ...] = ()
    depth: int = 0
    in_for: bool = False

    @property
    def inside(self) -> Place:
        return replace(self, depth=self.depth + 1)


class _Seen(Exception):
    """Ends a run that has shown enough."""


def text_of(nodes: Sequence[Node], depth: int = 1) -> list[str]:
    """The lines of statements."""
    found: list[str] = []
    for node in nodes:
        if isinstance(node, str):
            found.append("    " * depth + node)
        else:
            found.append("    " * depth + node.header)
            inside = text_of([*node.first, *node.body], depth + 1)
            found += inside or ["    " * (depth + 1) + "pass"]
    return found


class Draft:
    """A kernel without its end.

    Attributes:
        parameters: its parameters.
        arguments: makes the arguments, by name.
        body: its statements.
    """

    def __init__(self, parameters: Sequence[str], arguments: Callable[[], dict[str, Any]]):
        self.parameters, self.arguments = tuple(parameters), arguments
        self.body: list[Node] = []

    @property
    def source(self) -> str:
        lines = text_of(self.body) or ["    pass"]
        return "\n".join([f"def kernel({', '.join(self.parameters)}):", *lines]) + "\n"

    def look(self, block: list[Node]) -> dict[str, Any] | None:
        """What names stand for at the end of a block, the last of a few times that it gets there; None if never.

        Where it gets there less often, elements of arrays are those at the end.
        """
        seen: list[dict[str, Any]] = []

        def note(names: dict[str, Any]) -> None:
            seen.append(dict(names))
            if len(seen) == _LOOKS:
                raise _Seen

        block.append("_look(locals())")
        try:
            self._run({"_look": note})
        except _Seen:
            pass
        finally:
            block.pop()
        return seen[-1] if seen else None

    def count(self, block: list[Node], limit: int) -> int:
        """How often a block is run, up to a limit."""
        times = 0

        def note() -> None:
            nonlocal times
            times += 1
            if times >= limit:
                raise _Seen

        block.insert(0, "_look()")
        try:
            self._run({"_look": note})
        except _Seen:
            pass
        finally:
            del block[0]
        return times

    def runs(self) -> bool:
        """Whether NumPy runs it, without an error, and all numbers stay small."""
        try:
            arguments, result = self._run({})
        except Exception:
            return False
        return _is_small((*arguments.values(), result))

    def _run(self, names: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        module: dict[str, Any] = {"np": np, "math": math, **names}
        exec(self.source, module)
        arguments = self.arguments()
        function: types.FunctionType = module["kernel"]
        with np.errstate(all="ignore"):
            return arguments, function(*[arguments[name] for name in self.parameters])


def _is_small(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_small, value))
    if value is None or isinstance(value, str | np.dtype):
        return True
    array = np.asarray(value)
    if array.dtype.kind in "fc":
        return array.dtype != np.float16 and bool(np.abs(array[np.isfinite(array)]).max(initial=0) <= LARGEST)
    if isinstance(value, int):
        return abs(value) < _INTEGERS
    return array.dtype.kind in "biu"
