"""Polytune's own format: a line of JSON that describes the space, then one for each configuration measured.

    {"polytune_recording": 1, "name": "gemm", "device": "...", "unit": "s", "parameters": ["version", "tile_0"], ...}
    {"configuration": {"version": "tiled", "tile_0": 32}, "times": [0.00213, 0.00209], "compilation": 1.31,
     "counters": {"source__additions.sum": 64000}}
    {"configuration": {"version": "tiled", "tile_0": 4096}, "status": "failed", "reason": "CompilationError: ..."}

Counters that are 0 are left out, and so is the time of a compilation that was not needed.

Every line is on the disk before the next configuration is measured, so a recording that is stopped keeps what it has,
and can be gone on with.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from polytune.errors import RecordingError
from polytune.lab.early_end import warn_of_cut
from polytune.lab.files import TextFile, read
from polytune.lab.json_text import TooLargeError, decode, why
from polytune.lab.place import Line, duration, json_object, real_number
from polytune.lab.recording import OK, RecordedSpace, Recorder
from polytune.lab.units import seconds_per, unit_of
from polytune.records import dataclass

MARK = "polytune_recording"
VERSION = 1
VERSION_PARAMETER = "version"
"""The parameter of polytune's kernels whose values are compiled once each."""

_NO_RECORDING = "this is no recording of polytune's: its first line has no 'polytune_recording'"


@dataclass(frozen=True)
class Header:
    """The content of the first line.

    Attributes:
        name: what is measured.
        device: where it runs.
        parameters: the names of the parameters.
        about: anything else that the times depend on, such as the sizes of the arrays.
    """

    name: str
    device: str
    parameters: tuple[str, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The line as a dictionary."""
        return {
            MARK: VERSION,
            "name": self.name,
            "device": self.device,
            "unit": "s",
            "parameters": list(self.parameters),
            "about": dict(self.about),
        }


class Journal:
    """A recording that is being written, in a ``with`` statement.

    Args:
        path: the file, which is begun or gone on with.
        header: what is measured.

    Attributes:
        recorded: the configurations that the file has already.

    Raises:
        RecordingError: the file is a recording of something else, or no recording.
        OSError: it cannot be written.
    """

    def __init__(self, path: Path, header: Header):
        self.recorded: list[dict[str, Any]] = []
        self._path = path
        begun = path.exists() and path.stat().st_size > 0
        if begun:
            self._continue(header)
        # To its end, wherever that is: another process may be writing to the same file.
        self._stream: IO[str] = path.open("a", encoding="utf-8")
        if not begun:
            self._write(header.to_json())

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def measured(
        self,
        configuration: Mapping[str, Any],
        times: Sequence[float],
        counters: Mapping[str, float] | None = None,
        compilation: float = 0.0,
    ) -> None:
        """Write that a configuration ran.

        Args:
            configuration: the values of the parameters.
            times: in seconds.
            counters: what was counted of it.
            compilation: the seconds that compiling took for it, 0 where nothing had to be compiled.
        """
        line: dict[str, Any] = {"configuration": dict(configuration), "times": list(times)}
        if compilation:
            line["compilation"] = compilation
        if counters:
            line["counters"] = {name: _compact(value) for name, value in counters.items() if value}
        self._write(line)

    def failed(self, configuration: Mapping[str, Any], reason: str) -> None:
        """Write that a configuration could not be run, and why."""
        self._write({"configuration": dict(configuration), "status": "failed", "reason": reason})

    def _write(self, line: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def _continue(self, header: Header) -> None:
        file = read(self._path)
        lines = _lines(file)
        found = _header(file, lines)
        if found.to_json() != header.to_json():
            raise RecordingError(
                f"{self._path} is a recording of something else ({_difference(found, header)}); name another file"
            )
        self.recorded = [entry["configuration"] for entry, _ in lines.entries]
        if lines.cut_line is not None:
            whole = file.text[: file.text.rindex("\n") + 1]
            os.truncate(self._path, len(whole.encode("utf-8")))
        elif not file.text.endswith("\n"):
            with self._path.open("a", encoding="utf-8") as stream:
                stream.write("\n")


def read_journal(file: TextFile) -> RecordedSpace:
    """The space in a recording of polytune's own.

    Raises:
        RecordingError: a line is no JSON, or a field is missing or has a value that cannot be.
    """
    lines = _lines(file)
    header = _header(file, lines)
    scale = seconds_per(unit_of(lines.first.get("unit", "s"), Line(file.name, 1, "unit")))
    shares_code = [name for name in (VERSION_PARAMETER,) if name in header.parameters]
    recorder = Recorder(header.name, header.device, header.parameters, code=shares_code, absent=0.0)
    for entry, place in lines.entries:
        times = entry.get("times", [])
        if not isinstance(times, list):
            raise place.at("times").error("the times must be a list of numbers")
        status = entry.get("status", OK)
        seconds = [duration(time, place.at("times"), scale) for time in times] if status == OK else []
        counters = json_object(entry.get("counters", {}), place.at("counters"))
        recorder.add(
            entry["configuration"],
            seconds,
            str(status),
            {name: real_number(value, place.at(f"counters.{name}")) for name, value in counters.items()},
            compilation=duration(entry.get("compilation", 0.0), place.at("compilation"), scale),
            place=place,
        )
    if lines.cut_line is not None:
        warn_of_cut(file, lines.cut_line, len(recorder))
    return recorder.build(file.name)


@dataclass(frozen=True)
class _JournalLines:
    first: dict[str, Any]
    entries: list[tuple[dict[str, Any], Line]]
    cut_line: int | None


def _lines(file: TextFile) -> _JournalLines:
    texts = file.text.splitlines()
    first: dict[str, Any] = {}
    entries: list[tuple[dict[str, Any], Line]] = []
    for number, text in enumerate(texts, 1):
        place = Line(file.name, number)
        try:
            line = decode(text)
        except json.JSONDecodeError as error:
            if number == 1 and not isinstance(error, TooLargeError):
                raise place.error(_NO_RECORDING) from None
            if number == len(texts) and (file.cut or not file.text.endswith("\n")):
                return _JournalLines(first, entries, number)
            raise place.error(why(error) + ("" if number == 1 else "; remove the line")) from None
        if number == 1:
            first = line
        elif not isinstance(line, dict) or not isinstance(line.get("configuration"), dict):
            raise place.at("configuration").error("a line must have a configuration with the values of the parameters")
        else:
            entries.append((line, place))
    return _JournalLines(first, entries, len(texts) if file.cut and entries else None)


def _header(file: TextFile, lines: _JournalLines) -> Header:
    first, place = lines.first, Line(file.name, 1)
    if not isinstance(first, dict) or MARK not in first:
        raise place.error(_NO_RECORDING)
    if first[MARK] != VERSION:
        raise place.at(MARK).error(f"the format is {first[MARK]!r}, and this polytune reads {VERSION}; update polytune")
    names = first.get("parameters")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise place.at("parameters").error("the parameters must be a list of names")
    return Header(str(first.get("name", file.stem)), str(first.get("device", "")), tuple(names), first.get("about", {}))


def _compact(value: float) -> float:
    """A count with as few digits as it needs."""
    rounded = float(f"{value:.10g}")
    return int(rounded) if rounded.is_integer() else rounded


def _difference(found: Header, wanted: Header) -> str:
    for name, before in found.to_json().items():
        now = wanted.to_json()[name]
        if before != now:
            return f"{name}: {before!r}, not {now!r}"
    return "the unit differs"
