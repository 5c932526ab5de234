"""Eviction: the entries not used for the longest time go, and only as many as must."""

import os

import pytest

from polytune.runtime.modules.cache import evict, mark_used


@pytest.fixture
def modules(tmp_path):
    """Four entries of 1000 bytes, "aa1" not used for the longest time."""
    for age, key in enumerate(["aa1", "ab1", "aa2", "ac1"]):
        folder = tmp_path / key[:2] / key
        (folder / "__pycache__").mkdir(parents=True)
        (folder / "kernel.py").write_bytes(bytes(400))
        (folder / "__pycache__" / "run.nbc").write_bytes(bytes(600))
        os.utime(folder, (1000 + age, 1000 + age))
    return tmp_path


def left(modules):
    return sorted(entry.name for entry in modules.glob("*/*"))


@pytest.mark.parametrize(
    ("limit", "evicted"),
    [(4000, []), (3999, ["aa1"]), (2000, ["aa1", "ab1"]), (0, ["aa1", "ab1", "aa2", "ac1"])],
)
def test_no_more_is_deleted_than_must(modules, limit, evicted):
    assert evict(modules, limit, keep=()) == evicted
    assert left(modules) == sorted({"aa1", "ab1", "aa2", "ac1"} - set(evicted))


def test_entries_in_use_stay(modules):
    mark_used(modules / "aa" / "aa1")
    assert evict(modules, 2000, keep={"ab1"}) == ["aa2", "ac1"]


def test_nothing_to_evict(tmp_path):
    assert evict(tmp_path / "missing", 0, keep=()) == []


def test_an_entry_that_cannot_be_moved_stays(modules, monkeypatch):
    def refuse(self, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.rename", refuse)
    assert evict(modules, 0, keep=()) == []
    assert len(left(modules)) == 4
