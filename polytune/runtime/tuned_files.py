"""Files of the best configurations of a kernel, to be kept with a program or given to another machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from polytune.errors import HistoryError
from polytune.files import replace_text

__all__ = ["TunedEntry", "read_tuned", "write_tuned"]

_FORMAT = 1


class TunedEntry(NamedTuple):
    """The best configuration for calls of one size.

    Attributes:
        kernel: the kernel's name, with what tells its meaning from that of others.
        shape: the sizes.
        machine: where it was measured.
        configuration: the best known.
        seconds: what it took there.
    """

    kernel: str
    shape: str
    machine: str
    configuration: Mapping[str, Any]
    seconds: float


def write_tuned(path: str | os.PathLike[str], entries: Iterable[TunedEntry]) -> None:
    """Write a file, in one step.

    Raises:
        HistoryError: it cannot be written.
    """
    file = Path(path)
    document = {"polytune_tuned": _FORMAT, "entries": [each._asdict() for each in entries]}
    try:
        replace_text(file, json.dumps(document, indent=1, default=dict) + "\n")
    except OSError as error:
        raise HistoryError(f"{file} cannot be written: {error.strerror or error}") from error


def read_tuned(path: str | os.PathLike[str]) -> list[TunedEntry]:
    """Read a file that `write_tuned` wrote.

    Raises:
        HistoryError: it cannot be read, or is something else.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise HistoryError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise HistoryError(f"{path} is no file of tuned configurations: {error}") from error
    if not isinstance(document, dict) or "polytune_tuned" not in document:
        raise HistoryError(f"{path} is no file of tuned configurations: kernel.save writes them")
    if document["polytune_tuned"] != _FORMAT:
        raise HistoryError(f"{path} was written by a newer polytune, format {document['polytune_tuned']!r}")
    try:
        entries = [TunedEntry(**each) for each in document["entries"]]
    except (KeyError, TypeError) as error:
        raise HistoryError(f"{path} is no file of tuned configurations: an entry lacks something ({error})") from error
    for each in entries:
        names = (each.kernel, each.shape, each.machine)
        if not all(isinstance(name, str) for name in names) or not isinstance(each.configuration, dict):
            raise HistoryError(f"{path} is no file of tuned configurations: {each!r} is no entry")
    return entries
