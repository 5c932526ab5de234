"""What can be found out about a machine: one small function for each thing, in the order of the report."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """``ok``; ``absent``: something optional is not there; ``broken``: CPU code cannot run until it is put right."""

    OK = "ok"
    ABSENT = "absent"
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
    checks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("python", find_python),
        *((package, lambda package=package: find_package(package)) for package in REQUIRED_PACKAGES),
        ("threads", find_threads),
        ("processor", find_processor),
        ("processor caches", find_processor_caches),
        ("disk cache", find_disk_cache),
        ("NVIDIA driver", find_nvidia_driver),
        ("pycuda", find_pycuda),
        ("pyopencl", find_pyopencl),
    )
    return tuple(_guarded(name, check) for name, check in checks)


def _guarded(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as error:
        return Finding(name, State.BROKEN, f"{type(error).__name__}: {error}")


def find_python() -> Finding:
    return Finding("python", State.OK, f"{platform.python_version()}, {sys.executable}")


REQUIRED_PACKAGES = {
    "numpy": "numpy",
    "numba": "numba",
    "llvmlite": "llvmlite",
    "islpy": "islpy-barvinok",
    "sympy": "sympy",
}
"""Modules that must import, and the distribution that holds each."""


def find_package(module: str) -> Finding:
    """Whether a required module imports, and its version."""
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
    """Compile and run a parallel loop, which tells which threading layer Numba uses here."""
    import numba
    import numpy

    from polytune.runtime.threads import maximum_threads, threading_layer

    @numba.njit(parallel=True)
    def fill(values):
        for index in numba.prange(values.size):
            values[index] = index

    values = numpy.zeros(1000)
    fill(values)
    if not (values == numpy.arange(1000)).all():
        return Finding("threads", State.BROKEN, "a parallel loop compiled by Numba gave a wrong result")
    layer = threading_layer()
    remedy = "" if layer != "workqueue" else "calls from several threads take turns; pip install tbb lets them overlap"
    return Finding("threads", State.OK, f"up to {maximum_threads()}, by Numba's layer {layer}", remedy)


def find_processor() -> Finding:
    from polytune.history.machine import machine_key
    from polytune.runtime.machine import machine

    bits = machine().vector_bytes * 8
    return Finding("processor", State.OK, f"{machine_key()}, {machine().processor} with {bits}-bit vectors")


def find_processor_caches() -> Finding:
    from polytune.runtime.machine import machine

    sizes = (f"L{cache.level} {cache.size // 1024} KiB" for cache in machine().caches)
    return Finding("processor caches", State.OK, ", ".join(sizes))


def find_disk_cache() -> Finding:
    """Whether compiled kernels and measurements can be kept; if not, every process starts from nothing."""
    from polytune.history.store import default_directory

    directory = default_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory, prefix="doctor-"):
            pass
    except OSError as error:
        return Finding(
            "disk cache",
            State.ABSENT,
            f"{directory} cannot be written: {error.strerror}",
            "set POLYTUNE_CACHE_DIR to a folder that can",
        )
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    return Finding("disk cache", State.OK, f"{directory}, {size / 2**20:.1f} MiB")


def find_nvidia_driver() -> Finding:
    program = shutil.which("nvidia-smi")
    if program is None:
        return Finding("NVIDIA driver", State.ABSENT, "no nvidia-smi")
    answer = _ask([program, "--query-gpu=name,driver_version", "--format=csv,noheader"])
    if not answer:
        return Finding("NVIDIA driver", State.ABSENT, "nvidia-smi finds no device")
    return Finding("NVIDIA driver", State.OK, "; ".join(answer))


_CUDA_DEVICES = """
import pycuda.driver as cuda
cuda.init()
for index in range(cuda.Device.count()):
    print(cuda.Device(index).name())
"""


def find_pycuda() -> Finding:
    return _find_binding("pycuda", _CUDA_DEVICES, "pip install 'polytune[cuda]', which needs the CUDA toolkit (nvcc)")


_OPENCL_DEVICES = """
import pyopencl
for platform in pyopencl.get_platforms():
    for device in platform.get_devices():
        print(device.name.strip(), 'through', platform.name.strip())
"""


def find_pyopencl() -> Finding:
    return _find_binding("pyopencl", _OPENCL_DEVICES, "pip install 'polytune[opencl]'")


def _find_binding(package: str, program: str, install: str) -> Finding:
    """The devices that an optional package reaches, asked in a process of its own: some drivers abort theirs."""
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return Finding(package, State.ABSENT, "not installed; nothing needs it so far", f"optional: {install}")
    devices = _ask([sys.executable, "-c", program])
    if not devices:
        return Finding(package, State.ABSENT, f"{version} is installed but finds no device")
    return Finding(package, State.OK, f"{version}: {'; '.join(devices)}")


def _ask(command: list[str]) -> list[str]:
    """The lines that a program prints; none if it fails or does not answer within 20 seconds."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line for line in answer.stdout.splitlines() if line.strip()] if answer.returncode == 0 else []
