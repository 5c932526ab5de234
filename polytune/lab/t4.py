"""T4 result files, with which autotuners exchange what they measured, and their T1 descriptions.

Format: the autotuning community's "FAIR data" schemas, https://github.com/odgaard/TuningSchema.
"""

from __future__ import annotations

from typing import Any

from polytune.errors import SpaceError
from polytune.lab.early_end import warn_of_early_end
from polytune.lab.files import TextFile, device_by_name
from polytune.lab.json_document import Document, JsonEntry, same_parameters
from polytune.lab.place import FilePlace, duration, json_list, json_object, optional_duration
from polytune.lab.recording import OK, RecordedSpace, Recorder
from polytune.lab.units import seconds_per, unit_of
from polytune.tuner.spaces.space import Space

_CORRECT = "correct"


def read_t4(file: TextFile, description: Space | None = None) -> RecordedSpace:
    """The space in a result file.

    Args:
        file: its text.
        description: what the T1 file says, to check configurations against.

    Raises:
        RecordingError: a field is missing or has a value that cannot be, or a configuration is not in the description.
    """
    document = Document(file, "results")
    unit = _file_unit(document)
    first = _configuration(document.entries[0]) if document.entries else {}
    recorder = Recorder(file.stem, device_by_name(file), list(first))
    for entry in document.entries:
        configuration = _configuration(entry)
        if description is not None:
            try:
                description.validate(configuration)
            except SpaceError as error:
                raise entry.place("configuration").error(f"{error} (according to the description)") from None
        same_parameters(entry, configuration, first, "configuration")
        status = entry.value.get("invalidity", _CORRECT)
        if status != _CORRECT:
            recorder.add(configuration, (), str(status), place=entry.place())
        else:
            times = _times(entry, unit)
            recorder.add(configuration, times, OK, compilation=_compilation(entry, unit), place=entry.place())
    warn_of_early_end(file, document, len(recorder))
    return recorder.build(file.name)


def _file_unit(document: Document) -> str | None:
    """The unit that the file states for all its times, if it does."""
    metadata = document.fields.get("metadata", {})
    text = metadata.get("timeunit") if isinstance(metadata, dict) else None
    if text is None:
        return None
    return unit_of(text, document.field_place("metadata").at("metadata.timeunit"))


def _configuration(entry: JsonEntry) -> dict[str, Any]:
    configuration = entry.value.get("configuration") if isinstance(entry.value, dict) else None
    if not isinstance(configuration, dict) or not configuration:
        raise entry.place("configuration").error("a result must have a configuration with the values of the parameters")
    return configuration


def _times(entry: JsonEntry, file_unit: str | None) -> list[float]:
    """The single run times if they are there, else the objective's measurement; in seconds."""
    objectives = json_list(entry.value.get("objectives") or ["time"], entry.place("objectives"))
    measurements = [
        json_object(measured, entry.place("measurements", number))
        for number, measured in enumerate(_list(entry.value, "measurements", entry.place("measurements")))
    ]
    number = next((n for n, measured in enumerate(measurements) if measured.get("name") == objectives[0]), None)
    scale = seconds_per(_unit(entry, number, file_unit))
    times = json_object(entry.value.get("times") or {}, entry.place("times"))
    runtimes = _list(times, "runtimes", entry.place("times", "runtimes"))
    if runtimes:
        return [duration(t, entry.place("times", "runtimes", n), scale) for n, t in enumerate(runtimes)]
    if number is None:
        raise entry.place().error(f"the result has neither run times nor a measurement of {objectives[0]!r}")
    return [duration(measurements[number].get("value"), entry.place("measurements", number, "value"), scale)]


def _compilation(entry: JsonEntry, file_unit: str | None) -> float:
    """The seconds that compiling took; 0 where that is not there."""
    times = entry.value.get("times")
    if not isinstance(times, dict) or file_unit is None:
        return 0.0
    return optional_duration(times.get("compilation"), seconds_per(file_unit))


def _list(fields: dict[str, Any], name: str, place: FilePlace) -> list[Any]:
    """The list in a field; an empty one where the field is missing or null."""
    value = fields.get(name)
    return [] if value is None else json_list(value, place)


def _unit(entry: JsonEntry, number: int | None, file_unit: str | None) -> str:
    """The unit of a result's times: that of its measurement, or else of the file; both must be one."""
    text = None if number is None else entry.value["measurements"][number].get("unit")
    if not text:
        if file_unit is None:
            raise entry.place().error("neither a 'timeunit' in the metadata nor a 'unit' here tells what times mean")
        return file_unit
    assert number is not None
    place = entry.place("measurements", number, "unit")
    unit = unit_of(text, place)
    if file_unit not in (None, unit):
        raise place.error(f"the time is in {text!r}, but the file's 'timeunit' is {file_unit}: write all in one unit")
    return unit
