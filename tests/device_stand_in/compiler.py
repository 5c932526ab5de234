"""CUDA C++ to a shared library that the stand-in for the driver loads: what NVRTC is to a GPU, g++ is to it.

The two functions are those that ``CudaDevice(compiler=...)`` and ``POLYTUNE_CUDA_COMPILER`` ask for.
"""

from __future__ import annotations

import functools
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from polytune.errors import DeviceCompilationError

_HEADERS = Path(__file__).parent
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
        command = [
            "g++",
            "-std=c++17",
            "-O1",
            "-shared",
            "-fPIC",
            "-w",
            f"-I{_HEADERS}",
            f"-ffp-contract={contraction}",
        ]
        command += ["-fsanitize=bounds-strict,signed-integer-overflow,shift", "-fsanitize-undefined-trap-on-error"]
        ran = subprocess.run([*command, "-o", str(library), str(text)], capture_output=True, text=True, timeout=120)
        if ran.returncode != 0:
            raise DeviceCompilationError(f"g++ cannot compile the kernel:\n{ran.stderr}")
        return library.read_bytes()


@functools.cache
def compiler() -> str:
    """The name and version of the compiler, and a hash of the headers that go into what it makes."""
    version = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    headers = b"".join((_HEADERS / name).read_bytes() for name in ("kernel.hpp", "runtime.hpp", "compiler.py"))
    return f"{version} {hashlib.sha256(headers).hexdigest()}"
