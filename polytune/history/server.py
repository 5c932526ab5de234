"""A history on a server of PostgreSQL: connections, retries, and the one error that tells that it cannot be reached."""

from __future__ import annotations

import importlib
import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from polytune.errors import HistoryError, HistoryUnavailableError, MissingLibraryError
from polytune.history.outbox import Batch, Write
from polytune.version import DISTRIBUTION

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["Server"]

Result = TypeVar("Result")

_ATTEMPTS = 3
_SECONDS_OF_ATTEMPTS = 5.0  # after which no other one begins
_CONNECT_SECONDS = 5
_STATEMENT_SECONDS = 20
_POOL = 2  # connections of a process at most


class Server:
    """Runs transactions on a server; safe to use from several threads, and in processes that are forked.

    Args:
        address: as in ``"postgresql://user@host:5432/name"``.

    Raises:
        HistoryError: the address cannot be read.
        MissingLibraryError: SQLAlchemy or the driver is not installed.
    """

    def __init__(self, address: str):
        self._sql = _library("sqlalchemy")
        _library("psycopg")
        try:
            self._url = self._sql.make_url(address).set(drivername="postgresql+psycopg")
        except (ValueError, self._sql.exc.ArgumentError) as error:
            raise HistoryError(
                f"the history's address cannot be read ({error}): write postgresql://USER:PASSWORD@HOST:PORT/NAME"
            ) from None
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._process = 0
        self._is_prepared = self._has_forgotten = False

    @property
    def place(self) -> str:
        """Return the address without its password."""
        return str(self._url.set(drivername="postgresql").render_as_string(hide_password=True))

    # ---- what is done

    def send(self, batch: Batch) -> Sequence[Write]:
        """Do all writes of a batch, once, however often it is sent.

        Returns:
            The writes that the server does not take, as it can keep no such values.

        Raises:
            HistoryUnavailableError: the server cannot be reached, or cannot write.
        """
        from polytune.history import tables

        errors = self._sql.exc

        def send(connection: Connection) -> None:
            tables.insert_batch(connection, batch.number, batch.writes)
            if not self._has_forgotten:
                tables.forget_batches(connection)

        try:
            self._run(send)
            self._has_forgotten = True
        except (errors.DataError, errors.IntegrityError, errors.StatementError, LookupError, TypeError, ValueError):
            return self._send_one_by_one(batch)
        return ()

    def _send_one_by_one(self, batch: Batch) -> Sequence[Write]:
        """Do the writes of a batch that the server takes, and return the others."""
        from polytune.history import tables

        errors = self._sql.exc
        refused: list[Write] = []

        def send(connection: Connection) -> None:
            refused.clear()
            for position, write in enumerate(batch.writes):
                try:
                    with connection.begin_nested():
                        tables.insert_batch(connection, f"{batch.number}/{position}", [write])
                except (errors.DataError, errors.IntegrityError):
                    refused.append(write)
                except errors.DBAPIError:
                    raise
                except (errors.StatementError, LookupError, TypeError, ValueError):
                    refused.append(write)
            tables.insert_batch(connection, batch.number, [])

        self._run(send)
        return refused

    def add(self, several: Sequence[Mapping[str, Any]]) -> int:
        """Take in rows of another history where nothing newer is known.  Return how many were taken in."""
        from polytune.history import tables

        return self._run(lambda connection: tables.add(connection, several))

    def rows(self, kernel: str | None, shape: str | None, machine: str | None) -> list[tuple[Any, ...]]:
        """The rows of a kernel, a shape, a machine, the fastest of each first.

        Args:
            kernel, shape, machine: which; None for all.
        """
        from polytune.history import tables

        return self._run(lambda connection: tables.rows(connection, kernel, shape, machine))

    def load_search(self, kernel: str, shape: str, machine: str) -> str | None:
        """The text of the state that was saved last; None where there is none.

        Args:
            kernel, shape, machine: what the search is for.
        """
        from polytune.history import tables

        key = {"kernel": kernel, "shape": shape, "machine": machine}
        return self._run(lambda connection: tables.load_search(connection, key))

    def clear(self, kernel: str | None) -> int:
        """Delete everything, or all of one kernel.  Return how many configurations had a record."""
        from polytune.history import tables

        return self._run(lambda connection: tables.clear(connection, kernel))

    def counts(self) -> tuple[Any, ...]:
        """The numbers of kernels, pairs of kernel and shape, measurements and failures, the last change, and the
        number of bytes that takes."""
        from polytune.history import tables

        return self._run(tables.counts)

    def close(self) -> None:
        """Close all connections; what comes next opens new ones."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose(close=self._process == os.getpid())
                self._engine = None

    def renew_locks(self) -> None:
        """Take new locks, in a process that was forked while a thread may have held the old ones."""
        self._lock = threading.Lock()

    # ---- how

    def _run(self, work: Callable[[Connection], Result]) -> Result:
        """Do work in a transaction of its own, again where the server has broken it off.

        Raises:
            HistoryUnavailableError: the server cannot be reached, or says that it cannot do it.
        """
        from polytune.history import tables

        errors = self._sql.exc
        started = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            try:
                with self._connected().begin() as connection:
                    # Set here and not when connecting, so that proxies that share connections out do no harm.
                    connection.exec_driver_sql(f"set local statement_timeout = {_STATEMENT_SECONDS * 1000}")
                    if not self._is_prepared:
                        tables.prepare(connection)
                    result = work(connection)
                self._is_prepared = True
                return result
            except (errors.DataError, errors.IntegrityError):
                raise
            except (errors.DBAPIError, errors.TimeoutError) as error:
                lasting = isinstance(error, errors.ProgrammingError)  # no permission, say
                late = time.monotonic() - started > _SECONDS_OF_ATTEMPTS
                if lasting or late or attempt == _ATTEMPTS:
                    raise HistoryUnavailableError(_said(error)) from error
                time.sleep(0.1 * 2**attempt * random.random())  # those that wait for one another come apart
            except HistoryError as error:  # a newer format
                raise HistoryUnavailableError(str(error)) from None

    def _connected(self) -> Engine:
        with self._lock:
            if self._engine is not None and self._process != os.getpid():
                self._engine.dispose(close=False)  # the connections are the parent's
                self._engine = None
            if self._engine is None:
                given = {
                    "connect_timeout": _CONNECT_SECONDS,
                    "tcp_user_timeout": _STATEMENT_SECONDS * 1000,
                    "application_name": "polytune",
                    "prepare_threshold": None,
                }
                self._engine = self._sql.create_engine(
                    self._url,
                    pool_size=_POOL,
                    max_overflow=0,
                    pool_timeout=_STATEMENT_SECONDS,
                    pool_pre_ping=True,
                    pool_recycle=1800,
                    connect_args={name: value for name, value in given.items() if name not in self._url.query},
                )
                self._process = os.getpid()
            return self._engine


def _said(error: Exception) -> str:
    """The first line of what the driver says."""
    original = getattr(error, "orig", None) or error
    lines = str(original).strip().splitlines()
    return lines[0].strip() if lines else type(original).__name__


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != name:
            raise
        raise MissingLibraryError(
            f'a history on a server needs {name}, which is not there ({error}): pip install "{DISTRIBUTION}[history]"'
        ) from None
