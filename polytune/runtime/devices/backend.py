"""The interface of a backend for devices: a language, and what it lists when devices are looked for; nothing is opened
here.

One kernel text is in several languages: a backend puts a prelude before it, which makes it CUDA C++, OpenCL C and so
on.  A kernel is written with the macros, types and functions below alone, and with names of its own that begin neither
with ``pt_`` nor with ``PT_``.  The host text of tests is the CUDA text, compiled by a C++ compiler.

Types: ``i32``, ``i64``, ``f32``, ``f64``.

=============================  ========================================================================================
``PT_KERNEL(bx, by, bz)``      stands before a kernel's name; its blocks have bx * by * bz threads
``PT_GLOBAL``                  qualifies a pointer to the memory of the device, ``PT_RESTRICT`` one without aliases
``PT_SHARED``                  declares a shared array, only at the kernel's outermost scope and without initialiser
``PT_BARRIER()``               all threads of the block arrive, and see what the others wrote
``PT_THREAD_X`` ... ``_Z``     the thread within its block, ``int``
``PT_BLOCK_X`` ... ``_Z``      the block within the grid, ``int``
``PT_GRID_X`` ... ``_Z``       the extent of the grid in blocks, ``int``
``PT_UNROLL``                  stands before a loop that is to be unrolled completely
``PT_INFINITY_T, PT_NAN_T``    constants, for T in ``f32``, ``f64``
=============================  ========================================================================================

The functions are listed in ``polytune.runtime.devices.arithmetic_text``.  ``f64`` is missing on OpenCL devices that
lack double precision, and ``pt_atomic_add_f64`` and ``pt_atomic_add_i64`` on those that lack 64-bit atomics.
"""

from __future__ import annotations

from collections.abc import Callable

from polytune.records import dataclass
from polytune.runtime.devices.arithmetic_text import C_NAMES, FLOAT_CALLS, FLOAT_TEXT
from polytune.runtime.devices.device import Device

__all__ = ["Backend", "Found", "Listing", "float_text"]


@dataclass(frozen=True)
class Found:
    """A device that a driver lists.

    Attributes:
        identity: such as ``opencl:0``; the number is that of the driver's own order, over all platforms.
        description: the device's own name, and how it is reached.
        model: the device's own name.
        is_gpu: whether it is a GPU, and not a processor.
        open: makes the ``Device``, or raises a ``DeviceError``.
        reason: why it must not be used; empty if it can be.
        remedy: what to do about that.
    """

    identity: str
    description: str
    model: str
    is_gpu: bool
    open: Callable[[], Device]
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Listing:
    """All devices of a kind, or why there are none.

    Attributes:
        description: the kind in words.
        found: the devices.
        reason: why none can be found, where that is so.
        remedy: what to do about that.
    """

    description: str
    found: tuple[Found, ...] = ()
    reason: str = ""
    remedy: str = ""

    @property
    def obstacle(self) -> str:
        """Return why no device of the kind can be used, and what to do about it; empty if one can be."""
        if not self.found:
            return f"{self.reason or 'there is none'}{'; ' if self.remedy else ''}{self.remedy}"
        if any(not found.reason for found in self.found):
            return ""
        return " | ".join(f"{found.identity} ({found.model}): {found.reason}; {found.remedy}" for found in self.found)


@dataclass(frozen=True)
class Backend:
    """A way to reach devices, which one file of `polytune.runtime.devices.backends` declares.

    Attributes:
        kind: its name, in identities such as ``cuda:0`` and in ``POLYTUNE_DEVICES``, and that of its dialect.
        package: the Python package that it goes through.
        precedence: of the backends that reach a GPU the one with the lowest number is used.
        prelude: what is put before the text of a kernel; ``polytune.runtime.devices.backend`` says what it defines.
        look: lists its devices, or says why there are none; it raises nothing.
    """

    kind: str
    package: str
    precedence: int
    prelude: str
    look: Callable[[], Listing]


def _calls(float_type: str, suffix: str) -> str:
    """A macro for every function that the languages' own libraries have."""
    lines = []
    for name, arity in FLOAT_CALLS.items():
        names = ("x", "y")[:arity]
        passed = ", ".join(f"({float_type})({argument})" for argument in names)
        lines.append(f"#define pt_{name}_{float_type}({', '.join(names)}) {C_NAMES.get(name, name)}{suffix}({passed})")
    return "\n".join(lines) + "\n"


def float_text(float_type: str, suffix: str) -> str:
    """The functions of a floating-point type, which the preludes of all backends have.

    Args:
        float_type: ``f32`` or ``f64``.
        suffix: what the language puts behind the names of its own functions of that type.
    """
    return _calls(float_type, suffix) + FLOAT_TEXT.replace("TYPE", float_type)
