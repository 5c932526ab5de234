"""``polytune history``: what earlier runs have measured, and forgetting it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
import threading

import pytest

from polytune.history import HistoryStore
from polytune.history.exchange import write_measurements


@pytest.fixture
def store(tmp_path, monkeypatch) -> HistoryStore:
    """A history with two kernels, one of them with two shapes, in the folder that the program looks in."""
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    store = HistoryStore(tmp_path)
    store.record("blur 0123", "n=10", "some machine", {"version": "source"}, 2e-3)
    store.record("blur 0123", "n=10", "some machine", {"tile_0": 32, "version": "tiled"}, 1e-3)
    store.record("blur 0123", "n=10", "some machine", {"version": "gpu"}, None, "failed", reason="no memory")
    store.record("blur 0123", "n=20", "some machine", {"version": "source"}, 5e-3)
    store.record("scale 4567", "n=10", "some machine", {"version": "source"}, 7e-3)
    return store


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_without_a_kernel_each_shape_has_a_line(run, store):
    ran = run("history")
    assert ran.code == 0
    title, header, *rows = lines(ran.out)
    assert title == ["on", "some", "machine"]
    assert header == ["kernel", "shape", "measured", "failed", "best", "ms", "last"]
    assert [row[:6] for row in rows] == [
        ["blur", "0123", "n=10", "3", "1", "1"],
        ["blur", "0123", "n=20", "1", "0", "5"],
        ["scale", "4567", "n=10", "1", "0", "7"],
    ]


def test_machines_are_told_apart(run, store):
    store.record("blur 0123", "n=10", "other machine", {"version": "source"}, 9e-3)
    ran = run("history")
    assert "machine" in ran.out.splitlines()[0]
    assert [row[3] for row in lines(ran.out)[1:]] == ["other", "some", "some", "some"]


@pytest.mark.parametrize("kernel", ["blur", "blur 0123"])
def test_kernel_has_all_its_configurations_the_fastest_first(run, store, kernel):
    ran = run("history", kernel)
    assert ran.code == 0
    assert "scale" not in ran.out
    table = ran.out.splitlines()
    assert table[0].strip() == "blur 0123, n=10, on some machine"
    assert [line.split("  ")[0] for line in table[2:5]] == [
        "version=tiled tile_0=32",
        "version=source",
        "version=gpu failed: no memory",
    ]
    assert table[5].strip() == "blur 0123, n=20, on some machine"


def test_json_has_everything(run, store):
    document = run("history", "--json").json
    assert document["path"] == str(store.path)
    assert [(entry["kernel"], entry["shape"], len(entry["measurements"])) for entry in document["entries"]] == [
        ("blur 0123", "n=10", 3),
        ("blur 0123", "n=20", 1),
        ("scale 4567", "n=10", 1),
    ]
    best = document["entries"][0]["measurements"][0]
    assert best["configuration"] == {"tile_0": 32, "version": "tiled"}
    assert (best["median_seconds"], best["status"], best["count"]) == (1e-3, "ok", 1)


def test_unknown_kernel_is_an_error_that_names_one_like_it(run, store):
    ran = run("history", "blurr")
    assert ran.code == 1
    assert ran.err == "error: the history has nothing of a kernel 'blurr'; did you mean 'blur'?\n"
    assert "it has blur, scale" in run("history", "zzz").err


def test_nothing_measured_is_no_error(run, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    ran = run("history")
    assert ran.code == 0
    assert "nothing has been measured yet" in ran.out


def test_forgets_one_kernel(run, store):
    ran = run("history", "blur", "--forget", "--yes", "--json")
    assert ran.code == 0
    assert ran.json == {"path": str(store.path), "forgotten": 4}
    assert {measurement.kernel for measurement in store.all()} == {"scale 4567"}


def test_forgets_nothing_unless_a_person_says_yes(run, store, monkeypatch):
    for answer in ("n\n", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        ran = run("history", "--forget")
        assert ran.code == 1
        assert "Forget 5 measured configurations of all kernels" in ran.err
        assert len(store.all()) == 5
    assert run("history", "--forget", "--yes").code == 0
    assert store.all() == []


def test_yes_alone_makes_no_sense(run, store):
    assert run("history", "--yes").code == 2
    assert len(store.all()) == 5


def exported(run, tmp_path) -> str:
    file = tmp_path / "exported.jsonl"
    ran = run("history", "export", str(file))
    assert ran.code == 0, ran.err
    assert ran.out.strip().endswith("exported.jsonl: 5 measured configurations written")
    return str(file)


def test_a_history_goes_to_a_file_and_into_another_history(run, store, tmp_path, monkeypatch):
    file = exported(run, tmp_path)
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "other"))
    ran = run("history", "import", file)
    assert ran.code == 0 and "5 measured configurations added" in ran.out
    assert HistoryStore(tmp_path / "other").all() == store.all()
    again = run("history", "import", file)
    assert "0 measured configurations added; of 5 something as new is known" in again.out
    assert HistoryStore(tmp_path / "other").all() == store.all()


def test_what_is_newer_is_kept(run, store, tmp_path, monkeypatch):
    file = exported(run, tmp_path)
    store.record("scale 4567", "n=10", "some machine", {"version": "source"}, 1e-3)
    newer = store.all("scale 4567")
    assert "0 measured configurations added" in run("history", "import", file).out
    assert store.all("scale 4567") == newer
    fresh = str(tmp_path / "newer.jsonl")
    run("history", "export", fresh)
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "other"))
    run("history", "import", fresh, file)
    assert HistoryStore(tmp_path / "other").all("scale 4567") == newer


def test_files_are_merged_into_one_by_what_is_newest(run, store, tmp_path):
    first = exported(run, tmp_path)
    store.record("scale 4567", "n=10", "some machine", {"version": "source"}, 1e-3)
    store.record("third 89", "n=10", "some machine", {"version": "source"}, 1e-3)
    second, both = str(tmp_path / "second.jsonl"), str(tmp_path / "both.jsonl")
    run("history", "export", second)
    ran = run("history", "merge", second, first, "-o", both)
    assert ran.code == 0 and "6 measured configurations written" in ran.out
    assert (tmp_path / "both.jsonl").read_text() == (tmp_path / "second.jsonl").read_text()
    assert json.loads(run("history", "merge", second, "-o", both, "--json").out)["count"] == 6


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["export"], "one FILE"),
        (["export", "a", "b"], "one FILE"),
        (["import"], "FILE..."),
        (["merge", "a"], "-o FILE"),
        (["export", "a", "-o", "b"], "-o goes with merge"),
        (["import", "a", "--forget"], "--forget does not go"),
        (["blur", "0123"], "one KERNEL at most"),
        (["blur", "-o", "b"], "-o goes with merge"),
    ],
)
def test_what_does_not_go_together_is_refused(run, store, words, why):
    ran = run("history", *words)
    assert ran.code == 2
    assert why in " ".join(ran.err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: [], "is no exported history"),
        (lambda lines: ["{}", *lines[1:]], "is no exported history"),
        (lambda lines: [lines[0].replace("1", "2"), *lines[1:]], "newer polytune"),
        (lambda lines: [lines[0], lines[1][:-9]], ":2: this is no object"),
        (lambda lines: [*lines[:2], "{}"], ":3: this is no measurement"),
        (lambda lines: [lines[0], lines[1].replace('"count": 1', '"count": -1')], ":2: this is no measurement"),
        (lambda lines: [lines[0], lines[1].replace("0.001", "NaN")], ":2: this is no measurement"),
        (lambda lines: [lines[0], lines[1].replace('"ok"', '"failed"')], ":2: this is no measurement"),
        (lambda lines: [lines[0], lines[1].replace('"count": 1', f'"count": {10**30}')], ":2: this is no measurement"),
        (lambda lines: [lines[0], lines[1].replace("0.001", "1" + "0" * 400)], ":2: this is no measurement"),
        (lambda lines: [lines[0], lines[1].replace('"updated": ', '"updated": 1e300')], ":2: this is no"),
        (lambda lines: [lines[0], lines[1].replace("blur", "\\ud800")], ":2: this is no measurement"),
        (lambda lines: [lines[0], lines[1].replace('"tiled"', "[1]")], ":2: this is no measurement"),
        (lambda lines: [lines[0], lines[1].replace('"shape"', '"form"')], ":2: this is no measurement: it lacks shape"),
        (lambda lines: [lines[0], lines[1].replace("{", '{"more": 1, ', 1)], ":2: this is no measurement: it has fie"),
    ],
)
def test_files_that_are_something_else_add_nothing(run, store, tmp_path, monkeypatch, change, why):
    file = tmp_path / "exported.jsonl"
    exported(run, tmp_path)
    file.write_text("\n".join(change(file.read_text().splitlines())))
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "other"))
    ran = run("history", "import", str(file))
    assert ran.code == 1 and why in ran.err
    assert not HistoryStore(tmp_path / "other").all()


def test_files_come_from_other_editors_too(run, store, tmp_path, monkeypatch):
    file = tmp_path / "exported.jsonl"
    exported(run, tmp_path)
    text = file.read_text().replace('"reason": "no memory"', '"reason": "no\u2028memory"')
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "other"))
    assert "5 measured configurations added" in run("history", "import", str(file)).out


@pytest.mark.parametrize("address", ["{}", "sqlite:///{}"])
def test_databases_of_others_stay_as_they_are(run, store, tmp_path, address):
    bookmarks, text = tmp_path / "bookmarks.sqlite", tmp_path / "text.sqlite"
    with contextlib.closing(sqlite3.connect(bookmarks)) as connection:
        connection.execute("create table measurements (place)")
        connection.commit()
    text.write_text("something precious\n" * 100)
    for file, why in ((bookmarks, "it has no tables of polytune's"), (text, "file is not a database")):
        before, names = file.read_bytes(), sorted(tmp_path.iterdir())
        for words in (
            ["import", address.format(file)],
            ["export", address.format(file)],
            ["merge", address.format(file), "-o", str(tmp_path / "merged.jsonl")],
        ):
            ran = run("history", *words)
            assert ran.code == 1 and f"{file.name} cannot be read as a history of polytune's: {why}" in ran.err
            assert file.read_bytes() == before and sorted(tmp_path.iterdir()) == names


def test_a_database_is_known_by_what_it_holds(run, store, tmp_path, monkeypatch):
    store.close()
    file = tmp_path / "copy.db"
    file.write_bytes(store.path.read_bytes())
    before = file.read_bytes()
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "other"))
    assert "5 measured configurations added" in run("history", "import", str(file)).out
    assert file.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are those of POSIX")
def test_histories_go_through_pipes(run, store, tmp_path, monkeypatch):
    pipe, other = tmp_path / "pipe", tmp_path / "other"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write_measurements, args=(pipe, store.all()), daemon=True)
    writer.start()
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(other))
    assert "5 measured configurations added" in run("history", "import", str(pipe)).out
    writer.join(60)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        ran = run("history", "export", str(pipe))
        assert "5 measured configurations written" in ran.err and not ran.out, "the output may be the pipe"
        assert len(os.read(reader, 1 << 16).splitlines()) == 6
    finally:
        os.close(reader)


def test_what_cannot_be_kept_is_no_success(run, store, tmp_path, monkeypatch):
    file = tmp_path / "exported.jsonl"
    exported(run, tmp_path)
    (tmp_path / "no_folder").touch()
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "no_folder"))
    ran = run("history", "import", str(file))
    assert ran.code == 1 and "cannot be written, and is as it was; make its folder writable" in ran.err


def test_a_file_that_is_not_there_is_named(run, store, tmp_path):
    ran = run("history", "import", str(tmp_path / "nothing.jsonl"))
    assert ran.code == 1 and "nothing.jsonl cannot be read: No such file" in ran.err


def test_histories_are_given_by_address(run, store, tmp_path):
    file = tmp_path / "other.db"
    ran = run("history", "export", f"sqlite:///{file}")
    assert ran.code == 0 and ran.out.strip() == f"sqlite:///{file}: 5 measured configurations written"
    other = HistoryStore(f"sqlite:///{file}")
    other.record("blur 0123", "n=30", "other machine", {"version": "source"}, 9e-3)
    other.close()
    ran = run("history", "import", f"sqlite:///{file}")
    assert ran.code == 0 and "1 measured configuration added; of 5 something as new is known" in ran.out
    assert len(store.all()) == 6
    ran = run("history", "import", "sqlite:////nowhere/at.all")
    assert ran.code == 1 and "there is no such file" in ran.err
    ran = run("history", "import", "mysql://someone:secret@host/name")
    assert ran.code == 1 and "is no history: write sqlite:///FILE" in ran.err and "secret" not in ran.err


def test_the_history_that_the_environment_names_is_listed(run, tmp_path, monkeypatch):
    place = f"sqlite:///{tmp_path / 'shared.db'}"
    HistoryStore(place).record("blur 0123", "n=10", "some machine", {"version": "source"}, 2e-3)
    monkeypatch.setenv("POLYTUNE_HISTORY", place)
    assert "blur" in run("history").out
    monkeypatch.setenv("POLYTUNE_HISTORY", "ftp://host/name")
    ran = run("history")
    assert ran.code == 1 and "is no history" in ran.err
