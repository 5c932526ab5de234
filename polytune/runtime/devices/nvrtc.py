"""CUDA text to machine code within this process, by NVIDIA's run-time compiler NVRTC, called through ctypes.

It needs neither a GPU nor a driver nor pycuda.  The library comes from ``$POLYTUNE_NVRTC`` (its file), the package
``nvidia-cuda-nvrtc`` (CUDA 12: ``nvidia-cuda-nvrtc-cu12``), or a CUDA toolkit; where there is none, ``nvcc`` does the
same, a process for each kernel.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from polytune.environment import NVRTC
from polytune.errors import DeviceCompilationError
from polytune.records import dataclass
from polytune.runtime.devices import nvcc

__all__ = ["INSTALL", "ForDriver", "compile", "compiler", "options"]

INSTALL = "pip install nvidia-cuda-nvrtc"


def compile(source: str, arch: str, options: Sequence[str] = (), newest: int | None = None) -> bytes:
    """The machine code (a cubin) of CUDA C++ text.

    Args:
        source: the whole text.
        arch: the architecture, such as ``sm_90``.
        options: of the compiler, such as ``--fmad=false``; those of NVRTC and nvcc have the same names.
        newest: the newest major version of CUDA whose machine code can be used; None for any.

    Raises:
        DeviceCompilationError: with the compiler's log; or there is no compiler.
    """
    library = _library(newest)
    if library is not None:
        return library.compile(source, arch, options)
    _require_nvcc(newest)
    return nvcc.compile(source, arch, options)


def compiler(newest: int | None = None) -> str:
    """Return which compiler ``compile`` uses, with its version: part of the key of what is compiled.

    Raises:
        DeviceCompilationError: there is none.
    """
    library = _library(newest)
    if library is not None:
        return f"NVRTC {library.version}"
    _require_nvcc(newest)
    return nvcc.compiler()


def _require_nvcc(newest: int | None) -> None:
    """
    Raises:
        DeviceCompilationError: it is not there either.
    """
    if nvcc.find() is not None:
        return
    which, package = "", "nvidia-cuda-nvrtc"
    if newest is not None:
        which = f" that is no newer than the driver's CUDA {newest}"
        package = f"nvidia-cuda-nvrtc-cu{newest}" if newest < 13 else f"'nvidia-cuda-nvrtc<{newest + 1}'"
    raise DeviceCompilationError(
        f"there is no compiler for CUDA{which}: pip install {package}, or put nvcc of a CUDA toolkit on PATH"
    )


def options(contract: bool) -> list[str]:
    """The options with which kernels are compiled.

    Args:
        contract: whether a multiplication and an addition may become one operation that rounds once.
    """
    return ["--std=c++17", "-w", f"--fmad={str(contract).lower()}"]


@dataclass(frozen=True)
class ForDriver:
    """The compiler for a driver, which loads no machine code of a later major version of CUDA than its own.

    Attributes:
        major: that version.
    """

    major: int

    def compile(self, source: str, arch: str, options: Sequence[str]) -> bytes:
        """Return machine code that the driver can load; see ``compile`` of this module.

        Args:
            source: the whole text, CUDA C++.
            arch: the architecture, such as ``sm_90``.
            options: of the compiler, such as ``--fmad=false``.
        """
        return compile(source, arch, options, self.major)

    def compiler(self) -> str:
        """See ``compiler`` of this module."""
        return compiler(self.major)


class _Library:
    """A loaded NVRTC.

    Attributes:
        path: its file.
        major: of its version.
        version: such as ``13.0``.
    """

    def __init__(self, path: str):
        """
        Raises:
            OSError: there is no such library, or it cannot be loaded.
        """
        # NVRTC looks for its companion by name only, and finds it where that is loaded already.
        for companion in sorted(Path(path).parent.glob("libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(companion))
        self._calls = ctypes.CDLL(path)
        self._calls.nvrtcGetErrorString.restype = ctypes.c_char_p
        self.path = path
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._calls.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        self.major, self.version = major.value, f"{major.value}.{minor.value}"

    def compile(self, source: str, arch: str, options: Sequence[str]) -> bytes:
        """See ``compile`` of this module."""
        calls, program = self._calls, ctypes.c_void_p()
        self._check(calls.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None))
        try:
            given = [f"--gpu-architecture={arch}", *options]
            texts = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
            status = calls.nvrtcCompileProgram(program, len(given), texts)
            if status:
                log = self._text(program, calls.nvrtcGetProgramLogSize, calls.nvrtcGetProgramLog)
                words = calls.nvrtcGetErrorString(status).decode()
                log_text = log.rstrip(b"\0").decode(errors="replace").strip()
                raise DeviceCompilationError(f"NVRTC {self.version} cannot compile for {arch} ({words}):\n{log_text}")
            return self._text(program, calls.nvrtcGetCUBINSize, calls.nvrtcGetCUBIN)
        finally:
            calls.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, size: Callable[..., int], get: Callable[..., int]) -> bytes:
        """Return what NVRTC holds for a program: it is asked for the size first."""
        length = ctypes.c_size_t()
        self._check(size(program, ctypes.byref(length)))
        content = ctypes.create_string_buffer(length.value)
        self._check(get(program, content))
        return content.raw

    def _check(self, status: int) -> None:
        if status:
            raise DeviceCompilationError(f"NVRTC failed: {self._calls.nvrtcGetErrorString(status).decode()}")


@functools.cache
def _library(newest: int | None = None) -> _Library | None:
    """NVRTC of at most a given major version, looked for once in a process; None if it is nowhere.

    Raises:
        DeviceCompilationError: ``$POLYTUNE_NVRTC`` names a file that is not NVRTC.
    """
    named = NVRTC.text
    if named:
        try:
            return _Library(named)
        except (OSError, AttributeError) as error:
            raise DeviceCompilationError(
                f"POLYTUNE_NVRTC={named!r} is not NVRTC ({error}): name the file libnvrtc.so of a CUDA toolkit, "
                f"or unset it and {INSTALL}"
            ) from error
    for path in _candidates():
        try:
            library = _Library(path)
        except (OSError, AttributeError):
            continue
        if newest is None or library.major <= newest:
            return library
    return None


def _candidates() -> Iterator[str]:
    """Files that may be NVRTC, the most recent of each place first."""
    for folder in sys.path:
        # Packages of CUDA 13 and later share a folder of that major version; earlier ones have one each.
        for pattern in ("nvidia/cu[0-9]*/lib/libnvrtc.so.*", "nvidia/cuda_nvrtc/lib/libnvrtc.so.*"):
            yield from _newest_first(Path(folder), pattern)
    for toolkit in nvcc.toolkits():
        for pattern in ("lib64/libnvrtc.so.*", "lib/libnvrtc.so.*"):
            yield from _newest_first(toolkit, pattern)
    found = ctypes.util.find_library("nvrtc")
    if found:
        yield found


def _newest_first(folder: Path, pattern: str) -> list[str]:
    try:
        return sorted(map(str, folder.glob(pattern)), reverse=True)
    except OSError:
        return []
