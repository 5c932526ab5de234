"""An SQLite file that several processes share, and that never stops the program.

A damaged file is moved aside and a new one begun; where the file cannot be written, its content is copied into memory
and the program goes on from there.  Either is said once, in a `CacheWarning`.

On the file systems of networks, which several machines have in common, files are locked in another way; so the kind of
file system that a folder lies on is found out.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polytune.errors import CacheWarning, HistoryError
from polytune.forking import renew_lock_at_fork
from polytune.history.schema import HISTORY, Schema

__all__ = ["is_on_network"]

_BUSY_SECONDS = 10.0
_ATTEMPTS = 4  # the file; a new one, twice, should another process have had the same trouble; memory
_ORPHANS: list[sqlite3.Connection] = []  # connections of a parent process; closing one here would drop its locks


class Database:
    """Runs single statements, each a transaction of its own; safe to use from several threads and processes.

    Args:
        path: the file.
        schema: its tables.
        is_given: whether the file is somebody's that is only read: then it stays as it is, whatever it holds.
    """

    def __init__(self, path: Path, schema: Schema = HISTORY, *, is_given: bool = False):
        self.path = path
        self._schema = schema
        self._is_given = is_given
        self._lock = threading.RLock()
        renew_lock_at_fork(self)
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._file: tuple[int, int] | None = None  # which file the connection has open: device and inode
        self.in_memory = False

    def execute(self, statement: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Run one statement and give its rows.

        Raises:
            HistoryError: the file is a given one, and no history.
        """
        with self._lock:
            for attempt in range(_ATTEMPTS):
                try:
                    return self._connect().execute(statement, values or {}).fetchall()
                except sqlite3.Error as error:
                    if self._is_given:
                        raise HistoryError(
                            f"{self.path} cannot be read as a history of polytune's: {error}; name a file that "
                            "polytune history export has written, or the history.sqlite of a cache folder"
                        ) from error
                    if self.in_memory:
                        raise
                    self._recover(error, may_begin_anew=attempt < _ATTEMPTS - 2)
            raise AssertionError("the last attempt is in memory, and returns or raises")

    def renew_locks(self) -> None:
        """Take new locks, in a process that was forked while a thread may have held the old ones."""
        self._lock = threading.RLock()

    def close(self) -> None:
        """Close the file; the next statement opens it again.  What is only in memory is kept."""
        with self._lock:
            if self._connection is not None and not self.in_memory:
                self._connection.close()
                self._connection = None

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None and self._process != os.getpid() and not self.in_memory:
            _ORPHANS.append(self._connection)
            self._connection = None
        if self._connection is None:
            self._process = os.getpid()
            self._connection = self._open()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        if self._is_given:
            return _copy(self.path, self._schema)
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise sqlite3.OperationalError(str(error)) from error
        self._file = _identity(self.path)
        connection = _connect(str(self.path))
        try:
            connection.execute("pragma trusted_schema = off")  # a history may come from anywhere
            _check_version(connection, self._schema)  # first of all: a file of a newer format is left untouched
            # The log of a write-ahead log is shared by memory, which machines do not have in common: where several may
            # have the file, its journal is one that locks of the file alone keep in order, and what is written is
            # waited for.
            shared = is_on_network(self.path.parent)
            with contextlib.suppress(sqlite3.OperationalError):  # not every file system can; the default journal does
                connection.execute(f"pragma journal_mode = {'delete' if shared else 'wal'}").fetchall()
            connection.execute(f"pragma synchronous = {'full' if shared else 'normal'}")
            _prepare(connection, self._schema)
        except BaseException:
            connection.close()
            raise
        return connection

    def _recover(self, error: sqlite3.Error, *, may_begin_anew: bool) -> None:
        """Begin, after an error, a new file if the old one is damaged, or else go on in memory."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if may_begin_anew and type(error) is sqlite3.DatabaseError and self._move_aside(error):
            return
        self._process = os.getpid()
        self._connection = _copy_in_memory(self.path, self._schema)
        self.in_memory = True
        warnings.warn(
            f"the history {self.path} cannot be used ({error}); what is measured now is lost when this process ends. "
            "Make the folder writable, free space on its disk, or set POLYTUNE_CACHE_DIR to another folder.",
            CacheWarning,
            stacklevel=4,
        )

    def _move_aside(self, error: sqlite3.Error) -> bool:
        """Return whether the damaged file is out of the way, moved by this process or by another."""
        if _identity(self.path) != self._file:
            return True
        aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
        try:
            os.replace(self.path, aside)
            for suffix in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self.path}{suffix}", f"{aside}{suffix}")
        except FileNotFoundError:
            return True
        except OSError:
            return False
        warnings.warn(
            f"the history {self.path} is damaged ({error}); it has been moved to {aside.name} and a new one begun",
            CacheWarning,
            stacklevel=5,
        )
        return True


def _connect(name: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(name, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=uri)


def _check_version(connection: sqlite3.Connection, schema: Schema) -> int:
    version: int
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > schema.version:
        raise sqlite3.NotSupportedError(f"it was written by a newer polytune, format {version}")
    return version


def _prepare(connection: sqlite3.Connection, schema: Schema) -> None:
    """Make the tables, or what older versions have made into what they are now."""
    if _check_version(connection, schema) == schema.version:
        return
    connection.execute("begin immediate")  # of several processes one does it
    try:
        version = _check_version(connection, schema)
        for older in range(version, schema.version) if version else ():
            connection.execute(schema.upgrades[older])
        if not version:
            for statement in schema.create.split(";"):
                connection.execute(statement)
        connection.execute(f"pragma user_version = {schema.version}")
        connection.execute("commit")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("rollback")
        raise


def _copy_in_memory(path: Path, schema: Schema) -> sqlite3.Connection:
    """A database in memory with whatever of the file can be read and is to be copied."""
    if schema.is_copied:
        with contextlib.suppress(sqlite3.Error, OSError):
            return _copy(path, schema)
    memory = _connect(":memory:")
    _prepare(memory, schema)
    return memory


def _copy(path: Path, schema: Schema) -> sqlite3.Connection:
    """A copy of a history in memory, in today's format; the file stays as it is.

    Raises:
        sqlite3.Error: the file cannot be read, or is something else.
    """
    # A read-only connection sees the newest records, but needs a folder where it may put a lock; without one, the file
    # is read as it is.
    failure: sqlite3.Error | None = None
    for how in ("mode=ro", "immutable=1"):
        memory = _connect(":memory:")
        try:
            with contextlib.closing(_connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as source:
                if not _check_version(source, schema):
                    raise sqlite3.NotSupportedError("it has no tables of polytune's")
                source.backup(memory)
            _prepare(memory, schema)
            memory.execute("select count(*) from measurements").fetchone()
            return memory
        except sqlite3.Error as error:
            memory.close()
            failure = failure or error
    assert failure is not None
    raise failure


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


_NETWORK = (
    *("9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "fhgfs", "glusterfs", "gpfs", "lustre", "mmfs", "ncpfs"),
    *("nfs", "nfs4", "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "wekafs"),
)
"""Linux's names of file systems of which the files are on another machine, or are another machine's, too."""

_NETWORK_IN_USER_SPACE = ("ceph", "cvmfs", "gcsfuse", "gluster", "juicefs", "moose", "rclone", "s3fs", "sshfs")
"""Beginnings of what follows ``fuse.`` in the names of such."""

_MOUNTS = Path("/proc/self/mountinfo")


def is_on_network(folder: Path) -> bool:
    """Return whether a folder is on a file system of a network, as far as the operating system tells.

    Only Linux does: elsewhere the answer is no.
    """
    kind = file_system(folder)
    if kind.startswith("fuse."):
        return kind.removeprefix("fuse.").startswith(_NETWORK_IN_USER_SPACE)
    return kind in _NETWORK


def file_system(folder: Path) -> str:
    """The name of the kind of file system of a folder, as ``"ext4"``; empty where that is not known."""
    try:
        text = _MOUNTS.read_text(encoding="utf-8", errors="replace")
        device = os.stat(folder).st_dev
    except OSError:
        return ""
    return kind_in_mounts(text, f"{os.major(device)}:{os.minor(device)}", os.path.realpath(folder))


def kind_in_mounts(text: str, device: str, folder: str) -> str:
    """The kind of the file system of a folder; empty where the text does not have it.

    Args:
        text: what ``/proc/self/mountinfo`` has.
        device: major and minor number of the folder's device, as ``"0:51"``.
        folder: its path, without links.
    """
    longest, found = -1, ""
    for line in text.splitlines():
        # 36 35 0:51 / /home rw,relatime shared:1 - nfs4 server:/home rw,vers=4.2
        fields, _, rest = line.partition(" - ")
        before, after = fields.split(), rest.split()
        if len(before) < 5 or not after:
            continue
        # A file system may have another number than its files, as btrfs has: then the path tells.
        place = before[4].replace("\\040", " ")
        above = place == "/" or folder == place or folder.startswith(f"{place}/")
        rank = (len(place) if above else -1) + (1 << 20 if before[2] == device else 0)
        if rank > longest:
            longest, found = rank, after[0]
    return found
