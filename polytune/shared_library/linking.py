"""The C compiler of the machine, which compiles what calls the kernels and links the library."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from polytune.environment import C_COMPILER
from polytune.errors import MissingLibraryError, PolytuneError
from polytune.records import dataclass

__all__ = ["RUNTIME", "Compiler", "find_compiler", "library_name", "link"]

RUNTIME = Path(__file__).parent / "runtime"
"""The C files that every library is linked with."""

_CANDIDATES = ("cc", "gcc", "clang")
_SECONDS = 600


@dataclass(frozen=True)
class Compiler:
    """A C compiler.

    Attributes:
        command: the program and the options that it always has.
    """

    command: tuple[str, ...]

    def run(self, arguments: Sequence[str]) -> None:
        """Run it.

        Raises:
            PolytuneError: it fails; the message ends with what it says.
        """
        try:
            ran = subprocess.run([*self.command, *arguments], capture_output=True, text=True, timeout=_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PolytuneError(f"the C compiler {self.command[0]} cannot be run: {error}") from error
        if ran.returncode != 0:
            raise PolytuneError(f"the C compiler {self.command[0]} failed:\n{ran.stderr.strip()[-2000:]}")


def find_compiler() -> Compiler:
    """The compiler that the environment variable ``CC`` names, else ``cc``, ``gcc`` or ``clang``.

    Raises:
        PolytuneError: shared libraries of kernels cannot be built on this system.
        MissingLibraryError: there is no compiler.
    """
    if sys.platform == "win32":
        raise PolytuneError(
            "shared libraries of kernels are built on Linux and macOS: their threads are POSIX's; "
            "polytune build without --native writes a package that runs on Windows too"
        )
    if C_COMPILER.text:
        command = tuple(shlex.split(C_COMPILER.text))
        if shutil.which(command[0]) is None:
            raise MissingLibraryError(f"there is no C compiler {command[0]!r}, which the variable CC names")
        return Compiler(command)
    for name in _CANDIDATES:
        if shutil.which(name) is not None:
            return Compiler((name,))
    raise MissingLibraryError(
        f"polytune build --native needs a C compiler ({', '.join(_CANDIDATES)}, or what the variable CC names), and "
        "there is none: install gcc or clang, or build without --native"
    )


def library_name(package: str) -> str:
    """The name of the library's file."""
    return f"lib{package}.dylib" if sys.platform == "darwin" else f"lib{package}.so"


def link(compiler: Compiler, sources: Sequence[Path], objects: Sequence[Path], library: Path, *, include: Path) -> None:
    """Compile C files and link them and object code to a shared library.

    Args:
        compiler: the C compiler.
        sources: C files, beside those of every library.
        objects: files of object code.
        library: where it goes.
        include: the folder of headers that were written for it.

    Raises:
        PolytuneError: the compiler or the linker fails.
    """
    runtime = [RUNTIME / name for name in ("arrays.c", "calls.c", "levels.c", "memory.c", "team.c")]
    options = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-pthread"]
    if sys.platform == "darwin":
        shared = ["-dynamiclib", f"-Wl,-install_name,@rpath/{library.name}", "-lm"]
    else:
        vector_forms = ["-Wl,--push-state,--as-needed", "-lmvec", "-Wl,--pop-state"] if _has_vector_forms() else []
        shared = ["-shared", f"-Wl,-soname,{library.name}", "-Wl,-z,defs", "-Wl,--gc-sections", *vector_forms, "-lm"]
    files = [str(file) for file in (*sources, *runtime, *objects)]
    compiler.run([*options, f"-I{RUNTIME}", f"-I{include}", *files, "-o", str(library), *shared])


def _has_vector_forms() -> bool:
    """Return whether LLVM may have called vector forms of mathematical functions."""
    from polytune.runtime.native.vector_mathematics import library

    return bool(library())
