"""What plain Python makes of a program, and whether that is something to compare with."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.fuzz.rounding import Bounded, bounded, with_bounded_numbers
from tests.fuzz.samples import Sample

LARGEST = 1e6
"""Programs whose values grow beyond are not used: differences in rounding would grow with them."""

RESULT = "the result"
"""The name of the result, among what has bounds."""

_LOOSEST = 1e-2
"""Bounds on errors beyond this would hide what is wrong."""

_UNUSABLE = (FloatingPointError, OverflowError, ZeroDivisionError)
_REFUSABLE = (IndexError, UnboundLocalError, ValueError)
ORDERED = re.compile(
    r"@|\*\*|\b(sum|prod|mean|var|std|dot|vdot|inner|outer|einsum|cumsum|cumprod|trace|norm|linspace|tensordot|average"
    r"|exp\w*|log\w*|sin\w*|cos\w*|tan\w*|arc\w+|hypot|cbrt|pow|power|max\w*|min\w*|clip|sign)\b"
)
"""The operations that are computed in an order, with a last digit, or with a sign of zero that NumPy does not
promise."""


@dataclass(frozen=True)
class Reference:
    """What plain Python makes of a program.

    Attributes:
        arrays: every array afterwards.
        result: what is returned.
        error: what is raised instead.
        bounds: how far each element of each array may be from this one, and the result, called ``RESULT``, where sums
            in any order are rounded; None where the sample says how near results have to be.
    """

    arrays: dict[str, np.ndarray]
    result: Any
    error: Exception | None
    bounds: dict[str, np.ndarray] | None = None


def prepared(sample: Sample) -> tuple[Sample, Reference | None]:
    """A program with what plain Python makes of it.

    A program that is to be reassociated has bounds on what rounding does in any order, and is made strict where there
    are none and rounding might tell the order of its operations.  One of array expressions gets the tolerance that its
    types need, unless it has no operation that NumPy does in an order or with a last digit of its own.  None where a
    number overflows or gets large, or where rounding decides what array expressions do.
    """
    reference = _run_plainly(sample)
    if reference is None or not all(map(_is_small, numbers_of(reference))):
        return sample, None
    if reference.error is not None:
        return sample, reference
    if sample.numpy:
        tolerance = _tolerance(sample, reference)
        is_complex = any(
            "complex" in text or re.search(r"\dj\b", text) for text in (sample.source, *dict(sample.setup).values())
        )
        if sample.strict and not is_complex and not ORDERED.search(sample.source):
            return sample, reference
        precise = _run_plainly(sample, precisely=True)
        if precise is None or not _is_near(reference, precise, tolerance / 30):
            return sample, None
        return replace(sample, tolerance=tolerance), reference
    if not sample.strict and not sample.tolerance:
        bounds = error_bounds(sample, reference)
        if bounds is not None:
            return sample, replace(reference, bounds=bounds)
        precise = _run_plainly(sample, precisely=True)
        if precise is None or not _is_exact(reference, precise) or not _has_few_digits(sample):
            sample = replace(sample, strict=True)
    return sample, reference


def _run_plainly(sample: Sample, precisely: bool = False) -> Reference | None:
    function = sample.function({"np": PRECISE} if precisely else {})
    arguments = sample.arguments(function, PRECISE) if precisely and sample.numpy else sample.arguments(function)
    values = arguments.values
    if precisely and not sample.numpy:
        # Views of one array become arrays of their own: programs that write them are refused anyway.
        values = tuple(
            value.astype(np.longdouble) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
            for value in values
        )
    special = any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in arguments.arrays.values())
    ignored = sample.numpy or special or "np.inf" in sample.source or "np.nan" in sample.source
    errors = (*_REFUSABLE, AssertionError) if sample.numpy else _REFUSABLE
    try:
        with np.errstate(all="ignore" if ignored else "raise", under="ignore"):
            result = function(*values)
    except _UNUSABLE:
        return None
    except errors as error:
        return Reference(arguments.arrays, None, error)
    arrays = arguments.arrays
    if precisely and not sample.numpy:
        arrays = {str(position): value for position, value in enumerate(values) if isinstance(value, np.ndarray)}
    return Reference(arrays, result, None)


def error_bounds(sample: Sample, reference: Reference) -> dict[str, np.ndarray] | None:
    """Return how far two executions of a program may be apart if each adds up in an order of its own.

    None where rounding may decide more than digits, and where no bound is known or it would tell nothing.
    """
    if reference.error is not None:
        return None
    text = sample.source + " ".join(text for _, text in sample.setup)
    single = "float32" in text
    unit = float(np.finfo(np.float32 if single else np.float64).eps) / 2
    function = sample.function(with_bounded_numbers)
    # What arguments hold in common with others, also where that is not passed, has its bound there, too.
    given = sample.arguments(function)
    try:
        values = tuple(bounded(value, unit) if isinstance(value, np.ndarray) else value for value in given.values)
        with np.errstate(all="ignore"):
            result = function(*values)
    except Exception:
        return None
    for array in given.arrays.values():
        if array.flags.writeable:
            array[...] = 0
    least = float(np.finfo(np.float32 if single else np.float64).tiny)
    for array, numbers in zip(given.values, values, strict=True):
        if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.flags.writeable:
            for index in np.ndindex(array.shape):
                number = numbers[index]
                array[index] = _bound(number, least) if isinstance(number, Bounded) else 0.0
            if array.max(initial=0.0) > _LOOSEST:
                return None
    bounds = {name: array if array.flags.writeable else np.zeros(array.shape) for name, array in given.arrays.items()}
    if isinstance(result, Bounded):
        bounds[RESULT] = np.asarray(_bound(result, least))
        if bounds[RESULT] > _LOOSEST:
            return None
    elif isinstance(result, tuple | list):
        return None
    return bounds


def _bound(number: Bounded, least: float) -> float:
    """How far two roundings of a number may be apart; 0 where no order rounds it."""
    return least + 2.01 * float(number.error) if number.error else 0.0


def numbers_of(reference: Reference) -> Iterator[np.ndarray]:
    """All arrays, and what is returned."""
    yield from reference.arrays.values()
    yield from _parts(reference.result)


def _parts(result: Any) -> Iterator[np.ndarray]:
    if isinstance(result, tuple | list):
        for part in result:
            yield from _parts(part)
    elif result is not None:
        yield np.asarray(result)


def _is_small(array: np.ndarray) -> bool:
    if array.dtype.kind in "bu" or (array.dtype.kind == "i" and array.dtype.itemsize < 8):
        return True
    return bool(np.abs(array[np.isfinite(array)]).max(initial=0) <= LARGEST)


def _is_exact(reference: Reference, precise: Reference) -> bool:
    """Whether results are those of higher precision."""
    if precise.error is not None:
        return False
    wanted = [*reference.arrays.values(), np.asarray(reference.result if reference.result is not None else 0)]
    found = [*precise.arrays.values(), np.asarray(precise.result if precise.result is not None else 0)]
    return all(any(_is_same(value, other) for other in wanted) for value in found)


def _has_few_digits(sample: Sample) -> bool:
    """Whether sums of a program's data are exact in any order.

    That the program's own order happens to round nothing says nothing of others where the data have all their digits.
    """
    arrays = sample.arguments(sample.function()).arrays.values()
    return all(
        bool(np.array_equal(array * 64, np.round(array * 64), equal_nan=True))
        for array in arrays
        if array.dtype.kind == "f"
    )


def _is_same(first: np.ndarray, second: np.ndarray) -> bool:
    return first.shape == second.shape and np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


def _has_complex_numbers(sample: Sample) -> bool:
    """Return whether there are complex numbers, whose products NumPy rounds in vectors otherwise than one by one."""
    return any(re.search(r"complex|\dj\b", text) for text in (sample.source, *(text for _, text in sample.setup)))


def _tolerance(sample: Sample, reference: Reference) -> float:
    """How far sums in another order may be from those of NumPy, relative to the largest element."""
    text = sample.source + " ".join(text for _, text in sample.setup)
    singles = (np.float32, np.complex64)
    single = re.search(r"float32|int16|complex64", text) or any(
        array.dtype in singles for array in numbers_of(reference)
    )
    return 1e-4 if single else 1e-9


def _is_near(reference: Reference, precise: Reference, tolerance: float) -> bool:
    """Whether higher precision changes no more than digits."""
    if precise.error is not None:
        return False
    wanted, found = list(numbers_of(reference)), list(numbers_of(precise))
    if [array.shape for array in wanted] != [array.shape for array in found]:
        return False
    return not any(differences(*pair, tolerance).any() for pair in zip(wanted, found, strict=True))


def differences(wanted: np.ndarray, found: np.ndarray, tolerance: float) -> np.ndarray:
    """Where numbers differ by more than a tolerance, relative to the largest; NaN is NaN, and infinities are equal."""
    if "c" in (wanted.dtype.kind, found.dtype.kind):
        return differences(wanted.real, found.real, tolerance) | differences(wanted.imag, found.imag, tolerance)
    if wanted.dtype.kind != "f" and found.dtype.kind != "f":
        return np.asarray(wanted != found)
    finite = np.isfinite(wanted) & np.isfinite(found)
    largest = float(np.abs(wanted[finite]).max(initial=0))
    with np.errstate(invalid="ignore"):
        near = np.abs(wanted - found) <= tolerance * max(1.0, largest)
    return np.asarray(~np.where(finite, near, (wanted == found) | (np.isnan(wanted) & np.isnan(found))))


class _PreciseNumpy(types.ModuleType):
    """NumPy in whose place every floating-point type has more digits."""

    def __getattr__(self, name: str) -> Any:
        if name in ("float32", "float64"):
            return np.longdouble
        if name in ("complex64", "complex128"):
            return np.clongdouble
        if name in ("zeros", "ones", "empty", "eye", "linspace"):
            function = getattr(np, name)
            return lambda *arguments, **keywords: function(*arguments, **{"dtype": np.longdouble, **keywords})
        return getattr(np, name)


PRECISE = _PreciseNumpy("numpy")
