"""Arguments that are tuples, None, text and functions."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError
from polytune.frontend.syntax.guesses import possible_signatures
from tests.test_results import compared, kernel_of, same, vector

Limits = namedtuple("Limits", ("low", "high"))


def chosen(A, out=None, order="up", scale=(1.0, 2.0)):
    if out is None:
        out = np.zeros(len(A))
    low, high = scale
    for i in range(len(A)):
        out[i] = A[i] * low if order == "up" else A[len(A) - 1 - i] * high
    return out if order in ("up", "down") else None


def test_defaults_that_are_none_text_and_tuples() -> None:
    for n in (0, 1, 5):
        A = vector(n)
        compared(chosen, A)
        compared(chosen, A, np.ones(n))
        compared(chosen, A, None, "down")
        compared(chosen, A, np.ones(n), "down", (3, 4.5))
        compared(chosen, A, None, "neither")
    found = kernel_of(chosen, False)(vector(4), order="down")
    same(found, chosen(vector(4), order="down"))


def pairs(coordinates, limits, weights):
    x, y = coordinates
    total = 0.0
    for i in range(x.size):
        if limits.low <= x[i] < limits.high:
            total += weights[0][i] * y[i] + weights[1][1] * coordinates[1][i]
    for weight in weights[0], y:
        for i in range(len(weight)):
            weight[i] += limits.high
    return total, limits.low, weights


def test_tuples_of_arrays_and_named_tuples() -> None:
    for n in (0, 1, 6):
        for layout in (vector(2 * n)[::2], vector(n)):
            compared(pairs, (layout, vector(n)), Limits(1, 6.5), (vector(n), (2.0, 3)))


def test_what_stands_in_tuples_is_checked_as_arguments_are() -> None:
    kernel = kernel_of(pairs, False)
    x = vector(6)
    with pytest.raises(ArgumentError, match=r"'coordinates_1' and 'weights_0' overlap"):
        kernel((vector(6), x), Limits(1, 2), (x, (1.0, 1.0)))
    with pytest.raises(ArgumentError, match="'coordinates_0'"):
        kernel((np.array(["a"]), x), Limits(1, 2), (vector(6), (1.0, 1.0)))
    with pytest.raises(ArgumentError, match="257 numbers and arrays"):
        kernel((1.0,) * 257, None, None)


def applied(function, A, power):
    B = np.empty_like(A)
    for i in range(len(A)):
        B[i] = function(A[i]) ** power
    return B


FACTOR = 3.0


def tripled(x):
    return x * FACTOR


def test_functions_are_arguments() -> None:
    A = vector(5)
    for function in (tripled, math.sqrt, np.sin, polytune.kernel(tripled)):
        same(kernel_of(applied, False)(function, A, 2), applied(getattr(function, "__wrapped__", function), A, 2))


def times(factor: float) -> Any:
    def multiplied(x):
        return x * factor

    return multiplied


def test_a_function_that_is_defined_anew_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = polytune.kernel(budget=0)(applied)
    A = vector(5)
    for factor in (2.0, 2.0, 4.0, 2.0):
        same(kernel(times(factor), A, 1), applied(times(factor), A, 1))
    assert len(kernel.tuners) == 2
    same(kernel(tripled, A, 1), A * 3.0)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    same(kernel(tripled, A, 1), A * 5.0)


def limited(A, limits, order):
    if order not in ("up", "down"):
        raise ValueError(f"no order {order!r} up to {limits.high}")
    for i in range(len(A)):
        A[i] += limits[0]
        if A[i] > limits.high:
            raise OverflowError(order, limits[1])


def test_tests_and_exceptions_of_such_arguments() -> None:
    kernel = kernel_of(limited, False)
    for order, high in (("up", 20.0), ("sideways", 1.0), ("down", 0.5)):
        wanted, found = vector(5), vector(5)
        errors: list[str] = []
        for function, array in ((limited, wanted), (kernel, found)):
            try:
                function(array, Limits(0.25, high), order)
                errors.append("")
            except (ValueError, OverflowError) as error:
                errors.append(repr(error))
        assert errors[0] == errors[1]
        same(found, wanted)


def needs_a_function(A, function):
    if not callable(function):
        raise ValueError
    A[0] = function(A[0])


def test_a_test_of_a_function_is_refused() -> None:
    with pytest.raises(UnsupportedSourceError, match="uses 'function', a function"):
        polytune.kernel(needs_a_function)(vector(3), tripled)


def test_none_is_guessed_where_it_is_the_default() -> None:
    assert "out: None" in str(possible_signatures(chosen)[0])


def weighted(A, weights, B):
    for i in range(len(A)):
        B[i] = weights[0] * A[i] + weights[1]


@pytest.mark.parametrize("mode", ["on", "off"])
def test_calls_that_come_again_are_right(mode: str) -> None:
    kernel = polytune.kernel(background=False)(weighted)
    A, B = vector(50), np.zeros(50)
    with polytune.tuning(mode):
        for k in range(12):
            kernel(A, (1.0, k), B)
            np.testing.assert_allclose(B, A + k)
            kernel(A, np.array([2.0, k]), B)
            np.testing.assert_allclose(B, 2 * A + k)


def test_explanations_name_such_arguments() -> None:
    kernel = polytune.kernel(budget=0)(chosen)
    kernel(vector(4), order="down")
    assert "order: 'down'" in kernel.explain() and "out: None" in kernel.explain()


@polytune.kernel
def scaled(A, how):
    for i in range(A.shape[0]):
        A[i] = A[i] * 2.0 if how == "twice" else A[i]


@polytune.kernel
def asked(A, question):
    for i in range(A.shape[0]):
        A[i] = float(input(question))


@pytest.mark.parametrize(("wrong", "told"), [("A", "'A'"), (None, "None"), ((1.0, 2.0), "a tuple")])
def test_what_is_passed_where_an_array_is_meant_is_named(wrong, told) -> None:
    with pytest.raises(
        ArgumentError, match=rf"^argument 'A' is {told}, with which .* pass a NumPy array .*\n.*py:\d+: "
    ):
        scaled(wrong, "twice")


def test_a_text_in_its_place_is_not_called_wrong() -> None:
    x = np.ones(3)
    scaled(x, "twice")
    assert x.sum() == 6.0
    with pytest.raises(UnsupportedSourceError, match="input"):
        asked(x, "which?")
