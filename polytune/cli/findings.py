"""Findings about a machine: one small function for each thing, in the order of the report."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

from polytune.errors import DeviceCompilationError, PolytuneError
from polytune.records import dataclass
from polytune.version import DISTRIBUTION, __version__


class State(StrEnum):
    """``ok``; ``absent``: something optional is not there; ``warning``: something is there that should not be;
    ``broken``: CPU code cannot run until it is put right."""

    OK = "ok"
    ABSENT = "absent"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``remedy`` says what to do, and is empty where nothing is to be done."""

    name: str
    state: State
    detail: str
    remedy: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "state": self.state.value, "detail": self.detail, "remedy": self.remedy}


def examine() -> tuple[Finding, ...]:
    """Everything that can be found out; a check that itself fails becomes a finding of its own."""
    checks: tuple[tuple[str, Callable[[], Finding | tuple[Finding, ...]]], ...] = (
        ("python", find_python),
        ("polytune", find_installation),
        *((package, lambda package=package: find_package(package)) for package in REQUIRED_PACKAGES),
        ("threads", find_threads),
        ("processor", find_processor),
        ("processor caches", find_processor_caches),
        ("disk cache", find_disk_cache),
        ("history", find_history),
        ("NVIDIA driver", find_nvidia_driver),
        ("CUDA compiler", find_cuda_compiler),
        ("packages for devices", find_bindings),
        ("devices", find_devices),
    )
    return tuple(finding for name, check in checks for finding in _guarded(name, check))


def _guarded(name: str, check: Callable[[], Finding | tuple[Finding, ...]]) -> tuple[Finding, ...]:
    try:
        found = check()
    except Exception as error:
        return (Finding(name, State.BROKEN, f"{type(error).__name__}: {error}"),)
    return (found,) if isinstance(found, Finding) else found


def find_python() -> Finding:
    return Finding("python", State.OK, f"{platform.python_version()}, {sys.executable}")


def find_installation() -> tuple[Finding, ...]:
    """Return which polytune runs, and a warning where another distribution is installed by the name ``polytune``."""
    folder = Path(__file__).parents[1]
    try:
        installed = f"{DISTRIBUTION} {importlib.metadata.version(DISTRIBUTION)}"
    except importlib.metadata.PackageNotFoundError:
        installed = f"{__version__}, not installed by the name {DISTRIBUTION}"
    return (Finding("polytune", State.OK, f"{installed}, {folder}"), *_namesakes())


def _namesakes() -> tuple[Finding, ...]:
    """A warning about the distribution ``polytune``: another project's, or this one's by the name that it had first."""
    try:
        other = importlib.metadata.distribution("polytune")
    except importlib.metadata.PackageNotFoundError:
        return ()
    is_ours = any(entry.value == "polytune.cli.main:main" for entry in other.entry_points)
    whose = "this project by its earlier name" if is_ours else "another project, which is not this compiler"
    summary = other.metadata.json.get("summary", "no description")
    return (
        Finding(
            "distributions",
            State.WARNING,
            f"the distribution polytune {other.version} ({summary}) is installed: {whose}",
            # The files of both may have the same places, so that the first command can take away some of this one's.
            f"pip uninstall polytune, then pip install --force-reinstall --no-deps {DISTRIBUTION}",
        ),
    )


REQUIRED_PACKAGES = {
    "numpy": "numpy",
    "numba": "numba",
    "llvmlite": "llvmlite",
    "islpy": "islpy-barvinok",
    "sympy": "sympy",
}
"""Modules that must import, and the distribution that holds each."""


def find_package(module: str) -> Finding:
    """Return whether a required module imports, and its version."""
    distribution = REQUIRED_PACKAGES[module]
    try:
        importlib.import_module(module)
    except ImportError as error:
        return Finding(module, State.BROKEN, f"cannot be imported: {error}", f"pip install {distribution}")
    if module == "islpy" and not _counts_points():
        return Finding(
            module,
            State.BROKEN,
            "built without the Barvinok library, so that nothing can be counted",
            "pip uninstall islpy, then pip install --force-reinstall islpy-barvinok",
        )
    return Finding(module, State.OK, importlib.metadata.version(distribution))


def _counts_points() -> bool:
    import islpy

    return hasattr(islpy.Set, "card")


def find_threads() -> Finding:
    """Compile and run a loop and what teams of threads need, and tell how many threads there are for kernels."""
    import numba
    import numpy

    from polytune.runtime.teams.helpers import compile_team
    from polytune.runtime.teams.threads import maximum_threads

    @numba.njit  # type: ignore[untyped-decorator]
    def fill(values: numpy.ndarray) -> None:
        for index in range(values.size):
            values[index] = index

    values = numpy.zeros(1000)
    fill(values)
    if not (values == numpy.arange(1000)).all():
        return Finding("threads", State.BROKEN, "a loop compiled by Numba gave a wrong result")
    compile_team()
    return Finding("threads", State.OK, f"up to {maximum_threads()}, of {os.cpu_count()} that the machine has")


def find_processor() -> Finding:
    from polytune.history.machine import machine_key
    from polytune.runtime.machine import machine
    from polytune.runtime.teams.threads import maximum_threads

    bits = machine().vector_bytes * 8
    return Finding(
        "processor", State.OK, f"{machine_key(maximum_threads())}, {machine().processor} with {bits}-bit vectors"
    )


def find_processor_caches() -> Finding:
    from polytune.runtime.machine import machine

    sizes = (f"L{cache.level} {cache.size // 1024} KiB" for cache in machine().caches)
    return Finding("processor caches", State.OK, ", ".join(sizes))


def find_disk_cache() -> Finding:
    """Return whether compiled kernels and measurements can be kept; if not, every process starts from nothing."""
    from polytune.history.store import default_directory
    from polytune.runtime.modules.trust import UntrustedError, make_folders

    directory = default_directory()
    try:
        make_folders(directory, directory)
        with tempfile.NamedTemporaryFile(dir=directory, prefix="doctor-"):
            pass
    except UntrustedError as error:
        return Finding(
            "disk cache",
            State.ABSENT,
            f"it is not used, as what is in it would be run: {error}",
            "set POLYTUNE_CACHE_DIR to a folder of your own, or delete this one",
        )
    except OSError as error:
        return Finding(
            "disk cache",
            State.ABSENT,
            f"{directory} cannot be written: {error.strerror}",
            "set POLYTUNE_CACHE_DIR to a folder that can",
        )
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    return Finding("disk cache", State.OK, f"{directory}, {size / 2**20:.1f} MiB")


def find_history() -> Finding:
    """Return whether the history can be used that ``POLYTUNE_HISTORY`` names."""
    from polytune.environment import HISTORY
    from polytune.history.store import HistoryStore

    if not HISTORY.text:
        return Finding("history", State.OK, "history.sqlite in the disk cache")
    try:
        store = HistoryStore()
        if "://" in store.place:
            store.check()
        found = store.summary()
    except PolytuneError as error:
        return Finding("history", State.BROKEN, str(error), "start the server, or set POLYTUNE_HISTORY to another one")
    return Finding("history", State.OK, f"{store.place}, {found.measurements} measured configurations")


def find_nvidia_driver() -> Finding:
    program = shutil.which("nvidia-smi")
    if program is None:
        return Finding("NVIDIA driver", State.ABSENT, "no nvidia-smi")
    answer = _ask([program, "--query-gpu=name,driver_version", "--format=csv,noheader"])
    if not answer:
        return Finding("NVIDIA driver", State.ABSENT, "nvidia-smi finds no device")
    return Finding("NVIDIA driver", State.OK, "; ".join(answer))


def find_bindings() -> tuple[Finding, ...]:
    """The optional packages that reach devices; which ones, ``find_devices`` tells."""
    from polytune.runtime.devices.backends import BACKENDS

    return tuple(_binding(backend.package, backend.kind) for backend in BACKENDS.values())


def _binding(package: str, extra: str) -> Finding:
    try:
        return Finding(package, State.OK, importlib.metadata.version(package))
    except importlib.metadata.PackageNotFoundError:
        return Finding(package, State.ABSENT, "not installed", f"optional: pip install '{DISTRIBUTION}[{extra}]'")


def _ask(command: list[str]) -> list[str]:
    """The lines that a program prints; none if it fails or does not answer within 20 seconds."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line for line in answer.stdout.splitlines() if line.strip()] if answer.returncode == 0 else []


_LONGEST = 60

_PROGRAM = [sys.executable, "-m", "polytune.cli.device_report"]


def find_cuda_compiler() -> Finding:
    """NVRTC, or nvcc in its place: without either no kernel can be made for a CUDA GPU."""
    from polytune.runtime.devices import nvrtc

    try:
        return Finding("CUDA compiler", State.OK, nvrtc.compiler())
    except DeviceCompilationError as error:
        return Finding("CUDA compiler", State.ABSENT, str(error), f"for a CUDA GPU: {nvrtc.INSTALL}")


def find_devices() -> tuple[Finding, ...]:
    """A finding for each device, and one for each kind that has none."""
    try:
        asked = subprocess.run(_PROGRAM, capture_output=True, text=True, timeout=_LONGEST, stdin=subprocess.DEVNULL)
        report = json.loads(asked.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        said = "the process that looked for them did not end well"
        if isinstance(error, subprocess.TimeoutExpired):
            said = f"the drivers did not answer within {_LONGEST} seconds"
        remedy = f"{' '.join(_PROGRAM)} shows what happens; POLYTUNE_DEVICES=none keeps polytune away from them"
        return (Finding("devices", State.ABSENT, said, remedy),)
    return tuple(_finding(entry) for entry in report)


def _finding(entry: dict[str, Any]) -> Finding:
    name = entry["identity"] or entry["description"]
    if entry["reason_if_unusable"]:
        reason = entry["reason_if_unusable"]
        detail = f"{entry['description']}: {reason}" if entry["identity"] else reason
        return Finding(name, State.ABSENT, detail, entry["remedy"])
    detail = f"{entry['description']}: {_words(entry['limits'])}"
    remedy = "" if entry["used"] else f"not used; POLYTUNE_DEVICES={name} chooses it"
    return Finding(name, State.OK, detail, remedy)


def _words(limits: dict[str, Any]) -> str:
    """The limits that decide what runs well on a device."""
    words = [
        f"{limits['memory'] / 2**30:.1f} GiB",
        f"{limits['multiprocessors']} multiprocessors",
        f"{limits['threads_per_block']} threads and {limits['shared_memory'] // 1024} KiB of shared memory a block",
    ]
    if limits["registers_per_block"]:
        words.append(f"{limits['registers_per_block']} registers a block")
    if not limits["float64"]:
        words.append("no double precision")
    return ", ".join(words)
