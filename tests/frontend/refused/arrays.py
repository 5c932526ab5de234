"""Uses of whole arrays, of parts of them and of subscripts that are refused, and what to write instead."""

# ruff: noqa: F821, F841, RUF059, SIM108, UP037
# mypy: ignore-errors

from __future__ import annotations

import math

import numpy as np

from tests.frontend.refused.cases import mended, refused
from tests.frontend.values import TWO, VECTOR, matrix, vector


@refused("the subscript i // 0 of A divides by zero", "i // 0")
def division_by_zero_in_a_subscript(A):
    for i in range(len(A)):
        A[i // 0] = 1.0


@mended(division_by_zero_in_a_subscript, VECTOR, "divide by a constant other than 0", is_error=True)
def division_by_two(A):
    for i in range(len(A)):
        A[i // 2] = 1.0


@refused("the subscript np.sqrt(i) of A is no integer", "np.sqrt(i)")
def call_in_a_subscript(A, B):
    for i in range(len(B)):
        B[i] = A[np.sqrt(i)]


@mended(
    call_in_a_subscript,
    lambda: (vector(), vector()),
    "or int(x)",
    is_error=True,
)
def rounded_roots(A, B):
    for i in range(len(B)):
        B[i] = A[int(np.sqrt(i))]


@refused("the truth value A[i] > 2.0 as a subscript of an array", "A[i] > 2.0")
def truth_value_as_a_subscript(A, B):
    for i in range(len(A)):
        B[A[i] > 2.0] += 1.0


@mended(truth_value_as_a_subscript, TWO, "write int(A[i] > 2.0) for the element", reference=lambda A, B: counts(A, B))
def truth_value_as_a_number(A, B):
    for i in range(len(A)):
        B[int(A[i] > 2.0)] += 1.0


def counts(A, B):
    B[0] += np.count_nonzero(A <= 2.0)
    B[1] += np.count_nonzero(A > 2.0)


@refused("the truth value flag as a subscript of an array", "flag")
def truth_value_for_a_row(A, x):
    flag = A[0, 0] > x
    return A[flag].sum()


@mended(truth_value_for_a_row, lambda: (matrix(), 0.5), "or an if", reference=lambda A, x: A[int(A[0, 0] > x)].sum())
def number_for_a_row(A, x):
    flag = A[0, 0] > x
    return A[int(flag)].sum()


@refused("an array of 1 dimension is assigned to a single element", "B[i] = A[i, 1:n]")
def slice_in_an_expression(A, B, n: int):
    for i in range(n):
        B[i] = A[i, 1:n]


@mended(slice_in_an_expression, lambda: (matrix(), vector(), 3), "A[i, :] = ..., or reduce the array",
        is_error=True)  # fmt: skip
def loop_for_a_slice_in_an_expression(A, B, n: int):
    for i in range(n):
        B[i] = np.sum(A[i, 1:n])


@refused("the array 'A' is used like a number", "A")
def array_as_a_number(A, B):
    for i in range(A):
        B[i] = A[i]


@mended(array_as_a_number, TWO, "access an element, with 1 subscript", is_error=True)
def element_for_an_array(A, B):
    for i in range(int(A[3])):
        B[i] = A[i]


@refused("the array name 'A' is assigned", "A = 0.0")
def rebound_array(A):
    if A[0] > 1.0:
        A = 0.0
    A[0] = 1.0


@mended(rebound_array, VECTOR, "use a new name for what is assigned")
def new_name(A):
    if A[0] > 1.0:
        B = 0.0
    A[0] = 1.0


@refused("'x' is subscripted but is not an array", "x")
def subscripted_number(A, x: float):
    A[0] = x[0]


@mended(subscripted_number, lambda: (vector(), 2.0), "use it without a subscript", is_error=True)
def number_without_subscript(A, x: float):
    A[0] = x


@refused("np.ogrid[0:4, 0:4] is used as one array", "np.ogrid[0:4, 0:4]")
def open_grid(A):
    A[:4] = np.sum(np.ogrid[0:4, 0:4])


@mended(open_grid, VECTOR, "give each a name: i, j = np.ogrid[0:n, 0:m]", is_error=True)
def open_grid_by_names(A):
    i, j = np.ogrid[0:4, 0:4]
    A[:4] = np.sum(i + j)


@mended(open_grid, VECTOR, "or use np.mgrid", is_error=True)
def full_grid(A):
    A[:4] = np.sum(np.mgrid[0:4, 0:4])


@refused("the element type np.longdouble", "np.longdouble")
def unsupported_local_type(A):
    t = np.zeros(3, dtype=np.longdouble)
    t[0] = A[0]


@mended(unsupported_local_type, VECTOR, "as dtype=np.float64")
def supported_local_type(A):
    t = np.zeros(3, dtype=np.float64)
    t[0] = A[0]


@refused("an array with several extents of which nothing says", "np.zeros((int(A[0]), int(A[1])))")
def shape_from_data(A):
    t = np.zeros((int(A[0]), int(A[1])))
    t[0, 0] = A[0]
    A[2] = t[0, 0] + len(t)


@mended(
    shape_from_data,
    lambda: (np.array([3.0, 2.5, 4.0]),),
    "pass the sizes as integer arguments",
    lambda kernel, A: kernel(A, int(A[0]), int(A[1])),
)
def shape_from_an_argument(A, n: int, m: int):
    t = np.zeros((n, m))
    t[0, 0] = A[0]
    A[2] = t[0, 0] + len(t)


@refused("is called with arguments that are not compiled", "np.zeros(3, order='F')")
def unsupported_order(A):
    t = np.zeros(3, order='F')  # fmt: skip
    t[0] = A[0]


@mended(unsupported_order, VECTOR, "np.zeros(n, dtype=np.float32)")
def supported_order(A):
    t = np.zeros(3)
    t[0] = A[0]


@refused("the attribute .strides of an array", "A.strides")
def bytes_of_an_array(A):
    A[0] = A.strides[0]


@mended(bytes_of_an_array, VECTOR, "outside the kernel", lambda kernel, A: kernel(A, A.strides[0]))
def bytes_as_an_argument(A, count: int):
    A[0] = count


@refused("'s' is a number, and an array is assigned to it", "s = A * 2.0")
def array_for_a_number(A):
    s = 1.0
    if A[0] > 0.0:
        s = A * 2.0
    A[1] = np.sum(s)


@mended(array_for_a_number, VECTOR, "use a new name for the array")
def array_with_a_name_of_its_own(A):
    s = np.full_like(A, 1.0)
    if A[0] > 0.0:
        s = A * 2.0
    A[1] = np.sum(s)


@refused("an array is combined with the number s", "s += A")
def number_that_becomes_an_array(A):
    s = A[0] * 1.0
    s += A
    A[0] = s[1]


@mended(number_that_becomes_an_array, VECTOR, "give the result a name of its own")
def result_with_a_name_of_its_own(A):
    s = A[0] * 1.0
    result = s + A
    A[0] = result[1]


@refused("an array is assigned to math.tau", "math.tau")
def array_in_an_attribute(A):
    A[0] = 2.0
    math.tau = A * 2.0


@mended(array_in_an_attribute, VECTOR, "assign it to a name")
def array_in_a_name(A):
    A[0] = 2.0
    doubled = A * 2.0


@refused("the array 't' is read where it may be one of several", "t")
def array_of_the_last_iteration(A):
    for i in range(1, len(A)):
        t = A[:i] * 2.0
        A[i] = t[0]
    A[0] = t[0]


@mended(array_of_the_last_iteration, VECTOR, "make the array before, and assign its elements there")
def array_from_before(A):
    t = A * 2.0
    for i in range(1, len(A)):
        t[:i] = A[:i] * 2.0
        A[i] = t[0]
    A[0] = t[0]


@refused("x + 1.0 is subscripted", "(x + 1.0)[0]")
def subscripted_expression(A, x: float):
    A[1] = (x + 1.0)[0]


@mended(subscripted_expression, lambda: (vector(), 2.0), "give the array a name of its own", is_error=True)
def expression_as_an_argument(A, x: float):
    A[1] = x + 1.0


@refused("'t' means an array, a tuple or None on one way that leads here, and something else on another", "t")
def array_or_number(A, n: int):
    if n > 3:
        t = np.zeros(4)
    else:
        t = 1.0
    A[0] = t


@mended(array_or_number, lambda: (vector(), 2), "use a name of its own for each")
def name_for_each(A, n):
    if n > 3:
        t = np.zeros(4)
        t[0] = 1.0
        x = t[0]
    else:
        x = 1.0
    A[0] = x


@refused("'residuals', a part of what np.linalg.lstsq gives whose size depends on data", "residuals")
def residuals_of_least_squares(A: "float64[:, ::1]", b):
    x, residuals, _, _ = np.linalg.lstsq(A, b, rcond=None)
    b[0] = residuals


@mended(
    residuals_of_least_squares,
    lambda: (np.array([[2.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), np.array([1.0, 2.0, 3.0])),
    "r = b - A @ x, and np.sum(r * r)",
    reference=lambda A, b: b.__setitem__(0, 9.0),
)
def residuals_from_the_solution(A, b):
    x, _, _, _ = np.linalg.lstsq(A, b, rcond=None)
    r = b - A @ x
    b[0] = np.sum(r * r)


@refused("an operator on a list", "[0.0] * 3")
def repeated_list(A):
    A[0] = ([0.0] * 3)[1]


@mended(repeated_list, VECTOR, "np.full(3, x) for [x] * 3")
def filled_array(A):
    A[0] = np.full(3, 0.0)[1]


@refused("the result 2 of np.floor", "2")
def number_as_result(A):
    A[:] = np.floor(A, 2)


@mended(number_as_result, VECTOR, "leave it out", is_error=True)
def no_result(A):
    A[:] = np.floor(A)


@refused("np.fliplr of 1 dimension", "np.fliplr(A)")
def vector_left_to_right(A):
    A[0] = np.fliplr(A)[0]


@mended(vector_left_to_right, VECTOR, "pass arrays of 2 or more", is_error=True)
def row_left_to_right(A):
    A[0] = np.fliplr(A[None, :])[0, 0]


@refused("np.swapaxes without the argument 'axis1'", "np.swapaxes(A)")
def no_axes_to_swap(A):
    A[0] = np.swapaxes(A)[0]


@mended(no_axes_to_swap, VECTOR, "name a dimension", is_error=True)
def axes_to_swap(A):
    A[0] = np.swapaxes(A, 0, 0)[0]


@refused("^ of numbers of float64", "A[0] = ~A[1]")
def bits_of_a_float(A):
    A[0] = ~A[1]


@mended(bits_of_a_float, VECTOR, "convert them: int(x)", is_error=True)
def bits_of_an_integer(A):
    A[0] = ~int(A[1])


@refused("the value of .sort(...)", "A.sort()")
def value_of_a_change(A):
    B = A.sort()
    A[0] = B[1]


@mended(value_of_a_change, VECTOR, "np.sort(A), which is a new array", is_error=True)
def sorted_copy(A):
    B = np.sort(A)
    A[0] = B[1]


@refused("np.arange of floats that are not all constants", "np.arange(0.0, x, 0.25)")
def range_of_floats(A, x: float):
    A[:] = np.arange(0.0, x, 0.25)[:4]


@mended(range_of_floats, lambda: (vector(4), 1.0), "start + step * np.arange(n)")
def steps_of_a_quarter(A, x):
    A[:] = (0.0 + 0.25 * np.arange(4))[:4]


@refused("a library call on an array of float16", "np.sort(A)")
def sorted_halves(A: "float16[::1]"):
    A[:] = np.sort(A)


@mended(
    sorted_halves,
    lambda: (vector(5).astype(np.float16),),
    "give it a copy, A.astype(np.float32), and assign what it returns",
)
def sorted_as_floats(A: "float16[::1]"):
    A[:] = np.sort(A.astype(np.float32))


@refused("elements of int64 are updated with numbers of float64", "A[k] -= 1.5")
def elements_updated_with_floats(A: "int64[:]", k: "int64[:]"):
    A[k] -= 1.5


@mended(elements_updated_with_floats, lambda: (np.arange(5), np.array([3, 0])), "A[k] = A[k] - ...", is_error=True)
def elements_cut_off(A: "int64[:]", k: "int64[:]"):
    A[k] = A[k] - 1.5


@refused("elements of int64 are updated with numbers of float64", "A[A > 1] *= 1.5")
def chosen_elements_updated_with_floats(A: "int64[:]"):
    A[A > 1] *= 1.5


@mended(chosen_elements_updated_with_floats, lambda: (np.arange(5),), "A[A > 1] = A[A > 1] * ...", is_error=True)
def chosen_elements_cut_off(A: "int64[:]"):
    A[A > 1] = A[A > 1] * 1.5


@refused("elements of int64 are updated with numbers of float64", "A += 0.5")
def array_updated_with_floats(A: "int64[:]"):
    A += 0.5


@mended(array_updated_with_floats, lambda: (np.arange(5),), "A[:] = A + ...", is_error=True)
def array_cut_off(A: "int64[:]"):
    A[:] = A + 0.5


@refused("multiply writes numbers of float64 to an array of int64", "np.multiply(A, 1.5, out=A)")
def product_written_to_integers(A: "int64[:]"):
    np.multiply(A, 1.5, out=A)


@mended(product_written_to_integers, lambda: (np.arange(5),), "A[:] = ...", is_error=True)
def product_cut_off(A: "int64[:]"):
    A[:] = np.multiply(A, 1.5)


@refused("np.copyto writes numbers of float64 to an array of int64", "np.copyto(A, A / 2)")
def copied_to_integers(A: "int64[:]"):
    np.copyto(A, A / 2)


@mended(copied_to_integers, lambda: (np.arange(5),), "A[:] = ...", is_error=True)
def copied_and_cut_off(A: "int64[:]"):
    A[:] = A / 2


@refused("np.copyto writes numbers of float64 to an array of int64", "np.copyto(A, 1.5, where=A > 1)")
def numbers_copied_to_integers(A: "int64[:]"):
    np.copyto(A, 1.5, where=A > 1)


@mended(numbers_copied_to_integers, lambda: (np.arange(5),), "A[mask] = ...", is_error=True)
def numbers_cut_off(A: "int64[:]"):
    A[A > 1] = 1.5


@refused("np.searchsorted with 'a' of no dimensions", "np.searchsorted(x, A)")
def searched_in_a_number(A, x: "float"):
    A[:] = np.searchsorted(x, A)


@mended(searched_in_a_number, lambda: (vector(), 2.0), "pass an array of one dimension as 'a'", is_error=True)
def searched_in_an_array(A, x):
    A[:] = np.searchsorted(A, x)


@refused("np.delete with these arguments: the tuple 'obj' is used like a number", "np.delete(A, [0, 1], axis=0)")
def rows_taken_out(A):
    A[0] = np.delete(A, [0, 1], axis=0)[0]


@mended(
    rows_taken_out,
    lambda: (np.arange(12.0).reshape(4, 3),),
    "call it before the kernel",
    lambda kernel, A: kernel(A, np.delete(A, [0, 1], axis=0)),
)
def rows_as_an_argument(A, rows):
    A[0] = rows[0]
