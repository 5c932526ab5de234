"""Names, values from outside and tests of arguments that are refused, and what to write instead."""

# ruff: noqa: F821, F841
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from tests.frontend.refused.cases import mended, refused
from tests.frontend.values import VECTOR, vector


@refused("'x' is read before it is assigned", "x")
def unassigned(A):
    A[0] = x
    x = 1.0


@mended(unassigned, VECTOR, "assign 'x' before this line", is_error=True)
def assigned_before(A):
    x = 1.0
    A[0] = x


@refused("the name 'undefined' is not defined", "undefined")
def undefined_name(A):
    A[0] = undefined


@mended(undefined_name, VECTOR, "pass it as an argument", lambda kernel, A: kernel(A, 2.0), is_error=True)
def defined_name(A, undefined: float):
    A[0] = undefined


@refused("math.undefined is not known", "math.undefined")
def undefined_attribute(A):
    A[0] = math.undefined


@mended(undefined_attribute, VECTOR, "pass it as an argument", lambda kernel, A: kernel(A, 2.0), is_error=True)
def defined_attribute(A, x: float):
    A[0] = x


WEIGHTS = np.array([0.5, 0.25, 0.25])


@refused("WEIGHTS[0] is assigned, an element of what is from outside", "WEIGHTS[0]")
def global_array_written(A):
    WEIGHTS[0] = 0.5
    A[0] = WEIGHTS[0]


@mended(global_array_written, VECTOR, "pass the array as an argument")
def array_written(A):
    A[0] = 0.5


LONG = np.ones(5000)


@refused("'LONG' from outside of the kernel holds float64, 1 dimensions, 5000 elements", "LONG")
def long_global_array(A):
    for i in range(len(A)):
        A[i] *= LONG[i]


@mended(
    long_global_array,
    VECTOR,
    "add an argument LONG to the kernel and pass an array",
    lambda kernel, A: kernel(A, LONG),
)
def long_array_passed(A, LONG):
    for i in range(len(A)):
        A[i] *= LONG[i]


SETTINGS = {"steps": 3}


@refused("'SETTINGS', a dict from outside of the kernel, is subscripted", "SETTINGS")
def dictionary_from_outside(A, key: int):
    A[0] = SETTINGS[key]


@mended(
    dictionary_from_outside,
    lambda: (vector(), "steps"),
    "add an argument SETTINGS to the kernel and pass an array of what is needed",
    lambda kernel, A, key: kernel(A, np.array([SETTINGS[key]])),
)
def array_of_what_is_needed(A, SETTINGS):
    A[0] = SETTINGS[0]


@refused("an exception or assertion", "assert A[0] > 1.0")
def assertion_after_a_loop(A):
    for i in range(len(A)):
        A[i] += 2.0
    assert A[0] > 1.0


@mended(
    assertion_after_a_loop,
    VECTOR,
    "check the arguments at the top of the kernel, before anything but assignments of variables",
)
def assertion_first(A):
    assert A[0] > -1.0
    for i in range(len(A)):
        A[i] += 2.0


def measured(A):
    return float(A[0])


@refused("measured(A) is called before a test of the arguments that uses its value", "measured(A)")
def call_before_a_test(A):
    x = measured(A)
    if x < 0.0:
        raise ValueError
    A[0] = x


@mended(call_before_a_test, VECTOR, "test the arguments first")
def test_before_a_call(A):
    if A[0] < 0.0:
        raise ValueError
    x = measured(A)
    A[0] = x


def _with_an_error():
    class LocalError(Exception):
        pass

    def raises_a_local_error(A):
        if A[0] < 0.0:
            raise LocalError
        A[0] = 1.0

    return raises_a_local_error


raises_a_local_error = refused("'LocalError' is used in a test of the arguments", "LocalError")(_with_an_error())


@mended(
    raises_a_local_error,
    VECTOR,
    "exceptions and functions that are defined at the top of a module",
)
def raises_a_known_error(A):
    if A[0] < 0.0:
        raise ValueError
    A[0] = 1.0
