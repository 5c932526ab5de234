"""The tables of the history on a server of PostgreSQL, and what is done with them, by SQLAlchemy Core.

This module needs SQLAlchemy; only `polytune.history.server` imports it, when a server is used.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects.postgresql import ARRAY, Insert, insert

from polytune.errors import HistoryError

__all__ = [
    "VERSION",
    "add",
    "clear",
    "counts",
    "forget_batches",
    "insert_batch",
    "load_search",
    "prepare",
    "rows",
]

_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """create table polytune_measurements (
            digest char(64) primary key,
            kernel text not null,
            shape text not null,
            machine text not null,
            configuration text not null,
            count bigint not null,
            best_seconds double precision,
            median_seconds double precision,
            status text not null,
            reason text not null,
            updated double precision not null,
            code text not null)""",
        "create index polytune_measurements_of_kernels on polytune_measurements (kernel, machine)",
        """create table polytune_searches (
            digest char(64) primary key,
            kernel text not null,
            shape text not null,
            machine text not null,
            state text not null,
            updated double precision not null)""",
        "create index polytune_searches_of_kernels on polytune_searches (kernel)",
    ),
    (
        """create table polytune_batches (
            number text primary key,
            arrived double precision not null)""",
        "create index polytune_batches_by_time on polytune_batches (arrived)",
    ),
)
"""The statements that make each format of the one before, the first of nothing; what is here stays as it is."""

VERSION = len(_MIGRATIONS)

_LOCK = 0x706F6C7974756E65  # any number that nothing else locks
_DAYS_REMEMBERED = 90  # in which a batch that was sent may be sent again

_METADATA = sql.MetaData()
_FORMAT = sql.Table("polytune_format", _METADATA, sql.Column("version", sql.Integer, nullable=False))


def _table(name: str, texts: str, numbers: str = "") -> sql.Table:
    columns = [sql.Column(each, sql.Text) for each in texts.split()]
    columns += [sql.Column(each, sql.Double) for each in numbers.split()]
    return sql.Table(name, _METADATA, *columns)


MEASUREMENTS = _table(
    "polytune_measurements",
    "digest kernel shape machine configuration status reason code",
    "best_seconds median_seconds updated",
)
MEASUREMENTS.append_column(sql.Column("count", sql.BigInteger))
SEARCHES = _table("polytune_searches", "digest kernel shape machine state", "updated")
_BATCHES = _table("polytune_batches", "number", "arrived")

_ROW = (
    "kernel",
    "shape",
    "machine",
    "configuration",
    "count",
    "best_seconds",
    "median_seconds",
    "status",
    "reason",
    "updated",
    "code",
)
"""The columns of a row of measurements, in the order of a file's."""


# ---- the format


def prepare(connection: sql.Connection, version: int = VERSION) -> None:
    """Make the tables, or what older versions have made into what they are now.

    Args:
        connection: in a transaction.
        version: the format to make.

    Raises:
        HistoryError: a newer version of polytune has made them.
    """
    if _version(connection) == version:
        return
    connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_LOCK)))  # of several processes one does it
    found = _version(connection)
    if found > version:
        raise HistoryError(f"it was written by a newer polytune, format {found}: install that version, or a newer one")
    if not found:
        connection.execute(sql.text("create table if not exists polytune_format (version integer not null)"))
        connection.execute(_FORMAT.insert().values(version=0))
    for statements in _MIGRATIONS[found:version]:
        for statement in statements:
            connection.execute(sql.text(statement))
    connection.execute(_FORMAT.update().values(version=version))


def _version(connection: sql.Connection) -> int:
    # By the transaction's view of the catalogue: what a name stands for is remembered, also that it stood for nothing.
    exists = "select 1 from pg_tables where tablename = 'polytune_format' and schemaname = any(current_schemas(false))"
    if connection.execute(sql.text(exists)).scalar() is None:
        return 0
    return connection.execute(sql.select(sql.func.max(_FORMAT.c.version))).scalar() or 0


# ---- writing


def _newest(column: sql.ColumnElement[Any]) -> sql.ColumnElement[Any]:
    """A time, or the server's where it has not come yet, so that no clock that is fast has the last word for ever."""
    return sql.func.least(column, sql.extract("epoch", sql.func.now()))


def _upsert(table: sql.Table) -> Insert:
    """Insert any number of rows, which come as an array for each column: one statement and one round trip for all."""
    names = [column.name for column in table.columns]
    arrays = (sql.bindparam(column.name, type_=ARRAY(column.type)) for column in table.columns)
    rows = sql.func.unnest(*arrays).table_valued(*(sql.column(each.name, each.type) for each in table.columns))
    rows = rows.render_derived("given")
    values = [_newest(rows.c[name]) if name == "updated" else rows.c[name] for name in names]
    return insert(table).from_select(names, sql.select(*values))


def _record() -> Insert:
    """Add to a record.  What was measured with other code counts no longer, once the same is measured with newer code;
    the newest median holds, whatever the order in which they arrive; counts and best times add up."""
    statement = _upsert(MEASUREMENTS)
    new, old = statement.excluded, MEASUREMENTS.c
    newer, same = new.updated >= old.updated, new.code == old.code
    changed: dict[str, Any] = {
        name: sql.case((newer, new[name]), else_=old[name]) for name in ("median_seconds", "status", "reason", "code")
    }
    changed["count"] = sql.case((same, old["count"] + new["count"]), (newer, new["count"]), else_=old["count"])
    best = sql.func.least(old.best_seconds, new.best_seconds)
    changed["best_seconds"] = sql.case((same, best), (newer, new.best_seconds), else_=old.best_seconds)
    changed["updated"] = sql.func.greatest(old.updated, new.updated)
    return statement.on_conflict_do_update(index_elements=["digest"], set_=changed)


def _replace(table: sql.Table, *, or_equal: bool) -> Insert:
    """Put a row in the place of an older one."""
    statement = _upsert(table)
    new, old = statement.excluded, table.c
    changed = {column.name: new[column.name] for column in table.columns if column.name != "digest"}
    is_newer = new.updated >= old.updated if or_equal else new.updated > old.updated
    return statement.on_conflict_do_update(index_elements=["digest"], set_=changed, where=is_newer)


_STATEMENTS = {
    "record": _record(),
    "add": _replace(MEASUREMENTS, or_equal=False),
    "search": _replace(SEARCHES, or_equal=True),
}


def insert_batch(connection: sql.Connection, number: str, writes: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Do all writes of a batch, unless it has arrived before.

    Rows are written in the order of their digests, so that no two transactions wait for each other.  A statement
    changes a row once: what a batch has of one configuration more than once is left to further statements, in order.

    Args:
        connection: in a transaction.
        number: of the batch.
        writes: a kind and the values of each.
    """
    now = time.time()
    arrived = insert(_BATCHES).values(number=number, arrived=now).on_conflict_do_nothing()
    if connection.execute(arrived.returning(_BATCHES.c.number)).first() is None:
        return
    for kind, statement in _STATEMENTS.items():
        for rows in _rounds([_values(kind, values) for each, values in writes if each == kind]):
            connection.execute(statement, _arrays(kind, rows))


def _rounds(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The rows, apart by how many of the same digest come before each; the first of them have every digest there is.

    Within each, they are in the order of their digests.
    """
    rounds: list[list[Mapping[str, Any]]] = []
    seen: dict[str, int] = {}
    for row in rows:
        times = seen.get(row["digest"], 0)
        seen[row["digest"]] = times + 1
        if times == len(rounds):
            rounds.append([])
        rounds[times].append(row)
    return [sorted(each, key=lambda row: str(row["digest"])) for each in rounds]


def _arrays(kind: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of rows for writes of a kind, by column."""
    table = SEARCHES if kind == "search" else MEASUREMENTS
    return {column.name: [row[column.name] for row in rows] for column in table.columns}


def forget_batches(connection: sql.Connection) -> None:
    """Forget the numbers of batches that arrived so long ago that nobody sends them again."""
    before = time.time() - _DAYS_REMEMBERED * 86400
    connection.execute(_BATCHES.delete().where(_BATCHES.c.arrived < before))


def add(connection: sql.Connection, several: Sequence[Mapping[str, Any]]) -> int:
    """Take in rows of another history where nothing newer is known.  Return how many were taken in."""
    statement = _STATEMENTS["add"].returning(MEASUREMENTS.c.digest)
    rounds = _rounds([_values("add", values) for values in several])
    return sum(len(connection.execute(statement, _arrays("add", rows)).all()) for rows in rounds)


def _values(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each column, of what a write has."""
    key = ["kernel", "shape", "machine", *([] if kind == "search" else ["configuration"])]
    digest = hashlib.sha256("\0".join(str(values[name]) for name in key).encode(errors="replace")).hexdigest()
    row = {**values, "digest": digest}
    if kind == "record":
        row["best_seconds"] = row["median_seconds"] = row.pop("seconds")
    # A text of PostgreSQL has no NUL, and no halves of characters.
    return {name: _text(value) if isinstance(value, str) else value for name, value in row.items()}


def _text(value: str) -> str:
    return value.replace("\0", "\\0").encode(errors="replace").decode()


# ---- reading


def rows(
    connection: sql.Connection, kernel: str | None, shape: str | None, machine: str | None
) -> list[tuple[Any, ...]]:
    """The rows of a kernel, a shape, a machine, in the order of a file's.

    Args:
        connection: to the server.
        kernel, shape, machine: which; None for all.
    """
    statement = sql.select(*(MEASUREMENTS.c[name] for name in _ROW))
    for name, value in (("kernel", kernel), ("shape", shape), ("machine", machine)):
        if value is not None:
            statement = statement.where(MEASUREMENTS.c[name] == _text(value))
    found = [tuple(row) for row in connection.execute(statement)]
    return sorted(found, key=lambda row: (*row[:3], row[6] is None, row[6] or 0.0))


def load_search(connection: sql.Connection, key: Mapping[str, str]) -> str | None:
    """The text of a search's state; None where there is none.

    Args:
        connection: to the server.
        key: kernel, shape and machine.
    """
    digest = _values("search", key)["digest"]
    state = connection.execute(sql.select(SEARCHES.c.state).where(SEARCHES.c.digest == digest)).scalar()
    return state if isinstance(state, str) else None


def clear(connection: sql.Connection, kernel: str | None) -> int:
    """Delete everything, or all of one kernel.  Return how many configurations had a record."""
    deleted = 0
    for table in (SEARCHES, MEASUREMENTS):
        statement = table.delete() if kernel is None else table.delete().where(table.c.kernel == _text(kernel))
        deleted = connection.execute(statement).rowcount
    return deleted


def counts(connection: sql.Connection) -> tuple[Any, ...]:
    """The numbers of kernels, pairs of kernel and shape, measurements and failures, the last change, and the number
    of bytes that takes."""
    table = MEASUREMENTS.c
    pairs = sql.select(table.kernel, table.shape).distinct().subquery()
    statement = sql.select(
        sql.func.count(sql.distinct(table.kernel)),
        sql.select(sql.func.count()).select_from(pairs).scalar_subquery(),
        sql.func.count(),
        sql.func.count().filter(table.status == "failed"),
        sql.func.max(table.updated),
        sql.text("pg_total_relation_size('polytune_measurements') + pg_total_relation_size('polytune_searches')"),
    )
    return tuple(connection.execute(statement.select_from(MEASUREMENTS)).one())
