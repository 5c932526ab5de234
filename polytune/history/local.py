"""A history in a file of SQLite on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from polytune.errors import HistoryError
from polytune.history import schema
from polytune.history.database import Database

__all__ = ["LocalHistory"]


class LocalHistory:
    """Rows in a file; where the file cannot be used, in memory.  No method raises because of the disk.

    Args:
        path: the file.
        is_given: whether it is somebody's that is only read; then reading raises `HistoryError` where it is no history.
    """

    def __init__(self, path: Path, *, is_given: bool = False):
        self.database = Database(path, is_given=is_given)

    @property
    def place(self) -> str:
        """Return where the history is, for people."""
        return str(self.path)

    @property
    def path(self) -> Path:
        """Return where the file is, or should be."""
        return self.database.path

    @property
    def in_memory(self) -> bool:
        """Return whether the file could not be used."""
        return self.database.in_memory

    def record(self, values: Mapping[str, Any]) -> None:
        """Add to the record of one configuration.

        Args:
            values: a column's value each, with ``seconds`` in place of those for the best and the median.
        """
        self.database.execute(schema.RECORD, values)

    def add(self, several: Iterable[Mapping[str, Any]]) -> int:
        """Take in rows of another history where nothing newer is known.  Return how many were taken in."""
        taken = 0
        for values in several:
            before = self._updated(values)
            self.database.execute(schema.ADD, values)
            taken += before is None or before < values["updated"]
        return taken

    def _updated(self, values: Mapping[str, Any]) -> float | None:
        """Return when a configuration was last recorded."""
        keys = ("kernel", "shape", "machine", "configuration")
        statement = f"select updated from measurements where {' and '.join(f'{key} = :{key}' for key in keys)}"
        rows = self.database.execute(statement, {key: values[key] for key in keys})
        return rows[0][0] if rows else None

    def rows(self, kernel: str | None, shape: str | None, machine: str | None) -> list[tuple[Any, ...]]:
        """The rows of a kernel, a shape, a machine, the fastest of each first.

        Args:
            kernel, shape, machine: which; None for all.
        """
        statement = schema.SELECT + " order by kernel, shape, machine, median_seconds is null, median_seconds"
        return self.database.execute(statement, {"kernel": kernel, "shape": shape, "machine": machine})

    def save_search(self, values: Mapping[str, Any]) -> None:
        """Replace the state of a search by a row."""
        self.database.execute(schema.SAVE_SEARCH, values)

    def load_search(self, kernel: str, shape: str, machine: str) -> str | None:
        """The text of the state that was saved last; None where there is none.

        Args:
            kernel, shape, machine: what the search is for.
        """
        rows = self.database.execute(schema.LOAD_SEARCH, {"kernel": kernel, "shape": shape, "machine": machine})
        return rows[0][0] if rows else None

    def clear(self, kernel: str | None) -> int:
        """Delete everything, or all of one kernel.  Return how many configurations had a record."""
        before = len(self.rows(kernel, None, None))
        for table in ("measurements", "searches"):
            self.database.execute(schema.DELETE.format(table=table), {"kernel": kernel})
        return before

    def counts(self) -> tuple[Any, ...]:
        """The numbers of kernels, pairs of kernel and shape, measurements and failures, and the last change."""
        ((counts),) = self.database.execute(schema.SUMMARY)
        return counts

    def size(self) -> int | None:
        """Return how many bytes the file has; None where the history is only in memory."""
        return self.path.stat().st_size if not self.in_memory and self.path.exists() else None

    def check(self) -> None:
        """See to it that the file can be read.

        Raises:
            HistoryError: it is not there, or is given and no history.
        """
        if not self.path.is_file():
            raise HistoryError(f"{self.path} cannot be read: there is no such file")
        self.counts()

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        self.database.close()
