"""Calls, arguments and results of functions that are refused, and what to write instead."""

# ruff: noqa: B007, F821, RUF059, UP037
# mypy: ignore-errors

from __future__ import annotations

import gc
import math

import numpy as np

from tests.frontend.refused.cases import mended, refused
from tests.frontend.values import VECTOR, matrix, vector


@refused("helper is called", "helper(A[i])")
def unknown_call(A, helper):
    for i in range(len(A)):
        A[i] = helper(A[i])


ONE_OF_THESE = "compute the value before the kernel is called"


@mended(
    unknown_call,
    lambda: (vector(), math.erf),
    ONE_OF_THESE,
    lambda kernel, A, helper: kernel(A, np.array([helper(x) for x in A])),
)
def values_of_a_call(A, H):
    for i in range(len(A)):
        A[i] = H[i]


@refused("math.fsum is called", "math.fsum((A[i], 1.0))")
def unknown_mathematical_function(A):
    for i in range(len(A)):
        A[i] = math.fsum((A[i], 1.0))


@mended(
    unknown_mathematical_function,
    VECTOR,
    ONE_OF_THESE,
    lambda kernel, A: kernel(A, np.array([math.fsum((x, 1.0)) for x in A])),
)
def exact_sums(A, G):
    for i in range(len(A)):
        A[i] = G[i]


@refused("math.sqrt(...) takes 1 number, not 2", "math.sqrt(A[i], 2.0)")
def wrong_number_of_arguments(A):
    for i in range(len(A)):
        A[i] = math.sqrt(A[i], 2.0)


@mended(wrong_number_of_arguments, lambda: (abs(vector()),), "pass as many as it takes", is_error=True)
def right_number_of_arguments(A):
    for i in range(len(A)):
        A[i] = math.sqrt(A[i])


@refused("keyword or starred", "A[i]")
def keyword_argument(A):
    for i in range(len(A)):
        A[i] = math.sqrt(x=A[i])


@mended(keyword_argument, lambda: (abs(vector()),), "pass the arguments by position", is_error=True)
def argument_by_position(A):
    for i in range(len(A)):
        A[i] = math.sqrt(A[i])


@refused("gc.collect is called for its effect", "gc.collect(0)")
def called_for_its_effect(A):
    for i in range(len(A)):
        A[i] *= 2.0
        gc.collect(0)


@mended(
    called_for_its_effect,
    VECTOR,
    "call it outside the kernel",
    lambda kernel, A: [kernel(A), *(gc.collect(0) for _ in A)][0],
)
def effects_outside(A):
    for i in range(len(A)):
        A[i] *= 2.0


def collecting(x):
    gc.collect(0)
    return x


@refused("gc.collect is called for its effect", "gc.collect(0)")
def refused_in_a_helper(A):
    A[0] = collecting(A[0])


def without_effect(x):
    return x


@mended(
    refused_in_a_helper,
    VECTOR,
    "call it outside the kernel",
    lambda kernel, A: [gc.collect(0), kernel(A)][1],
)
def helper_without_effect(A):
    A[0] = without_effect(A[0])


@refused("(A[0], A[1]) in a call of print", "(A[0], A[1])")
def printed_tuple(A):
    print((A[0], A[1]))


@mended(printed_tuple, VECTOR, "print the numbers one by one")
def printed_numbers(A):
    print("(", A[0], ",", A[1], ")")


@refused("a loop makes generators of random numbers", "np.random.default_rng(i)")
def generators_in_a_loop(A):
    for i in range(len(A)):
        rng = np.random.default_rng(i)
        A[i] += 0.0 * rng.random()


@mended(generators_in_a_loop, VECTOR, "make one before the loop, and draw from it in there")
def one_generator(A):
    rng = np.random.default_rng(1)
    for i in range(len(A)):
        A[i] += 0.0 * rng.random()


def recursive(x):
    return recursive(x - 1.0) + 1.0


@refused("recursive calls itself", "recursive(x - 1.0)")
def recursion(A):
    A[0] = recursive(A[0])


def repeated(x):
    total = 0.0
    for k in range(3):
        total += x
    return total


@mended(recursion, VECTOR, "write the recursion as a loop", is_error=True)
def loop_for_a_recursion(A):
    A[0] = repeated(A[0])


@refused("recursive is called with arguments that do not fit: too many positional arguments", "recursive(A[0], 1.0)")
def wrong_arguments_of_a_helper(A):
    A[0] = recursive(A[0], 1.0)


@mended(wrong_arguments_of_a_helper, VECTOR, "pass one value for each argument", is_error=True)
def right_arguments_of_a_helper(A):
    A[0] = repeated(A[0])


def grows(x, value):
    x += value
    return value


@refused("grows writes to x and is used for its value", "grows(x, 1.0)")
def value_and_writes(x):
    x[0] = x[1] + grows(x, 1.0)


@mended(value_and_writes, VECTOR, "call it in a line of its own, value = grows(...)")
def writes_alone(x):
    before = x[1]
    value = grows(x, 1.0)
    x[0] = before + value


def silent(x):
    for k in range(len(x)):
        x[k] = 1.0


@refused("silent(...) returns nothing and is used as a value", "silent(x)")
def no_value(x):
    x[0] = silent(x)


@mended(no_value, VECTOR, "call silent in a line of its own", is_error=True)
def in_a_line_of_its_own(x):
    silent(x)


@refused("the list that sorted(...) makes", "sorted(x)")
def list_in_order_as_an_operand(x):
    x[0] = np.array(2 * sorted(x))[0]


@mended(list_in_order_as_an_operand, VECTOR, "give it a name of its own, or use np.sort(A)")
def elements_in_order(x):
    x[0] = np.sort(x)[0]


@refused("sorted(...) by a key", "sorted(x, key=abs)")
def list_in_order_of_a_key(x):
    x[:] = np.array(sorted(x, key=abs))


@mended(list_in_order_of_a_key, VECTOR, "sort by the key itself: A[np.argsort(keys, kind='stable')]")
def elements_in_order_of_a_key(x):
    x[:] = x[np.argsort(np.abs(x), kind="stable")]


def sums(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k]
    return total


@refused("sums is called in an expression that may not be evaluated", "total(x)")
def loops_in_a_choice(x):
    total = sums
    for i in range(len(x)):
        x[i] = 2.0 * (total(x) if x[i] > 0.0 else 0.0)


@mended(loops_in_a_choice, VECTOR, "call it before, in a line of its own, and choose afterwards")
def loops_before_a_choice(x):
    for i in range(len(x)):
        total = sums(x)
        x[i] = 2.0 * (total if x[i] > 0.0 else 0.0)


def total_of(x):
    s = 0.0
    for k in range(len(x)):
        s += x[k]
    return s


@mended(loops_in_a_choice, VECTOR, "under an if")
def loops_under_an_if(x):
    for i in range(len(x)):
        go = 1 if x[i] > 0.0 else 0
        total = 0.0
        if go != 0:
            total = total_of(x)
        x[i] = 2.0 * total


def sum_and_difference(x, y):
    return x + y, x - y


@refused("a starred argument in a call", "*A")
def starred_argument(A):
    x, y = sum_and_difference(*A)
    A[0] = x


@mended(starred_argument, lambda: (np.array([3.0, 4.0]),), "pass each argument by position")
def arguments_by_position(A):
    x, _ = sum_and_difference(A[0], A[1])
    A[0] = x


def least_of(x, **others):
    return x


@refused("least_of has the starred argument 'others'", "least_of(A[0], y=A[1])")
def starred_parameter(A):
    A[0] = least_of(A[0], y=A[1])


def first_of(x, y):
    return x


@mended(starred_parameter, VECTOR, "list the arguments of least_of by name")
def parameters_by_name(A):
    A[0] = first_of(A[0], A[1])


def square_root(x):
    if x < 0.0:
        raise ValueError
    return x**0.5


@refused("square_root, which may raise an exception, is called in an expression", "square_root(x + 4.0)")
def exception_in_a_comprehension(A):
    A[:] = np.array([square_root(x + 4.0) for x in A])


@mended(exception_in_a_comprehension, VECTOR, "call it in a line of its own")
def exception_in_a_loop(A):
    for i in range(len(A)):
        value = square_root(A[i] + 4.0)
        A[i] = value


def root_above(x, least):
    if x < least:
        raise ValueError(f"{x} is too small")
    return x**0.5


@refused("an exception is made of 'x', a variable of root_above", 'raise ValueError(f"{x} is too small")')
def exception_of_a_number_of_a_helper(A):
    A[0] = root_above(A[0] + 4.0, 1.0)


def root_above_the_least(x, least):
    if x < least:
        raise ValueError(f"less than {least}")
    return x**0.5


@mended(exception_of_a_number_of_a_helper, VECTOR, "leave it out of the exception's text")
def exception_of_constants(A):
    A[0] = root_above_the_least(A[0] + 4.0, 1.0)


def number_or_two(x, n):
    for k in range(n):
        x[k] = 2.0
    if n > 3:
        return n, n
    return n


@refused("number_or_two returns different kinds of things", "number_or_two(A, n)")
def number_or_tuple(A, n: int):
    A[1] = number_or_two(A, n)


def two(x, n):
    for k in range(n):
        x[k] = 2.0
    if n > 3:
        return n, n
    return n, n


@mended(
    number_or_tuple,
    lambda: (vector(), 3),
    "let each return give as many numbers as the others",
)
def always_two(A, n):
    x, _ = two(A, n)
    A[1] = x


@refused("an object from outside of the kernel is returned", "return math.sqrt")
def function_returned(A):
    A[0] = 1.0
    return math.sqrt


@mended(
    function_returned,
    VECTOR,
    "return numbers or arrays",
    lambda kernel, A: (kernel(A), math.sqrt)[1],
)
def nothing_returned(A):
    A[0] = 1.0


@refused("the argument 'values' is starred", "values")
def starred(A, *values):
    A[0] = 1.0


@mended(starred, lambda: (vector(), 1.0, 2.0), "list the arguments by name")
def listed(A, first: float, second: float):
    A[0] = 1.0


def _direction(row):
    if row[0] > 0.5:
        return np.array([0.0, 1.0])
    return np.append(row[:1], 2.0 * np.arctan(row[1]))


@refused(
    "_direction returns arrays of different types, shapes or numbers of dimensions",
    "return np.append(row[:1], 2.0 * np.arctan(row[1]))",
)
def arrays_of_two_types(A: "float32[:, ::1]"):
    B = np.zeros((len(A), 2))
    for i in range(len(A)):
        B[i] = _direction(A[i])
    return B


def _direction_of_one_type(row):
    if row[0] > 0.5:
        return np.array([0.0, 1.0])
    return np.append(row[:1], 2.0 * np.arctan(row[1])).astype(np.float64)


@mended(arrays_of_two_types, lambda: (matrix(5, 3).astype(np.float32),), "give all that it returns one shape and type")
def arrays_of_one_type(A):
    B = np.zeros((len(A), 2))
    for i in range(len(A)):
        B[i] = _direction_of_one_type(A[i])
    return B
