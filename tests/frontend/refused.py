"""Functions outside the language, each with what its refusal says and the source text that it points at."""

# ruff: noqa: B007, C416, E731, F401, F821, F841, RUF059, SIM105, UP037
# mypy: ignore-errors

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

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


@refused('an argument is annotated as "uint8[::1]"', '"uint8[::1]"')
def annotated_as_bytes(A: "uint8[::1]"):
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


@refused("math.gamma is called", "math.gamma(A[i])")
def unknown_mathematical_function(A):
    for i in range(len(A)):
        A[i] = math.gamma(A[i])


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


@refused("the loop bound i * n is not affine", "i * n")
def product_in_a_bound(A, n: int):
    for i in range(len(A)):
        for j in range(i * n):
            A[i] += j


@refused("the loop bound n // m is not affine", "n // m")
def quotient_of_parameters_in_a_bound(A, n: int, m: int):
    for i in range(len(A)):
        for j in range(n // m):
            A[i] += j


@refused("the loop bound i ** 2 is not affine", "i ** 2")
def power_in_a_bound(A):
    for i in range(len(A)):
        for j in range(i ** 2):  # fmt: skip
            A[i] += j


@refused("the loop bound P[i] is not affine", "P[i]")
def data_in_a_bound(A, P):
    for i in range(len(A)):
        for j in range(P[i]):
            A[i] += 1.0


@refused("the loop bound x is not affine", "x")
def floating_point_bound(A, x: float):
    for i in range(x):
        A[i] += 1.0


@refused("the subscript i * j of A is not affine", "i * j")
def product_in_a_subscript(A):
    for i in range(2):
        for j in range(2):
            A[i * j] += 1.0


@refused("the subscript i * n + j of A is not affine", "i * n + j")
def flattened_subscript(A, m: int, n: int):
    for i in range(m):
        for j in range(n):
            A[i * n + j] += 1.0


@refused("the subscript P[i] of A is not affine", "P[i]")
def data_read_through_a_subscript(A, B, P: "int64[::1]"):
    for i in range(len(B)):
        B[i] = A[P[i]]


@refused("the subscript P[i] of A is not affine", "P[i]")
def data_in_a_subscript(A, P: "int64[::1]"):
    for i in range(len(A)):
        A[P[i]] += 1.0


@refused("the subscript k of A is not affine", "k")
def changing_variable_in_a_subscript(A):
    k = 0
    for i in range(len(A) // 2):
        A[k] += 1.0
        k = k + 2


@refused("the subscript k of A is not affine", "k")
def counted_pairs_in_a_subscript(A, B):
    k = 0
    for i in range(3):
        for j in range(i + 1, 4):
            B[i] += A[k] * j
            k += 1


@refused("the loop bound count is not affine", "count")
def changing_variable_in_a_bound(A):
    count = 0
    for i in range(len(A)):
        if A[i] > 0.5:
            count += 1
    for j in range(count):
        A[j] += 1.0


@refused("the subscript i ** 2 of A is not affine", "i ** 2")
def power_in_a_subscript(A, B):
    for i in range(3):
        B[i] = A[i ** 2]  # fmt: skip


@refused("the subscript i // 0 of A is not affine", "i // 0")
def division_by_zero_in_a_subscript(A):
    for i in range(len(A)):
        A[i // 0] = 1.0


@refused("the subscript np.sqrt(i) of A is not affine", "np.sqrt(i)")
def call_in_a_subscript(A, B):
    for i in range(len(B)):
        B[i] = A[np.sqrt(i)]


@refused("the subscript int(x) of A is not affine", "int(x)")
def rounded_subscript(A, x: float):
    for i in range(len(A)):
        A[int(x)] += 1.0


@refused("the subscript source of A is not affine", "source")
def scaled_position(A, B, wide: int, narrow: int):
    for i in range(wide):
        source = i * narrow // wide
        B[i] = A[source]


@refused("the subscript (i + 1) % n of A is not affine", "(i + 1) % n")
def periodic_neighbour(A, B, n: int):
    for i in range(n):
        B[i] = A[(i + 1) % n]


@refused("the subscript i // n of A is not affine", "i // n")
def division_by_a_parameter(A, n: int):
    for i in range(len(A)):
        A[i // n] += 1.0


@refused("the subscript i % n of A is not affine", "i % n")
def remainder_by_a_parameter(A, n: int):
    for i in range(len(A)):
        A[i % n] += 1.0


@refused("an array of 1 dimension is assigned to a single element", "B[i] = A[i, 1:n]")
def slice_in_an_expression(A, B, n: int):
    for i in range(n):
        B[i] = A[i, 1:n]


@refused("a for loop inside a while loop", "for i in range(len(A)):")
def loop_in_a_while(A):
    x = 1.0
    while x > 0.1:
        for i in range(len(A)):
            A[i] *= x
        x *= 0.5


@refused("break", "break")
def break_in_a_loop(A):
    for i in range(len(A)):
        if A[i] > 1.0:
            break
        A[i] = 0.0


@refused("break", "break")
def break_in_a_while(A):
    x = 1.0
    while x > 0.1:
        x *= 0.5
        if x < A[0]:
            break
        A[1] += x


@refused("break", "break")
def break_before_a_loop(A, B: "float64[:, ::1]"):
    for i in range(len(A)):
        if A[i] > 1.0:
            break
        for j in range(B.shape[1]):
            B[i, j] = A[i]


@refused("an if that depends on done, around loops that change done", "if done == 0:")
def flag_around_loops(A, B: "float64[:, ::1]"):
    done = 0
    for i in range(len(A)):
        if done == 0:
            if A[i] > 1.0:
                done = 1
            else:
                for j in range(B.shape[1]):
                    B[i, j] = A[i]


@refused("break", "break")
def break_out_of_an_endless_loop(A):
    x = 1.0
    while True:
        x *= 0.5
        if x < A[0]:
            break
    A[1] = x


@refused("break", "break")
def search_for_a_pair(A, B):
    for i in range(len(A)):
        for j in range(len(A)):
            if A[j] == B[i]:
                break
            B[i] += 1.0


@refused("continue", "continue")
def continue_in_a_loop(A):
    for i in range(len(A)):
        if A[i] > 1.0:
            continue
        A[i] = 0.0


@refused("continue", "continue")
def continue_in_a_while(A):
    x = 1.0
    while x > 0.1:
        x *= 0.5
        if x < 0.3:
            continue
        A[0] += x


@refused("an else of a loop", "A[0] = 1.0")
def else_of_a_loop(A):
    for i in range(len(A)):
        A[i] = 0.0
    else:
        A[0] = 1.0


@refused("a return that is not the last statement", "return")
def return_in_the_middle(A):
    for i in range(len(A)):
        if i > 2:
            return
        A[i] = 0.0


@refused("a return that is not the last statement", "return")
def return_before_a_loop(A):
    if A[0] < 0.0:
        return
    for i in range(len(A)):
        A[i] = 0.0


@refused("the array 'A' is returned", "return A")
def returned_array(A):
    for i in range(len(A)):
        A[i] = 0.0
    return A


@refused("several values are returned", "(x, y)")
def returned_tuple(A):
    x = A[0] + 1.0
    y = A[1] + 1.0
    return (x, y)


@refused("a global or nonlocal declaration", "global LIMIT")
def global_write(A):
    global LIMIT
    LIMIT = 2


@refused("an assignment to math.tau", "math.tau")
def attribute_write(A):
    math.tau = A[0]


@refused("a list, tuple, set or dictionary", "[1.0, 2.0]")
def list_display(A):
    x = [1.0, 2.0]
    A[0] = 1.0


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


@refused("an exception or assertion", "assert A[0] > 0.0")
def assertion(A):
    assert A[0] > 0.0
    A[0] = 1.0


@refused("an exception or assertion", "raise ValueError")
def raised(A):
    if A[0] < 0.0:
        raise ValueError
    A[0] = 1.0


@refused("await or yield", "yield")
def generator(A):
    A[0] = yield


@refused("a definition inside the kernel", "def inner(x):")
def nested_function(A):
    def inner(x):
        return x + 1.0

    A[0] = inner(A[0])


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


@refused("a value of type complex", "2j")
def complex_number(A):
    A[0] = A[0] * 2j


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


@refused("'WEIGHTS', an array from outside of the kernel, is subscripted", "WEIGHTS")
def subscripted_global_array(A):
    for i in range(3):
        A[i] *= WEIGHTS[i]


@refused("'TABLE', a list from outside of the kernel, is subscripted", "TABLE")
def subscripted_global_list(A):
    for i in range(3):
        A[i] *= TABLE[i]


@refused("a matrix product (@) of numbers", "A @ B")
def matrix_product(A: float, B: float, C):
    C[0] = A @ B


@refused("an operation on bits", "i << 1")
def shifted(A):
    for i in range(len(A)):
        A[i] = i << 1


@refused("an operation on bits", "A[i] >> 1")
def bits_of_integers(A: "int64[::1]"):
    for i in range(len(A)):
        A[i] = (A[i] >> 1) + (A[i] & 1)


@refused("the operator ~ on bits", "~i")
def inverted(A):
    for i in range(len(A)):
        A[i] = ~i


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


@refused("the step k of a loop", "k")
def variable_step(A, k: int):
    for i in range(0, 10, k):
        A[i] = 1.0


@refused("a loop over A", "A")
def loop_over_an_array(A):
    for x in A:
        A[0] += x


@refused("a loop over several variables", "(i, x)")
def loop_over_pairs(A):
    for (i, x) in enumerate(A):  # fmt: skip
        A[i] = x


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


@refused("the loop variable 'i' is assigned in its loop", "i = 3")
def assigned_loop_variable(A):
    for i in range(len(A)):
        i = 3
        A[i] = 1.0


@refused("the loop variable 'i' is assigned in its loop", "i += 1")
def advanced_loop_variable(A):
    for i in range(len(A) - 1):
        i += 1
        A[i] = 1.0


@refused("the loop variable 'i' is read after its loop", "i")
def loop_variable_after_its_loop(A):
    for i in range(len(A)):
        A[i] = 1.0
    A[0] = i


@refused("the loop variable 'j' is read after its loop", "j")
def inner_loop_variable_after_its_loop(A):
    for i in range(1, len(A)):
        for j in range(i):
            A[j] += 1.0
        A[i] = j


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


@refused("a single value is unpacked", "A")
def unpacked_array(A):
    x, y = A
    A[0] = x


def both(x, y):
    return (x + y, x - y)


@refused("what both(...) returns is unpacked into several names", "both(A[0], A[1])")
def unpacked_call(A):
    x, y = both(A[0], A[1])
    A[2] = x * y


@refused("2 values are unpacked into 3 names", "x, y, z = A.shape")
def wrong_unpacking(A: "float64[:, ::1]"):
    x, y, z = A.shape


@refused("a shape is subscripted by something other than the number of a dimension", "A.shape[3]")
def unknown_dimension(A: "float64[:, ::1]"):
    for i in range(A.shape[3]):
        A[i, i] = 1.0


@refused("the tuple 's' is used like a number", "s")
def tuple_as_a_number(A):
    s = A.shape
    A[0] = s + 1.0


@refused("an if that depends on A, around loops that change A", "if A[0] > 0.0:")
def condition_changed_in_a_loop(A):
    if A[0] > 0.0:
        for i in range(len(A)):
            A[i] -= 1.0


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


@refused("recursive is called with 2 arguments", "recursive(A[0], 1.0)")
def wrong_arguments_of_a_helper(A):
    A[0] = recursive(A[0], 1.0)


FACTOR = np.float32(2.0)


def scaled(x, factor=FACTOR):
    return factor * x


@refused("the default value of 'factor' of scaled is used", "scaled(A[0])")
def default_that_is_no_plain_number(A):
    A[0] = scaled(A[0])


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


@refused("a loop over prange(len(A))", "prange(len(A))")
def parallel_range(A):
    for i in prange(len(A)):
        A[i] += 1.0


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
