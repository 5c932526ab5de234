"""Recorded spaces written in the formats of other tuners, found in ``polytune.lab.writing``."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polytune.errors import RecordingError
from polytune.files import replace_text
from polytune.lab import writing
from polytune.lab.files import TextFile
from polytune.lab.loading import parse
from polytune.lab.recording import OK, RecordedSpace
from polytune.lab.writing.table import complete

__all__ = ["convert", "formats"]

_WITHOUT_FAILURES = "ktt-csv"
_DIGITS = 1e-12  # relative: a time in another unit differs in its last bits


def formats() -> list[str]:
    """The names of the formats that can be written."""
    names = (module.name for module in pkgutil.iter_modules(writing.__path__))
    return sorted(name.replace("_", "-") for name in names if name != "table")


def convert(recorded: RecordedSpace, path: Path, format: str) -> int:
    """Write a recorded space in the format of another tuner.

    What is written is read back first: a file that would say something else is not written.

    Args:
        recorded: the space.
        path: the file; one that is there is replaced.
        format: one of `formats`.

    Returns:
        How many configurations the file has.

    Raises:
        RecordingError: there is no such format, or it cannot hold the space.
        OSError: the file cannot be written.
    """
    if format not in formats():
        raise RecordingError(f"there is no format {format!r} to write; there are {', '.join(formats())}")
    text: str = importlib.import_module(f"{writing.__name__}.{format.replace('-', '_')}").text(recorded)
    again = parse(TextFile(str(path), path.stem, text))
    if not _same(recorded, again, has_failures=format != _WITHOUT_FAILURES):
        raise RecordingError(
            f"the format {format} cannot tell all parameters of {recorded.name} from counters or from one another; "
            "another format can"
        )
    replace_text(path, text)
    return len(again)


def _same(recorded: RecordedSpace, again: RecordedSpace, *, has_failures: bool) -> bool:
    """Return whether a space read back has the configurations and times of the one that was written."""
    wanted = {
        _key(configuration): recorded.cost(row)
        for row, configuration in enumerate(complete(recorded))
        if has_failures or recorded.status[row] == OK
    }
    found = {_key(again.space.configuration(row)): again.cost(row) for row in range(len(again))}
    return wanted.keys() == found.keys() and all(
        cost == found[key] or math.isclose(cost, found[key], rel_tol=_DIGITS) for key, cost in wanted.items()
    )


def _key(configuration: Mapping[str, Any]) -> frozenset[tuple[str, Any]]:
    return frozenset(configuration.items())
