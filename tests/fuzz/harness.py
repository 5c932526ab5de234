"""Every version of a random program against plain Python."""

from __future__ import annotations

import itertools
import linecache
import math
import random
import traceback
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

import numpy as np

import polytune
from polytune.codegen.target import Target
from polytune.errors import UnsupportedSourceError
from polytune.pipeline import Stages
from polytune.runtime.arguments import signature_of
from polytune.runtime.threads import maximum_threads
from tests.fuzz.interpreted import Interpreter
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


def check(program: Program, *, strict: bool, interpret: bool, seed: int = 0) -> bool:
    """Run every version of the program, with odd tile sizes and one to three workers, and compare with plain Python.

    Args:
        strict: compile without reassociation, and compare bit for bit.
        interpret: run the generated module as Python (see :mod:`tests.fuzz.interpreted`) and not through Numba.
        seed: decides tile sizes, workers and orders.

    Returns:
        Whether the program could be used.

    Raises:
        AssertionError: a version differs or fails; the message holds a script that shows it.
    """
    expected = expected_of(program, exact=not strict)
    if expected is None:
        return False
    configuration: dict[str, Any] = {}
    try:
        runner = _Interpreted(program, strict, seed) if interpret else _Compiled(program, strict)
        for configuration in runner.configurations(random.Random(seed)):
            arguments = program.arguments(exact=not strict)
            result = runner.run(configuration, arguments)
            compare(expected, arguments, result, strict)
    except Exception as error:
        if isinstance(error, UnsupportedSourceError) and "no statement that is ever executed" in error.what:
            # Refused, and rightly so if plain Python did nothing either.
            compare(expected, program.arguments(exact=not strict), None, strict=True)
            return False
        # Not "from error": Hypothesis compares the causes of failures, and isl's exceptions cannot be compared.
        raise AssertionError(report(program, strict, configuration, error)) from None
    return True


class _Compiled:
    """Versions compiled by Numba, run through the public interface."""

    def __init__(self, program: Program, strict: bool):
        self.kernel = polytune.kernel(strict=strict)(function_of(program))
        self.space = self.kernel.space(*program.arguments(exact=not strict))

    def configurations(self, choose: random.Random) -> Iterator[dict[str, Any]]:
        """Every version once, then a call that leaves the choice to the tuner (no configuration)."""
        for nominal in self.space.enumerate_nominal():
            yield _resized(nominal, choose, threads=(1, min(2, maximum_threads())))
        yield {}

    def run(self, configuration: dict[str, Any], arguments: list[Any]) -> Any:
        if not configuration:
            return self.kernel(*arguments)
        return self.kernel.run(self.space.configuration(**configuration), *arguments)


class _Interpreted:
    """Versions interpreted, each in a random order of tickets."""

    def __init__(self, program: Program, strict: bool, seed: int):
        signature = signature_of(program.names, tuple(program.arguments(exact=not strict)))
        # Few lanes and registers: small problems have whole blocks then.
        target = random.Random(seed).choice((Target(16, 8), Target(16, 16), Target(32, 32)))
        self.interpreter = Interpreter(Stages(function_of(program), signature, strict, target=target).source)
        self.seed = seed

    def configurations(self, choose: random.Random) -> Iterator[dict[str, Any]]:
        for nominal in self.interpreter.space.enumerate_nominal():
            yield _resized(nominal, choose, threads=(1, 2, 3))

    def run(self, configuration: dict[str, Any], arguments: list[Any]) -> Any:
        with np.errstate(all="ignore"):
            return self.interpreter.run(configuration, arguments, self.seed)


def _resized(nominal: Mapping[str, Any], choose: random.Random, threads: tuple[int, ...]) -> dict[str, Any]:
    """The configuration with random threads, and tile sizes that are small or divide nothing."""
    return {
        name: choose.choice(threads)
        if name == "threads"
        else choose.choice((1, 2, 3, 5, 7, 33))
        if name.startswith("tile_")
        else value
        for name, value in nominal.items()
    }


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
