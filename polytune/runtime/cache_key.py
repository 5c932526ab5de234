"""The key under which a generated module is kept: a hash of everything that its compiled code depends on."""

from __future__ import annotations

import functools
import hashlib
import platform
import sys
from pathlib import Path

import llvmlite
import numba
import numpy

from polytune.runtime.machine import machine
from polytune.version import __version__

__all__ = ["key_of", "runtime_digest"]


def key_of(*parts: str) -> str:
    """The key of a generated module, 64 hexadecimal digits.

    It covers the parts, the versions of polytune, Python, NumPy, Numba and llvmlite, the processor with its instruction
    set extensions, and the text of this package: compiled code contains what it has inlined from here, while Numba's
    own cache looks only at the file of the function itself.

    Args:
        parts: texts that tell one module from another, such as its source and options.  Their order counts.
    """
    digest = hashlib.sha256(_surroundings())
    for part in parts:
        text = part.encode()
        digest.update(f"{len(text)}:".encode())
        digest.update(text)
    return digest.hexdigest()


@functools.cache
def runtime_digest() -> str:
    """A hash of the text of this package and of those inside it, 16 hexadecimal digits: what generated code calls,
    inlines, is translated by, and shares its layouts of memory with."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(folder.rglob("*.py")):
        name, text = source.relative_to(folder).as_posix(), hashlib.sha256(source.read_bytes()).hexdigest()
        digest.update(f"{name} {text}\n".encode())
    return digest.hexdigest()[:16]


@functools.cache
def _surroundings() -> bytes:
    this = machine()
    facts = [
        f"polytune {__version__}",
        f"{sys.implementation.name} {platform.python_version()} {sys.byteorder} {platform.system()}",
        f"numpy {numpy.__version__} numba {numba.__version__} llvmlite {llvmlite.__version__}",
        f"{platform.machine()} {this.processor} {this.features}",
        runtime_digest(),
    ]
    return "\n".join(facts).encode()
