"""What a call has made of its arrays and returned, against plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.references import RESULT, Reference, differences
from tests.fuzz.samples import Arguments, Sample


class Difference(AssertionError):
    """A result is not that of plain Python."""


def compare(reference: Reference, arguments: Arguments, result: Any, sample: Sample) -> None:
    """Whether arrays and result are those of plain Python.

    Raises:
        Difference: they are not.
    """
    for name, found in arguments.arrays.items():
        bounds = None if reference.bounds is None else reference.bounds[name]
        _compare_values(name, reference.arrays[name], found, sample, bounds)
    _compare_results(RESULT, reference.result, result, sample, (reference.bounds or {}).get(RESULT))


def _compare_results(what: str, wanted: Any, found: Any, sample: Sample, bounds: np.ndarray | None = None) -> None:
    if isinstance(wanted, tuple | list):
        if not isinstance(found, tuple | list) or len(wanted) != len(found):
            raise Difference(f"{what} is {found!r}, not {len(wanted)} values")
        for number, pair in enumerate(zip(wanted, found, strict=True)):
            _compare_results(f"{what}, part {number},", *pair, sample)
        return
    if (wanted is None) is not (found is None):
        raise Difference(f"returned {found!r}, not {wanted!r}")
    if wanted is None:
        return
    # What NumPy has as an array of no dimensions, as np.where(1.0, 0, 1), is a number in compiled code.
    has_extents = isinstance(wanted, np.ndarray) and wanted.ndim > 0
    if has_extents is not isinstance(found, np.ndarray):
        raise Difference(f"{what} is of type {type(found).__name__}, not {type(wanted).__name__}")
    first, second = np.asarray(wanted), np.asarray(found)
    if first.shape != second.shape:
        raise Difference(f"{what} has shape {second.shape}, not {first.shape}")
    # Python's own numbers and NumPy's of the same value are the same result.
    if sample.numpy and isinstance(wanted, np.ndarray | np.generic) and first.dtype != second.dtype:
        raise Difference(f"{what} has the type {second.dtype}, not {first.dtype}")
    _compare_values(what, first, second.astype(first.dtype), sample, bounds)


def _compare_values(
    what: str, wanted: np.ndarray, found: np.ndarray, sample: Sample, bounds: np.ndarray | None = None
) -> None:
    if wanted.dtype.kind not in "fc":
        different = wanted != found
    elif bounds is not None:
        with np.errstate(invalid="ignore"):
            near = np.abs(wanted - found) <= bounds
        different = ~(near | (wanted == found) | (np.isnan(wanted) & np.isnan(found)))
    elif sample.strict and not sample.tolerance:
        different = (bits(wanted) != bits(found)) & ~(np.isnan(wanted) & np.isnan(found))
    else:
        different = differences(wanted, found, sample.tolerance)
    if different.any():
        place = tuple(int(index[0]) for index in np.nonzero(np.atleast_1d(different)))
        values = np.atleast_1d(wanted)[place], np.atleast_1d(found)[place]
        raise Difference(
            f"{what} differs in {int(different.sum())} of {different.size} elements, first at {place}: "
            f"{values[1]!r} instead of {values[0]!r}"
        )


def bits(array: np.ndarray) -> np.ndarray:
    """The elements as integers of the same bits, so that -0.0 is not 0.0; those of complex numbers in pairs."""
    if array.dtype.kind == "c":
        array = np.stack((array.real, array.imag), axis=-1)
    return np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").reshape(array.shape)
