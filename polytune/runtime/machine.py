"""What the machine is like: processor, cores that this process may use, caches, vector width."""

from __future__ import annotations

import functools
import math
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from llvmlite import binding

from polytune.errors import PolytuneError

__all__ = ["Cache", "Machine", "machine", "vector_registers"]


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
        """Bytes that fall to one hardware thread when all that share the cache are at work."""
        return self.size // self.shared_by


@dataclass(frozen=True)
class Machine:
    """The processor of this process.

    Attributes:
        processor: LLVM's name of the processor, such as ``znver4``.
        features: LLVM's names of its instruction set extensions, sorted, each with ``+`` or ``-``.
        cores: how many hardware threads this process may keep busy (affinity and container limits counted).
        vector_bytes: width of the widest vector registers.
        caches: the data caches, the innermost first; sane guesses where the system does not tell.
    """

    processor: str
    features: str
    cores: int
    vector_bytes: int
    caches: tuple[Cache, ...]

    def cache(self, level: int) -> Cache:
        """The cache of a level, or the outermost one where there is no such level."""
        return next((cache for cache in self.caches if cache.level == level), self.caches[-1])

    def __str__(self) -> str:
        caches = ", ".join(f"L{cache.level} {cache.size // 1024} KiB" for cache in self.caches)
        return f"{self.processor}, {self.cores} cores, {self.vector_bytes * 8}-bit vectors, {caches}"


_USUAL_CACHES = (Cache(1, 32 * 1024, 1), Cache(2, 512 * 1024, 1), Cache(3, 8 * 1024 * 1024, 4))


@functools.cache
def machine() -> Machine:
    """The machine that this process runs on, read once."""
    features = binding.get_host_cpu_features()
    return Machine(
        processor=binding.get_host_cpu_name(),
        features=features.flatten(),
        cores=_usable_cores(),
        vector_bytes=_vector_bytes(features),
        caches=_caches(),
    )


def vector_registers() -> tuple[int, int]:
    """For which vector registers to write code: their width in bytes, and how many there are.

    The width is that of the machine, unless ``POLYTUNE_VECTOR_BYTES`` names another one.

    Raises:
        PolytuneError: the variable names no width of vector registers.
    """
    text = os.environ.get("POLYTUNE_VECTOR_BYTES", "").strip()
    if text and text not in ("16", "32", "64"):
        raise PolytuneError(f"POLYTUNE_VECTOR_BYTES={text!r}: vector registers have 16, 32 or 64 bytes")
    width = int(text) if text else machine().vector_bytes
    # Of x86 processors, only those with the widest registers have 32 of them.
    is_x86 = platform.machine().lower() in ("x86_64", "amd64", "i686", "i386")
    return width, 16 if is_x86 and machine().vector_bytes < 64 else 32


def _vector_bytes(features: dict[str, bool]) -> int:
    if features.get("avx512f"):
        return 64
    if features.get("avx"):
        return 32
    return 16


def _usable_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _container_cores() or cores))


def _container_cores(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> int | None:
    """Whole cores' worth of time that the control groups (version 2) of this process allow; None if unlimited."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return None
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    limits = []
    for group in (Path(own), *Path(own).parents):
        try:
            quota, period = (root / group.relative_to("/") / "cpu.max").read_text().split()
            limits.append(math.ceil(int(quota) / int(period)))
        except (OSError, ValueError):  # no limit here: no file, or the word "max"
            continue
    return min(limits, default=None)


def _caches() -> tuple[Cache, ...]:
    found: tuple[Cache, ...] = ()
    if sys.platform == "linux":
        found = _caches_from_sysfs(Path("/sys/devices/system/cpu/cpu0/cache"))
    elif sys.platform == "darwin":
        found = _caches_from_sysctl()
    return found or _USUAL_CACHES


def _caches_from_sysfs(folder: Path) -> tuple[Cache, ...]:
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
    """How many processors a list such as ``0-3,8`` names."""
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
