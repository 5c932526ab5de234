"""CUDA C++ to a shared library that the stand-in for the driver loads: what NVRTC is to a GPU, GCC is to it.

The two functions are those that ``CudaDevice(compiler=...)`` and ``POLYTUNE_CUDA_COMPILER`` ask for.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from polytune.errors import DeviceCompilationError

_HEADERS = Path(__file__).parent
_HEADERS_OF_KERNELS = ("kernel.hpp", "runtime.hpp")
_KERNEL = re.compile(r"^PT_KERNEL\(([^()]*),([^()]*),([^()]*)\)\s+(\w+)\s*\(", re.MULTILINE)


def compile(source: str, arch: str, options: Sequence[str] = ()) -> bytes:
    """The shared library of a kernel's text.

    Args:
        source: the whole text, with the CUDA prelude.
        arch: has no meaning here.
        options: those of NVRTC; whether products and sums may be contracted counts.

    Raises:
        DeviceCompilationError: with what the compiler says.
    """
    calls = [f"STAND_IN_KERNEL({name}, (({x}) * ({y}) * ({z})))" for x, y, z, name in _KERNEL.findall(source)]
    contraction = "off" if "--fmad=false" in options else "fast"
    with tempfile.TemporaryDirectory(prefix="polytune-stand-in-") as folder:
        text, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
        text.write_text('#include "kernel.hpp"\n#line 1 "kernel.cu"\n' + source + "\n" + "\n".join(calls) + "\n")
        headers = f"-I{_compiled_headers(contraction).name}"
        # The C library is in the process that loads it; to look through it takes as long as to compile a small kernel.
        linked = ["-shared", "-nostdlib", "-o", str(library), str(text), "-lm", "-lgcc"]
        command = ["gcc", *_options(contraction), headers, *linked]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if ran.returncode != 0:
            raise DeviceCompilationError(f"gcc cannot compile the kernel:\n{ran.stderr}")
        return library.read_bytes()


def _options(contraction: str) -> list[str]:
    """The options of the compiler, for kernels and headers alike."""
    checks = "-fsanitize=bounds-strict,signed-integer-overflow,shift"
    return [
        "-std=c++17",
        "-O1",
        "-fPIC",
        "-w",
        f"-ffp-contract={contraction}",
        checks,
        "-fsanitize-undefined-trap-on-error",
    ]


@functools.cache
def _compiled_headers(contraction: str) -> tempfile.TemporaryDirectory[str]:
    """The folder of the headers, and of what the compiler has made of them: a kernel's text takes less time than they
    do.  The compiler reads the headers themselves where what it has made does not fit its options."""
    folder = tempfile.TemporaryDirectory(prefix="polytune-stand-in-headers-")
    for name in _HEADERS_OF_KERNELS:
        shutil.copy(_HEADERS / name, folder.name)
    header = Path(folder.name, "kernel.hpp")
    command = ["gcc", *_options(contraction), "-x", "c++-header", "-o", f"{header}.gch", str(header)]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    return folder


@functools.cache
def compiler() -> str:
    """The name and version of the compiler, and a hash of the headers that go into what it makes."""
    version = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    headers = b"".join((_HEADERS / name).read_bytes() for name in (*_HEADERS_OF_KERNELS, "compiler.py"))
    return f"{version} {hashlib.sha256(headers).hexdigest()}"
