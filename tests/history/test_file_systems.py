"""Which folders other machines may write to as well, and what SQLite does there."""

from __future__ import annotations

import sqlite3

import pytest

from polytune.history import HistoryStore, database
from polytune.history.database import is_on_network, kind_in_mounts

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:41 / /proc rw - proc proc rw
36 22 0:51 / /home rw,relatime shared:1 - nfs4 server:/home rw,vers=4.2
37 36 0:52 / /home/local\\040disk rw - btrfs /dev/sdb rw
38 22 0:53 / /scratch rw master:3 - lustre 10.0.0.1@tcp:/scratch rw
39 22 0:54 / /mnt rw - fuse.sshfs someone@host: rw
40 22 0:55 / /win rw - fuseblk /dev/sdc rw
41 22 0:56 / /media rw - fuse.ntfs-3g /dev/sdd rw
no mount at all
42 22 0:57
"""


@pytest.mark.parametrize(
    ("device", "folder", "kind"),
    [
        ("8:1", "/var/cache", "ext4"),
        ("0:51", "/home/someone/.cache/polytune", "nfs4"),
        ("0:99", "/home/local disk/cache", "btrfs"),  # files of btrfs have another number than its mount
        ("0:99", "/homely", "ext4"),
        ("0:53", "/scratch", "lustre"),
        ("0:51", "/bound/elsewhere", "nfs4"),
    ],
)
def test_the_kind_is_that_of_the_mount(device, folder, kind):
    assert kind_in_mounts(MOUNTS, device, folder) == kind


def test_nothing_is_said_of_what_is_not_known(tmp_path, monkeypatch):
    assert kind_in_mounts("", "8:1", "/") == ""
    assert not is_on_network(tmp_path / "not" / "there")
    monkeypatch.setattr(database, "_MOUNTS", tmp_path / "none")
    assert not is_on_network(tmp_path)


@pytest.mark.parametrize(
    ("kind", "journal"),
    [("ext4", "wal"), ("nfs", "delete"), ("cifs", "delete"), ("fuse.sshfs", "delete"), ("fuse.ntfs-3g", "wal")],
)
def test_files_that_several_machines_may_have_get_a_rollback_journal(tmp_path, monkeypatch, kind, journal):
    """Also one that had a write-ahead log before."""
    before = HistoryStore(tmp_path)
    before.record("kernel", "n=1", "machine", {"tile": 1}, 1.0)
    before.close()
    monkeypatch.setattr(database, "file_system", lambda folder: kind)
    store = HistoryStore(tmp_path)
    store.record("kernel", "n=1", "machine", {"tile": 2}, 1.0)
    assert len(store.all()) == 2
    store.close()
    with sqlite3.connect(store.path) as file:
        assert file.execute("pragma journal_mode").fetchone() == (journal,)
    assert database.is_on_network is is_on_network
