"""Tuples that are refused, and what to write instead."""

# ruff: noqa: F821, F841, RUF059, UP037
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.refused.calls import sum_and_difference
from tests.frontend.refused.cases import mended, refused
from tests.frontend.values import SQUARE, TWO, VECTOR, vector


@refused("a single value is unpacked", "A[0]")
def unpacked_number(A):
    x, y = A[0]
    A[0] = x


@mended(unpacked_number, lambda: (vector(2),), "write the values as a tuple: x, y = A[0], A[1]", is_error=True)
def values_as_a_tuple(A):
    x, y = A[0], A[1]
    A[0] = x


@refused("2 values are unpacked into 3 names", "x, y, z = A.shape")
def wrong_unpacking(A: "float64[:, ::1]"):
    x, y, z = A.shape


@mended(wrong_unpacking, SQUARE, "name as many variables as there are values", is_error=True)
def right_unpacking(A):
    x, y = A.shape
    A[0, 0] = 1.0


@refused("1 value is unpacked into 2 names", "x, y = A.shape")
def extent_in_two(A: "float64[::1]"):
    x, y = A.shape


@mended(extent_in_two, lambda: (vector(2),), "name as many variables as there are values", is_error=True)
def extent_in_one(A):
    (x,) = A.shape
    A[0] = x


@refused("a tuple is subscripted by something other than the number of one of its values", "A.shape[3]")
def unknown_dimension(A: "float64[:, ::1]"):
    for i in range(A.shape[3]):
        A[i, i] = 1.0


@mended(unknown_dimension, SQUARE, "use a constant from 0 to 1", is_error=True)
def known_dimension(A):
    for i in range(A.shape[1]):
        A[i, i] = 1.0


@refused("the tuple 's' is used like a number", "s")
def tuple_as_a_number(A):
    s = A.shape
    A[0] = s + 1.0


@mended(tuple_as_a_number, VECTOR, "take one of them: s[0]", is_error=True)
def extent_of_a_tuple(A):
    s = A.shape
    A[0] = s[0] + 1.0


@refused("t[1:], a part of a tuple, in an expression", "t[1:]")
def part_of_a_tuple_in_an_expression(A):
    t = (A[0], A[1], A[2])
    A[3] = np.sum(t[1:])


@mended(part_of_a_tuple_in_an_expression, VECTOR, "part = t[1:], and use its items")
def items_of_a_part_of_a_tuple(A):
    t = (A[0], A[1], A[2])
    part = t[1:]
    A[3] = part[0] + part[1]


@refused("'t' is a tuple or list here and is assigned elsewhere too", "t = (A[0], A)")
def tuple_name_reused(A):
    t = (A[0], A)
    A[2] = t[0] + t[1][1]
    t = (A[1], A)
    A[3] = t[0] - t[1][2]


@mended(tuple_name_reused, VECTOR, "use a name of its own for the tuple")
def tuple_of_its_own(A):
    t = (A[0], A)
    A[2] = t[0] + t[1][1]
    u = (A[1], A)
    A[3] = u[0] - u[1][2]


@refused("a variable is assigned tuples of different kinds, or something else than a tuple", "t = A[1], A[2], A[0]")
def tuples_of_different_lengths(A):
    t = A[0], A[1]
    A[2] = t[0] + t[1]
    t = A[1], A[2], A[0]
    A[3] = t[0] - t[2]


@mended(tuples_of_different_lengths, VECTOR, "use a name of its own for each")
def tuples_under_two_names(A):
    t = A[0], A[1]
    A[2] = t[0] + t[1]
    u = A[1], A[2], A[0]
    A[3] = u[0] - u[2]


@refused("t is assigned something else than a tuple of as many numbers", "x, t = t[1], A[2]")
def tuple_and_number(A):
    t = A[0], A[1]
    A[2] = t[0] + t[1]
    x, t = t[1], A[2]
    A[3] = x - t


@mended(tuple_and_number, VECTOR, "use a name of its own for each")
def tuple_and_number_under_two_names(A):
    t = A[0], A[1]
    A[2] = t[0] + t[1]
    x, u = t[1], A[2]
    A[3] = x - u


@refused("A[2] is assigned something that is no number", "A[2]")
def tuple_in_an_element(A, B):
    x, A[2] = B[0], (B[1], B[2])
    A[0] = x


@mended(tuple_in_an_element, TWO, "unpack the values: x, y = a, b", is_error=True)
def number_in_an_element(A, B):
    x, A[2] = B[0], B[1]
    A[0] = x


@refused("sum_and_difference(...) does not return a number and is used like one", "sum_and_difference(A[0], A[1])")
def tuple_of_a_call_as_a_number(A):
    A[2] = sum_and_difference(A[0], A[1]) + 1.0


@mended(
    tuple_of_a_call_as_a_number,
    VECTOR,
    "give what it returns a name in a line of its own, x, y = f(A)",
    is_error=True,
)
def part_of_what_a_call_returns(A):
    x, _ = sum_and_difference(A[0], A[1])
    A[2] = x + 1.0


def with_a_pair(x, y):
    return x, (x, y)


@refused("with_a_pair(B[0], B[1])[1] is used like a number", "with_a_pair(B[0], B[1])[1]")
def tuple_of_a_tuple_as_a_number(A, B: "float64[::1]"):
    A[0] = 2.0 * with_a_pair(B[0], B[1])[1]


@mended(
    tuple_of_a_tuple_as_a_number,
    TWO,
    "give it a name of its own, a, b = t, and use its elements",
    is_error=True,
)
def array_of_a_tuple(A, B):
    a, b = with_a_pair(B[0], B[1])
    A[0] = 2.0 * b[1]


@refused("'t', a tuple, is subscripted by what is only known while the kernel runs", "t")
def variable_place_in_a_tuple(A):
    t = A[0], A[1]
    for i in range(2, len(A)):
        A[i] = t[i % 2]


@mended(variable_place_in_a_tuple, VECTOR, "or an array: t = np.empty(n)")
def array_in_place_of_a_tuple(A):
    t = np.empty(2)
    t[0] = A[0]
    t[1] = A[1]
    for i in range(2, len(A)):
        A[i] = t[i % 2]
