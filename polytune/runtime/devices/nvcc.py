"""CUDA text to machine code by the compiler ``nvcc`` of a CUDA toolkit, in a process of its own."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from polytune.environment import CUDA_HOME, CUDA_PATH, CUDA_ROOT
from polytune.errors import DeviceCompilationError

__all__ = ["compile", "compiler", "find", "toolkits"]

_LONGEST = 300


def compile(source: str, arch: str, options: Sequence[str] = ()) -> bytes:
    """The machine code (a cubin) of CUDA C++ text.

    Args:
        source: the whole text.
        arch: the architecture, such as ``sm_90``.
        options: of the compiler, such as ``--fmad=false``.

    Raises:
        DeviceCompilationError: with what the compiler says; or there is none.
    """
    program = _required()
    with tempfile.TemporaryDirectory(prefix="polytune-nvcc-") as folder:
        text, code = Path(folder, "kernel.cu"), Path(folder, "kernel.cubin")
        text.write_text(source)
        command = [program, "--cubin", f"--gpu-architecture={arch}", *options, "-o", str(code), str(text)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeviceCompilationError(f"{program} did not compile a kernel for {arch}: {error}") from error
        if ran.returncode != 0:
            said = (ran.stderr + ran.stdout).replace(folder + os.sep, "").strip()
            raise DeviceCompilationError(f"{program} cannot compile for {arch} (exit code {ran.returncode}):\n{said}")
        return code.read_bytes()


@functools.cache
def compiler() -> str:
    """The name of the compiler with its version.

    Raises:
        DeviceCompilationError: there is none.
    """
    program = _required()
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceCompilationError(f"{program} does not run: {error}") from error
    version = re.search(r"V([\d.]+)", said)
    return f"nvcc {version[1] if version else said.strip()}"


def find() -> str | None:
    """The program ``nvcc``: on PATH, or in a toolkit; None if there is none."""
    on_path = shutil.which("nvcc")
    if on_path:
        return on_path
    return next((str(kit / "bin" / "nvcc") for kit in toolkits() if os.access(kit / "bin" / "nvcc", os.X_OK)), None)


def toolkits() -> list[Path]:
    """Return where CUDA toolkits may be."""
    named = [variable.text for variable in (CUDA_HOME, CUDA_PATH, CUDA_ROOT)]
    return [Path(place) for place in (*named, "/usr/local/cuda", "/opt/cuda") if place and Path(place).is_dir()]


def _required() -> str:
    program = find()
    if program is None:
        raise DeviceCompilationError("there is no nvcc: put that of a CUDA toolkit on PATH")
    return program
