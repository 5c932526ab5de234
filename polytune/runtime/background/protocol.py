"""The messages between the application and the process that compiles for it: lines of JSON, one answer a request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["READY", "Answer", "Request"]

READY = "polytune compiles"
"""The line that the process writes first, when it has imported all that it needs."""


class Request(NamedTuple):
    """A function to be compiled to disk.

    Attributes:
        module: the name of its module; machine code is kept under it.
        file: the module's file.
        function: its name in the module.
        words: how many int64 it takes.
    """

    module: str
    file: str
    function: str
    words: int

    def line(self) -> str:
        """The line that is sent."""
        return json.dumps(list(self)) + "\n"

    @classmethod
    def read(cls, line: str) -> Request:
        """Return what `line` wrote.

        Raises:
            ValueError: it is something else.
        """
        return cls(*_fields(line, (str, str, str, int)))


class Answer(NamedTuple):
    """The outcome of a request.

    Attributes:
        failure: why the function cannot be compiled; empty where it was.
        kept: whether its machine code is on disk now.
    """

    failure: str
    kept: bool

    def line(self) -> str:
        """The line that is sent."""
        return json.dumps(list(self)) + "\n"

    @classmethod
    def read(cls, line: str) -> Answer:
        """Return what `line` wrote.

        Raises:
            ValueError: it is something else, for example because the process has ended.
        """
        return cls(*_fields(line, (str, bool)))


def _fields(line: str, kinds: Sequence[type]) -> list[Any]:
    fields = json.loads(line)
    if not isinstance(fields, list) or [type(field) for field in fields] != list(kinds):
        raise ValueError(f"{line!r} is no line of the process that compiles")
    return fields
