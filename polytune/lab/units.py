"""Units of time, in all the spellings that recordings use."""

from __future__ import annotations

from typing import Any

from polytune.lab.place import FilePlace, text

_SECONDS = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
}
_SPELLINGS = {
    **{name: name for name in _SECONDS},
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    # "milisecond" is what the first writers of the T4 format wrote.
    **dict.fromkeys(("msec", "millisecond", "milliseconds", "milisecond", "miliseconds"), "ms"),
    **dict.fromkeys(("µs", "μs", "usec", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nanosecond", "nanoseconds"), "ns"),
}


def unit_of(name: Any, place: FilePlace) -> str:
    """The unit's symbol: ``s``, ``ms``, ``us`` or ``ns``.

    Raises:
        RecordingError: the name is no text, or none of a unit of time.
    """
    unit = _SPELLINGS.get(text(name, place).strip().lower())
    if unit is None:
        raise place.error(f"{name!r} is no unit of time; s, ms, us and ns are")
    return unit


def seconds_per(unit: str) -> float:
    """Return how many seconds the unit with this symbol has."""
    return _SECONDS[unit]
