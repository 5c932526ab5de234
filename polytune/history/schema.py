"""The tables of the history in a file of SQLite, and the statements on them."""

from __future__ import annotations

from collections.abc import Mapping

from polytune.records import dataclass


@dataclass(frozen=True)
class Schema:
    """The tables of a file.

    Attributes:
        version: the number of its format, which the file has as its user version.
        create: the statements that make the tables, with semicolons between them.
        upgrades: the statement that makes each older format the next one.
        is_copied: whether what the file has is copied into memory where it cannot be written.
    """

    version: int
    create: str
    upgrades: Mapping[int, str]
    is_copied: bool = True


VERSION = 2

CREATE = """
create table if not exists measurements (
    kernel text not null,
    shape text not null,
    machine text not null,
    configuration text not null,
    count integer not null,
    best_seconds real,
    median_seconds real,
    status text not null,
    reason text not null,
    updated real not null,
    code text not null default '',
    primary key (kernel, shape, machine, configuration)
) without rowid;
create table if not exists searches (
    kernel text not null,
    shape text not null,
    machine text not null,
    state text not null,
    updated real not null,
    primary key (kernel, shape, machine)
) without rowid;
"""

UPGRADES = {1: "alter table measurements add column code text not null default ''"}
"""The statements that make a format the next one."""

HISTORY = Schema(VERSION, CREATE, UPGRADES)

# What was measured with other generated code counts no longer, once the same is measured with the present code.  The
# newest median is the one that holds now; the count and the best time add up over all processes.
RECORD = """
insert into measurements values (
    :kernel, :shape, :machine, :configuration, :count, :seconds, :seconds, :status, :reason, :updated, :code)
on conflict do update set
    count = excluded.count + case when measurements.code = excluded.code then measurements.count else 0 end,
    best_seconds = case
        when measurements.code = excluded.code
        then min(ifnull(measurements.best_seconds, excluded.best_seconds),
                 ifnull(excluded.best_seconds, measurements.best_seconds))
        else excluded.best_seconds end,
    median_seconds = excluded.median_seconds,
    status = excluded.status,
    reason = excluded.reason,
    updated = excluded.updated,
    code = excluded.code
"""

# What is known is kept where it is newer.
ADD = """
insert into measurements values (
    :kernel, :shape, :machine, :configuration, :count, :best_seconds, :median_seconds,
    :status, :reason, :updated, :code)
on conflict do update set
    count = excluded.count,
    best_seconds = excluded.best_seconds,
    median_seconds = excluded.median_seconds,
    status = excluded.status,
    reason = excluded.reason,
    updated = excluded.updated,
    code = excluded.code
where excluded.updated > measurements.updated
"""

SELECT = """
select kernel, shape, machine, configuration, count, best_seconds, median_seconds, status, reason, updated, code
from measurements
where (:kernel is null or kernel = :kernel)
  and (:shape is null or shape = :shape)
  and (:machine is null or machine = :machine)
"""

SUMMARY = """
select count(distinct kernel), count(distinct kernel || char(0) || shape), count(*), ifnull(sum(status = 'failed'), 0),
    max(updated)
from measurements
"""

SAVE_SEARCH = """
insert into searches values (:kernel, :shape, :machine, :state, :updated)
on conflict do update set state = excluded.state, updated = excluded.updated
"""

LOAD_SEARCH = "select state from searches where kernel = :kernel and shape = :shape and machine = :machine"

DELETE = "delete from {table} where :kernel is null or kernel = :kernel"

NEWEST_SEARCH = SAVE_SEARCH + "where excluded.updated >= searches.updated"
