"""KTT 1.3's result files: CSV with one time for each configuration, and counters."""

from __future__ import annotations

import csv
import io

from polytune.lab.ktt_csv import GLOBAL_SIZE, KERNEL, LOCAL_SIZE, is_counter
from polytune.lab.recording import OK, RecordedSpace
from polytune.lab.writing.table import complete

__all__ = ["ENDING", "text"]

ENDING = ".csv"
_DURATION = "Computation duration (us)"


def text(recorded: RecordedSpace) -> str:
    """The file's text.  Configurations that failed are left out, as KTT does.

    Args:
        recorded: the space; of several times the median is written.
    """
    sizes = [name for name in (GLOBAL_SIZE, LOCAL_SIZE) if name in recorded.counters]
    others = [name for name in recorded.counters if name not in sizes]
    # What can be told from a parameter by its name comes first: there the counters begin.
    counters = sorted(others, key=lambda name: not is_counter(name))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([KERNEL, _DURATION, *sizes, *recorded.space.names, *counters])
    for row, configuration in enumerate(complete(recorded)):
        if recorded.status[row] == OK:
            values = [configuration[name] for name in recorded.space.names]
            before, after = (
                [repr(float(recorded.counters[name][row])) for name in group] for group in (sizes, counters)
            )
            writer.writerow([recorded.name, repr(recorded.cost(row) * 1e6), *before, *values, *after])
    return stream.getvalue()
