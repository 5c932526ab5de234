"""A PostgreSQL server of the tests' own, where there can be one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from benchmarks.scale.postgres import PASSWORD, Postgres, programs, running_server

__all__ = ["PASSWORD", "Postgres", "running"]


@contextlib.contextmanager
def running() -> Iterator[Postgres]:
    """A server that runs; the test is skipped where there can be none."""
    pytest.importorskip("sqlalchemy", reason="a history on a server needs SQLAlchemy")
    pytest.importorskip("psycopg", reason="a history on a server needs psycopg")
    if programs() is None:
        pytest.skip("there is no PostgreSQL on this machine")
    with running_server() as server:
        yield server
