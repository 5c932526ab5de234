"""One kernel text, several languages: what backends put before a device kernel to make it CUDA C++, OpenCL C and so on.

A kernel is written with the macros, types and functions below alone, and with names of its own that begin neither with
``pt_`` nor with ``PT_``.  The host text of tests is the CUDA text, compiled by a C++ compiler.

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

from polytune.runtime.devices.arithmetic_text import C_NAMES, FLOAT_CALLS, FLOAT_TEXT

__all__ = ["float_text"]


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
