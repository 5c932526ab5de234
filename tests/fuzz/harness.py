"""Random affine programs and plain Python."""

from __future__ import annotations

import itertools
import linecache
import math
import traceback
from types import FunctionType
from typing import Any

import numpy as np

from tests.fuzz.programs import Program

LARGEST = 1e6
"""Programs whose values grow beyond are not used: differences in rounding would grow with them."""

_TOLERANCE = {"float64": 1e-9, "float32": 1e-3}
_numbers = itertools.count()


def function_of(program: Program) -> FunctionType:
    """The program as a function whose source can be found."""
    filename = f"<random program {next(_numbers)}>"
    linecache.cache[filename] = (len(program.source), None, program.source.splitlines(keepends=True), filename)
    names: dict[str, Any] = {"np": np, "math": math, "__name__": "random_program"}
    exec(compile(program.source, filename, "exec"), names)
    return names["kernel"]


def expected_of(program: Program, exact: bool) -> tuple[list[np.ndarray], Any] | None:
    """The arrays and the result of plain Python; None where a number overflows or gets large."""
    arguments = program.arguments(exact)
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            result = function_of(program)(*arguments)
    except (FloatingPointError, OverflowError):
        return None
    arrays = [value for value in arguments if isinstance(value, np.ndarray)]
    values = [*arrays, np.asarray(0 if result is None else result)]
    return (arrays, result) if all(np.abs(array).max(initial=0) <= LARGEST for array in values) else None


def compare(expected: tuple[list[np.ndarray], Any], arguments: list[Any], result: Any, strict: bool) -> None:
    """Assert that arrays and result are as expected: the same bits if strict, else but for rounding."""
    arrays = [value for value in arguments if isinstance(value, np.ndarray)]
    for number, (wanted, found) in enumerate(zip(expected[0], arrays, strict=True)):
        _compare_values(f"array argument {number}", wanted, found, strict)
    if expected[1] is None:
        assert result is None, f"returned {result!r}, not None"
    else:
        assert result is not None, "returned None"
        # Python's own numbers and NumPy's of the same value are the same result.
        wanted = np.asarray(expected[1])
        _compare_values("result", wanted, np.asarray(result).astype(wanted.dtype), strict)


def _compare_values(what: str, wanted: np.ndarray, found: np.ndarray, strict: bool) -> None:
    if strict or wanted.dtype.kind == "i":
        different = _bits(wanted) != _bits(found)
    else:
        tolerance = _TOLERANCE[wanted.dtype.name] * max(1.0, float(np.abs(wanted).max(initial=0)))
        different = ~(np.abs(wanted - found) <= tolerance)
    if different.any():
        place = tuple(int(index[0]) for index in np.nonzero(np.atleast_1d(different)))
        values = np.atleast_1d(wanted)[place], np.atleast_1d(found)[place]
        raise AssertionError(
            f"{what} differs in {int(different.sum())} of {different.size} elements, first at {place}: "
            f"{values[1]!r} instead of {values[0]!r}"
        )


def _bits(array: np.ndarray) -> np.ndarray:
    """The elements as integers of the same bits, so that -0.0 is not 0.0."""
    return np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").reshape(array.shape)


def report(program: Program, strict: bool, configuration: dict[str, Any], error: Exception) -> str:
    """What went wrong and a script to see it again."""
    call = f"kernel({', '.join(program.names)})"
    if configuration:
        call = f"kernel.run({configuration}, {', '.join(program.names)})"
    script = f"{program.reproducer(exact=not strict)}\nkernel = polytune.kernel(strict={strict})(kernel)\nprint({call})"
    return f"{''.join(traceback.format_exception(error)[-4:])}\n{script}\n"
