"""The history: what is recorded comes back, whatever processes, threads and disks do."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from polytune.errors import CacheWarning, HistoryError
from polytune.history import HistoryStore, database, default_store
from polytune.history.store import default_directory
from tests.warned import saying

KEY = ("kernel", "n=100", "machine")
TILED = {"version": "tiled", "tile": 32}


def test_what_is_recorded_comes_back(tmp_path):
    before = time.time()
    HistoryStore(tmp_path).record(*KEY, TILED, 0.25, count=3)
    (measurement,) = HistoryStore(tmp_path).all()
    assert (measurement.kernel, measurement.shape, measurement.machine) == KEY
    assert measurement.configuration == TILED
    assert (measurement.best_seconds, measurement.median_seconds, measurement.count) == (0.25, 0.25, 3)
    assert (measurement.status, measurement.reason) == ("ok", "")
    assert before <= measurement.updated <= time.time()
    assert json.loads(json.dumps(measurement.to_json()))["configuration"] == TILED


def test_values_keep_their_types(tmp_path):
    configuration = {"flag": True, "one": 1, "real": 1.0, "text": "1", "small": 1e-300}
    HistoryStore(tmp_path).record(*KEY, configuration, 1.0)
    (measurement,) = HistoryStore(tmp_path).all()
    assert [(type(v), v) for v in measurement.configuration.values()] == [
        (type(configuration[name]), configuration[name]) for name in measurement.configuration
    ]


def test_records_of_one_configuration_add_up(tmp_path):
    store = HistoryStore(tmp_path)
    for seconds in (0.5, 0.25, 0.75):
        store.record(*KEY, dict(reversed(TILED.items())) if seconds == 0.25 else TILED, seconds, count=2)
    (measurement,) = store.all()
    assert (measurement.best_seconds, measurement.median_seconds, measurement.count) == (0.25, 0.75, 6)
    store.record(*KEY, TILED, None, "failed", reason="the device is gone")
    (measurement,) = store.all()
    assert (measurement.best_seconds, measurement.median_seconds) == (0.25, None)
    assert (measurement.status, measurement.reason) == ("failed", "the device is gone")
    store.record(*KEY, TILED, 0.125)
    (measurement,) = store.all()
    assert (measurement.best_seconds, measurement.status, measurement.reason) == (0.125, "ok", "")


def test_the_best_is_the_fastest_that_ran(tmp_path):
    store = HistoryStore(tmp_path)
    assert store.best(*KEY) is None
    store.record(*KEY, {"version": "a"}, None, "failed", reason="no")
    assert store.best(*KEY) is None
    for name, seconds in (("b", 3.0), ("c", 1.0), ("d", 2.0)):
        store.record(*KEY, {"version": name}, seconds)
    assert store.best(*KEY).configuration == {"version": "c"}
    assert [m.configuration["version"] for m in store.all(*KEY)] == ["c", "d", "b", "a"]
    assert store.best("kernel", "n=100", "another machine") is None


def test_records_are_told_apart_by_kernel_shape_and_machine(tmp_path):
    store = HistoryStore(tmp_path)
    keys = [("k", "s", "m"), ("k", "s", "m2"), ("k", "s2", "m"), ("k2", "s", "m")]
    for index, key in enumerate(keys):
        store.record(*key, TILED, 1.0 + index)
        store.save_search(*key, {"index": index})
    assert [store.best(*key).median_seconds for key in keys] == [1, 2, 3, 4]
    assert [store.load_search(*key) for key in keys] == [{"index": index} for index in range(4)]
    assert len(store.all("k")) == 3 and len(store.all(shape="s")) == 3 and len(store.all("k", machine="m")) == 2
    summary = store.summary()
    assert (summary.kernels, summary.shapes, summary.measurements, summary.failed) == (2, 3, 4, 0)
    assert summary.path == str(store.path) and summary.size_bytes > 0
    assert store.clear("k") == 3
    assert store.load_search(*keys[0]) is None and store.load_search(*keys[3]) == {"index": 3}
    assert store.clear() == 1 and store.all() == [] and store.summary().updated is None


def test_a_search_s_state_is_replaced(tmp_path):
    store = HistoryStore(tmp_path)
    assert store.load_search(*KEY) is None
    store.save_search(*KEY, {"step": 1})
    store.save_search(*KEY, {"step": 2, "costs": [0.1, None]})
    assert HistoryStore(tmp_path).load_search(*KEY) == {"step": 2, "costs": [0.1, None]}


@pytest.mark.parametrize(("seconds", "status"), [(None, "ok"), (1.0, "failed"), (1.0, "good")])
def test_senseless_records_are_refused(tmp_path, seconds, status):
    store = HistoryStore(tmp_path)
    with pytest.raises(HistoryError, match="cannot record"):
        store.record(*KEY, TILED, seconds, status)
    assert store.all() == []


def test_the_folder_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "here"))
    assert HistoryStore().path == tmp_path / "here" / "history.sqlite"
    assert default_store() is default_store() and default_store().path == HistoryStore().path
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "there"))
    assert default_store().path == tmp_path / "there" / "history.sqlite"
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", "~/polytune")
    assert default_directory() == Path.home() / "polytune"
    monkeypatch.delenv("POLYTUNE_CACHE_DIR")
    assert default_directory().name == "polytune"


PROCESS = """
import sys
from polytune.history import HistoryStore
store = HistoryStore(sys.argv[1])
for step in range(40):
    store.record("kernel", "shape", "machine", {"own": int(sys.argv[2]), "step": step}, 1.0 + step)
    store.record("kernel", "shape", "machine", {"shared": step}, 1.0 / (1 + int(sys.argv[2])))
"""


def test_several_processes_write_one_history(tmp_path):
    """They begin the file together, too."""
    processes = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", PROCESS, str(tmp_path), str(number)])
        for number in range(4)
    ]
    assert [process.wait(timeout=120) for process in processes] == [0] * 4
    measurements = HistoryStore(tmp_path).all()
    assert len(measurements) == 4 * 40 + 40
    shared = [m for m in measurements if "shared" in m.configuration]
    assert {m.count for m in shared} == {4} and {m.best_seconds for m in shared} == {0.25}


def test_several_threads_share_one_store(tmp_path):
    store, problems = HistoryStore(tmp_path), []

    def work(number):
        try:
            for step in range(50):
                store.record(*KEY, {"step": step}, 1.0 + number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert [m.count for m in store.all()] == [6] * 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_writes_too(tmp_path):
    store = HistoryStore(tmp_path)
    store.record(*KEY, {"process": "parent"}, 1.0)
    child = os.fork()
    if child == 0:
        store.record(*KEY, {"process": "child"}, 2.0)
        os._exit(0 if len(store.all()) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(store.all()) == 2 and not store.in_memory


def damage_header(path):
    path.write_bytes(b"this is no database" * 100)


def damage_pages(path):
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)


def damage_root_page(path):
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [damage_header, damage_pages, damage_root_page])
@pytest.mark.parametrize("is_open", [False, True])
def test_a_damaged_file_is_moved_aside_and_begun_anew(tmp_path, damage, is_open):
    store = HistoryStore(tmp_path)
    for tile in range(200):
        store.record(*KEY, {"tile": tile}, 1.0)
    store.close()
    if is_open:
        store.record(*KEY, {"tile": 0}, 1.0)
        store.summary()
        store._history.database.execute("pragma wal_checkpoint(truncate)")
    damage(store.path)
    again = HistoryStore(tmp_path)
    with pytest.warns(CacheWarning, match=r"is damaged .* moved to history\.sqlite\.damaged-"):
        again.record(*KEY, TILED, 0.5)
        assert [m.configuration for m in again.all()] == [TILED]
    assert not again.in_memory
    assert [m.configuration for m in HistoryStore(tmp_path).all()] == [TILED]
    assert len(list(tmp_path.glob("history.sqlite.damaged-*"))) >= 1


def test_where_no_folder_can_be_made_it_goes_on_in_memory_with_one_warning(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    store = HistoryStore(tmp_path / "file" / "folder")
    with pytest.warns(CacheWarning, match=r"cannot be used .* set POLYTUNE_CACHE_DIR") as caught:
        store.record(*KEY, TILED, 0.5)
        store.save_search(*KEY, {"step": 1})
        store.close()
        assert store.best(*KEY).configuration == TILED and store.load_search(*KEY) == {"step": 1}
    assert len(saying(caught, CacheWarning, tmp_path)) == 1 and store.in_memory
    assert store.summary().path is None and store.summary().measurements == 1


def test_a_full_disk_keeps_what_was_there_and_goes_on_in_memory(tmp_path, monkeypatch):
    HistoryStore(tmp_path).record(*KEY, {"version": "before"}, 1.0)
    connect = database._connect

    def connect_to_full_disk(name, **keywords):
        connection = connect(name, **keywords)
        if name != ":memory:":
            connection.execute("pragma max_page_count = 1")  # SQLite's own "database or disk is full"
        return connection

    monkeypatch.setattr(database, "_connect", connect_to_full_disk)
    store = HistoryStore(tmp_path)
    with pytest.warns(CacheWarning, match="disk is full") as caught:
        for step in range(200):
            store.record(*KEY, {"step": step, "text": "x" * 200}, 2.0)
    assert len(saying(caught, CacheWarning, tmp_path)) == 1 and store.in_memory
    assert len(store.all()) == 201 and store.best(*KEY).configuration == {"version": "before"}


def test_a_file_that_cannot_be_written_is_read_and_added_to_in_memory(tmp_path, monkeypatch):
    first = HistoryStore(tmp_path)
    first.record(*KEY, {"version": "before"}, 1.0)
    first.close()
    connect = sqlite3.connect

    def read_only(name, **keywords):
        if name == str(first.path):
            return connect(f"file:{name}?mode=ro", **{**keywords, "uri": True})
        return connect(name, **keywords)

    monkeypatch.setattr(sqlite3, "connect", read_only)
    store = HistoryStore(tmp_path)
    with pytest.warns(CacheWarning, match="readonly") as caught:
        store.record(*KEY, {"version": "after"}, 2.0)
        assert [m.configuration["version"] for m in store.all()] == ["before", "after"]
    assert len(saying(caught, CacheWarning, tmp_path)) == 1 and store.in_memory
    monkeypatch.undo()
    assert [m.configuration["version"] for m in HistoryStore(tmp_path).all()] == ["before"]


def test_a_file_of_a_newer_version_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "history.sqlite") as newer:
        newer.execute("create table measurements (everything text)")
        newer.execute("pragma user_version = 99")
    content = (tmp_path / "history.sqlite").read_bytes()
    store = HistoryStore(tmp_path)
    with pytest.warns(CacheWarning, match="newer polytune"):
        store.record(*KEY, TILED, 0.5)
    assert store.in_memory and len(store.all()) == 1
    assert (tmp_path / "history.sqlite").read_bytes() == content
    assert os.listdir(tmp_path) == ["history.sqlite"]


def test_nothing_is_warned_of_when_all_is_well(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store = HistoryStore(tmp_path / "new" / "folder")
        store.record(*KEY, TILED, 0.5)
        store.close()
        assert store.best(*KEY).median_seconds == 0.5


@pytest.mark.parametrize(
    "change",
    [
        "update measurements set configuration = '{not json'",
        "update measurements set configuration = '[1, 2]'",
        "update measurements set median_seconds = -1.0",
        "update measurements set median_seconds = 9e999",
        "update measurements set best_seconds = 'quick'",
        "update searches set state = '{not json'",
    ],
)
def test_what_someone_has_changed_by_hand_is_passed_over(tmp_path, change):
    store = HistoryStore(tmp_path)
    store.record(*KEY, TILED, 0.25)
    store.save_search(*KEY, {"a": 1})
    store.close()
    with sqlite3.connect(store.path) as file:
        file.execute(change)
    file.close()
    store.record(*KEY, {"version": "source"}, 0.5)
    assert {"version": "source"} in [measurement.configuration for measurement in store.all()]
    assert store.best(*KEY).median_seconds in (0.25, 0.5)
    assert store.load_search(*KEY) in (None, {"a": 1})
    touched = change.split()[1]
    assert (len(store.all()) == 2) == (touched == "searches")


def _of_first_format(path):
    """A history as the first format of the file had it, with one record and one search."""
    with sqlite3.connect(path) as file:
        file.executescript(
            "create table measurements (kernel text not null, shape text not null, machine text not null,"
            " configuration text not null, count integer not null, best_seconds real, median_seconds real,"
            " status text not null, reason text not null, updated real not null,"
            " primary key (kernel, shape, machine, configuration)) without rowid;"
            "create table searches (kernel text not null, shape text not null, machine text not null,"
            " state text not null, updated real not null, primary key (kernel, shape, machine)) without rowid;"
            "pragma user_version = 1;"
        )
        row = (*KEY, json.dumps(TILED, sort_keys=True), 3, 0.25, 0.5, "ok", "", 1.0)
        file.execute("insert into measurements values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        file.execute("insert into searches values (?, ?, ?, ?, ?)", (*KEY, '{"a": 1}', 1.0))
    file.close()


def test_a_file_of_the_first_format_is_read_and_goes_on(tmp_path):
    _of_first_format(tmp_path / "history.sqlite")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store = HistoryStore(tmp_path)
        (old,) = store.all()
        assert (old.configuration, old.count, old.best_seconds, old.code) == (TILED, 3, 0.25, "")
        assert store.load_search(*KEY) == {"a": 1}
        store.record(*KEY, TILED, 0.75, code="new")
        store.close()
    (new,) = HistoryStore(tmp_path).all()
    assert (new.count, new.best_seconds, new.median_seconds, new.code) == (1, 0.75, 0.75, "new")


def test_processes_that_open_a_file_of_the_first_format_at_once_all_read_it(tmp_path):
    _of_first_format(tmp_path / "history.sqlite")
    program = "import sys; from polytune.history import HistoryStore; print(len(HistoryStore(sys.argv[1]).all()))"
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for each in running:
        output, error = each.communicate(timeout=120)
        assert (each.returncode, output.strip()) == (0, "1"), error
