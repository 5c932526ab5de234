"""Kernel Tuner's cache files: JSON with a line for each configuration, and times in milliseconds."""

from __future__ import annotations

import json
from typing import Any

from polytune.lab.recording import OK, RecordedSpace
from polytune.lab.writing.table import complete, finite_counters

__all__ = ["ENDING", "text"]

ENDING = ".json"
_FAILURES = ("CompilationFailedConfig", "InvalidConfig", "RuntimeFailedConfig")


def text(recorded: RecordedSpace) -> str:
    """The file's text, with all times; counters stand beside them, as other metrics do.

    Args:
        recorded: the space.
    """
    configurations = complete(recorded)
    values = {name: list(dict.fromkeys(each[name] for each in configurations)) for name in recorded.space.names}
    head = {
        "device_name": recorded.device,
        "kernel_name": recorded.name,
        "problem_size": [],
        "tune_params_keys": list(recorded.space.names),
        "tune_params": values,
        "objective": "time",
    }
    lines = []
    for row, configuration in enumerate(configurations):
        key = ",".join(str(value) for value in configuration.values())
        lines.append(f"{json.dumps(key)}: {json.dumps(configuration | _measured(recorded, row), allow_nan=False)}")
    return json.dumps(head)[:-1] + ',\n"cache": {\n' + ",\n".join(lines) + "\n}}\n"


def _measured(recorded: RecordedSpace, row: int) -> dict[str, Any]:
    status = recorded.status[row]
    if status != OK:
        return {"time": status if status in _FAILURES else "RuntimeFailedConfig"}
    compilation = 1e3 * float(recorded.compilation[row]) if len(recorded.compilation) else 0.0
    return {
        **finite_counters(recorded, row),
        "time": 1e3 * recorded.cost(row),
        "times": [1e3 * seconds for seconds in recorded.measurements[row]],
        "compile_time": compilation,
    }
