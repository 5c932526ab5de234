"""The record of all measurements, and of the searches that made them."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from polytune.environment import CACHE_DIR, HISTORY
from polytune.errors import HistoryError
from polytune.history.local import LocalHistory
from polytune.records import dataclass

if TYPE_CHECKING:
    from polytune.history.shared import SharedHistory

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
        path: the file, or the address of the server; None where the history is only in memory.
        size_bytes: the size of the file, or of the server's tables.
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
    """Measurements that any number of processes and threads read and write, in an SQLite file or on a server.

    A damaged file is moved aside and begun anew; where the file cannot be written, the store goes on in memory; while a
    server cannot be reached, what is measured is kept in a file and sent later.  Each is said in one `CacheWarning`.

    Args:
        place: the file, the folder that holds ``history.sqlite``, or an address, ``"sqlite:///FILE"`` or
            ``"postgresql://USER:PASSWORD@HOST:PORT/NAME"``; without one, what the environment variable
            ``POLYTUNE_HISTORY`` says, or else the `default_directory`.
        is_given: whether it is somebody's that is only read: a file stays as it is then, whatever it holds, and
            reading raises `HistoryError` where it is no history.

    Raises:
        HistoryError: it is an address of another kind.
        MissingLibraryError: what a server needs is not installed.
    """

    def __init__(self, place: str | os.PathLike[str] | None = None, *, is_given: bool = False):
        self._history = _history_at(place if place is not None else HISTORY.text or default_directory(), is_given)

    @property
    def path(self) -> Path:
        """Return where this machine's file is, or should be."""
        return self._history.path

    @property
    def place(self) -> str:
        """Return where the history is, for people: the file, or the address of a server without its password."""
        return self._history.place

    @property
    def in_memory(self) -> bool:
        """Return whether the file could not be used."""
        return self._history.in_memory

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
        values |= {"configuration": json.dumps(dict(configuration), sort_keys=True), "count": count}
        values["reason"] = reason.encode(errors="replace").decode()  # names of files may have halves of characters
        self._history.record(values | {"code": code, "updated": time.time()})

    def add(self, measurement: Measurement) -> bool:
        """Take in what another history has, unless something newer is known of the configuration.
        Return whether it was taken in.

        Raises:
            HistoryUnavailableError: the server cannot be reached.
        """
        return self.add_all([measurement]) == 1

    def add_all(self, measurements: Iterable[Measurement]) -> int:
        """Take in what another history has, unless something newer is known.  Return how many were taken in.

        Raises:
            HistoryUnavailableError: the server cannot be reached.
        """
        return self._history.add(
            [
                {**each.to_json(), "configuration": json.dumps(dict(each.configuration), sort_keys=True)}
                for each in measurements
            ]
        )

    def all(self, kernel: str | None = None, shape: str | None = None, machine: str | None = None) -> list[Measurement]:
        """Every record, or those of a kernel, a shape, a machine; the fastest of each first, what failed last.

        Args:
            kernel: its name with the digest of what it does; None for all.
            shape: the sizes of the calls, as text; None for all.
            machine: where it was measured; None for all.
        """
        return _measurements(self._history.rows(kernel, shape, machine))

    def best(self, kernel: str, shape: str, machine: str) -> Measurement | None:
        """The fastest configuration by its median; None where none has run.

        Args:
            kernel: its name with the digest of what it does.
            shape: the sizes of the calls, as text.
            machine: where it was measured.
        """
        return next((each for each in self.all(kernel, shape, machine) if each.status == "ok"), None)

    def save_search(self, kernel: str, shape: str, machine: str, state: dict[str, Any]) -> None:
        """Keep the state of a search, any JSON document, in place of the one before.

        Args:
            kernel, shape, machine: what the search is for, as for `record`.
            state: what ``json.dumps`` can write.
        """
        values = {"kernel": kernel, "shape": shape, "machine": machine, "state": json.dumps(state)}
        self._history.save_search(values | {"updated": time.time()})

    def load_search(self, kernel: str, shape: str, machine: str) -> dict[str, Any] | None:
        """The state last saved; None where there is none.

        Args:
            kernel, shape, machine: what the search is for, as for `record`.
        """
        text = self._history.load_search(kernel, shape, machine)
        return None if text is None else _read(text)

    def clear(self, kernel: str | None = None) -> int:
        """Forget everything, or everything about one kernel.  Return how many configurations had a record."""
        return self._history.clear(kernel)

    def summary(self) -> Summary:
        """Return what there is."""
        kernels, shapes, measurements, failed, updated = self._history.counts()
        size = self._history.size()
        return Summary(
            path=None if size is None else self.place,
            size_bytes=size or 0,
            kernels=kernels,
            shapes=shapes,
            measurements=measurements,
            failed=failed,
            updated=updated,
        )

    def check(self) -> None:
        """See to it that the history can be read, before something is done that would be in vain otherwise.

        Raises:
            HistoryError: the file is not there, or is given and no history, or the server cannot be reached.
        """
        self._history.check()

    def close(self) -> None:
        """Close file and connections, and send before what still has to be; they are opened again when needed."""
        self._history.close()


def default_store() -> HistoryStore:
    """The store of this process, where ``POLYTUNE_HISTORY`` says, or else in the `default_directory`; always the same
    one for the same place.

    Raises:
        HistoryError: ``POLYTUNE_HISTORY`` is an address of another kind.
        MissingLibraryError: what a server needs is not installed.
    """
    return _store_at(HISTORY.text or default_directory())


@cache
def _store_at(place: str | Path) -> HistoryStore:
    return HistoryStore(place)


_SERVERS = ("postgresql", "postgresql+psycopg", "postgres")


def _history_at(place: str | os.PathLike[str], is_given: bool) -> LocalHistory | SharedHistory:
    """The history at a place as `HistoryStore` takes them."""
    scheme, is_address, rest = place.partition("://") if isinstance(place, str) else ("", "", "")
    if not is_address:
        chosen = Path(place).expanduser()
        is_file = chosen.suffix == ".sqlite" or (is_given and chosen.is_file())
        return LocalHistory(chosen if is_file else chosen / FILE_NAME, is_given=is_given)
    if scheme == "sqlite" and rest.startswith("/") and rest != "/":
        return LocalHistory(Path(rest[1:]).expanduser(), is_given=is_given)
    if scheme in _SERVERS:
        from polytune.history.shared import SharedHistory

        return SharedHistory(f"postgresql://{rest}", default_directory() / FILE_NAME)
    shown = f"{scheme}://..." if "@" in rest else place  # no password is shown
    raise HistoryError(
        f"{shown} is no history: write sqlite:///FILE, with a fourth slash where the path is absolute, or "
        "postgresql://USER:PASSWORD@HOST:PORT/NAME"
    )


def default_directory() -> Path:
    """The folder named by ``POLYTUNE_CACHE_DIR``, or else the user's cache folder."""
    return Path(CACHE_DIR.text or platformdirs.user_cache_dir("polytune")).expanduser()


def _measurements(rows: Iterable[Sequence[Any]]) -> list[Measurement]:
    """The records in rows; what is not as `HistoryStore.record` writes it, because someone has changed the file, is
    none."""
    found = []
    for kernel, shape, machine, text, *rest in rows:
        configuration = _read(text)
        if configuration is not None:
            measurement = Measurement(kernel, shape, machine, configuration, *rest)
            if is_whole(measurement):
                found.append(measurement)
    return found


_TEXTS = ("kernel", "shape", "machine", "reason", "code")


def is_whole(found: Measurement) -> bool:
    """Return whether each field of a measurement, which may come from anywhere, has a value that it can have."""
    times = (found.best_seconds, found.median_seconds)
    return (
        all(_is_text(getattr(found, name)) for name in _TEXTS)
        and isinstance(found.configuration, dict)
        and all(_is_text(name) and _is_value(value) for name, value in found.configuration.items())
        and isinstance(found.count, int)
        and 0 < found.count < _MOST
        and found.status in STATUSES
        and all(seconds is None or is_time(seconds) for seconds in times)
        and (found.median_seconds is None) == (found.status == "failed")
        and is_time(found.updated)
    )


_MOST = 2**63
"""The integers of a database are below this."""

_LATEST = 2**37
"""A second of the year 6325: what is later is no date everywhere."""


def is_time(value: object) -> bool:
    """Return whether a value can be a time in seconds, that of a call or since 1970."""
    return isinstance(value, (float, int)) and not isinstance(value, bool) and 0 <= value < _LATEST


def _is_text(value: object) -> bool:
    """Return whether a value is a text that can be kept: one without halves of characters."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_value(value: object) -> bool:
    """Return whether a value is one that a parameter can have."""
    return isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)) or _is_text(value)


def _read(text: Any) -> dict[str, Any] | None:
    """An object of JSON; None where the text is something else."""
    try:
        document = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
