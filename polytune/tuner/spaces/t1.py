"""A space in T1, the description that autotuners exchange: the autotuning community's "FAIR data" schemas,
https://github.com/odgaard/TuningSchema.

T1 lists the parameters with their values and the constraints, under "Conditions".  It knows no parameters that exist
only sometimes, nor kinds, ranges and reasons; these are kept beside, in the fields ``When`` (a formula, for people),
``Parameter`` (what `parameter_from_json` reads) and ``Reason``, which other readers pass over.
`polytune.lab` reads T1.
"""

from __future__ import annotations

import json
from typing import Any

from polytune.tuner.spaces.graph_picture import condition_text
from polytune.tuner.spaces.parameters import Parameter, Ratio
from polytune.tuner.spaces.space import Space

__all__ = ["to_t1"]

_LISTED = 1024  # whole numbers that are listed; more of them are written as a range
_GRID = 11  # values that stand for a real parameter
_TYPES = {bool: "bool", int: "int", float: "float", str: "string"}


def to_t1(space: Space, name: str) -> str:
    """The space as a T1 document.

    Args:
        space: the space.
        name: of the benchmark.
    """
    document = {
        "General": {"BenchmarkName": name, "OutputFormat": "JSON"},
        "ConfigurationSpace": {
            "TuningParameters": [_parameter(parameter) for parameter in space.parameters],
            "Conditions": [
                {
                    "Expression": constraint.expression,
                    "Parameters": sorted(constraint.names),
                    **({"Reason": constraint.reason} if constraint.reason else {}),
                }
                for constraint in space.constraints
            ],
        },
    }
    return json.dumps(document, indent=2) + "\n"


def _parameter(parameter: Parameter) -> dict[str, Any]:
    values = parameter.grid(_GRID) if isinstance(parameter, Ratio) else parameter.levels
    is_long_range = isinstance(values, range) and len(values) > _LISTED
    kinds = {int} if is_long_range else {type(value) for value in values}
    entry: dict[str, Any] = {
        "Name": parameter.name,
        "Type": _TYPES[kinds.pop()] if len(kinds) == 1 else "string",
        "Values": f"[i for i in {values!r}]" if is_long_range else repr(list(values)),
        "Default": parameter.default,
    }
    if parameter.when is not None:
        entry["When"] = condition_text(parameter.when)
    return {**entry, "Parameter": parameter.to_json()}
