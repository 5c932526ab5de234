"""Checks on the arguments of a call that need no knowledge of the kernel: their types, and that arrays do not overlap.

Both checks stand in the path of every call, so they cost about a microsecond each for the usual handful of arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from polytune.conversions import array_conversion, overlap_remedy, scalar_conversion
from polytune.errors import ArgumentError
from polytune.signature import DATA_TYPES, ArgumentType, ArrayType, ScalarType, Signature

__all__ = ["check_overlap", "signature_of", "usable_signature"]

_EXACT_OVERLAP_WORK = 100_000
"""Bound on the exact overlap test of two strided arrays, in candidate solutions (see ``numpy.shares_memory``)."""

_SELF_OVERLAP_ELEMENTS = 1_000_000
"""Largest array of interleaved strides whose element addresses are compared one by one."""

_WORD = range(-(2**63), 2**63)

_signatures: dict[tuple[Any, ...], Signature] = {}


def signature_of(names: Sequence[str], values: Sequence[Any]) -> Signature:
    """The types of a call's arguments.

    A Python ``int`` is a weak int64, as is a ``bool``, which is known to be a truth value; a ``float`` is a weak
    float64 and a ``complex`` a weak complex128; a NumPy scalar is strong.  An array is "C" or "F" where its memory is
    contiguous that way ("C" where it is both, as all one-dimensional contiguous arrays are), else "A".  Equal types
    give the same ``Signature`` object.

    Args:
        names: the kernel's parameters, in order.
        values: one value for each.

    Raises:
        ArgumentError: a value is of a kind or an element type that kernels cannot use.
    """
    if len(names) != len(values):
        raise ArgumentError(f"{len(names)} arguments are wanted ({', '.join(names)}), {len(values)} were given")
    kinds: list[Any] = [*names]
    for value in values:
        kind = type(value)
        if kind is np.ndarray or kind is np.memmap:
            flags = value.flags
            kinds.append((value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous))
        elif kind is int and value not in _WORD:
            name = next(name for name, other in zip(names, values, strict=True) if other is value)
            raise ArgumentError(
                f"argument {name!r}: the integer {value} does not fit into 64 bits; pass float({name}), or a smaller "
                "number"
            )
        else:
            kinds.append(kind)
    key = tuple(kinds)
    signature = _signatures.get(key)
    if signature is None:
        types: list[tuple[str, ArgumentType]] = []
        refused: list[str] = []
        for name, value in zip(names, values, strict=True):
            try:
                types.append((name, _type_of(name, value)))
            except ArgumentError as error:
                refused.append(str(error))
        if refused:  # all at once, as each may need something of the caller
            raise ArgumentError("\n".join(refused))
        signature = _signatures.setdefault(key, Signature(tuple(types)))
    return signature


def usable_signature(names: Sequence[str], values: Sequence[Any]) -> Signature:
    """The types of a call's arguments, with types that kernels take in place of those that they do not."""
    types: list[tuple[str, ArgumentType]] = []
    for name, value in zip(names, values, strict=True):
        try:
            types.append((name, _type_of(name, value)))
        except ArgumentError:
            array = isinstance(value, np.ndarray | list | tuple)
            dtype = "int64" if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biumM" else "float64"
            ndim = max(1, np.ndim(value)) if isinstance(value, np.ndarray) else 1
            types.append((name, ArrayType(dtype, ndim, "A") if array else ScalarType(dtype)))
    return Signature(tuple(types))


def _type_of(name: str, value: Any) -> ArgumentType:
    kind = type(value)
    if kind is np.ndarray or kind is np.memmap:
        return _array_type(name, value)
    if kind is int:
        return ScalarType("int64")
    if kind is bool:
        return ScalarType("int64", is_truth=True)
    if kind is float:
        return ScalarType("float64")
    if kind is complex:
        return ScalarType("complex128")
    if isinstance(value, np.generic):
        if value.dtype.name in DATA_TYPES:
            return ScalarType(value.dtype.name, weak=False)
        raise ArgumentError(
            f"argument {name!r}: NumPy scalars of type {value.dtype.name} cannot be used; kernels take "
            f"{', '.join(DATA_TYPES)}, and plain int, float and complex: {scalar_conversion(name, value.dtype)}"
        )
    if isinstance(value, np.ma.MaskedArray):
        remedy = (
            f"pass {name}.filled(y), a plain array with a value y of your choice where it is masked, and read from that"
        )
    elif isinstance(value, np.ndarray):
        remedy = f"pass numpy.asarray({name}), a plain array in the same memory"
    elif value is None:
        remedy = "pass an array or a number"
    elif isinstance(value, list | tuple):
        remedy = (
            f"pass converted = numpy.array({name}, dtype=numpy.float64), or numpy.int64 where all that it holds and "
            "will hold are integers, and read the results from converted: a list is not updated in place"
        )
    else:
        remedy = "pass a NumPy array, an int, a float or a complex"
    what = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    raise ArgumentError(f"argument {name!r}: a value of type {what} cannot be used; {remedy}")


def _array_type(name: str, array: np.ndarray) -> ArrayType:
    dtype = array.dtype
    if dtype.name not in DATA_TYPES:
        raise ArgumentError(
            f"argument {name!r}: arrays of {dtype.name} cannot be used; kernels take {', '.join(DATA_TYPES)}: "
            f"{array_conversion(name, dtype)}"
        )
    if not dtype.isnative:
        raise ArgumentError(
            f"argument {name!r}: its bytes are not in this machine's order ({dtype.str}); "
            f"{array_conversion(name, dtype)}"
        )
    if array.ndim == 0:
        raise ArgumentError(
            f"argument {name!r}: a zero-dimensional array has no elements to loop over; pass {name}[()], its value, "
            f"or, where the kernel writes to it, {name}.reshape(1), a view of which the kernel uses the element [0]"
        )
    flags = array.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    return ArrayType(dtype.name, array.ndim, layout)


def check_overlap(arrays: Mapping[str, np.ndarray], written: Collection[str]) -> None:
    """Refuse arrays that a kernel cannot write as it would in source order, before anything is written.

    Args:
        arrays: every array argument by its name.
        written: the names of those that the kernel writes.

    Raises:
        ArgumentError: a written array is read-only, has two elements in one place, or overlaps with another argument.
    """
    may_share = np.may_share_memory
    names = list(arrays)
    for name in written:
        array = arrays[name]
        flags = array.flags
        if not flags.writeable:
            raise ArgumentError(
                f"argument {name!r}: the kernel writes to it, but it is read-only; pass own = {name}.copy() "
                "and read the results from own"
            )
        if not flags.forc and _overlaps_itself(array):
            raise ArgumentError(
                f"argument {name!r}: the kernel writes to it, but several of its elements lie in the same place "
                f"(shape {array.shape}, strides {array.strides}); pass own = {name}.copy(), in which each has a place "
                "of its own, and read the results from own"
            )
        for other in names:
            if other == name or not may_share(array, arrays[other]) or not _share(array, arrays[other]):
                continue
            raise ArgumentError(
                f"arguments {name!r} and {other!r} overlap in memory, and the kernel writes to {name!r}; "
                f"{overlap_remedy(other, both_written=other in written)}"
            )


def _share(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether two arrays have an element in common; True also where that takes too long to find out."""
    try:
        return np.shares_memory(first, second, max_work=_EXACT_OVERLAP_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _overlaps_itself(array: np.ndarray) -> bool:
    """Return whether two elements of an array lie in the same place; True also where that takes too long to find
    out."""
    if array.size == 0:
        return False
    steps = zip(array.strides, array.shape, strict=True)
    axes = sorted((abs(stride), extent) for stride, extent in steps if extent > 1)
    reach = array.itemsize
    for stride, extent in axes:
        if stride < reach:
            break
        reach += stride * (extent - 1)
    else:
        return False  # each axis steps over all that the axes inside it reach
    if array.size > _SELF_OVERLAP_ELEMENTS or any(stride == 0 for stride, _ in axes):
        return True
    offsets = np.zeros(1, np.int64)
    for stride, extent in axes:
        offsets = np.add.outer(offsets, stride * np.arange(extent)).reshape(-1)
    offsets.sort()
    return bool((np.diff(offsets) < array.itemsize).any())
