"""A cache folder and a history that an older polytune has left: read where that is possible, begun anew where not."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import polytune
from polytune.history import HistoryStore, schema

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow  # each calls in two processes of its own

CALLS = """
import warnings
from polytune.errors import PolytuneWarning
warnings.simplefilter("error", PolytuneWarning)
import numpy
from tests.test_older_layouts import doubled

A, B = numpy.arange(12.0), numpy.zeros(12)
for _ in range(4):
    doubled(A, B)
assert (B == 2.0 * A).all(), B
"""

RECORDED = Path(__file__).parent / "history" / "recorded" / "first_format.sql"
"""The rows that a polytune of the first format of the history wrote of `stencil` and `total`."""

RECORDED_CALLS = """
import warnings
from polytune.errors import PolytuneWarning
warnings.simplefilter("error", PolytuneWarning)
import numpy
from tests.test_older_layouts import stencil, total

plain_stencil, plain_total = stencil.__wrapped__, total.__wrapped__
for _ in range(4):
    A, sums = numpy.random.default_rng(0).random((40, 40)), numpy.zeros(40)
    B, wanted, right, sums_wanted = A.copy(), A.copy(), A.copy(), sums.copy()
    stencil(A, B, 3), plain_stencil(wanted, right, 3)
    numpy.testing.assert_allclose(A, wanted), numpy.testing.assert_allclose(B, right)
    total(sums, A), plain_total(sums_wanted, A)
    numpy.testing.assert_allclose(sums, sums_wanted)
"""

GONE = "version_that_is_gone"
"""A name that no version has any more."""


@polytune.kernel
def doubled(A, B):
    for i in range(len(A)):
        B[i] = 2.0 * A[i]


@polytune.kernel
def stencil(A, B, steps):
    n = A.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i - 1, j] + B[i + 1, j])


@polytune.kernel
def total(s, A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s[i] += A[i, j]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that calls of a kernel have filled, as this polytune lays it out."""
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    assert versions_known(tmp_path)
    return tmp_path


def versions_known(folder: Path, calls: str = CALLS) -> set[str]:
    """Call kernels in a process of its own, which fails on any warning, and return what the history knows then."""
    ran = subprocess.run([sys.executable, "-c", calls], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert not ran.stderr
    store = HistoryStore(folder)
    found = {record.configuration["version"] for record in store.all()}
    store.close()
    return found


def make_older(history: Path) -> int:
    """Rewrite a history in the first format of the file, with a version that is gone and states of older searches.

    Returns:
        How many records it has.
    """
    with sqlite3.connect(history) as file:
        assert file.execute("pragma user_version").fetchone() == (schema.VERSION,)
        columns = "kernel, shape, machine, configuration, count, best_seconds, median_seconds, status, reason, updated"
        rows = file.execute(f"select {columns} from measurements").fetchall()
        states = file.execute("select kernel, shape, machine, state, updated from searches").fetchall()
        file.executescript(
            "drop table measurements; drop table searches;"
            "create table measurements (kernel text not null, shape text not null, machine text not null,"
            " configuration text not null, count integer not null, best_seconds real, median_seconds real,"
            " status text not null, reason text not null, updated real not null,"
            " primary key (kernel, shape, machine, configuration)) without rowid;"
            "create table searches (kernel text not null, shape text not null, machine text not null,"
            " state text not null, updated real not null, primary key (kernel, shape, machine)) without rowid;"
            "pragma user_version = 1;"
        )
        gone = [(*row[:3], json.dumps(json.loads(row[3]) | {"version": GONE}), *row[4:]) for row in rows]
        file.executemany(f"insert into measurements values ({', '.join('?' * 10)})", [*rows, *gone])
        older = [(*row[:3], json.dumps(json.loads(row[3]) | {"version": 1}), row[4]) for row in states]
        file.executemany("insert into searches values (?, ?, ?, ?, ?)", older)
    file.close()
    return len(rows) + len(gone)


def test_a_history_of_an_older_layout_is_read(folder: Path) -> None:
    assert make_older(folder / "history.sqlite") >= 2
    assert GONE in versions_known(folder)
    with sqlite3.connect(folder / "history.sqlite") as file:
        assert file.execute("pragma user_version").fetchone() == (schema.VERSION,)
    file.close()


def test_a_history_that_an_older_polytune_wrote_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is, under keys that no kernel has any more; and as if the keys were today's."""
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    history = tmp_path / "history.sqlite"
    with sqlite3.connect(history) as file:
        file.executescript(RECORDED.read_text(encoding="utf-8"))
    file.close()
    known = versions_known(tmp_path, RECORDED_CALLS)
    assert known > {"tiled_abreast", "tiled_registers"}, "the older records, and those of today's versions"
    with sqlite3.connect(history) as file:
        for name in ("stencil %", "total %"):
            older = "kernel like ? and machine = 'Intel Xeon Processor, 2 cores'"
            newer = "kernel like ? and machine != 'Intel Xeon Processor, 2 cores'"
            (keys,) = file.execute(f"select distinct kernel, shape, machine from measurements where {newer}", (name,))
            for table in ("measurements", "searches"):
                file.execute(f"delete from {table} where {newer}", (name,))
                renamed = file.execute(
                    f"update {table} set kernel = ?, shape = ?, machine = ? where {older}", (*keys, name)
                )
                assert renamed.rowcount == 1
    file.close()
    assert versions_known(tmp_path, RECORDED_CALLS) > {"tiled_abreast", "tiled_registers"}


def test_states_of_searches_that_are_nothing_any_more_are_begun_anew(folder: Path) -> None:
    with sqlite3.connect(folder / "history.sqlite") as file:
        changed = file.execute("""update searches set state = '{"search": [], "trials": {}}'""").rowcount
    file.close()
    assert changed
    assert versions_known(folder) - {GONE}


def test_modules_of_an_older_layout_are_left_alone(folder: Path) -> None:
    """They lie under keys of their own; what they import need not be there any more."""
    (present,) = (folder / "modules").glob("*/*/kernel_*.py")
    header, _, text = present.read_text(encoding="utf-8").partition("\n")
    older = f"from polytune.runtime.that_is_gone import nothing\n{text}"
    key = hashlib.sha256(b"an older key").hexdigest()
    place = folder / "modules" / key[:2] / key / f"kernel_{key[:16]}.py"
    place.parent.mkdir(parents=True, mode=0o700)
    digest = hashlib.sha256(older.encode()).hexdigest()
    place.write_text(f"{header.rpartition(' ')[0]} {digest}\n{older}", encoding="utf-8")
    (folder / "modules" / "kernel_of_the_first_days.py").write_text("raise AssertionError\n", encoding="utf-8")
    assert versions_known(folder)
    assert place.exists()


def test_the_history_command_shows_an_older_history(folder: Path) -> None:
    count = make_older(folder / "history.sqlite")
    command = [sys.executable, "-m", "polytune", "history", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert len(json.loads(ran.stdout)["entries"]) <= count and GONE in ran.stdout
