"""The result files of KTT 1.3, the Kernel Tuning Toolkit: CSV with parameters and performance counters.

The order of the columns is described in J. Filipovič et al., "Searching CUDA code autotuning spaces with hardware
performance counters", Data in Brief, 2021: kernel name, duration, global and local size, parameters, counters.
"""

from __future__ import annotations

import re

from polytune.lab.csv_table import parameter_values, read_table
from polytune.lab.early_end import warn_of_cut_table
from polytune.lab.files import TextFile
from polytune.lab.place import Line, duration, real_number
from polytune.lab.recording import OK, RecordedSpace, Recorder
from polytune.lab.units import seconds_per, unit_of

KERNEL, GLOBAL_SIZE, LOCAL_SIZE = "Kernel name", "Global size", "Local size"
DURATION = re.compile(r"Computation duration \((\w+)\)")
_METRIC = re.compile(r"\w+__\w+\.")
"""A counter of NVIDIA's present profiler: ``dram__sectors_read.sum``."""

_COMPILER_FIGURES = (
    "Maximum work-group size",
    "Local memory size",
    "Private memory size",
    "Constant memory size",
    "Registers count",
)


def read_ktt_csv(file: TextFile) -> RecordedSpace:
    """The space in a result file; global and local size and the compiler's figures are among the counters.

    Raises:
        RecordingError: a column is missing, or a cell has a value that cannot be.
    """
    table = read_table(file)
    header = Line(file.name, 1)
    time = next((name for name in table.columns if DURATION.fullmatch(name)), None)
    if time is None or table.columns[:1] != (KERNEL,):
        raise header.error(f"the first columns must be {KERNEL!r} and 'Computation duration (us)'")
    stated = DURATION.fullmatch(time)
    assert stated is not None
    scale = seconds_per(unit_of(stated[1], header.at(time)))
    described = [name for name in table.columns if name not in (KERNEL, time, GLOBAL_SIZE, LOCAL_SIZE)]
    parameters = described[: _count_parameters(described)]
    if not parameters:
        raise header.error("no column is a parameter's; parameters follow the local size and precede the counters")
    sizes = [name for name in (GLOBAL_SIZE, LOCAL_SIZE) if name in table.columns]
    counters = [*sizes, *described[len(parameters) :]]
    values = parameter_values(table, parameters)
    kernel = table.rows[0].cells[KERNEL] if table.rows else file.stem
    recorder = Recorder(kernel, "", parameters)
    for number, row in enumerate(table.rows):
        recorder.add(
            {name: values[name][number] for name in parameters},
            [duration(row.cells[time], row.place.at(time), scale)],
            OK,
            {name: real_number(row.cells[name], row.place.at(name)) for name in counters},
            place=row.place,
        )
    warn_of_cut_table(file, table, len(recorder))
    return recorder.build(file.name)


def is_counter(name: str) -> bool:
    """Return whether the name of a column tells that it is a counter."""
    return _METRIC.match(name) is not None


def _count_parameters(columns: list[str]) -> int:
    """Return how many of the columns after the local size are parameters.

    They end where the counters begin.  Counters of older GPUs look like parameters but for their lower case; there
    parameters are what is in capitals, as the format's authors write them.
    """
    for position, name in enumerate(columns):
        if is_counter(name):
            return position
    end = next((position for position, name in enumerate(columns) if name in _COMPILER_FIGURES), len(columns))
    capitals = 0
    while capitals < end and columns[capitals] == columns[capitals].upper():
        capitals += 1
    return capitals or end
