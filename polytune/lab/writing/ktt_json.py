"""KTT 2's result files: JSON with a status and the counters of each configuration."""

from __future__ import annotations

import json
from typing import Any

from polytune.lab.ktt_csv import GLOBAL_SIZE, LOCAL_SIZE
from polytune.lab.recording import OK, RecordedSpace
from polytune.lab.writing.table import complete, finite_counters

__all__ = ["ENDING", "text"]

ENDING = ".json"
_TYPES = {bool: "Bool", int: "Int", float: "Double", str: "String"}


def text(recorded: RecordedSpace) -> str:
    """The file's text.

    Args:
        recorded: the space; of several times the median is written.
    """
    results = []
    for row, configuration in enumerate(complete(recorded)):
        pairs = [{"Name": n, "Value": v, "ValueType": _TYPES.get(type(v), "String")} for n, v in configuration.items()]
        result: dict[str, Any] = {"KernelName": recorded.name, "Configuration": pairs, "Status": _status(recorded, row)}
        if recorded.status[row] == OK:
            result |= {"TotalDuration": recorded.cost(row), "ComputationResults": [_computation(recorded, row)]}
        results.append(result)
    document = {"Metadata": {"Device": recorded.device, "TimeUnit": "Seconds"}, "Results": results}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _status(recorded: RecordedSpace, row: int) -> str:
    known = ("CompilationFailed", "ComputationFailed", "DeviceLimitsExceeded", "ValidationFailed")
    status = recorded.status[row]
    return "Ok" if status == OK else status if status in known else "ComputationFailed"


def _computation(recorded: RecordedSpace, row: int) -> dict[str, Any]:
    counters = finite_counters(recorded, row)
    computation: dict[str, Any] = {"KernelFunction": recorded.name, "Duration": recorded.cost(row)}
    for name, field in ((GLOBAL_SIZE, "GlobalSize"), (LOCAL_SIZE, "LocalSize")):
        if name in counters:
            computation[field] = {"X": counters.pop(name), "Y": 1, "Z": 1}
    if len(recorded.compilation):
        computation["Overhead"] = float(recorded.compilation[row])
    computation["ProfilingData"] = {
        "Counters": [{"Name": name, "Type": "Double", "Value": value} for name, value in counters.items()]
    }
    return computation
