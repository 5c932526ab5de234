"""The record of all measurements, and of the searches that made them."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from polytune.environment import CACHE_DIR
from polytune.errors import HistoryError
from polytune.history import schema
from polytune.history.database import Database
from polytune.records import dataclass

FILE_NAME = "history.sqlite"
STATUSES = ("ok", "failed")


@dataclass(frozen=True)
class Measurement:
    """The knowledge of one configuration of a kernel, for one class of inputs on one machine.

    Attributes:
        kernel: what was run: a hash of everything that changes what the code does.
        shape: the class of inputs.
        machine: where; see `machine_key`.
        configuration: the values of the parameters that were active.
        count: how many times it was measured or failed, by all processes together.
        best_seconds: the shortest run time ever reported; None where it never ran.
        median_seconds: the median last reported; None where it failed the last time.
        status: ``"ok"`` or ``"failed"``.
        reason: why it failed.
        updated: when it was last recorded, in seconds since 1970.
        code: what tells the generated code that ran from that of other versions of polytune.
    """

    kernel: str
    shape: str
    machine: str
    configuration: Mapping[str, Any]
    count: int
    best_seconds: float | None
    median_seconds: float | None
    status: str
    reason: str
    updated: float
    code: str = ""

    def to_json(self) -> dict[str, Any]:
        """The measurement as a dictionary that JSON can write."""
        return asdict(self)


@dataclass(frozen=True)
class Summary:
    """The contents of a history.

    Attributes:
        path: the file; None where the history is only in memory.
        size_bytes: the size of the file.
        kernels: how many kernels there are.
        shapes: how many pairs of a kernel and a shape.
        measurements: how many configurations.
        failed: how many of them failed.
        updated: the last change, in seconds since 1970; None where there is nothing.
    """

    path: str | None
    size_bytes: int
    kernels: int
    shapes: int
    measurements: int
    failed: int
    updated: float | None


class HistoryStore:
    """Measurements in an SQLite file that any number of processes and threads read and write.

    A damaged file is moved aside and begun anew; where the file cannot be written, the store goes on in memory.
    Either is said in one `CacheWarning`; no method raises because of the disk.

    Args:
        path: the file, or the folder that holds ``history.sqlite``; without one, the folder named by the environment
            variable ``POLYTUNE_CACHE_DIR``, or else the user's cache folder.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None):
        chosen = default_directory() if path is None else Path(path)
        self._database = Database(chosen if chosen.suffix == ".sqlite" else chosen / FILE_NAME)

    @property
    def path(self) -> Path:
        """Return where the file is, or should be."""
        return self._database.path

    @property
    def in_memory(self) -> bool:
        """Return whether the file could not be used."""
        return self._database.in_memory

    def record(
        self,
        kernel: str,
        shape: str,
        machine: str,
        configuration: Mapping[str, Any],
        seconds: float | None,
        status: str = "ok",
        *,
        count: int = 1,
        reason: str = "",
        code: str = "",
    ) -> None:
        """Add to the record of one configuration; begin it anew where other code was recorded.

        Args:
            kernel, shape, machine: what it belongs to.
            configuration: the parameters' values.
            seconds: the median run time; None where it failed.
            status: ``"ok"`` or ``"failed"``; the last one recorded holds.
            count: how many measurements there were.
            reason: why it failed.
            code: what tells the generated code from others.

        Raises:
            HistoryError: the status is unknown, or it does not go with the seconds.
        """
        if status not in STATUSES or (seconds is None) == (status == "ok"):
            raise HistoryError(
                f"cannot record status {status!r} with {seconds} seconds: 'ok' goes with a run time, 'failed' with None"
            )
        values = {"kernel": kernel, "shape": shape, "machine": machine, "seconds": seconds, "status": status}
        values |= {"configuration": json.dumps(dict(configuration), sort_keys=True), "count": count, "reason": reason}
        values["code"] = code
        self._database.execute(schema.RECORD, values | {"updated": time.time()})

    def add(self, measurement: Measurement) -> bool:
        """Take in what another history has, unless something newer is known of the configuration.
        Return whether it was taken in."""
        values = measurement.to_json()
        values["configuration"] = json.dumps(dict(measurement.configuration), sort_keys=True)
        before = self._updated(values)
        self._database.execute(schema.ADD, values)
        return before is None or before < measurement.updated

    def _updated(self, values: Mapping[str, Any]) -> float | None:
        """Return when a configuration was last recorded."""
        keys = ("kernel", "shape", "machine", "configuration")
        statement = f"select updated from measurements where {' and '.join(f'{key} = :{key}' for key in keys)}"
        rows = self._database.execute(statement, {key: values[key] for key in keys})
        return rows[0][0] if rows else None

    def all(self, kernel: str | None = None, shape: str | None = None, machine: str | None = None) -> list[Measurement]:
        """Every record, or those of a kernel, a shape, a machine; the fastest of each first, what failed last.

        Args:
            kernel: its name with the digest of what it does; None for all.
            shape: the sizes of the calls, as text; None for all.
            machine: where it was measured; None for all.
        """
        statement = schema.SELECT + " order by kernel, shape, machine, median_seconds is null, median_seconds"
        rows = self._database.execute(statement, {"kernel": kernel, "shape": shape, "machine": machine})
        return _measurements(rows)

    def best(self, kernel: str, shape: str, machine: str) -> Measurement | None:
        """The fastest configuration by its median; None where none has run.

        Args:
            kernel: its name with the digest of what it does.
            shape: the sizes of the calls, as text.
            machine: where it was measured.
        """
        statement = schema.SELECT + " and status = 'ok' order by median_seconds"
        rows = self._database.execute(statement, {"kernel": kernel, "shape": shape, "machine": machine})
        return next(iter(_measurements(rows)), None)

    def save_search(self, kernel: str, shape: str, machine: str, state: dict[str, Any]) -> None:
        """Keep the state of a search, any JSON document, in place of the one before.

        Args:
            kernel, shape, machine: what the search is for, as for `record`.
            state: what ``json.dumps`` can write.
        """
        values = {"kernel": kernel, "shape": shape, "machine": machine, "state": json.dumps(state)}
        self._database.execute(schema.SAVE_SEARCH, values | {"updated": time.time()})

    def load_search(self, kernel: str, shape: str, machine: str) -> dict[str, Any] | None:
        """The state last saved; None where there is none.

        Args:
            kernel, shape, machine: what the search is for, as for `record`.
        """
        rows = self._database.execute(schema.LOAD_SEARCH, {"kernel": kernel, "shape": shape, "machine": machine})
        return _read(rows[0][0]) if rows else None

    def clear(self, kernel: str | None = None) -> int:
        """Forget everything, or everything about one kernel.  Return how many configurations had a record."""
        before = len(self.all(kernel))
        for table in ("measurements", "searches"):
            self._database.execute(schema.DELETE.format(table=table), {"kernel": kernel})
        return before

    def summary(self) -> Summary:
        """Return what there is."""
        ((kernels, shapes, measurements, failed, updated),) = self._database.execute(schema.SUMMARY)
        on_disk = not self.in_memory and self.path.exists()
        return Summary(
            path=str(self.path) if on_disk else None,
            size_bytes=self.path.stat().st_size if on_disk else 0,
            kernels=kernels,
            shapes=shapes,
            measurements=measurements,
            failed=failed,
            updated=updated,
        )

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        self._database.close()


def default_store() -> HistoryStore:
    """The store of this process in the `default_directory`; always the same one for the same folder."""
    return _store_in(default_directory())


@cache
def _store_in(directory: Path) -> HistoryStore:
    return HistoryStore(directory)


def default_directory() -> Path:
    """The folder named by ``POLYTUNE_CACHE_DIR``, or else the user's cache folder."""
    return Path(CACHE_DIR.text or platformdirs.user_cache_dir("polytune")).expanduser()


def _measurements(rows: Iterable[tuple[Any, ...]]) -> list[Measurement]:
    """The records in rows; what is not as `HistoryStore.record` writes it, because someone has changed the file, is
    none."""
    found = []
    for kernel, shape, machine, text, count, best, median, *rest in rows:
        configuration = _read(text)
        times = [seconds for seconds in (best, median) if seconds is not None]
        if configuration is not None and all(map(is_time, times)):
            found.append(Measurement(kernel, shape, machine, configuration, count, best, median, *rest))
    return found


def is_time(value: object) -> bool:
    """Return whether a value can be a time in seconds."""
    return isinstance(value, (float, int)) and not isinstance(value, bool) and 0 <= value < math.inf


def _read(text: Any) -> dict[str, Any] | None:
    """An object of JSON; None where the text is something else."""
    try:
        document = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
