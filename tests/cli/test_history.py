"""``polytune history``: what earlier runs have measured, and forgetting it."""

from __future__ import annotations

import io

import pytest

from polytune.history import Store


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    """A history with two kernels, one of them with two shapes, in the folder that the program looks in."""
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    store = Store(tmp_path)
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
