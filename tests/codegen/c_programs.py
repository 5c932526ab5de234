"""Kernels as C, compiled all at once for a test and called from Python."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cpu.c_library import CLibrary, integers
from polytune.codegen.c_source import c_function
from polytune.frontend.scop import Scop
from polytune.show import c_text_of

Call = Callable[..., Any]


def compiled(
    scops: Mapping[str, Scop],
    names: Mapping[str, Sequence[str]],
    folder: Path,
    fixed: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, Call]:
    """Functions with the kernels' arguments, by the keys of ``scops``.

    Every rounding is as in the source: no contraction, no fast mathematics.

    Args:
        scops: the kernels, of different names.
        names: of each kernel's arguments.
        folder: for the texts and the library.
        fixed: of each kernel, arguments whose sizes are to be constants.
    """
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc on the path")
    functions = {key: c_function(scop) for key, scop in scops.items()}
    for key, arguments in (fixed or {}).items():
        constants = integers(functions[key], dict(zip(names[key], arguments, strict=True)))
        functions[key] = c_function(scops[key], constants=constants)
    files = []
    for number, function in enumerate(functions.values()):
        files.append(folder / f"kernel_{number}.c")
        files[-1].write_text(c_text_of(function))
    library = folder / "kernels.so"
    options = ["-std=c99", "-O1", "-ffp-contract=off", "-Wall", "-Werror", "-fPIC", "-shared"]
    ran = subprocess.run(["gcc", *options, *files, "-o", library, "-lm"], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return {key: CLibrary(library, function, tuple(names[key])).load() for key, function in functions.items()}
