"""JSON that knows where everything stands in its file, and that is read as far as it goes.

Recordings are one object with a few descriptive fields and one long container of entries: ``cache`` in Kernel Tuner's
files, ``results`` in T4, ``Results`` in KTT's.  A tuner that is stopped leaves such a file without its end, so every
entry is read for itself, and what is cut off costs one entry only.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from polytune.lab.files import TextFile
from polytune.lab.json_text import decode_at, why
from polytune.lab.place import FilePlace, Line
from polytune.records import dataclass

_SPACE = re.compile(r"[ \t\r\n]*")
_REMAINDER = re.compile(r"[\w.+-]*\s*\Z")  # what a number or a literal leaves that was cut off


def same_parameters(
    entry: JsonEntry, configuration: Mapping[str, object], first: Mapping[str, object], field: str
) -> None:
    """See to it that a configuration has exactly the parameters of the first one.

    Args:
        entry: where the configuration is.
        configuration, first: the values by parameter.
        field: of the entry, where they stand.

    Raises:
        RecordingError: one is missing or new.
    """
    for name in first:
        if name not in configuration:
            raise entry.place(field).error(f"the configuration has no {name!r}, which the first one has")
    for name in configuration:
        if name not in first:
            raise entry.place(field).error(f"the configuration has {name!r}, which the first one has not")


@dataclass(frozen=True)
class JsonEntry:
    """One element of the container.

    Attributes:
        key: its key, or its number, from 0, where the container is a list.
        value: what it is.
    """

    document: Document
    key: str | int
    value: Any
    _position: int

    def place(self, *path: str | int) -> EntryPlace:
        """Return where a field of the entry stands, by its keys and indices; where the entry does, if it has no such
        field."""
        return EntryPlace(self, path)

    def line_of(self, path: tuple[str | int, ...]) -> int:
        """The line of a field, by its keys and indices; of the entry, if it has no such field."""
        position = self.document.locate(self._position, path)
        return self.document.place(self._position if position is None else position).line


@dataclass(frozen=True)
class EntryPlace(FilePlace):
    """A field of an entry; its line is looked for only when it is needed, which is in refusals."""

    entry: JsonEntry
    path: tuple[str | int, ...]

    def __str__(self) -> str:
        field = ".".join(map(str, self.path))
        return str(Line(self.entry.document.name, self.entry.line_of(self.path), field))

    def at(self, field: str) -> EntryPlace:
        return EntryPlace(self.entry, (*self.path, field))


class Document:
    """One JSON object with a container.

    Args:
        file: its text.
        container: the name of the field with the entries.

    Attributes:
        fields: the other top-level fields.
        entries: the complete entries, in order.
        closed: whether the object ends with its closing brace.
        cut_line: the line of the entry that is cut off; None where none is.

    Raises:
        RecordingError: it is no JSON, or it ends before its entries begin.
    """

    def __init__(self, file: TextFile, container: str):
        self._file = file
        self._container = container
        self._text = file.text
        self.fields: dict[str, Any] = {}
        self.entries: list[JsonEntry] = []
        self.closed = False
        self.cut_line: int | None = None
        self._positions: dict[str, int] = {}
        self._found = False
        self._read()

    @property
    def name(self) -> str:
        """The file's name."""
        return self._file.name

    def place(self, position: int, field: str = "") -> Line:
        """Return where a position in the text is."""
        return Line(self.name, bisect_left(self._line_ends, position) + 1, field)

    def field_place(self, name: str) -> Line:
        """Return where a top-level field stands; the beginning of the file if there is none of this name."""
        return self.place(self._positions.get(name, 0), name)

    def title(self, name: str, default: str = "") -> str:
        """The text in a top-level field that names something for people; the default where there is none."""
        return str(self.fields.get(name) or default)

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._text)]

    # ---- reading

    def _read(self) -> None:
        try:
            end = self._skip(self._walk(0, self._read_field))
            self.closed = True
            if end < len(self._text):
                raise json.JSONDecodeError("the object has ended before", self._text, end)
        except _Cut as cut:
            # A file that only lacks its closing braces is whole: tuners write them when they end.
            self.cut_line = None if cut.position is None else self.place(cut.position).line
        except json.JSONDecodeError as error:
            raise self.place(error.pos).error(f"{why(error)}; remove what does not belong here") from None
        if not self._found and not self.closed:
            raise self.place(len(self._text)).error(f"the file ends before {self._container!r}: nothing was recorded")
        if self._file.cut and self.cut_line is None:
            self.cut_line = self.place(len(self._text)).line

    def _read_field(self, key: str | int, position: int) -> int:
        if key != self._container:
            self._positions[str(key)] = position
            self.fields[str(key)], end = self._decode(position)
            return end
        self._found = True
        if self._text[position : position + 1] not in ("{", "["):
            raise self.place(position, str(key)).error("this is neither an object nor a list of entries")
        return self._walk(position, self._read_entry)

    def _read_entry(self, key: str | int, position: int) -> int:
        value, end = self._decode(position)
        self.entries.append(JsonEntry(self, key, value, position))
        return end

    def _decode(self, position: int) -> tuple[Any, int]:
        try:
            return decode_at(self._text, position)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated string") or _REMAINDER.match(self._text, error.pos):
                raise _Cut(position) from None
            raise

    def _walk(self, position: int, visit: Callable[[str | int, int], int]) -> int:
        """Visit every element of the object or list at a position with its key and the position of its value.

        Args:
            position: where the container is.
            visit: gives the position after the value.

        Returns:
            The position after the container.
        """
        text = self._text
        position = self._skip(position)
        closing = {"{": "}", "[": "]"}.get(text[position : position + 1])
        if closing is None:
            raise json.JSONDecodeError("an object or a list was expected", text, position)
        position = self._skip(position + 1)
        number = 0
        while text[position : position + 1] != closing:
            key: str | int = number
            if position == len(text):
                raise _Cut(None)
            if closing == "}":
                if text[position] != '"':
                    raise json.JSONDecodeError("a name in double quotes was expected", text, position)
                start = position
                key, position = self._decode(position)
                position = self._skip(position)
                if position == len(text):
                    raise _Cut(start)
                if text[position] != ":":
                    raise json.JSONDecodeError("':' was expected", text, position)
                position = self._skip(position + 1)
                if position == len(text):
                    raise _Cut(start)
            position = self._skip(visit(key, position))
            number += 1
            if text[position : position + 1] == ",":
                position = self._skip(position + 1)
            elif position < len(text) and text[position] != closing:
                raise json.JSONDecodeError(f"',' or '{closing}' was expected", text, position)
        return position + 1

    def _skip(self, position: int) -> int:
        match = _SPACE.match(self._text, position)
        assert match is not None
        return match.end()

    def locate(self, position: int, path: tuple[str | int, ...]) -> int | None:
        """Return where a value inside of another one is, by keys and indices; None if it is not there.

        Args:
            position: of the outer value, which has been read before.
            path: from it to the inner one.
        """
        for step in path:
            if self._text[position : position + 1] not in ("{", "["):
                return None
            found: list[int] = []

            def visit(key: str | int, at: int, step: str | int = step, found: list[int] = found) -> int:
                if key == step:
                    found.append(at)
                return decode_at(self._text, at)[1]

            self._walk(position, visit)
            if not found:
                return None
            position = found[-1]
        return position


class _Cut(Exception):
    """The text ends: within what begins at a position, or, if that is None, between two entries."""

    def __init__(self, position: int | None):
        self.position = position
