"""The writes that have still to be sent to a server, in a file of SQLite that all processes of a machine share.

Everything that is written goes through it, so that what was measured outlives a server that cannot be reached, and a
process that is killed.  Some writes become a *batch*, under a number that none has twice, which the server keeps: of a
batch that is sent again, because nobody knows whether it arrived, nothing is counted twice.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polytune.history.database import Database
from polytune.history.schema import Schema

__all__ = ["Batch", "Outbox", "Write"]

_MOST = 500  # writes in a batch
_SECONDS_TO_SEND = 60.0  # after which another process takes a batch to be left

_SCHEMA = Schema(
    version=1,
    create="""
create table writes (
    number integer primary key autoincrement,
    batch text not null default '',
    claimed real not null default 0,
    kind text not null,
    kernel text not null,
    search text,
    document text not null
);
create index batches on writes (batch, number);
create index searches on writes (search)
""",
    upgrades={},
    is_copied=False,  # what the file has is sent by whoever can write to it
)

REFUSED = "refused"
"""The batch of writes that the server does not take."""


class Write(NamedTuple):
    """One change of a history.

    Attributes:
        kind: ``"record"``, ``"add"`` or ``"search"``, which the values are for.
        values: a value for each column.
    """

    kind: str
    values: Mapping[str, Any]


class Batch(NamedTuple):
    """Writes that are sent at once.

    Attributes:
        number: what tells them from all others.
        writes: in the order in which they were made.
    """

    number: str
    writes: Sequence[Write]


class Outbox:
    """The writes that wait.

    Args:
        path: the file.
    """

    def __init__(self, path: Path):
        self.database = Database(path, _SCHEMA)

    def put(self, kind: str, several: Sequence[Mapping[str, Any]]) -> None:
        """Keep writes of one kind until they are sent.

        Args:
            kind: as in `Write`.
            several: the values of each.
        """
        for values in several:
            search = None
            if kind == "search":  # of a search only the newest state is worth sending
                search = json.dumps([values[name] for name in ("kernel", "shape", "machine")])
                self.database.execute("delete from writes where search = :search", {"search": search})
            document = json.dumps(dict(values))
            self.database.execute(
                "insert into writes (kind, kernel, search, document) values (:kind, :kernel, :search, :document)",
                {"kind": kind, "kernel": values["kernel"], "search": search, "document": document},
            )

    def take(self) -> Batch | None:
        """The next batch to send; None where nothing waits, or others are about to send it."""
        number, now = uuid.uuid4().hex, time.time()
        self.database.execute(
            "update writes set batch = :batch, claimed = :now where number in "
            "(select number from writes where batch = '' order by number limit :most)",
            {"batch": number, "now": now, "most": _MOST},
        )
        rows = self._rows(number)
        if not rows:
            left = self.database.execute(
                "select batch from writes where batch not in ('', :refused) and claimed < :before limit 1",
                {"refused": REFUSED, "before": now - _SECONDS_TO_SEND},
            )
            if not left:
                return None
            number = left[0][0]
            self.database.execute(
                "update writes set claimed = :now where batch = :batch", {"batch": number, "now": now}
            )
            rows = self._rows(number)
        return Batch(number, [write for row in rows if (write := _write(row)) is not None])

    def _rows(self, number: str) -> list[tuple[Any, ...]]:
        statement = "select kind, document from writes where batch = :batch order by number"
        return self.database.execute(statement, {"batch": number})

    def done(self, batch: Batch) -> None:
        """Forget a batch that the server has."""
        self.database.execute("delete from writes where batch = :batch", {"batch": batch.number})

    def release(self, batch: Batch) -> None:
        """Leave a batch to whoever sends something next."""
        self.database.execute("update writes set claimed = 0 where batch = :batch", {"batch": batch.number})

    def refuse(self, batch: Batch, writes: Sequence[Write]) -> None:
        """Keep writes that the server does not take, and send them no more.

        Args:
            batch: what they were in; the others of it have arrived.
            writes: those that were not taken.
        """
        self.put("", [{**write.values, "kind": write.kind} for write in writes])
        self.database.execute("update writes set batch = :refused where kind = ''", {"refused": REFUSED})
        self.done(batch)

    def waiting(self) -> int:
        """Return how many writes have not been sent."""
        ((count,),) = self.database.execute("select count(*) from writes where batch != :it", {"it": REFUSED})
        return int(count)

    def forget(self, kernel: str | None) -> None:
        """Delete what waits of a kernel, or all; what is being sent may arrive nevertheless."""
        self.database.execute("delete from writes where :kernel is null or kernel = :kernel", {"kernel": kernel})

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        self.database.close()


def _write(row: tuple[Any, ...]) -> Write | None:
    """A write as it was put; None where someone has changed it."""
    kind, document = row
    try:
        values = json.loads(document)
    except (TypeError, ValueError, RecursionError):
        return None
    return Write(kind, values) if isinstance(values, dict) else None
