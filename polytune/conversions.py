"""Advice on what to pass to a kernel in place of an argument of a type that it does not take, so that its results are
right.

Shared by compile time and run time.
"""

from __future__ import annotations

import numpy as np


def array_conversion(name: str, dtype: np.dtype) -> str:
    """Return what to do with an array of an element type that kernels do not take, as a sentence without its end.

    Where an array of another type has to be made, what the kernel writes is in that one, and has to be copied back;
    views have it where it belongs.

    Args:
        name: how the array is called.
        dtype: its element type.
    """
    match dtype.kind:
        case "c":
            return f"pass {_copied(name, 'numpy.complex64' if dtype.itemsize == 8 else 'numpy.complex128')}"
        case "V" if dtype.names:
            fields = ", ".join(f"{name}[{field!r}]" for field in dtype.names)
            return f"pass its fields one by one, {fields}, views of {name}: what is written to them is in it"
        case "M" | "m":
            return f"pass {name}.view(numpy.int64), a view that counts its units (NaT is the least number)"
        case "f" if dtype.itemsize < 4:
            return f"pass {_copied(name, 'numpy.float32')} (which rounds less)"
        case "f" if dtype.itemsize > 8:
            return f"pass {_copied(name, 'numpy.float64')} (which has fewer digits)"
        case "O":
            return f"if its elements are numbers, pass {_copied(name, 'numpy.float64')}"
        case "i" | "u" | "f":
            return f"pass {_copied(name, f'numpy.{dtype.name}')}"
    return "pass numbers in its place: kernels compute with nothing else"


def _copied(name: str, dtype: str) -> str:
    return f"converted = {name}.astype({dtype}), and after the call write {name}[...] = converted where it is changed"


def overlap_remedy(other: str, *, both_written: bool) -> str:
    """Return what to do with two arrays that overlap, one of which at least is written, as a sentence without its end.

    Args:
        other: the name of the second one.
        both_written: whether that is written, too; a copy of it would then be lost.
    """
    one = "give the kernel the one array that both are parts of, with the subscripts that its elements have there"
    return one if both_written else f"pass {other}.copy() to compute with what is there before the call; else {one}"


def scalar_conversion(name: str, dtype: np.dtype) -> str:
    """Return what to do with a NumPy scalar of a type that kernels do not take, as a sentence without its end."""
    match dtype.kind:
        case "c":
            return f"pass complex({name})"
        case "f":
            return f"pass float({name})"
        case "M" | "m":
            return f"pass int({name}.astype(numpy.int64)), which counts its units"
        case "V" if dtype.names:
            return f"pass its fields one by one: {', '.join(f'{name}[{field!r}]' for field in dtype.names)}"
    return "pass numbers in its place: kernels compute with nothing else"
