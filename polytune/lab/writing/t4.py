"""T4 result files, with which autotuners exchange what they measured (https://github.com/odgaard/TuningSchema)."""

from __future__ import annotations

import json
from typing import Any

from polytune.lab.recording import OK, RecordedSpace
from polytune.lab.writing.table import complete, finite_counters

__all__ = ["ENDING", "text"]

ENDING = ".json"
_INVALIDITIES = ("timeout", "compile", "runtime", "correctness", "constraints")


def text(recorded: RecordedSpace) -> str:
    """The file's text, with all times, and counters as measurements.

    Args:
        recorded: the space.
    """
    results = []
    for row, configuration in enumerate(complete(recorded)):
        status = recorded.status[row]
        is_right = status == OK
        invalidity = "correct" if is_right else status if status in _INVALIDITIES else "runtime"
        result: dict[str, Any] = {"configuration": configuration, "objectives": ["time"], "invalidity": invalidity}
        result["correctness"] = int(is_right)
        if is_right:
            compilation = float(recorded.compilation[row]) if len(recorded.compilation) else 0.0
            result["times"] = {"compilation": compilation, "runtimes": list(recorded.measurements[row])}
            result["measurements"] = [
                {"name": "time", "value": recorded.cost(row), "unit": "s"},
                *({"name": n, "value": v, "unit": ""} for n, v in finite_counters(recorded, row).items()),
            ]
        results.append(result)
    document = {"schema_version": "1.0.0", "metadata": {"timeunit": "seconds"}, "results": results}
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
