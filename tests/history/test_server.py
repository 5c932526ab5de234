"""A history on a server of PostgreSQL: nothing that was measured is lost or counted twice, whatever the server does."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from polytune.errors import CacheWarning, HistoryError, HistoryUnavailableError
from polytune.history import HistoryStore, shared
from polytune.history.exchange import read_measurements, write_measurements
from tests.history.postgres import PASSWORD, Postgres, running

pytestmark = pytest.mark.xdist_group("postgres")

KEY = ("kernel", "n=100", "machine")
TILED = {"version": "tiled", "tile": 32}
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server():
    with running() as postgres:
        yield postgres


@pytest.fixture
def address(server, tmp_path, monkeypatch):
    """A database of the test's own, and a folder for this machine's files."""
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "cache"))
    name = f"test_{next(_NUMBERS)}"
    server.execute(f"create database {name}")
    yield server.address(name)
    server.execute(f"drop database {name} with (force)")


@pytest.fixture
def impatient(monkeypatch):
    """Pauses after failures are short."""
    monkeypatch.setattr(shared, "_SHORTEST_PAUSE", 0.05)
    monkeypatch.setattr(shared, "_LONGEST_PAUSE", 0.1)


def of_cache(told):
    """What was said, without what drivers say of connections that other tests have left open."""
    return [str(each.message) for each in told if issubclass(each.category, CacheWarning)]


def another(address, monkeypatch, folder):
    """The store of another machine: with files of its own."""
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(folder))
    return HistoryStore(address)


def test_what_one_machine_records_another_one_reads(address, tmp_path, monkeypatch):
    first = HistoryStore(address)
    configuration = {"flag": True, "one": 1, "real": 1.0, "text": "a\0b ü", "small": 1e-300}
    first.record(*KEY, configuration, 0.25, count=3)
    first.record(*KEY, TILED, None, "failed", reason="no\0t here \ud800")
    first.save_search(*KEY, {"step": 1})
    first.save_search(*KEY, {"step": 2, "costs": [0.1, None]})
    assert first.best(*KEY).configuration == configuration
    first.close()
    second = another(address, monkeypatch, tmp_path / "other")
    ran, failed = second.all()
    assert (ran.kernel, ran.shape, ran.machine) == KEY
    assert [(type(v), v) for v in ran.configuration.values()] == [
        (type(configuration[name]), configuration[name]) for name in ran.configuration
    ]
    assert (ran.best_seconds, ran.median_seconds, ran.count, ran.status) == (0.25, 0.25, 3, "ok")
    assert (failed.status, failed.reason, failed.median_seconds) == ("failed", "no\\0t here ?", None)
    assert second.load_search(*KEY) == {"step": 2, "costs": [0.1, None]}
    assert second.load_search("other", *KEY[1:]) is None
    summary = second.summary()
    assert (summary.kernels, summary.shapes, summary.measurements, summary.failed) == (1, 1, 2, 1)
    assert summary.path == second.place and summary.size_bytes > 0
    assert second.place == address.replace(address.split(":")[2].split("@")[0], "***")
    assert PASSWORD not in second.place


def test_records_add_up_as_they_do_in_a_file(address, tmp_path, monkeypatch):
    """Whatever a file makes of the same records, in any order of arrival."""
    stores = [HistoryStore(address), HistoryStore(tmp_path / "file")]
    steps = [
        (0.5, "ok", "a"),
        (0.25, "ok", "a"),
        (None, "failed", "a"),
        (0.125, "ok", "a"),
        (0.75, "ok", "b"),
        (0.875, "ok", "b"),
    ]
    for number, (seconds, status, code) in enumerate(steps):
        for store in stores:
            store.record(*KEY, TILED, seconds, status, count=number + 1, reason=status, code=code)
        (shared_one,), (own,) = stores[0].all(), stores[1].all()
        for each in ("count", "best_seconds", "median_seconds", "status", "reason", "code"):
            assert getattr(shared_one, each) == getattr(own, each), (number, each)
    assert abs(shared_one.updated - own.updated) < 5


def test_what_arrives_late_does_not_replace_what_is_newer(address, tmp_path, monkeypatch):
    offline, online = HistoryStore(address), another(address, monkeypatch, tmp_path / "other")
    monkeypatch.setattr(offline._history.server, "_run", _unreachable)
    with pytest.warns(CacheWarning, match="kept"):
        offline.record(*KEY, TILED, 0.5, count=2)
        offline.record(*KEY, {"version": "source"}, 0.5, code="old")
        assert [each.median_seconds for each in offline.all()] == [0.5, 0.5]
    online.record(*KEY, TILED, 0.75, count=3)
    online.record(*KEY, {"version": "source"}, 0.25, code="new")
    assert len(online.all()) == 2
    monkeypatch.undo()
    offline._history.send(at_once=True)
    source, tiled = online.all()
    assert (tiled.median_seconds, tiled.best_seconds, tiled.count) == (0.75, 0.5, 5)
    assert (source.median_seconds, source.count, source.code) == (0.25, 1, "new")


def _unreachable(work):
    raise HistoryUnavailableError("no route to host")


WRITERS = """
import os, sys, threading
from polytune.history import HistoryStore

def write(store, writer):
    for step in range(25):
        store.record("kernel", "shape", "machine", {"own": writer, "step": step}, 1.0 + step)
        store.record("kernel", "shape", "machine", {"shared": step}, 1.0 / (1 + writer))
        if step % 5 == 0:
            store.save_search("kernel", "shape", "machine", {"writer": writer})
            store.all()
    store.close()
    assert not store.in_memory

threads = []
for number in range(4):
    writer = 4 * int(sys.argv[3]) + number
    os.environ["POLYTUNE_CACHE_DIR"] = os.path.join(sys.argv[2], "one" if number % 2 else f"machine {writer}")
    threads.append(threading.Thread(target=write, args=(HistoryStore(sys.argv[1]), writer)))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_sixteen_writers_at_once(address, tmp_path, monkeypatch):
    """Half of them of one machine, the others of machines of their own; they make the tables together, too."""
    command = [sys.executable, "-c", WRITERS, address, str(tmp_path)]
    processes = [subprocess.Popen([*command, str(number)], stderr=subprocess.PIPE, text=True) for number in range(4)]
    said = [each.communicate(timeout=300)[1] for each in processes]
    assert said == [""] * 4
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "one"))  # sends what one writer left to another one
    store = HistoryStore(address)
    measurements = store.all()
    shared_ones = [each for each in measurements if "shared" in each.configuration]
    assert len(measurements) == 16 * 25 + 25 and not store._history.outbox.waiting()
    assert {each.count for each in shared_ones} == {16} and {each.best_seconds for each in shared_ones} == {1 / 16}
    assert {each.count for each in measurements if "own" in each.configuration} == {1}
    assert "writer" in store.load_search("kernel", "shape", "machine")


def test_a_server_that_is_killed_loses_and_doubles_nothing(server, address, impatient):
    """It is killed again and again while something is written, also between the two ends of a batch."""
    store = HistoryStore(address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        for step in range(60):
            store.record(*KEY, {"step": step % 20}, 1.0 + step)
            if step in (10, 30, 50):
                server.kill()
                assert len(store.all()) == min(step + 1, 20)  # what this machine knows
            if step in (20, 40):
                server.start()
        server.start()
        assert store._history.send(at_once=True)
    assert [each.count for each in store.all()] == [3] * 20
    assert not store._history.outbox.waiting() and not store.in_memory


def test_a_batch_may_have_the_same_more_than_once(address, tmp_path, monkeypatch):
    """A statement changes a row of a server once: what comes again is in further ones, in the order of its writing."""
    store, own = HistoryStore(address), HistoryStore(tmp_path / "file")
    for step in range(30):
        for each in (store, own):
            each.record(*KEY, {"step": step % 4}, 1.0 + (7 * step) % 10, code="new" if step > 5 else "old")
            if step == 17:
                each.record(*KEY, {"step": 1}, None, "failed", reason="once")
    assert store._history.outbox.waiting() == 31
    found, expected = store.all(), own.all()
    assert [(e.configuration, e.count, e.best_seconds, e.median_seconds, e.status, e.code) for e in found] == [
        (e.configuration, e.count, e.best_seconds, e.median_seconds, e.status, e.code) for e in expected
    ]
    newer = [
        replace(e, median_seconds=e.median_seconds / k, updated=e.updated + k * 1e-5) for k in (1, 2) for e in found
    ]
    assert store.add_all(newer) == 8 and store.add_all(newer) == 0
    assert [e.median_seconds for e in store.all()] == [e.median_seconds / 2 for e in found]


def test_a_batch_that_arrived_without_an_answer_is_not_counted_twice(address, monkeypatch, impatient):
    store = HistoryStore(address)
    store.record(*KEY, TILED, 0.5)
    send = store._history.server.send

    def lose_the_answer(batch):
        send(batch)
        raise HistoryUnavailableError("the connection was lost")

    monkeypatch.setattr(store._history.server, "send", lose_the_answer)
    with pytest.warns(CacheWarning, match="the connection was lost") as told:
        assert [each.count for each in store.all()] == [1]
    assert len(of_cache(told)) == 1
    monkeypatch.setattr(store._history.server, "send", send)
    again = HistoryStore(address)  # another process finds the batch
    assert [each.count for each in again.all()] == [1]
    assert not store._history.outbox.waiting()


def test_a_process_that_is_killed_leaves_what_it_has_recorded_to_the_next(address, tmp_path):
    program = (
        "import os, sys; from polytune.history import HistoryStore; store = HistoryStore(sys.argv[1])\n"
        "store.record('kernel', 'n=100', 'machine', {'version': 'tiled'}, 0.5); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", program, address], timeout=120)
    assert ended.returncode == -9
    assert [each.count for each in HistoryStore(address).all()] == [1]


def test_what_waits_is_sent_without_being_asked_for(address, monkeypatch, impatient):
    monkeypatch.setattr(shared, "_SECONDS_TO_COLLECT", 0.05)
    store = HistoryStore(address)
    store.record(*KEY, TILED, 0.5)
    for _ in range(1200):
        if not store._history.outbox.waiting():
            break
        time.sleep(0.05)
    assert not store._history.outbox.waiting()


def test_nobody_there(tmp_path, monkeypatch):
    """A call goes on with what this machine knows, is told so once, and does not wait for the server each time."""
    pytest.importorskip("psycopg")
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        store = HistoryStore(f"postgresql://someone:secret@127.0.0.1:{taken.getsockname()[1]}/none")
        with pytest.warns(CacheWarning, match=r"cannot be used .*refused.* sent once it can") as told:
            for _ in range(3):
                store.record(*KEY, TILED, 0.5)
                assert store.best(*KEY).configuration == TILED
                store.save_search(*KEY, {"step": 1})
                assert store.load_search(*KEY) == {"step": 1}
            assert store.summary().path is None and store.summary().measurements == 1
        with pytest.raises(HistoryUnavailableError, match="refused"):
            store.clear()
        with pytest.raises(HistoryUnavailableError, match="refused"):
            store.check()
    (message,) = of_cache(told)
    assert "secret" not in message
    assert store._history.outbox.waiting() == 4  # three records, and the newest state


def test_a_full_disk_of_the_server_keeps_what_was_measured(tmp_path, monkeypatch, impatient):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = (
        os.geteuid() == 0
        and shutil.which("mount")
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=140m", "tmpfs", str(disk)], capture_output=True
        ).returncode
    )
    if not mounted:
        pytest.skip("no file system of a size of its own can be mounted here")
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "cache"))
    pytest.importorskip("psycopg")
    for folder in (*tmp_path.parents, tmp_path):
        if folder.stat().st_uid == os.geteuid() and folder != folder.parent and "pytest" in str(folder):
            folder.chmod(0o755)  # the server's user passes through
    server = None
    try:
        server = Postgres(disk)
        server.start()
        store = HistoryStore(server.address())
        store.record(*KEY, TILED, 0.5)
        assert len(store.all()) == 1
        filler = disk / "filler"
        with filler.open("wb") as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(b"x" * (1 << 20))
                file.flush()
        with pytest.warns(CacheWarning, match="cannot be used"):
            for step in range(20):
                store.save_search("kernel", f"n={step}", "machine", {"text": os.urandom(200_000).hex()})
            assert len(store.all()) == 1 and store._history.outbox.waiting()
        filler.unlink()
        if server.process.poll() is not None:  # no space for its log ends the server
            server.start()
        assert store._history.send(at_once=True)
        assert HistoryStore(server.address()).load_search("kernel", "n=19", "machine") is not None
    finally:
        if server is not None:
            server.kill()
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_tables_of_an_older_format_are_made_new(server, address):
    import sqlalchemy

    from polytune.history import tables

    engine = sqlalchemy.create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        tables.prepare(connection, version=1)
        row = "'kernel', 'n=100', 'machine', '{\"version\": \"tiled\"}', 3, 0.25, 0.5, 'ok', '', 1.0, ''"
        connection.exec_driver_sql(f"insert into polytune_measurements values ('{'0' * 64}', {row})")
    engine.dispose()
    read = [HistoryStore(address) for _ in range(6)]
    with ThreadPoolExecutor(len(read)) as pool:
        assert [len(found) for found in pool.map(HistoryStore.all, read)] == [1] * len(read)
    store = HistoryStore(address)
    store.record(*KEY, TILED, 0.5)
    assert len(store.all()) == 2


def test_tables_of_a_newer_format_are_left_alone(server, address):
    name = address.rpartition("/")[2]
    server.execute("create table polytune_format (version integer not null)", name)
    server.execute("insert into polytune_format values (99)", name)
    store = HistoryStore(address)
    with pytest.warns(CacheWarning, match="newer polytune, format 99"):
        store.record(*KEY, TILED, 0.5)
        assert len(store.all()) == 1
    assert server.execute("select count(*) from pg_tables where tablename like 'polytune%'", name) == [(1,)]


def test_rows_that_someone_has_written_are_passed_over(server, address):
    """A history is data: what is not as it should be is no measurement, and what is wrong is never run."""
    name, store = address.rpartition("/")[2], HistoryStore(address)
    store.record(*KEY, TILED, 0.25)
    assert len(store.all()) == 1
    wrong = [
        "configuration = '{not json'",
        "configuration = '[1, 2]'",
        "configuration = repeat('[', 100000)",
        "configuration = '!!python/object/apply:os.system [\"false\"]'",
        "median_seconds = 'nan'",
        "median_seconds = 'infinity'",
        "median_seconds = -1",
        "count = -5",
        "status = 'fine'",
        "median_seconds = null",
        "updated = '-infinity'",
    ]
    for number, each in enumerate(wrong):
        columns = (
            "kernel, shape, machine, configuration, count, best_seconds, median_seconds, status, reason, updated, code"
        )
        column, value = each.split(" = ", 1)
        changed = columns.replace(column, value, 1) if column != "count" else columns.replace("count", value, 1)
        server.execute(
            f"insert into polytune_measurements (digest, {columns}) select '{number:064}', {changed} "
            f"from polytune_measurements where configuration = '{json.dumps(TILED, sort_keys=True)}' limit 1",
            name,
        )
    server.execute(
        "insert into polytune_searches select md5('x') || md5('y'), kernel, shape, machine, '{not json', updated "
        "from polytune_measurements limit 1",
        name,
    )
    assert [each.configuration for each in HistoryStore(address).all()] == [TILED]
    assert HistoryStore(address).load_search(*KEY) is None
    store.record(*KEY, {"version": "source"}, 0.5)
    assert len(store.all()) == 2


def test_what_the_server_does_not_take_is_kept_and_does_not_hold_up_the_rest(address):
    store = HistoryStore(address)
    store.record(*KEY, TILED, 0.25)
    store.record(*KEY, {"version": "source"}, 0.25, count=2**62)
    store.record(*KEY, {"version": "source"}, 0.25, count=2**62)  # the sum is more than a number may be there
    store.record(*KEY, {"version": "fused"}, 0.25)
    with pytest.warns(CacheWarning, match="does not take 1 of the measurements"):
        assert len(store.all()) == 3
    assert len(store.all()) == 3 and not store._history.outbox.waiting()


def test_histories_go_from_one_place_to_another(address, tmp_path, monkeypatch):
    file, lines = tmp_path / "a.sqlite", tmp_path / "b.jsonl"
    own = HistoryStore(f"sqlite:///{file}")
    assert own.path == file
    for number in range(4):
        own.record(*KEY, {"step": number}, 1.0 + number, count=number + 1)
    own.close()
    found = read_measurements(f"sqlite:///{file}")
    assert len(found) == 4
    assert write_measurements(address, found) == 4 and write_measurements(address, found) == 0
    assert read_measurements(address) == found
    assert write_measurements(lines, read_measurements(address)) == 4
    assert read_measurements(lines) == found == read_measurements(str(file))
    store = HistoryStore(address)
    assert store.add(found[0]) is False
    assert store.clear("other") == 0 and store.clear("kernel") == 4 and store.all() == []


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("mysql://someone:secret@host/name", "is no history: write sqlite:///FILE"),
        ("sqlite://", "is no history"),
        ("sqlite:///", "is no history"),
        ("postgresql://host:port/name", "cannot be read"),
    ],
)
def test_addresses_of_another_kind_are_refused(place, said, monkeypatch, tmp_path):
    pytest.importorskip("psycopg")
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    with pytest.raises(HistoryError, match=said) as refused:
        HistoryStore(place)
    assert "secret" not in str(refused.value)
    with pytest.raises(HistoryError, match="no such file"):
        read_measurements("sqlite:////nowhere/at.all")
