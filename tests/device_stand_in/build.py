"""Builds what CUDA code needs where there is no GPU: the package pycuda, and a stand-in for the driver's library.

pycuda is built from its own source, unchanged, against headers that come from packages, and linked to the stand-in's
name.  Both are kept, by a hash of all that they are made of, below ``$POLYTUNE_TEST_CACHE`` or the user's cache
directory.

    python -m tests.device_stand_in.build      builds both, and prints where they are
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

PYCUDA = "pycuda==2026.1"
HEADERS = ("nvidia-cuda-runtime>=13,<14", "nvidia-cuda-profiler-api>=13,<14", "nvidia-cuda-crt>=13,<14")
"""Packages that hold ``cuda.h`` and ``cudaProfiler.h``; no compiler is among them."""

_SOURCES = Path(__file__).parent
_DRIVER_SOURCES = ("driver.cpp", "device.hpp", "fibers.hpp", "memory.hpp", "streams.hpp", "runtime.hpp")
_LONGEST = 600


class CannotBuildError(Exception):
    """Something that the build needs is missing here."""


def pycuda() -> Path:
    """The folder in which the package ``pycuda`` is; to be put on ``sys.path``.

    Raises:
        CannotBuildError: it cannot be built here.
    """
    python = f"{sys.implementation.cache_tag} {platform.machine()} {platform.libc_ver()}"
    return _kept("pycuda", f"{PYCUDA} {HEADERS} {python}", _build_pycuda)


def driver() -> Path:
    """The stand-in for ``libcuda.so.1``.

    Raises:
        CannotBuildError: it cannot be built here.
    """
    module = _pycuda_module()
    texts = [(_SOURCES / name).read_text() for name in _DRIVER_SOURCES]
    folder = _kept("driver", "".join([*texts, str(module), _version("g++")]), lambda work: _build_driver(work, module))
    return folder / "libcuda.so.1"


def _kept(name: str, content: str, build: Callable[[Path], None]) -> Path:
    """The folder of what ``build`` makes of ``content``, built now if it is not there; one process builds at a time."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise CannotBuildError("the stand-in for CUDA is written for Linux on x86-64")
    root = Path(os.environ.get("POLYTUNE_TEST_CACHE") or platformdirs.user_cache_dir("polytune-tests"))
    folder = root / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / f"{name}.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=root) as work:
                made = Path(work, "made")
                made.mkdir()
                build(made)
                made.rename(folder)
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_pycuda(folder: Path) -> None:
    work = folder.parent
    toolkit = work / "toolkit"
    _run([*_pip(), "install", "--no-deps", "--target", str(work / "headers"), *HEADERS])
    (toolkit / "bin").mkdir(parents=True)
    (toolkit / "include").symlink_to(next(work.glob("headers/nvidia/cu*/include")))
    stub = work / "stub.c"
    stub.write_text("void stub(void) {}\n")
    _run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(work / "libcuda.so"), str(stub)])
    # pycuda takes its settings from this file of the home directory alone.
    (work / ".aksetup-defaults.py").write_text(
        f"CUDA_ROOT = {str(toolkit)!r}\n"
        f"CUDA_INC_DIR = [{str(toolkit / 'include')!r}]\n"
        f"CUDADRV_LIB_DIR = [{str(work)!r}]\n"
        "CUDA_ENABLE_CURAND = False\n"
    )
    environment = {
        "HOME": str(work),
        "CFLAGS": "-O0 -g0",
        "CXXFLAGS": "-O0 -g0 -w",
        # The driver's library stays among those needed, though the stub has none of its symbols.
        "LDFLAGS": "-Wl,--no-as-needed -s",
    }
    _run([*_pip(), "install", "--no-deps", "--no-cache-dir", "--target", str(folder), PYCUDA], environment)


def _build_driver(folder: Path, module: Path) -> None:
    work = folder.parent
    headers = work / "headers"
    _run([*_pip(), "install", "--no-deps", "--target", str(headers), *HEADERS])
    include = next(headers.glob("nvidia/cu*/include"))
    compiled = work / "driver.o"
    _run(
        [
            "g++",
            "-std=c++17",
            "-O2",
            "-fPIC",
            "-Wall",
            f"-I{include}",
            "-c",
            "-o",
            str(compiled),
            str(_SOURCES / "driver.cpp"),
        ]
    )
    # Whatever else pycuda is linked with says that it is not supported.
    needed = {line.split()[-1] for line in _run(["nm", "-D", "--undefined-only", str(module)]).splitlines() if line}
    present = {line.split()[-1] for line in _run(["nm", "--defined-only", str(compiled)]).splitlines() if line}
    rest = work / "rest.c"
    missing = sorted(name for name in needed - present if name.startswith("cu"))
    rest.write_text("".join(f"int {name}(void) {{ return 801; }}\n" for name in missing))
    library = folder / "libcuda.so.1"
    command = ["g++", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library), str(compiled)]
    _run(["gcc", "-fPIC", "-c", "-o", str(work / "rest.o"), str(rest)])
    _run([*command, str(work / "rest.o"), "-ldl"])


def _pycuda_module() -> Path:
    found = next((pycuda() / "pycuda").glob("_driver*.so"), None)
    if found is None:
        raise CannotBuildError("pycuda was built without its extension module")
    return found


def _pip() -> list[str]:
    return [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def _version(program: str) -> str:
    return _run([program, "--version"]).splitlines()[0]


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    if shutil.which(command[0]) is None:
        raise CannotBuildError(f"there is no {command[0]}")
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=_LONGEST, env={**os.environ, **(environment or {})}
    )
    if ran.returncode != 0:
        raise CannotBuildError(f"{' '.join(command)} failed:\n{(ran.stdout + ran.stderr)[-2000:]}")
    return ran.stdout


if __name__ == "__main__":
    print(pycuda())
    print(driver())
