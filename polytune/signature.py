"""Types of a kernel's arguments: what one generated module is specialised for.

Shared by compile time and run time, so it imports neither isl nor Numba.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from polytune.records import dataclass

SIGNED_TYPES = ("int8", "int16", "int32", "int64")
UNSIGNED_TYPES = ("uint8", "uint16", "uint32", "uint64")
FLOAT_TYPES = ("float16", "float32", "float64")
COMPLEX_TYPES = ("complex64", "complex128")

DATA_TYPES = ("bool", *SIGNED_TYPES, *UNSIGNED_TYPES, *FLOAT_TYPES, *COMPLEX_TYPES)
"""The element types that kernels may use, by their NumPy names."""


@dataclass(frozen=True, repr=False)
class ArrayType:
    """An array argument: element type, rank, memory layout ("C" contiguous, "F" contiguous or "A" any strides).

    Attributes:
        extents: the dimensions whose extent is known, in order, each with it: code is made for these alone.
    """

    dtype: str
    ndim: int
    layout: str = "C"
    extents: tuple[tuple[int, int], ...] = ()

    def __repr__(self) -> str:
        extents = f", extents={self.extents!r}" if self.extents else ""
        return f"ArrayType(dtype={self.dtype!r}, ndim={self.ndim!r}, layout={self.layout!r}{extents})"

    def __str__(self) -> str:
        contiguous = {"C": self.ndim - 1, "F": 0}.get(self.layout)
        known = dict(self.extents)
        axes = (str(known.get(axis, "")) + (_CONTIGUOUS if axis == contiguous else _AXIS) for axis in range(self.ndim))
        return f"{self.dtype}[{', '.join(axes)}]"

    def known_step(self, axis: int) -> int | None:
        """Return how many elements lie between neighbours along an axis, where the extents behind it say that."""
        extents = dict(self.extents)
        behind = [extents.get(each) for each in range(axis + 1, self.ndim)]
        known = [extent for extent in behind if extent is not None]
        return math.prod(known) if self.layout == "C" and len(known) == len(behind) else None


@dataclass(frozen=True)
class ScalarType:
    """A scalar argument.

    A *weak* scalar is a plain Python ``int``, ``float`` or ``complex``: as in NumPy (NEP 50) it takes the type of
    the array element it meets.  A NumPy scalar is strong.

    Attributes:
        dtype: the type of the number.
        weak: whether it is one of Python's.
        is_truth: whether it is a ``bool`` of Python's, which is a weak int64, 0 or 1, in memory.
    """

    dtype: str
    weak: bool = True
    is_truth: bool = False

    def __str__(self) -> str:
        if self.is_truth:
            return _TRUTH
        if self.weak:
            return _WEAK[self.dtype]
        return self.dtype

    def __repr__(self) -> str:
        truth = ", is_truth=True" if self.is_truth else ""
        return f"ScalarType(dtype={self.dtype!r}, weak={self.weak!r}{truth})"


_AXIS, _CONTIGUOUS = ":", "::1"
_WEAK = {"int64": "int", "float64": "float", "complex128": "complex"}
_TRUTH = "Python bool"  # "bool" is NumPy's

ArgumentType = ArrayType | ScalarType


@dataclass(frozen=True)
class Leaf:
    """An argument, or an item of one, that is a number or an array.

    Attributes:
        name: what it is called among the arguments of the generated module.
    """

    name: str


@dataclass(frozen=True)
class Items:
    """A tuple that is an argument, or an item of one.

    Attributes:
        items: what stands in it.
        fields: the names of a named tuple's items; empty where it is a plain tuple.
    """

    items: tuple[Structure, ...]
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fixed:
    """None, a text or a function that is an argument, or an item of one: a constant, for which code is made."""

    value: Any


@dataclass(frozen=True)
class Drawing:
    """A generator of random numbers, of ``numpy.random.Generator``, that is an argument, or an item of one.

    Attributes:
        name: what its address is called among the arguments of the generated module, an integer.
    """

    name: str


Structure = Leaf | Items | Fixed | Drawing


def structure_text(structure: Structure, types: Mapping[str, ArgumentType]) -> str:
    """A structure as text for people: ``(float64[:], float64[:])``, ``None``, ``distance()``, ``Generator``.

    Args:
        structure: the structure of an argument.
        types: those of its parts, by their names.
    """
    match structure:
        case Leaf(name):
            return str(types[name])
        case Items(items, fields):
            texts = [structure_text(item, types) for item in items]
            if fields:
                texts = [f"{field}={text}" for field, text in zip(fields, texts, strict=True)]
            return f"({', '.join(texts)}{',' if len(items) == 1 else ''})"
        case Fixed(value):
            return f"{value.__name__}()" if callable(value) else repr(value).replace('"', "\\x22")
        case Drawing():
            return "Generator"


@dataclass(frozen=True)
class Signature:
    """The types of all arguments of a kernel, in order, by name.

    Attributes:
        arguments: numbers and arrays, those that stand in tuples among them.
        structure: what each argument of the function is, where one is neither number nor array; else empty.
        any_subscripts: whether affine subscripts are what they are in Python: what is below 0 counts from the end, and
            accesses that data decide on are tested where they happen; for calls that need it.
    """

    arguments: tuple[tuple[str, ArgumentType], ...]
    structure: tuple[tuple[str, Structure], ...] = ()
    any_subscripts: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Every call of a kernel looks its signature up.
        object.__setattr__(self, "_hash", hash((self.arguments, self.structure, self.any_subscripts)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # hashes are others in each process

    def __hash__(self) -> int:
        return self._hash

    def __getitem__(self, name: str) -> ArgumentType:
        return dict(self.arguments)[name]

    def with_extents(self, extents: Mapping[tuple[str, int], int]) -> Signature:
        """The same with these extents of arrays known, by argument and dimension."""
        arguments = []
        for name, kind in self.arguments:
            if isinstance(kind, ArrayType):
                more = {axis: extents[name, axis] for axis in range(kind.ndim) if (name, axis) in extents}
                kind = replace(kind, extents=tuple(sorted({**dict(kind.extents), **more}.items())))
            arguments.append((name, kind))
        return replace(self, arguments=tuple(arguments))

    def with_known_extents(self, given: Signature, values: Sequence[Any]) -> Signature:
        """The types of a call's arguments, with those extents that are known here, where the call has them.

        Args:
            given: the types.
            values: the arguments.
        """
        extents = {
            (name, axis): extent
            for (name, kind), value in zip(self.arguments, values, strict=True)
            for axis, extent in (kind.extents if isinstance(kind, ArrayType) else ())
            if getattr(value, "shape", ())[axis : axis + 1] == (extent,)
        }
        return given.with_extents(extents) if extents else given

    def __str__(self) -> str:
        types = dict(self.arguments)
        parts = [f"{name}: {structure_text(part, types)}" for name, part in self.structure]
        parts = parts or [f"{name}: {kind}" for name, kind in self.arguments]
        return ", ".join(parts) + ("; any subscripts" if self.any_subscripts else "")


_ARRAY = re.compile(r"^\s*(\w+)\s*\[(.*)\]\s*$")
_EXTENT = re.compile(r"^[0-9]+")


def parse_type(text: str) -> ArgumentType:
    """An argument type from its text: ``float64[:, ::1]``, ``float32``; weak ones are ``int``, ``float``, ``complex``.

    A number before a colon is the extent: ``float64[:, 1::1]`` is a column, ``float64[:, 3::1]`` has rows of three.

    Raises:
        ValueError: the text names no known type.
    """
    text = text.strip()
    for dtype, weak in _WEAK.items():
        if text == weak:
            return ScalarType(dtype)
    if text == _TRUTH:
        return ScalarType("int64", is_truth=True)
    if text in DATA_TYPES:
        return ScalarType(text, weak=False)
    match = _ARRAY.match(text)
    if match and match[1] in DATA_TYPES:
        texts = [axis.strip() for axis in match[2].split(",")]
        numbers = [_EXTENT.match(text) for text in texts]
        extents = tuple((axis, int(found[0])) for axis, found in enumerate(numbers) if found)
        axes = [text[found.end() :] if found else text for text, found in zip(texts, numbers, strict=True)]
        if all(axis in (":", "::1") for axis in axes):
            layout = "A"
            if axes[-1] == "::1" and axes.count("::1") == 1:
                layout = "C"
            elif axes[0] == "::1" and axes.count("::1") == 1:
                layout = "F"
            elif "::1" in axes:
                raise ValueError(f"{text!r}: only the first or the last axis can be contiguous (::1)")
            return ArrayType(match[1], len(axes), layout, extents)
    raise ValueError(f"{text!r} is not a type; write for example float64[:, ::1], int32[:], float or int")


def accepts(wanted: ArgumentType, given: ArgumentType) -> bool:
    """Return whether a module that was generated for an argument of one type takes one of another: an integer where a
    float is wanted, an array of any strides where its strides are no part of the type.
    """
    if isinstance(wanted, ArrayType) or isinstance(given, ArrayType):
        return (
            isinstance(wanted, ArrayType)
            and isinstance(given, ArrayType)
            and (wanted.dtype, wanted.ndim) == (given.dtype, given.ndim)
            and wanted.layout in (given.layout, "A")
            and wanted.extents == given.extents
        )
    assert isinstance(wanted, ScalarType) and isinstance(given, ScalarType)
    if wanted.is_truth or (given.is_truth and wanted.dtype == "bool"):
        return given.is_truth
    if wanted.dtype in ("int32", "int64"):
        return given.dtype in ("int32", "int64")
    if given.dtype == wanted.dtype:
        return True
    if wanted.dtype in COMPLEX_TYPES:
        return given.weak
    return wanted.dtype in FLOAT_TYPES and given.weak and given.dtype not in COMPLEX_TYPES
