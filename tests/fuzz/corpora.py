"""The kernels that the project has, with arguments of any size, layout and values.

Sizes of a kernel belong together: a matrix of 128 rows, a vector of 129 numbers and the number 128.  So what is made
smaller is every extent and every whole number of a call at once, and numbers that were near to one another stay as far
apart as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from benchmarks.applications.case import every_case
from gallery.registry import SUITE as GALLERY
from polybench.datasets import Dataset
from polybench.registry import SUITE as POLYBENCH
from polybench.suite import Suite
from tests.frontend.accepted import ACCEPTED

__all__ = ["VARIANTS", "Call", "Variant", "kernels", "variants_of"]

Arguments = tuple[Any, ...]

_KEPT = 4
"""Extents and whole numbers up to here are what they are: colours, neighbours, dimensions of space."""
_NEAR = 4
"""Numbers so far apart belong together."""
_SIZES = (0, 1, 2, 3, 5, 7, 17, 33)


@dataclass(frozen=True)
class Call:
    """A kernel of the project and its usual arguments.

    Attributes:
        name: the corpus and the kernel.
        function: plain Python.
        make: makes the arguments afresh.
        is_exact: whether a strict kernel's results have plain Python's bits.
    """

    name: str
    function: FunctionType
    make: Callable[[], Arguments]
    is_exact: bool = True


@dataclass(frozen=True)
class Variant:
    """Arguments other than the usual ones.

    Attributes:
        name: how they differ.
        change: makes them of the usual ones, which are this call's own.
        is_special: they hold numbers that rules of real numbers do not hold for.
    """

    name: str
    change: Callable[[Arguments, np.random.Generator], Arguments]
    is_special: bool = False


# Kernels


def kernels() -> Iterator[Call]:
    """All kernels of the corpora, the gallery, PolyBench, and what tests have as accepted."""
    for name, case in every_case().items():
        yield Call(
            f"{case.corpus}/{name}", case.function, case.arguments if case.small is None else case.small_arguments
        )
    for suite_name, suite in (("gallery", GALLERY), ("polybench", POLYBENCH)):
        for name in suite.names:
            yield Call(f"{suite_name}/{name}", *_of_suite(suite, name))
    for number, (function, make) in enumerate(ACCEPTED):
        yield Call(f"accepted/{function.__name__}-{number}", function, make)


def _of_suite(suite: Suite, name: str) -> tuple[FunctionType, Callable[[], Arguments], bool]:
    benchmark = suite.benchmark(name)
    sizes = benchmark.sizes(Dataset.MINI)
    return benchmark.kernel.__wrapped__, lambda: benchmark.initialise(**sizes), benchmark.strict_ulps == 0


# Sizes


def resized(arguments: Arguments, size: int, step: int) -> Arguments:
    """Arguments of about a size.

    Args:
        arguments: the usual ones.
        size: the least of the extents that are not kept.
        step: by how much numbers that do not belong together differ.
    """
    numbers = {extent for value in arguments if isinstance(value, np.ndarray) for extent in value.shape}
    numbers |= {value for value in arguments if _is_size(value)}
    small = _small_numbers(sorted(number for number in numbers if number > _KEPT), size, step)
    limit = min((small.get(number, number) for number in numbers), default=1)
    return tuple(_smaller(value, small, limit) for value in arguments)


def _small_numbers(numbers: Sequence[int], size: int, step: int) -> dict[int, int]:
    small: dict[int, int] = {}
    first = first_small = 0
    for position, number in enumerate(numbers):
        if position == 0 or number - numbers[position - 1] > _NEAR:
            first, first_small = number, size if position == 0 else first_small + step
        small[number] = first_small + number - first
    return small


def _smaller(value: Any, small: dict[int, int], limit: int) -> Any:
    if _is_size(value):
        return type(value)(small.get(int(value), int(value)))
    if not isinstance(value, np.ndarray):
        return value
    # A size may be larger than it was.
    value = np.resize(value, tuple(max(small.get(extent, 0), extent) for extent in value.shape))
    value = value[tuple(slice(small.get(extent, extent)) for extent in value.shape)].copy()
    if value.dtype.kind in "iu" and value.size:
        np.minimum(value, max(limit - 1, 0), out=value, casting="unsafe")
    return value


def _is_size(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


# Layouts


def _each_array(change: Callable[[np.ndarray], Any]) -> Callable[[Arguments, np.random.Generator], Arguments]:
    def changed(arguments: Arguments, rng: np.random.Generator) -> Arguments:
        return tuple(change(value) if isinstance(value, np.ndarray) else value for value in _of_five(arguments))

    return changed


def _of_five(arguments: Arguments) -> Arguments:
    return resized(arguments, 5, 2)


def _strided(array: np.ndarray) -> np.ndarray:
    surrounding = np.zeros(tuple(2 * extent + 1 for extent in array.shape), array.dtype)
    view = surrounding[tuple(slice(1, 2 * extent + 1, 2) for extent in array.shape)]
    view[...] = array
    return view


def _reversed(array: np.ndarray) -> np.ndarray:
    backwards = (slice(None, None, -1),) * array.ndim
    return array[backwards].copy()[backwards]


def _in_fortran_order(array: np.ndarray) -> np.ndarray:
    return np.asfortranarray(array)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


# Aliases


def _alike(arguments: Arguments) -> tuple[int, int] | None:
    """The positions of the first two arrays that could be one."""
    arrays = [(place, value) for place, value in enumerate(arguments) if isinstance(value, np.ndarray)]
    for place, value in arrays:
        for other, second in arrays:
            if place < other and value.ndim and (value.shape, value.dtype) == (second.shape, second.dtype):
                return place, other
    return None


def _one_array(arguments: Arguments, rng: np.random.Generator) -> Arguments:
    values = list(_of_five(arguments))
    places = _alike(tuple(values))
    if places is not None:
        values[places[1]] = values[places[0]]
    return tuple(values)


def _overlapping(arguments: Arguments, rng: np.random.Generator) -> Arguments:
    values = list(_of_five(arguments))
    places = _alike(tuple(values))
    if places is not None:
        first = values[places[0]]
        longer = np.concatenate([first, first[:1]])
        values[places[0]], values[places[1]] = longer[: len(first)], longer[len(longer) - len(first) :]
    return tuple(values)


# Values

_SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, -1e-310, 1e300, -1e300, 1e16, 1 / 3, 1.0)


def _special(arguments: Arguments, rng: np.random.Generator) -> Arguments:
    def with_special(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            chosen = rng.choice(_SPECIAL, value.shape)
            with np.errstate(over="ignore"):
                return np.where(rng.random(value.shape) < 0.3, chosen, value).astype(value.dtype)
        return value

    return tuple(with_special(value) for value in _of_five(arguments))


def _rounding(arguments: Arguments, rng: np.random.Generator) -> Arguments:
    def of_any_magnitude(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            scaled = value * 10.0 ** rng.integers(-9, 10, value.shape) / 3
            return (scaled * rng.choice((-1.0, 1.0), value.shape)).astype(value.dtype)
        return value

    return tuple(of_any_magnitude(value) for value in _of_five(arguments))


# Types


def _of_type(kinds: str, dtype: type[np.generic]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: array.astype(dtype) if array.dtype.kind in kinds else array


VARIANTS = (
    Variant("usual", lambda arguments, rng: _of_five(arguments)),
    *(
        Variant(f"size {size}", lambda arguments, rng, size=size, step=step: resized(arguments, size, step))
        for size, step in zip(_SIZES, (0, 0, 1, 2, 0, 3, 1, 2), strict=True)
    ),
    Variant("special values", _special, is_special=True),
    Variant("values that round", _rounding, is_special=True),
    Variant("read-only", _each_array(_read_only)),
    Variant("one array twice", _one_array),
    Variant("overlapping", _overlapping),
    Variant("strided", _each_array(_strided)),
    Variant("reversed", _each_array(_reversed)),
    Variant("Fortran order", _each_array(_in_fortran_order)),
    Variant("float32", _each_array(_of_type("f", np.float32))),
    Variant("int64", _each_array(_of_type("f", np.int64))),
    Variant("complex128", _each_array(_of_type("f", np.complex128))),
)
"""Those of the same types and layouts follow one another, so that they share a module."""


def variants_of(call: Call, names: Sequence[str] | None = None) -> Iterator[tuple[Variant, Callable[[], Arguments]]]:
    """Variants of a kernel's arguments, each with what makes them, the same each time.

    Args:
        call: the kernel.
        names: of the variants; by default all.
    """
    for number, variant in enumerate(VARIANTS):
        if names is None or variant.name in names:
            yield (
                variant,
                lambda variant=variant, number=number: variant.change(call.make(), np.random.default_rng(number)),
            )
