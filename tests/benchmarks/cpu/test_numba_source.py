"""The baseline's source is the kernel's own."""

import numpy as np
import pytest

import polytune
from benchmarks.cpu.numba_source import NumbaSource

FACTOR = 3.0


def square(value: float) -> float:
    return value * value


def twice_square(value):
    return 2.0 * square(value)


@polytune.kernel
def scaled(x: np.ndarray, y) -> None:
    for i in range(len(x)):
        for k in range(2):
            y[i] += FACTOR * twice_square(x[i]) + k
    for i in range(len(x)):
        y[i] += 1.0


FIRST_LINE = scaled.__wrapped__.__code__.co_firstlineno + 2


def test_prange_stands_on_the_given_loops_only():
    text = NumbaSource(scaled.__wrapped__, frozenset({FIRST_LINE, FIRST_LINE + 3})).text
    assert text.splitlines() == [
        "def scaled(x, y):",
        "    for i in prange(len(x)):",
        "        for k in range(2):",
        "            y[i] += FACTOR * twice_square(x[i]) + k",
        "    for i in prange(len(x)):",
        "        y[i] += 1.0",
    ]


@pytest.mark.parametrize("lines", [frozenset(), frozenset({FIRST_LINE})])
@pytest.mark.parametrize("fastmath", [False, True])
def test_it_compiles_with_the_functions_that_it_calls(lines, fastmath):
    function = NumbaSource(scaled.__wrapped__, lines).compile(fastmath=fastmath)
    x, y = np.arange(4.0), np.zeros(4)
    function(x, y)
    assert np.allclose(y, 2 * FACTOR * 2 * x**2 + 2)
    assert bool(function.targetoptions.get("parallel")) == bool(lines)
    assert bool(function.targetoptions.get("fastmath")) == fastmath


def test_names_of_an_enclosing_function_are_known():
    offset = 5.0

    def shift(x):
        for i in range(len(x)):
            x[i] += offset

    x = np.zeros(2)
    NumbaSource(shift).compile()(x)
    assert np.array_equal(x, [5.0, 5.0])


def test_a_line_without_a_loop_is_an_error():
    with pytest.raises(ValueError, match=f"no loop over range begins on line {FIRST_LINE + 2}"):
        NumbaSource(scaled.__wrapped__, frozenset({FIRST_LINE, FIRST_LINE + 2}))
