"""Places in files, and reading values there: what every reader says when it refuses."""

from __future__ import annotations

import math
import reprlib
from abc import ABC, abstractmethod
from typing import Any

from polytune.errors import RecordingError
from polytune.records import dataclass


class FilePlace(ABC):
    """A place in a recording; its text names the file, the line and the field."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def at(self, field: str) -> FilePlace:
        """A field of what stands here."""

    def error(self, sentence: str) -> RecordingError:
        """The refusal of what stands here."""
        return RecordingError(f"{self}: {sentence}")


@dataclass(frozen=True)
class Line(FilePlace):
    """A line of a file, or a field in it.

    Attributes:
        file: the file's name, as the user gave it.
        line: the line, from 1.
        field: the name of the field; empty where the line as a whole is meant.
    """

    file: str
    line: int
    field: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f", field {self.field!r}" if self.field else "")

    def at(self, field: str) -> Line:
        return Line(self.file, self.line, field)


def duration(value: Any, place: FilePlace, seconds_per_unit: float) -> float:
    """A measured time in seconds.

    Args:
        value: a number, or text that is one.
        place: where it was found.
        seconds_per_unit: how long the unit is in which it is given.

    Raises:
        RecordingError: it is no number, not finite, or negative.
    """
    number = real_number(value, place)
    if not math.isfinite(number):
        raise place.error(f"{_shortened(value)} is no time; a configuration that failed says so in its status")
    if number < 0:
        raise place.error(f"{_shortened(value)} is negative, which a time cannot be")
    return number * seconds_per_unit


def optional_duration(value: Any, seconds_per_unit: float) -> float:
    """A time in seconds of which nothing depends but how long a simulated search takes: 0 where there is none.

    Args:
        value: what stands there, if anything does.
        seconds_per_unit: how long the unit is in which it is given.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value * seconds_per_unit if is_number and 0 <= value < math.inf else 0.0


def real_number(value: Any, place: FilePlace) -> float:
    """A number, or text that is one, as a float; infinities and NaN are let through.

    Raises:
        RecordingError: it is something else.
    """
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            return float(value)
        except ValueError:
            pass
        except OverflowError:
            raise place.error(f"{reprlib.repr(value)} is larger than any number that is read here") from None
    raise _misplaced(value, "a number", place)


def json_object(value: Any, place: FilePlace) -> dict[str, Any]:
    """An object of JSON.

    Raises:
        RecordingError: it is something else.
    """
    if isinstance(value, dict):
        return value
    raise _misplaced(value, "an object", place)


def json_list(value: Any, place: FilePlace) -> list[Any]:
    """A list of JSON.

    Raises:
        RecordingError: it is something else.
    """
    if isinstance(value, list):
        return value
    raise _misplaced(value, "a list", place)


def text(value: Any, place: FilePlace) -> str:
    """A text.

    Raises:
        RecordingError: it is something else.
    """
    if isinstance(value, str):
        return value
    raise _misplaced(value, "text", place)


def _shortened(value: Any) -> str:
    """A number as it was written, without its middle where it is very long."""
    written = str(value)
    return written if len(written) <= 40 else f"{written[:18]}...{written[-18:]}"


def _misplaced(value: Any, wanted: str, place: FilePlace) -> RecordingError:
    return place.error(f"{reprlib.repr(value)} stands where {wanted} belongs")
