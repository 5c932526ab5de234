"""Keeping a cache directory below a size: the entries not used for the longest time go first."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Collection
from pathlib import Path

__all__ = ["evict", "mark_used"]


def mark_used(entry: Path) -> None:
    """Note that an entry, a folder, is in use now; its modification time says so."""
    with contextlib.suppress(OSError):
        os.utime(entry)


def evict(modules: Path, limit: int, keep: Collection[str]) -> list[str]:
    """Delete entries until the rest takes no more than ``limit`` bytes.

    Entries are the folders ``modules/<two characters>/<key>``; other processes may add and delete at the same time.

    Args:
        modules: the folder of all entries.
        limit: bytes.
        keep: keys that stay, whatever their age.

    Returns:
        The keys of the entries deleted.
    """
    entries = []
    for entry in modules.glob("??/*"):
        with contextlib.suppress(OSError):  # being deleted by another process
            size = sum(file.stat().st_size for file in entry.rglob("*") if file.is_file())
            entries.append((entry.stat().st_mtime, size, entry))
    total = sum(size for _, size, _ in entries)
    evicted = []
    for _, size, entry in sorted(entries):
        if total <= limit:
            break
        if entry.name in keep:
            continue
        if _delete(entry):
            evicted.append(entry.name)
            total -= size
    return evicted


def _delete(entry: Path) -> bool:
    """Delete a folder so that nobody sees half of it."""
    doomed = entry.with_name(f".{uuid.uuid4().hex}")
    try:
        entry.rename(doomed)
    except OSError:
        return False
    shutil.rmtree(doomed, ignore_errors=True)
    return True
