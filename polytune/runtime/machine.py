"""The properties of the machine: processor, cores that this process may use, caches, vector width."""

from __future__ import annotations

import functools
import math
import platform
from pathlib import Path

from llvmlite import binding

from polytune.caches import Cache, data_caches
from polytune.cores import count_of_cores
from polytune.environment import VECTOR_BYTES
from polytune.errors import PolytuneError
from polytune.records import dataclass

__all__ = ["Cache", "Machine", "machine", "vector_registers"]


@dataclass(frozen=True)
class Machine:
    """The processor of this process.

    Attributes:
        processor: LLVM's name of the processor, such as ``znver4``.
        features: LLVM's names of its instruction set extensions, sorted, each with ``+`` or ``-``.
        cores: how many hardware threads this process may keep busy (affinity and container limits counted).
        vector_bytes: width of the widest vector registers.
        caches: the data caches, the innermost first; usual values where the system does not tell.
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


@functools.cache
def machine() -> Machine:
    """The machine that this process runs on, read once."""
    features = binding.get_host_cpu_features()
    return Machine(
        processor=binding.get_host_cpu_name(),
        features=features.flatten(),
        cores=_usable_cores(),
        vector_bytes=_vector_bytes(features),
        caches=data_caches(),
    )


def vector_registers() -> tuple[int, int]:
    """Return for which vector registers to write code: their width in bytes, and how many there are.

    The width is that of the machine, unless ``POLYTUNE_VECTOR_BYTES`` names another one.

    Raises:
        PolytuneError: the variable names no width of vector registers.
    """
    text = VECTOR_BYTES.text
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
    cores = count_of_cores()
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
