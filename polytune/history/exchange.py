"""Histories as files of JSON lines, to be given to other machines and people, and from one place to another.

    {"polytune_history": 1}
    {"kernel": "blur 0123", "shape": "n=10", "machine": "...", "configuration": {"version": "tiled"}, "count": 3, ...}

A line has the fields of a `Measurement`.  In place of such a file, an address of a history or an SQLite file may be
given.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from polytune.errors import HistoryError
from polytune.files import replace_text
from polytune.history.store import HistoryStore, Measurement, is_whole

__all__ = ["check_written", "merged", "read_measurements", "write_measurements"]

_FORMAT = 1
_SQLITE = b"SQLite format 3\0"  # what its files begin with


def write_measurements(path: str | os.PathLike[str], measurements: Iterable[Measurement]) -> int:
    """Write a file, in one step, or add to a history what it does not know as new.

    Args:
        path: the file of JSON lines or of SQLite, or the address of a history.
        measurements: what it is given.

    Returns:
        How many measurements were written.

    Raises:
        HistoryError: it cannot be written, or is a file of SQLite that is no history.
    """
    if is_store(path):
        _check_target(path)
        store = HistoryStore(path)
        count = store.add_all(measurements)
        store.close()
        check_written(store)
        return count
    file = Path(path)
    lines = [json.dumps(each.to_json(), sort_keys=True) for each in measurements]
    try:
        replace_text(file, "\n".join([json.dumps({"polytune_history": _FORMAT}), *lines, ""]))
    except OSError as error:
        raise HistoryError(f"{file} cannot be written: {error.strerror or error}") from error
    return len(lines)


def read_measurements(path: str | os.PathLike[str]) -> list[Measurement]:
    """Read a file that `write_measurements` wrote, or a history.

    Args:
        path: the file of JSON lines or of SQLite, or the address of a history.

    Raises:
        HistoryError: it cannot be read, or a line, which is named, is no measurement; nothing is changed about it.
    """
    if is_store(path) or _is_database(path):
        store = HistoryStore(path, is_given=True)
        store.check()
        measurements = store.all()
        store.close()
        return measurements
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise HistoryError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise HistoryError(f"{path} is no exported history: {error}") from error
    head = _document(lines[0]) if lines else None
    if head is None or "polytune_history" not in head:
        raise HistoryError(f"{path} is no exported history: polytune history export writes them")
    if head["polytune_history"] != _FORMAT:
        raise HistoryError(
            f"{path} was written by a newer polytune, format {head['polytune_history']!r}: "
            f"upgrade this one, which reads format {_FORMAT}"
        )
    return [_measurement(path, number, line) for number, line in enumerate(lines[1:], 2) if line.strip()]


def is_store(path: str | os.PathLike[str]) -> bool:
    """Return whether this is an address of a history, or the name of a file of SQLite, and no file of JSON lines."""
    return "://" in os.fspath(path) or Path(path).suffix == ".sqlite"


def check_written(store: HistoryStore) -> None:
    """See to it that what a history was told outlives this process.

    Raises:
        HistoryError: its file could not be written.
    """
    if store.in_memory:
        raise HistoryError(
            f"{store.place} cannot be written, and is as it was; make its folder writable, free space on its disk, or "
            "name another place"
        )


def _check_target(path: str | os.PathLike[str]) -> None:
    """See to it that nothing is written to a file of somebody else's.

    Raises:
        HistoryError: there is a file that is no history.
    """
    store = HistoryStore(path, is_given=True)
    if store.path.is_file() and store.path.stat().st_size:
        store.check()
    store.close()


def _is_database(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is one of SQLite, whatever its name; of a pipe nothing is read."""
    if not Path(path).is_file():
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def merged(measurements: Iterable[Measurement]) -> list[Measurement]:
    """One measurement of each configuration, the one that was recorded last, in the order of a store."""
    newest: dict[Any, Measurement] = {}
    for each in measurements:
        key = (each.kernel, each.shape, each.machine, json.dumps(dict(each.configuration), sort_keys=True))
        if key not in newest or each.updated > newest[key].updated:
            newest[key] = each

    def rank(each: Measurement) -> tuple[Any, ...]:
        return each.kernel, each.shape, each.machine, each.median_seconds is None, each.median_seconds or 0.0

    return sorted(newest.values(), key=rank)


def _document(line: str) -> dict[str, Any] | None:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _measurement(path: str | os.PathLike[str], number: int, line: str) -> Measurement:
    document = _document(line)
    if document is None:
        raise HistoryError(f"{path}:{number}: this is no object of JSON")
    try:
        found = Measurement(**document)
    except TypeError:
        lacks = [field.name for field in fields(Measurement) if field.name not in document and field.name != "code"]
        wrong = f"it lacks {', '.join(lacks)}" if lacks else "it has fields that no measurement has"
        raise HistoryError(f"{path}:{number}: this is no measurement: {wrong}") from None
    if not is_whole(found):
        raise HistoryError(f"{path}:{number}: this is no measurement: a field has a value that it cannot have")
    return found
