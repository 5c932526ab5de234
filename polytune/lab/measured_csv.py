"""Plain tables of measured configurations, as the benchmark hub of the autotuning community keeps them.

A column for each parameter, then the time and what belongs to it: ``time_std``, ``n_times``, ``compile_time``,
``status``.  Times are in milliseconds where the column is called ``time``, as Kernel Tuner writes it, and in seconds
where it is called otherwise, unless its name says more: ``time_us``, ``duration (ms)``.
"""

from __future__ import annotations

import re

from polytune.lab.csv_table import CsvTable, parameter_values, read_table
from polytune.lab.early_end import warn_of_cut_table
from polytune.lab.files import TextFile, device_by_name
from polytune.lab.place import Line, duration
from polytune.lab.recording import OK, RecordedSpace, Recorder
from polytune.lab.units import seconds_per, unit_of

_ABOUT_THE_TIME = {"time_std", "n_times", "compile_time", "status"}
_STATED_UNIT = re.compile(r"\((\w+)\)$|_(s|ms|us|ns)$")
_TIME_NAMES = re.compile(r"(time|duration|runtime|seconds)(_|\b)", re.IGNORECASE)


def read_measured_csv(file: TextFile, time: str | None = None, unit: str | None = None) -> RecordedSpace:
    """The space in a table.

    Args:
        file: its text.
        time: the column with the times; without it the column ``time``, or the only one whose name begins like one.
        unit: their unit, where the default is wrong.

    Raises:
        RecordingError: no column is the time's, or a cell has a value that cannot be.
    """
    table = read_table(file, {"status": (OK,)})
    header = Line(file.name, 1)
    time = _time_column(table, header) if time is None else time
    if time not in table.columns:
        raise header.at(time).error(f"there is no such column; there are {', '.join(table.columns)}")
    scale = seconds_per(unit_of(unit or _unit_by_name(time), header.at(time)))
    names = [name for name in table.columns if name != time and name not in _ABOUT_THE_TIME]
    values = parameter_values(table, names)
    recorder = Recorder(file.stem, device_by_name(file), names)
    for number, row in enumerate(table.rows):
        status = row.cells.get("status", OK)
        times = [duration(row.cells[time], row.place.at(time), scale)] if status == OK else []
        recorder.add({name: values[name][number] for name in names}, times, status, place=row.place)
    warn_of_cut_table(file, table, len(recorder))
    return recorder.build(file.name)


def _time_column(table: CsvTable, header: Line) -> str:
    if "time" in table.columns:
        return "time"
    alike = [name for name in table.columns if _TIME_NAMES.match(name) and name not in _ABOUT_THE_TIME]
    if len(alike) != 1:
        raise header.error(
            f"none of the columns {', '.join(table.columns)} is called 'time'; name the one with the times (--time)"
        )
    return alike[0]


def _unit_by_name(column: str) -> str:
    stated = _STATED_UNIT.search(column)
    if stated:
        return stated[1] or stated[2]
    return "ms" if column == "time" else "s"
