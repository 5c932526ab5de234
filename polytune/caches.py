"""The data caches of the processor, as the system tells them."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

from polytune.records import dataclass

__all__ = ["Cache", "caches_from_sysfs", "data_caches"]


@dataclass(frozen=True)
class Cache:
    """A level of the data caches, as one core sees it.

    Attributes:
        level: 1, 2 or 3.
        size: bytes of the whole cache.
        shared_by: how many hardware threads share it.
    """

    level: int
    size: int
    shared_by: int

    @property
    def share(self) -> int:
        """Bytes that fall to one hardware thread when all that share the cache are at work, at most 16 MiB.

        Few processors have more than that for each core. A virtual machine with two cores of a large one is told the
        whole last cache, of 480 MiB for instance, in which the others' data lie as well.
        """
        return min(self.size // self.shared_by, _LARGEST_SHARE)


_LARGEST_SHARE = 16 << 20
"""Bytes of the largest share of a cache that is believed."""

_USUAL_CACHES = (Cache(1, 32 * 1024, 1), Cache(2, 512 * 1024, 1), Cache(3, 8 * 1024 * 1024, 4))


@functools.cache
def data_caches() -> tuple[Cache, ...]:
    """The data caches of this machine, the innermost first; usual values where the system does not tell."""
    found: tuple[Cache, ...] = ()
    if sys.platform == "linux":
        found = caches_from_sysfs(Path("/sys/devices/system/cpu/cpu0/cache"))
    elif sys.platform == "darwin":
        found = _caches_from_sysctl()
    return found or _USUAL_CACHES


def caches_from_sysfs(folder: Path) -> tuple[Cache, ...]:
    """The caches of one processor as Linux lists them, an ``index`` folder each; empty where it does not."""
    found = []
    for index in sorted(folder.glob("index[0-9]*")):
        try:
            if (index / "type").read_text().strip() == "Instruction":
                continue
            level = int((index / "level").read_text())
            size = _bytes((index / "size").read_text())
            sharing = (index / "shared_cpu_list").read_text()
        except (OSError, ValueError):
            continue
        if size:
            found.append(Cache(level, size, _listed(sharing)))
    return tuple(sorted(found, key=lambda cache: cache.level))


def _bytes(text: str) -> int:
    """Bytes from sysfs's ``32K`` or ``8M``."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    if match is None:
        raise ValueError(f"not a cache size: {text!r}")
    return int(match[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[match[2]]


def _listed(text: str) -> int:
    """Return how many processors a list such as ``0-3,8`` names."""
    count = 0
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count


def _caches_from_sysctl() -> tuple[Cache, ...]:
    """The caches as macOS tells them, of the fast cores where cores differ."""
    found = []
    for level, name, sharing in (
        (1, "l1dcachesize", "1"),
        (2, "l2cachesize", "cpusperl2"),
        (3, "l3cachesize", "cpusperl3"),
    ):
        size = _sysctl(f"hw.perflevel0.{name}") or _sysctl(f"hw.{name}")
        if size:
            shared_by = 1 if sharing == "1" else _sysctl(f"hw.perflevel0.{sharing}") or os.cpu_count() or 1
            found.append(Cache(level, size, shared_by))
    return tuple(found)


def _sysctl(name: str) -> int | None:
    try:
        done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=True)
        return int(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
