"""Tables in CSV whose every cell knows where it stands."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polytune.replay.files import TextFile
from polytune.replay.place import Line

_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class Row:
    """A line of the table: the cells by column, and the line's place."""

    cells: dict[str, str]
    place: Line


@dataclass(frozen=True)
class Table:
    """A table with a header.

    Attributes:
        columns: the names in the header.
        rows: the complete lines.
        cut_line: the last line if the file ends in the middle of it, which then is no row; else None.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    cut_line: int | None


def read_table(file: TextFile) -> Table:
    """Read a table.

    Raises:
        RecordingError: there is no header, it has a name twice, or a line has more or fewer cells than the header, or
            cannot be read.
    """
    reader = csv.reader(io.StringIO(file.text))
    columns = tuple(name.strip() for name in next(reader, ()))
    header = Line(file.name, 1)
    if not columns:
        raise header.error("the file is empty; the first line must name the columns")
    for name in columns:
        if columns.count(name) > 1:
            raise header.at(name).error("two columns have this name")
    ends_in_mid_line = file.cut or not file.text.endswith("\n")
    lines: list[tuple[list[str], int]] = []
    try:
        lines.extend((cells, reader.line_num) for cells in reader if cells)
    except csv.Error:
        raise Line(file.name, reader.line_num).error(
            "the line holds a carriage return that does not end it, or a cell longer than 128 KiB"
        ) from None
    rows: list[Row] = []
    cut_line = None
    for number, (cells, line) in enumerate(lines):
        place = Line(file.name, line)
        is_last = number == len(lines) - 1
        if is_last and (file.cut or (ends_in_mid_line and len(cells) < len(columns))):
            cut_line = line
        elif len(cells) != len(columns):
            raise place.error(f"the line has {len(cells)} cells, the header {len(columns)} columns")
        else:
            rows.append(Row(dict(zip(columns, map(str.strip, cells), strict=True)), place))
    return Table(columns, tuple(rows), cut_line)


def parameter_values(table: Table, names: Sequence[str]) -> dict[str, list[Any]]:
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
