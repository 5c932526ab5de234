"""Kernel Tuner's cache files: JSON that grows by one line for each configuration.

Times are in milliseconds.  A configuration that failed has the name of an error where the time belongs, or in newer
versions in the field ``__error__``.  Kernel Tuner writes the closing braces when tuning has ended, so the file of a run
that is under way, or was stopped, lacks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polytune.lab.early_end import warn_of_early_end
from polytune.lab.files import TextFile
from polytune.lab.json_document import Document, JsonEntry
from polytune.lab.place import duration, json_list, optional_duration, text
from polytune.lab.recording import OK, RecordedSpace, Recorder
from polytune.lab.units import seconds_per
from polytune.tuner.spaces.condition import same_value

_UNIT = "ms"
_ERROR = "__error__"
_COMPILATION = "compile_time"


def read_kernel_tuner_cache(file: TextFile) -> RecordedSpace:
    """The space in a cache file, finished or not.

    Raises:
        RecordingError: a field is missing or has a value that cannot be.
    """
    document = Document(file, "cache")
    names = document.fields.get("tune_params_keys")
    values = document.fields.get("tune_params")
    listed = names if isinstance(names, list) and all(isinstance(name, str) for name in names) else []
    if not isinstance(names, list) or not isinstance(values, dict) or sorted(listed) != sorted(values):
        raise document.field_place("tune_params_keys").error(
            "'tune_params_keys' must list the parameters and 'tune_params' their values; this file was not written by "
            "Kernel Tuner, or has been changed"
        )
    for name in names:
        json_list(values[name], document.field_place("tune_params").at(f"tune_params.{name}"))
    objective = document.fields.get("objective", "time")
    if isinstance(objective, list):
        if len(objective) != 1:
            raise document.field_place("objective").error(f"there are {len(objective)} objectives, and one is wanted")
        objective = objective[0]
    objective = text(objective, document.field_place("objective"))
    recorder = Recorder(document.title("kernel_name", file.stem), document.title("device_name"), names)
    for entry in document.entries:
        _read_entry(entry, names, values, objective, recorder)
    warn_of_early_end(file, document, len(recorder))
    return recorder.build(file.name)


def _read_entry(
    entry: JsonEntry, names: list[str], values: Mapping[str, list[Any]], objective: str, recorder: Recorder
) -> None:
    fields = entry.value
    if not isinstance(fields, dict):
        raise entry.place().error("an entry must be an object with the parameters and the time")
    for name in names:
        if name not in fields:
            raise entry.place().at(name).error("the configuration has no value of this parameter")
        if not any(same_value(fields[name], value) for value in values[name]):
            raise entry.place(name).error(f"{fields[name]!r} is not among the values that 'tune_params' declares")
    configuration = {name: fields[name] for name in names}
    if _ERROR in fields:
        recorder.add(configuration, (), str(fields[_ERROR]), place=entry.place())
        return
    if objective not in fields:
        raise entry.place().at(objective).error("the entry has no time, nor the name of an error in its place")
    if isinstance(fields[objective], str) and fields[objective].isidentifier():
        recorder.add(configuration, (), fields[objective], place=entry.place())
        return
    scale = seconds_per(_UNIT)
    # Each time is checked, also where the single ones are what counts.
    times = [duration(fields[objective], entry.place(objective), scale)]
    if objective == "time" and fields.get("times"):
        if not isinstance(fields["times"], list):
            raise entry.place("times").error("'times' must be a list of numbers")
        times = [duration(time, entry.place("times", number), scale) for number, time in enumerate(fields["times"])]
    compilation = optional_duration(fields.get(_COMPILATION), scale)
    recorder.add(configuration, times, OK, compilation=compilation, place=entry.place())
