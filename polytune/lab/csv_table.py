"""Tables in CSV whose every cell knows where it stands."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from polytune.lab.files import TextFile
from polytune.lab.place import Line
from polytune.records import dataclass

NO_WORDS: Mapping[str, Collection[str]] = MappingProxyType({})
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class CsvRow:
    """A line of the table: the cells by column, and the line's place."""

    cells: dict[str, str]
    place: Line


@dataclass(frozen=True)
class CsvTable:
    """A table with a header.

    Attributes:
        columns: the names in the header.
        rows: the complete lines.
        cut_line: the last line if the file ends in the middle of it, which then is no row; else None.
        lacks_newline: whether all that tells of this is that no newline follows, so that the line may be whole.
    """

    columns: tuple[str, ...]
    rows: tuple[CsvRow, ...]
    cut_line: int | None
    lacks_newline: bool = False


def read_table(file: TextFile, words: Mapping[str, Collection[str]] = NO_WORDS) -> CsvTable:
    """Read a table.

    A last line that no newline follows is left out, even if it has all its cells: half of a number is a number, and
    ``1.79`` may have been the beginning of ``1.79e-10``.

    Args:
        file: its text.
        words: columns that hold nothing but a few words, with some of these; others may stand in the table.  A line
            that ends with such a word, or one that another line has in this column, is whole.

    Raises:
        RecordingError: there is no header, it has a name twice, or a line has more or fewer cells than the header, or
            cannot be read.
    """
    reader = csv.reader(io.StringIO(file.text))
    header = Line(file.name, 1)
    lines: list[tuple[list[str], int]] = []
    try:
        columns = tuple(name.strip() for name in next(reader, ()))
        lines.extend((cells, reader.line_num) for cells in reader if cells)
    except csv.Error:
        raise Line(file.name, max(reader.line_num, 1)).error(
            "the line holds a carriage return that does not end it, or a cell longer than 128 KiB"
        ) from None
    if not columns:
        raise header.error("the file is empty; the first line must name the columns")
    for name in columns:
        if columns.count(name) > 1:
            raise header.at(name).error("two columns have this name")
    cut_line, lacks_newline = None, False
    if lines and (file.cut or not file.text.endswith(("\n", "\r"))):
        cells, line = lines[-1]
        has_all = len(cells) == len(columns)
        known = {row[-1].strip() for row, _ in lines[:-1]} | set(words.get(columns[-1], ()))
        if file.cut or not (has_all and columns[-1] in words and cells[-1].strip() in known):
            cut_line, lacks_newline = line, has_all and not file.cut and columns[-1] not in words
            lines.pop()
    rows: list[CsvRow] = []
    for cells, line in lines:
        place = Line(file.name, line)
        if len(cells) != len(columns):
            raise place.error(f"the line has {len(cells)} cells, the header {len(columns)} columns")
        rows.append(CsvRow(dict(zip(columns, map(str.strip, cells), strict=True)), place))
    return CsvTable(columns, tuple(rows), cut_line, lacks_newline)


def parameter_values(table: CsvTable, names: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of the parameters as values: numbers, truth values, or text where a column has neither.

    Raises:
        RecordingError: some cells of a column are numbers and others are not.
    """
    values: dict[str, list[Any]] = {}
    for name in names:
        cells = [row.cells[name] for row in table.rows]
        if cells and all(cell.lower() in _BOOLEANS for cell in cells):
            values[name] = [_BOOLEANS[cell.lower()] for cell in cells]
            continue
        numbers = [_number(cell) for cell in cells]
        if all(number is None for number in numbers):
            values[name] = cells
            continue
        for row, number in zip(table.rows, numbers, strict=True):
            if number is None:
                cell = row.cells[name]
                raise row.place.at(name).error(f"{cell!r} stands where the parameter has numbers in other lines")
        values[name] = numbers
    return values


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
