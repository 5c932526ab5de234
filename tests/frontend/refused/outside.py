"""Names, values from outside and tests of arguments that are refused, and what to write instead."""

# ruff: noqa: F821, F841
# mypy: ignore-errors

from __future__ import annotations

import math

import numba
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


@refused("an exception is made of 'least', a variable of the kernel", "raise ValueError(least)")
def exception_of_a_variable(A):
    least = 1.0
    for i in range(len(A)):
        least = min(least, A[i])
    if least < -3.0:
        raise ValueError(least)
    A[0] = least


@mended(exception_of_a_variable, VECTOR, "leave it out of the exception's text")
def exception_of_constants(A):
    least = 1.0
    for i in range(len(A)):
        least = min(least, A[i])
    if least < -3.0:
        raise ValueError("there is none")
    A[0] = least


@refused("raise without an exception", "raise")
def exception_again(A):
    A[0] = 2.0 * A[0]
    if A[0] < 0.0:
        raise


@mended(exception_again, VECTOR, "write which one is raised")
def exception_named(A):
    A[0] = 2.0 * A[0]
    if A[0] < 0.0:
        raise ValueError


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


@numba.stencil(standard_indexing=("w",))
def weighted_before(a, w):
    return a[-1] * w[0]


@refused("the stencil weighted_before, which has standard_indexing", "return a[-1] * w[0]")
def calls_stencil_of_absolute_points(A):
    B = np.zeros(len(A))
    weighted_before(A, A[2:], out=B)
    A[:] = B


@mended(calls_stencil_of_absolute_points, VECTOR, "write loops over the points")
def weighted_in_a_loop(A):
    B = np.zeros(len(A))
    for i in range(1, len(A)):
        B[i] = A[i - 1] * A[2]
    A[:] = B


@numba.stencil(neighborhood=((-1, 0),))
def before_by(a, distance):
    return a[distance]


@refused("a[distance] in the stencil before_by", "a[distance]")
def calls_stencil_of_unseen_points(A):
    B = np.zeros(len(A))
    before_by(A, -1, out=B)
    A[:] = B


@mended(calls_stencil_of_unseen_points, VECTOR, "write constants, a[-1, 0], or loops over the points")
def before_in_a_loop(A):
    B = np.zeros(len(A))
    for i in range(1, len(A)):
        B[i] = A[i - 1]
    A[:] = B
