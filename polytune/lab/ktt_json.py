"""The result files of KTT 2, the Kernel Tuning Toolkit: JSON with a configuration and a status for each result."""

from __future__ import annotations

import math
from typing import Any

from polytune.lab.early_end import warn_of_early_end
from polytune.lab.files import TextFile
from polytune.lab.json_document import Document, JsonEntry, same_parameters
from polytune.lab.place import duration, json_list, json_object, optional_duration, real_number, text
from polytune.lab.recording import OK, RecordedSpace, Recorder
from polytune.lab.units import seconds_per, unit_of


def read_ktt_json(file: TextFile) -> RecordedSpace:
    """The space in a result file, with the counters of what was profiled.

    Raises:
        RecordingError: a field is missing or has a value that cannot be.
    """
    document = Document(file, "Results")
    metadata = document.fields.get("Metadata", {})
    if not isinstance(metadata, dict) or not isinstance(metadata.get("TimeUnit"), str):
        raise document.field_place("Metadata").error("there is no 'TimeUnit', so that nothing tells what times mean")
    scale = seconds_per(unit_of(metadata["TimeUnit"], document.field_place("Metadata").at("Metadata.TimeUnit")))
    configurations = [_configuration(entry) for entry in document.entries]
    names = list(configurations[0]) if configurations else []
    kernel = next((entry.value.get("KernelName") for entry in document.entries), None) or file.stem
    recorder = Recorder(str(kernel), str(metadata.get("Device") or ""), names)
    for entry, configuration in zip(document.entries, configurations, strict=True):
        same_parameters(entry, configuration, configurations[0], "Configuration")
        status = entry.value.get("Status")
        if status != "Ok":
            recorder.add(configuration, (), str(status), place=entry.place())
            continue
        seconds = duration(entry.value.get("TotalDuration"), entry.place("TotalDuration"), scale)
        counters, overhead = _counters(entry), _overhead(entry, scale)
        recorder.add(configuration, [seconds], OK, counters, compilation=overhead, place=entry.place())
    warn_of_early_end(file, document, len(recorder))
    return recorder.build(file.name)


def _configuration(entry: JsonEntry) -> dict[str, Any]:
    pairs = entry.value.get("Configuration") if isinstance(entry.value, dict) else None
    if not isinstance(pairs, list) or not pairs:
        raise entry.place("Configuration").error("a result must have the list of its parameters' values")
    configuration = {}
    for number, pair in enumerate(pairs):
        if not isinstance(pair, dict) or not isinstance(pair.get("Name"), str) or "Value" not in pair:
            raise entry.place("Configuration", number).error("a parameter must have a 'Name' and a 'Value'")
        configuration[pair["Name"]] = pair["Value"]
    return configuration


def _overhead(entry: JsonEntry, scale: float) -> float:
    """The seconds that the kernel functions of a configuration took to be compiled and launched, as KTT tells them."""
    results = entry.value.get("ComputationResults")
    if not isinstance(results, list):
        return 0.0
    return sum(optional_duration(each.get("Overhead"), scale) for each in results if isinstance(each, dict))


def _counters(entry: JsonEntry) -> dict[str, float]:
    """The sizes, the compiler's figures and the profiling counters of the only kernel function of a configuration."""
    results = json_list(entry.value.get("ComputationResults", []), entry.place("ComputationResults"))
    if len(results) != 1:
        return {}
    place = entry.place("ComputationResults", 0)
    result = json_object(results[0], place)
    counters = {}
    for name, field in (("Global size", "GlobalSize"), ("Local size", "LocalSize")):
        if field in result:
            size = json_object(result[field], place.at(field))
            counters[name] = math.prod(real_number(size.get(axis), place.at(field).at(axis)) for axis in "XYZ")
    compiled, profiled = place.at("CompilationData"), place.at("ProfilingData")
    for name, value in json_object(result.get("CompilationData", {}), compiled).items():
        counters[name] = real_number(value, compiled.at(name))
    measured = json_object(result.get("ProfilingData", {}), profiled).get("Counters", [])
    for number, counter in enumerate(json_list(measured, profiled.at("Counters"))):
        here = entry.place("ComputationResults", 0, "ProfilingData", "Counters", number)
        fields = json_object(counter, here)
        counters[text(fields.get("Name"), here.at("Name"))] = real_number(fields.get("Value"), here.at("Value"))
    return counters
