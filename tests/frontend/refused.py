"""Functions outside the language, each with what its refusal says and the source text that it points at."""

# ruff: noqa: B007, C416, SIM108, E731, F401, F821, F841, RUF059, SIM105, UP037
# mypy: ignore-errors

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

REFUSED: list[tuple[Callable[..., Any], str, str]] = []
LIMIT = 3
NAME = "name"


def refused(what: str, at: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        REFUSED.append((function, what, at))
        return function

    return register


@refused("the constant inf where int64 is computed", "A[i] = np.inf")
def infinity_in_integers(A: "int64[::1]"):
    for i in range(len(A)):
        A[i] = np.inf


@refused("the constant nan where int32 is computed", 'A[i] = A[i] + np.int32(float("nan"))')
def nan_in_integers(A: "int32[::1]"):
    for i in range(len(A)):
        A[i] = A[i] + np.int32(float("nan"))


@refused("the constant 1099511627776 where int32 is computed", "A[i] += 2**40")
def integer_of_too_many_bits(A: "int32[::1]"):
    for i in range(len(A)):
        A[i] += 2**40


@refused("a negative power of a NumPy integer", "A[i] = A[i] ** -2")
def negative_power_of_an_integer(A: "int64[::1]"):
    for i in range(len(A)):
        A[i] = A[i] ** -2


@refused('an argument is annotated as "float16[::1]"', '"float16[::1]"')
def annotated_as_halves(A: "float16[::1]"):
    for i in range(len(A)):
        A[i] = 1


@refused('float("many") is no number', 'float("many")')
def text_that_is_no_number(A):
    for i in range(len(A)):
        A[i] = float("many")


@refused("helper is called", "helper(A[i])")
def unknown_call(A, helper):
    for i in range(len(A)):
        A[i] = helper(A[i])


@refused("math.ulp is called", "math.ulp(A[i])")
def unknown_mathematical_function(A):
    for i in range(len(A)):
        A[i] = math.ulp(A[i])


@refused("math.sqrt(...) takes 1 number, not 2", "math.sqrt(A[i], 2.0)")
def wrong_number_of_arguments(A):
    for i in range(len(A)):
        A[i] = math.sqrt(A[i], 2.0)


@refused("keyword or starred", "A[i]")
def keyword_argument(A):
    for i in range(len(A)):
        A[i] = math.sqrt(x=A[i])


@refused("print is called for its effect", "print(A[i])")
def called_for_its_effect(A):
    for i in range(len(A)):
        A[i] *= 2.0
        print(A[i])


@refused("the loop bound x is no integer", "x")
def floating_point_bound(A, x: float):
    for i in range(x):
        A[i] += 1.0


@refused("the subscript i // 0 of A divides by zero", "i // 0")
def division_by_zero_in_a_subscript(A):
    for i in range(len(A)):
        A[i // 0] = 1.0


@refused("the subscript np.sqrt(i) of A is no integer", "np.sqrt(i)")
def call_in_a_subscript(A, B):
    for i in range(len(B)):
        B[i] = A[np.sqrt(i)]


@refused("an array of 1 dimension is assigned to a single element", "B[i] = A[i, 1:n]")
def slice_in_an_expression(A, B, n: int):
    for i in range(n):
        B[i] = A[i, 1:n]


@refused("a global or nonlocal declaration", "global LIMIT")
def global_write(A):
    global LIMIT
    LIMIT = 2


@refused("an assignment to math.tau", "math.tau")
def attribute_write(A):
    math.tau = A[0]


@refused("a list, tuple, set or dictionary", "{}")
def dictionary(A):
    x = {}
    A[0] = 1.0


@refused("a comprehension", "[i for i in range(3)]")
def comprehension(A):
    x = [i for i in range(3)]
    A[0] = 1.0


@refused("a lambda", "lambda y: y + 1")
def lambda_expression(A):
    f = lambda y: y + 1
    A[0] = f(A[0])


@refused("a with block", "with A:")
def with_block(A):
    with A:
        A[0] = 1.0


@refused("an exception or assertion", "try:")
def try_block(A):
    try:
        A[0] = 1.0
    except ValueError:
        pass


@refused("await or yield", "yield")
def generator(A):
    A[0] = yield


@refused("a definition inside the kernel", "class Inner:")
def nested_class(A):
    class Inner:
        pass

    A[0] = 1.0


@refused("an import inside the kernel", "import os")
def nested_import(A):
    import os

    A[0] = 1.0


@refused("a match statement", "match LIMIT:")
def match_statement(A):
    match LIMIT:
        case 3:
            A[0] = 1.0


@refused("a value of type str", "'text'")
def string(A):
    A[0] = 'text'  # fmt: skip


@refused("a value of type str", "NAME")
def string_from_outside(A):
    A[0] = NAME


@refused("a formatted string", "f'{A[0]}'")
def formatted_string(A):
    A[0] = f'{A[0]}'  # fmt: skip


@refused("a complex number where float64 is computed", "A[0] = A[0] * 2j")
def complex_number(A):
    A[0] = A[0] * 2j


@refused("< of complex numbers", "R[0] = 1.0 if Z[0] < Z[1] else 0.0")
def ordered_complex_numbers(Z: "complex128[::1]", R):
    R[0] = 1.0 if Z[0] < Z[1] else 0.0


@refused("// of complex numbers", "Z[0] = Z[0] // 2")
def floor_of_a_complex_quotient(Z: "complex128[::1]"):
    Z[0] = Z[0] // 2


@refused("floor of a complex number", "Z[0] = np.floor(Z[0])")
def floor_of_a_complex_number(Z: "complex128[::1]"):
    Z[0] = np.floor(Z[0])


@refused("np.max of complex numbers, which have no order", "np.max(Z)")
def greatest_complex_number(Z: "complex128[::1]", R):
    R[0] = np.max(Z)


@refused("np.ogrid[0:4, 0:4] is used as one array", "np.ogrid[0:4, 0:4]")
def open_grid(A):
    A[:4] = np.sum(np.ogrid[0:4, 0:4])


@refused("an integer of more than 64 bits", "99999999999999999999")
def wide_integer(A):
    A[0] = 99999999999999999999


@refused("the array 'A' is used like a number", "A")
def array_as_a_number(A, B):
    for i in range(len(B)):
        B[i] = min(1.0, B[i]) if A else 0.0 + A[i]


@refused("the array name 'A' is assigned", "A = 0.0")
def rebound_array(A):
    A[0] = 1.0
    A = 0.0


@refused("'x' is subscripted but is not an array", "x")
def subscripted_number(A, x: float):
    A[0] = x[0]


WEIGHTS = np.array([0.5, 0.25, 0.25])
TABLE = [1.0, 2.0, 3.0]


@refused("a matrix product (@) of numbers", "A @ B")
def matrix_product(A: float, B: float, C):
    C[0] = A @ B


@refused("& of numbers of float64", "A[i] = A[i] & 1")
def bits_of_floats(A):
    for i in range(len(A)):
        A[i] = A[i] & 1


@refused("<< by a negative number", "A[i] = i << -1")
def negative_shift(A):
    for i in range(len(A)):
        A[i] = i << -1


@refused("a comparison by is or in", "i in (1, 2)")
def membership(A):
    for i in range(len(A)):
        if i in (1, 2):
            A[i] = 1.0


@refused("a number as an operand of and / or", "A[i]")
def number_as_a_condition(A):
    for i in range(len(A)):
        A[i] = A[i] or 1.0


@refused("the step 0 of a loop", "0")
def step_zero(A):
    for i in range(0, 10, 0):
        A[i] = 1.0


@refused("the step x of a loop", "x")
def fractional_step(A, x: float):
    for i in range(0, 10, x):
        A[i] = 1.0


@refused("a range without one to three plain arguments", "range()")
def empty_range(A):
    for i in range():
        A[i] = 1.0


@refused("the element type np.float16", "np.float16")
def unsupported_local_type(A):
    t = np.zeros(3, dtype=np.float16)
    t[0] = A[0]


@refused("the shape of a local array depends on data", "np.zeros(int(A[0]))")
def shape_from_data(A):
    t = np.zeros(int(A[0]))
    t[0] = A[0]


@refused("is called with arguments that are not compiled", "np.zeros(3, order='F')")
def unsupported_order(A):
    t = np.zeros(3, order='F')  # fmt: skip
    t[0] = A[0]


@refused("'x' is read before it is assigned", "x")
def unassigned(A):
    A[0] = x
    x = 1.0


@refused("the name 'undefined' is not defined", "undefined")
def undefined_name(A):
    A[0] = undefined


@refused("math.undefined is not known", "math.undefined")
def undefined_attribute(A):
    A[0] = math.undefined


@refused("del", "del A")
def deletion(A):
    A[0] = 1.0
    del A


@refused("an assignment inside an expression (:=)", "x := 1.0")
def walrus(A):
    A[0] = (x := 1.0)


@refused("a single value is unpacked", "A[0]")
def unpacked_number(A):
    x, y = A[0]
    A[0] = x


def both(x, y):
    return (x + y, x - y)


@refused("2 values are unpacked into 3 names", "x, y, z = A.shape")
def wrong_unpacking(A: "float64[:, ::1]"):
    x, y, z = A.shape


@refused("a tuple is subscripted by something other than the number of one of its values", "A.shape[3]")
def unknown_dimension(A: "float64[:, ::1]"):
    for i in range(A.shape[3]):
        A[i, i] = 1.0


@refused("the tuple 's' is used like a number", "s")
def tuple_as_a_number(A):
    s = A.shape
    A[0] = s + 1.0


def recursive(x):
    return recursive(x - 1.0) + 1.0


def loud(x):
    print(x)
    return x


def writes(x, value):
    for k in range(len(x)):
        x[k] = value
    return value


def silent(x):
    for k in range(len(x)):
        x[k] = 1.0


def sums(x):
    total = 0.0
    for k in range(len(x)):
        total += x[k]
    return total


@refused("recursive calls itself", "recursive(x - 1.0)")
def recursion(A):
    A[0] = recursive(A[0])


@refused("print is called for its effect", "print(x)")
def refused_in_a_helper(A):
    A[0] = loud(A[0])


@refused("recursive is called with arguments that do not fit: too many positional arguments", "recursive(A[0], 1.0)")
def wrong_arguments_of_a_helper(A):
    A[0] = recursive(A[0], 1.0)


FACTOR = np.float32(2.0)


def scaled(x, factor=FACTOR):
    return factor * x


@refused("writes writes to x and is used for its value", "writes(x, 1.0)")
def value_and_writes(x):
    x[0] = x[1] + writes(x, 1.0)


@refused("silent(...) returns nothing and is used as a value", "silent(x)")
def no_value(x):
    x[0] = silent(x)


@refused("sums is called in an expression that may not be evaluated", "sums(x)")
def loops_in_a_choice(x):
    for i in range(len(x)):
        x[i] = sums(x) if x[i] > 0.0 else 0.0


@refused("the argument 'values' is starred or keyword-only", "values")
def starred(A, *values):
    A[0] = 1.0


@refused("the argument 'x' is starred or keyword-only", "x")
def keyword_only(A, *, x):
    A[0] = x


@refused("nothing has no statement that is ever executed", "def nothing(A):")
def nothing(A):
    for i in range(5, 3):
        A[i] = 1.0


@refused("round is called", "round(A[i])")
def rounded(A):
    for i in range(len(A)):
        A[i] = round(A[i])


@refused("the attribute .nbytes of an array", "A.nbytes")
def bytes_of_an_array(A):
    A[0] = A.nbytes


@refused("'s' is a number, and an array is assigned to it", "s = A * 2.0")
def array_for_a_number(A):
    s = 1.0
    A[0] = s
    s = A * 2.0
    A[1] = s[0]


@refused("an array is combined with the number s", "s += A")
def number_that_becomes_an_array(A):
    s = A[0] * 1.0
    s += A
    A[0] = s[1]


@refused("an array is assigned to math.tau", "math.tau")
def array_in_an_attribute(A):
    A[0] = 2.0
    math.tau = A * 2.0


@refused("the array 't' is read where it may be one of several", "t")
def array_of_the_last_iteration(A):
    for i in range(len(A)):
        t = A * 2.0
        A[i] = t[i]
    A[0] = t[0]


@refused("x + 1.0 is subscripted", "(x + 1.0)[0]")
def subscripted_expression(A, x: float):
    A[1] = (x + 1.0)[0]


@refused("'t' is a tuple or list here and is assigned elsewhere too", "t = (A[0], A[1])")
def tuple_name_reused(A):
    t = (A[0], A[1])
    A[2] = t[0] + t[1]
    t = (A[1], A[2])
    A[3] = t[0] - t[1]


@refused("A[2] is assigned something that is no number", "A[2]")
def tuple_in_an_element(A, B):
    x, A[2] = B[0], (B[1], B[2])
    A[0] = x


def sum_and_difference(x, y):
    return x + y, x - y


@refused("sum_and_difference(...) does not return a number and is used like one", "sum_and_difference(A[0], A[1])")
def tuple_of_a_call_as_a_number(A):
    A[2] = sum_and_difference(A[0], A[1]) + 1.0


@refused("a starred argument in a call", "*A.shape")
def starred_argument(A: "float64[:, ::1]"):
    x, y = sum_and_difference(*A.shape)
    A[0, 0] = x


def least_of(x, *others):
    return x


@refused("least_of has the starred argument 'others'", "least_of(A[0], A[1])")
def starred_parameter(A):
    A[0] = least_of(A[0], A[1])


def labelled(x, label="name"):
    return x * 2.0


@refused("the default value of 'label' of labelled is used", "labelled(A[0])")
def default_that_is_no_number(A):
    A[0] = labelled(A[0])


@refused("'t' means an array or a tuple on one way that leads here, and something else on another", "t")
def array_or_number(A, n: int):
    if n > 3:
        t = np.zeros(4)
    else:
        t = 1.0
    A[0] = t


def number_or_two(x, n):
    for k in range(n):
        x[k] = 2.0
    if n > 3:
        return n, n
    return n


@refused("number_or_two returns different kinds of things", "number_or_two(A, n)")
def number_or_tuple(A, n: int):
    A[1] = number_or_two(A, n)


@refused("an object from outside of the kernel is returned", "return math.sqrt")
def function_returned(A):
    A[0] = 1.0
    return math.sqrt


@refused("t[1] is used like a number", "t[1]")
def tuple_of_a_tuple_as_a_number(A, B: "float64[::1]"):
    t = 2.0, (B[0], B[1])
    A[0] = t[0] * t[1]


@refused("an exception or assertion", "assert A[0] > 1.0")
def assertion_after_a_loop(A):
    for i in range(len(A)):
        A[i] += 2.0
    assert A[0] > 1.0


@refused("WEIGHTS[0] is assigned, an element of what is from outside", "WEIGHTS[0]")
def global_array_written(A):
    WEIGHTS[0] = 0.5
    A[0] = WEIGHTS[0]


LONG = np.ones(5000)


@refused("'LONG' from outside of the kernel holds float64, 1 dimensions, 5000 elements", "LONG")
def long_global_array(A):
    for i in range(len(A)):
        A[i] *= LONG[i]


def a_table():
    return (1.0, 2.0, 3.0)


@refused("break or continue in a loop over a tuple", "for x in table:")
def break_in_a_loop_over_a_tuple(A):
    table = a_table()
    for x in table:
        if A[0] > x:
            break
        A[0] += x


@refused("2 values in each iteration and one target", "x")
def one_name_for_pairs(A):
    for x in enumerate(A):
        A[0] += 1.0


@refused("a loop over n", "n")
def loop_over_a_number(A, n: int):
    for x in n:
        A[0] += x


def measured(A):
    return float(A[0])


@refused("measured(A) is called before a test of the arguments that uses its value", "measured(A)")
def call_before_a_test(A):
    x = measured(A)
    if x < 0.0:
        raise ValueError
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


SETTINGS = {"steps": 3}


@refused("'SETTINGS', a dict from outside of the kernel, is subscripted", "SETTINGS")
def dictionary_from_outside(A, key: int):
    A[0] = SETTINGS[key]


@refused("'t', a tuple, is subscripted by what is only known while the kernel runs", "t")
def variable_place_in_a_tuple(A):
    t = A[0], A[1]
    for i in range(2):
        A[i + 2] = t[i]


@refused("'residuals', a part of what np.linalg.lstsq gives whose size depends on data", "residuals")
def residuals_of_least_squares(A: "float64[:, ::1]", b):
    x, residuals, _, _ = np.linalg.lstsq(A, b, rcond=None)
    b[0] = residuals
