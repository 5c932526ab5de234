"""Statements and displays that are refused, and what to write instead."""

# ruff: noqa: F821, C416, F401, F841, SIM105
# mypy: ignore-errors

from __future__ import annotations

import contextlib
import math

import numpy as np

from tests.frontend.refused.cases import mended, refused
from tests.frontend.values import VECTOR

LIMIT = 3


@refused("a global or nonlocal declaration", "global LIMIT")
def global_write(A):
    global LIMIT
    LIMIT = 2


def with_limit(kernel, A):
    limit = np.array([LIMIT])
    kernel(A, limit)
    assert limit[0] == 2


@mended(global_write, VECTOR, "pass the variable as an array of one element", with_limit)
def array_of_one_element(A, limit):
    limit[0] = 2


@refused("an assignment to math.tau", "math.tau")
def attribute_write(A):
    math.tau = A[0]


@mended(attribute_write, VECTOR, "assign to a variable")
def assigned_variable(A):
    tau = A[0]


@refused("the shape of A is assigned", "A.shape")
def shape_of_an_argument(A):
    A.shape = 0, 7


@mended(shape_of_an_argument, VECTOR, "give the array in the other shape a name", is_error=True)
def argument_in_another_shape(A):
    column = A.reshape(len(A), 1)
    return column * 2.0


@refused("the shape of B is assigned", "B.shape = 3, 2")
def shape_of_what_has_two_names():
    B = np.ones(6)
    C = B
    B.shape = 3, 2
    return C


@mended(shape_of_what_has_two_names, lambda: (), "give the array in the other shape a name")
def another_shape_has_a_name():
    B = np.ones(6)
    C = B.reshape(3, 2)
    return C


@refused("a list, tuple, set or dictionary", "{}")
def dictionary(A):
    x = {}
    A[0] = 1.0


@mended(dictionary, VECTOR, "use one variable for each value")
def no_dictionary(A):
    A[0] = 1.0


@refused("a comprehension", "[i for i in range(len(A))]")
def comprehension(A):
    x = (A[0], [i for i in range(len(A))])
    A[0] = x[1][0] + 1.0


@mended(comprehension, VECTOR, "make an array with np.empty at the top of the kernel and fill it in a loop")
def array_for_a_comprehension(A):
    x = np.empty(len(A))
    for i in range(len(A)):
        x[i] = i
    A[0] = x[0] + 1.0


@refused("a lambda", "lambda y: y + 1")
def lambda_expression(A):
    f = (lambda y: y + 1, 0)
    A[0] = f[0](A[0])


def one_more(y):
    return y + 1


@mended(lambda_expression, VECTOR, "write a function with def, and call it")
def function_for_a_lambda(A):
    A[0] = one_more(A[0])


@refused("a definition inside the kernel", "class Inner:")
def nested_class(A):
    class Inner:
        pass

    A[0] = 1.0


@mended(nested_class, VECTOR, "define it outside")
def class_outside(A):
    A[0] = 1.0


@refused("an import inside the kernel", "import os")
def nested_import(A):
    import os

    A[0] = 1.0


@mended(nested_import, VECTOR, "import it outside")
def import_outside(A):
    A[0] = 1.0


@refused("a with block", "with A:")
def with_block(A):
    with A:
        A[0] = 1.0


def within_a_block(kernel, A):
    with contextlib.nullcontext():
        kernel(A)


@mended(with_block, VECTOR, "put the block around the call of the kernel", within_a_block, is_error=True)
def block_around_the_call(A):
    A[0] = 1.0


@refused("a try statement", "try:")
def try_block(A):
    try:
        A[0] = 1.0
    except ValueError:
        pass


@mended(try_block, VECTOR, "or before it is called")
def without_try(A):
    A[0] = 1.0


@refused("await or yield", "yield")
def generator(A):
    A[0] = yield


def driven(A):
    steps = generator(A)
    next(steps)
    with contextlib.suppress(StopIteration):
        steps.send(2.0)


@mended(
    generator,
    VECTOR,
    "compute it before the kernel is called and pass it as an argument",
    lambda kernel, A: kernel(A, 2.0),
    reference=driven,
)
def value_as_an_argument(A, x: float):
    A[0] = x


@refused("a match statement", "match LIMIT:")
def match_statement(A):
    match LIMIT:
        case int():
            A[0] = 1.0


@mended(match_statement, VECTOR, "use if, elif and else")
def if_for_a_match(A):
    if LIMIT == 3:
        A[0] = 1.0


@refused("an assignment inside an expression (:=)", "x := 1.0")
def walrus(A):
    A[0] = 0.0 if A[1] > 9.0 else (x := 1.0)


@mended(walrus, VECTOR, "assign the variable in a line of its own")
def line_of_its_own(A):
    x = 1.0
    A[0] = 0.0 if A[1] > 9.0 else x


@refused("del", "del x[1]")
def deletion(A):
    x = [A[0], A[1]]
    del x[1]
    A[0] = x[0]


@mended(deletion, VECTOR, "leave the line out")
def line_left_out(A):
    x = [A[0], A[1]]
    A[0] = x[0]


@refused("nothing has no statement that is ever executed", "def nothing(A):")
def nothing(A):
    for i in range(5, 3):
        A[i] = 1.0


@mended(nothing, VECTOR, "assign elements of its array arguments", is_error=True)
def something(A):
    for i in range(3, 5):
        A[i] = 1.0


@refused(".append(...) of the list 'found'", "found.append(A[i])")
def growing_list(A):
    found = []
    for i in range(len(A)):
        if A[i] > 0.0:
            found.append(A[i])
    other = found
    return np.array(other)[: len(found)]


@mended(growing_list, VECTOR, "make an array with as many elements as there may be")
def counted_elements(A):
    found = np.empty(len(A))
    count = 0
    for i in range(len(A)):
        if A[i] > 0.0:
            found[count] = A[i]
            count += 1
    return found[:count]


@refused("an array is appended to a list", "rows.append(A[i])")
def list_of_rows(A: float64[:, :]):
    rows = []
    for i in range(len(A)):
        if A[i, 0] > 0.0:
            rows.append(A[i])
    return np.array(rows)


@mended(list_of_rows, lambda: (np.arange(12.0).reshape(4, 3) - 4.0,), "make an array with a row for each")
def counted_rows(A: float64[:, :]):
    rows = np.empty(A.shape)
    count = 0
    for i in range(len(A)):
        if A[i, 0] > 0.0:
            rows[count] = A[i]
            count += 1
    return rows[:count]


@refused("a list of float32 and int64", "found.append(A[i])")
def list_of_types(A: float32[:]):
    found = [0]
    for i in range(len(A)):
        found.append(A[i])
    return np.array(found)


@mended(list_of_types, lambda: (np.arange(3, dtype=np.float32),), "convert what is put in: np.float64(x)")
def list_of_one_type(A: float32[:]):
    found = [np.float64(0)]
    for i in range(len(A)):
        found.append(np.float64(A[i]))
    return np.array(found)


@refused("a list is subscripted by what is no integer", "found[len(A) / 2]")
def half_of_a_list(A):
    found = []
    for i in range(len(A)):
        found.append(A[i])
    return found[len(A) / 2]


@mended(half_of_a_list, VECTOR, "use // in place of /", is_error=True)
def middle_of_a_list(A):
    found = []
    for i in range(len(A)):
        found.append(A[i])
    return found[len(A) // 2]


@refused("a complex number where float64 is computed", "A[0] = 2j")
def complex_constant(A):
    A[0] = 2j


@mended(complex_constant, VECTOR, "use z.real", is_error=True)
def real_part_of_a_constant(A):
    A[0] = 2j.real
