"""C functions that polytune prints, compiled and called from Python."""

from __future__ import annotations

import ctypes
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cpu.contender import PeerError
from polytune.codegen.c_source import CArgument, CFunction, CRole

SECONDS = 120.0
"""The most seconds that a compiler may take."""

_C_TYPES = {
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


@dataclass(frozen=True)
class CLibrary:
    """A kernel in a shared library.

    Attributes:
        path: the library.
        function: what polytune printed.
        names: the names of the kernel's arguments, in order.
    """

    path: Path
    function: CFunction
    names: tuple[str, ...]

    def load(self) -> Callable[..., Any]:
        """A Python function with the kernel's arguments."""
        compiled = getattr(ctypes.CDLL(str(self.path)), self.function.name)
        compiled.restype = None if self.function.result is None else _C_TYPES[self.function.result]
        arguments, names = self.function.arguments, self.names

        def call(*values: Any) -> Any:
            given = dict(zip(names, values, strict=True))
            return compiled(*(_passed(argument, given) for argument in arguments))

        return call


def integers(function: CFunction, given: Mapping[str, Any]) -> dict[str, int]:
    """The values of those arguments that are integers in a call with the kernel's arguments by name."""
    values = {
        argument.name: _passed(argument, given).value
        for argument in function.arguments
        if argument.role is not CRole.ARRAY and argument.dtype.startswith("int")
    }
    return {name: value for name, value in values.items() if abs(value) < 2**31}


def _passed(argument: CArgument, given: Mapping[str, Any]) -> Any:
    value = given[argument.of]
    match argument.role:
        case CRole.EXTENT:
            return ctypes.c_int64(value.shape[argument.axis])
        case CRole.STRIDE:
            return ctypes.c_int64(value.strides[argument.axis] // value.itemsize)
        case CRole.SCALAR:
            return _C_TYPES[argument.dtype](value.item() if hasattr(value, "item") else value)
    return ctypes.c_void_p(value.ctypes.data)


def shared_library(source: Path, compiler: Sequence[str], options: Sequence[str], libraries: Sequence[str]) -> Path:
    """Compile a C file and link it, in two steps.

    The linker is not told ``-ffast-math``: with that, GCC would add code to the library that takes subnormal numbers
    for zeros from then on, in all of this process.

    Args:
        source: the file; the library is put next to it.
        compiler: the command, with options that both steps need.
        options: for compiling.
        libraries: for linking.

    Raises:
        PeerError: it cannot be compiled.
    """
    unit, library = source.with_suffix(".o"), source.with_suffix(".so")
    run_tool([*compiler, *options, "-std=gnu99", "-fPIC", "-c", str(source), "-o", str(unit)], source.parent)
    run_tool([*compiler, "-shared", str(unit), "-o", str(library), *libraries, "-lm"], source.parent)
    return library


def run_tool(command: Sequence[str], folder: Path, seconds: float = SECONDS) -> str:
    """The standard output of a tool.

    Raises:
        PeerError: it fails, or takes too long.
    """
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, errors="replace")
    except subprocess.TimeoutExpired:
        raise PeerError(f"{command[0]} took longer than {seconds:g} s") from None
    except OSError as problem:
        raise PeerError(f"{command[0]} cannot be run ({problem.strerror})") from None
    if ran.returncode != 0:
        lines = [line.strip() for line in (ran.stderr or ran.stdout).splitlines() if line.strip()]
        telling = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no message")
        raise PeerError(f"`{shlex.join(command[:4])} ...` failed: {telling}")
    return ran.stdout
