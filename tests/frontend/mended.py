"""The programs of ``refused`` as they are after what their refusals say has been done.

A case is a kernel that is accepted, and how the caller calls it where the remedy says that the caller does something
before or after.  What it computes has to be what the refused program computes in plain Python.  Where that is an error
in plain Python too, the mended program itself, interpreted, says what is right.
"""

# ruff: noqa: B007, F821, F841, RUF059, UP037
# mypy: ignore-errors

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.frontend import refused


@dataclass(frozen=True)
class Mended:
    """Return what became of a refused program.

    Attributes:
        kernel: the accepted program.
        arguments: makes the arguments of the refused program.
        follows: the part of the remedy that was followed.
        call: what the caller does: takes the kernel and the arguments of the refused program.
        reference: what computes what is right, from the same arguments; None for ``call`` with the plain ``kernel``.
    """

    kernel: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    follows: str
    call: Callable[..., Any]
    reference: Callable[..., Any] | None


MENDED: dict[str, list[Mended]] = {}


def vector(n: int = 6) -> np.ndarray:
    """Numbers that are all different, some above 1 and some below 0."""
    return np.array([0.5, 1.75, -0.25, 3.0, 0.125, 2.5, -1.5, 0.75, 4.0])[:n].copy()


def matrix(n: int = 4, m: int = 4) -> np.ndarray:
    return np.arange(float(n * m)).reshape(n, m) / 4 - 1


def plainly(kernel: Callable[..., Any], *arguments: Any) -> Any:
    return kernel(*arguments)


def mended(
    original: Callable[..., Any],
    arguments: Callable[[], tuple[Any, ...]],
    follows: str,
    call: Callable[..., Any] = plainly,
    *,
    is_error: bool = False,
    reference: Callable[..., Any] | None = None,
) -> Callable[[Any], Any]:
    def register(kernel: Any) -> Any:
        right = None if is_error else reference or original
        MENDED.setdefault(original.__name__, []).append(Mended(kernel, arguments, follows, call, right))
        return kernel

    return register


def nothing_to_compile() -> None:
    """Stands where the remedy leaves the whole program to NumPy."""


VECTOR = lambda: (vector(),)  # noqa: E731
TWO = lambda: (vector(), vector()[::-1].copy())  # noqa: E731
SQUARE = lambda: (matrix(),)  # noqa: E731

# ---- calls

ONE_OF_THESE = "compute the value before the kernel is called"


# ---- numbers that a type does not hold


@mended(
    refused.infinity_in_integers,
    lambda: (np.arange(5),),
    "the greatest or the least integer, as np.iinfo(np.int64).max",
    is_error=True,
)
def greatest_integer(A):
    for i in range(len(A)):
        A[i] = np.iinfo(np.int64).max


@mended(
    refused.nan_in_integers,
    lambda: (np.arange(5, dtype=np.int32),),
    "use a float64 array",
    lambda kernel, A: kernel(A.astype(np.float64)),
    is_error=True,
)
def nan_in_floats(A):
    for i in range(len(A)):
        A[i] = A[i] + np.nan


@mended(
    refused.integer_of_too_many_bits,
    lambda: (np.arange(5, dtype=np.int32),),
    "use a float64 array",
    lambda kernel, A: kernel(A.astype(np.float64)),
    is_error=True,
)
def integer_in_floats(A):
    for i in range(len(A)):
        A[i] += 2**40


@mended(
    refused.integer_of_too_many_bits,
    lambda: (np.zeros(5, dtype=np.int32),),
    "the greatest or the least integer, as np.iinfo(np.int32).max",
    is_error=True,
)
def greatest_integer_of_32_bits(A):
    for i in range(len(A)):
        A[i] += np.iinfo(np.int32).max


@mended(refused.negative_power_of_an_integer, lambda: (np.arange(1, 6),), "make a float of it first", is_error=True)
def negative_power_of_a_float(A):
    for i in range(len(A)):
        A[i] = int(float(A[i]) ** -2)


@mended(
    refused.annotated_as_halves,
    lambda: (np.zeros(5, dtype=np.float16),),
    "annotate it with one of these types, and pass arguments of it",
    lambda kernel, A: (converted := A.astype(np.float32), kernel(converted), A.__setitem__(..., converted))[1],
)
def annotated_as_floats(A: "float32[::1]"):
    for i in range(len(A)):
        A[i] = 1


@mended(refused.text_that_is_no_number, VECTOR, "write a number", is_error=True)
def number_for_text(A):
    for i in range(len(A)):
        A[i] = float("1e3")


@mended(
    refused.unknown_call,
    lambda: (vector(), math.erf),
    ONE_OF_THESE,
    lambda kernel, A, helper: kernel(A, np.array([helper(x) for x in A])),
)
def values_of_a_call(A, H):
    for i in range(len(A)):
        A[i] = H[i]


@mended(
    refused.unknown_mathematical_function,
    VECTOR,
    ONE_OF_THESE,
    lambda kernel, A: kernel(A, np.array([math.ulp(x) for x in A])),
)
def values_of_ulp(A, G):
    for i in range(len(A)):
        A[i] = G[i]


@mended(refused.wrong_number_of_arguments, lambda: (abs(vector()),), "pass as many as it takes", is_error=True)
def right_number_of_arguments(A):
    for i in range(len(A)):
        A[i] = math.sqrt(A[i])


@mended(refused.keyword_argument, lambda: (abs(vector()),), "pass the arguments by position", is_error=True)
def argument_by_position(A):
    for i in range(len(A)):
        A[i] = math.sqrt(A[i])


@mended(
    refused.called_for_its_effect,
    VECTOR,
    "call it outside the kernel",
    lambda kernel, A: [kernel(A), *(print(x) for x in A)][0],
)
def effects_outside(A):
    for i in range(len(A)):
        A[i] *= 2.0


def without_effect(x):
    return x


@mended(
    refused.refused_in_a_helper,
    VECTOR,
    "call it outside the kernel",
    lambda kernel, A: [print(A[0]), kernel(A)][1],
)
def helper_without_effect(A):
    A[0] = without_effect(A[0])


def repeated(x):
    total = 0.0
    for k in range(3):
        total += x
    return total


@mended(refused.recursion, VECTOR, "write the recursion as a loop", is_error=True)
def loop_for_a_recursion(A):
    A[0] = repeated(A[0])


@mended(refused.wrong_arguments_of_a_helper, VECTOR, "pass one value for each argument", is_error=True)
def right_arguments_of_a_helper(A):
    A[0] = repeated(A[0])


def fills(x, value):
    for k in range(len(x)):
        x[k] = value


@mended(refused.value_and_writes, VECTOR, "let the function either write arrays or return a number")
def writes_alone(x):
    before = x[1]
    fills(x, 1.0)
    x[0] = before + 1.0


@mended(refused.no_value, VECTOR, "call silent in a line of its own", is_error=True)
def in_a_line_of_its_own(x):
    refused.silent(x)


@mended(refused.loops_in_a_choice, VECTOR, "call it before, in a line of its own, and choose afterwards")
def loops_before_a_choice(x):
    for i in range(len(x)):
        total = refused.sums(x)
        x[i] = total if x[i] > 0.0 else 0.0


def total_of(x):
    s = 0.0
    for k in range(len(x)):
        s += x[k]
    return s


@mended(refused.loops_in_a_choice, VECTOR, "under an if")
def loops_under_an_if(x):
    for i in range(len(x)):
        go = 1 if x[i] > 0.0 else 0
        total = 0.0
        if go != 0:
            total = total_of(x)
        x[i] = total


# ---- bounds and subscripts


@mended(refused.floating_point_bound, lambda: (vector(), 3.0), "an int in place of a float argument", is_error=True,
        call=lambda kernel, A, x: kernel(A, int(x)))  # fmt: skip
def integer_bound(A, x: int):
    for i in range(x):
        A[i] += 1.0


@mended(refused.division_by_zero_in_a_subscript, VECTOR, "divide by a constant other than 0", is_error=True)
def division_by_two(A):
    for i in range(len(A)):
        A[i // 2] = 1.0


@mended(
    refused.call_in_a_subscript,
    lambda: (vector(), vector()),
    "or int(x)",
    is_error=True,
)
def rounded_roots(A, B):
    for i in range(len(B)):
        B[i] = A[int(np.sqrt(i))]


# ---- whole arrays


@mended(refused.slice_in_an_expression, lambda: (matrix(), vector(), 3), "A[i, :] = ..., or reduce the array",
        is_error=True)  # fmt: skip
def loop_for_a_slice_in_an_expression(A, B, n: int):
    for i in range(n):
        B[i] = np.sum(A[i, 1:n])


@mended(refused.array_as_a_number, TWO, "access an element, with 1 subscript", is_error=True)
def element_for_an_array(A, B):
    for i in range(len(B)):
        B[i] = min(1.0, B[i]) if A[0] else 0.0 + A[i]


@mended(refused.rebound_array, VECTOR, "use a new name for what is assigned")
def new_name(A):
    A[0] = 1.0
    B = 0.0


@mended(refused.subscripted_number, lambda: (vector(), 2.0), "use it without a subscript", is_error=True)
def number_without_subscript(A, x: float):
    A[0] = x


@mended(refused.matrix_product, lambda: (2.0, 3.0, vector(1)), "write * for a product of numbers", is_error=True)
def product_of_numbers(A: float, B: float, C):
    C[0] = A * B


@mended(refused.unpacked_number, lambda: (vector(2),), "write the values as a tuple: x, y = A[0], A[1]", is_error=True)
def values_as_a_tuple(A):
    x, y = A[0], A[1]
    A[0] = x


@mended(refused.wrong_unpacking, SQUARE, "name as many variables as there are values", is_error=True)
def right_unpacking(A):
    x, y = A.shape
    A[0, 0] = 1.0


def plus(x, y):
    return x + y


def minus(x, y):
    return x - y


def plus_and_minus(x, y, results):
    results[0] = x + y
    results[1] = x - y


@mended(refused.unknown_dimension, SQUARE, "use a constant from 0 to 1", is_error=True)
def known_dimension(A):
    for i in range(A.shape[1]):
        A[i, i] = 1.0


@mended(refused.tuple_as_a_number, VECTOR, "take one of them: s[0]", is_error=True)
def extent_of_a_tuple(A):
    s = A.shape
    A[0] = s[0] + 1.0


HALVES = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, -0.3, 7.0, 4503599627370497.0, -1e-30])


@mended(refused.rounded, lambda: (HALVES.copy(),), "r if x - r < 0.5 or (x - r == 0.5 and r % 2.0 == 0.0) else r + 1.0")
def rounded_by_floor(A):
    for i in range(len(A)):
        x = A[i]
        r = np.floor(x)
        A[i] = r if x - r < 0.5 or (x - r == 0.5 and r % 2.0 == 0.0) else r + 1.0


@mended(refused.bytes_of_an_array, VECTOR, "outside the kernel", lambda kernel, A: kernel(A, A.nbytes))
def bytes_as_an_argument(A, count: int):
    A[0] = count


# ---- control


def with_results(kernel, A):
    results = np.empty(2)
    kernel(A, results)
    return tuple(results)


def with_limit(kernel, A):
    limit = np.array([refused.LIMIT])
    kernel(A, limit)
    assert limit[0] == 2


@mended(refused.global_write, VECTOR, "pass the variable as an array of one element", with_limit)
def array_of_one_element(A, limit):
    limit[0] = 2


@mended(refused.attribute_write, VECTOR, "assign to a variable")
def assigned_variable(A):
    tau = A[0]


@mended(refused.dictionary, VECTOR, "use one variable for each value")
def no_dictionary(A):
    A[0] = 1.0


@mended(refused.comprehension, VECTOR, "make an array with np.empty at the top of the kernel and fill it in a loop")
def array_for_a_comprehension(A):
    x = np.empty(3)
    for i in range(3):
        x[i] = i
    A[0] = 1.0


def one_more(y):
    return y + 1


@mended(refused.lambda_expression, VECTOR, "write a function with def, and call it")
def function_for_a_lambda(A):
    A[0] = one_more(A[0])


@mended(refused.nested_class, VECTOR, "define it outside")
def class_outside(A):
    A[0] = 1.0


@mended(refused.nested_import, VECTOR, "import it outside")
def import_outside(A):
    A[0] = 1.0


def within_a_block(kernel, A):
    with contextlib.nullcontext():
        kernel(A)


@mended(refused.with_block, VECTOR, "put the block around the call of the kernel", within_a_block, is_error=True)
def block_around_the_call(A):
    A[0] = 1.0


@mended(refused.try_block, VECTOR, "or before it is called")
def without_try(A):
    A[0] = 1.0


def checked(kernel, A):
    assert A[0] > 0.0
    kernel(A)


def driven(A):
    steps = refused.generator(A)
    next(steps)
    with contextlib.suppress(StopIteration):
        steps.send(2.0)


@mended(
    refused.generator,
    VECTOR,
    "compute it before the kernel is called and pass it as an argument",
    lambda kernel, A: kernel(A, 2.0),
    reference=driven,
)
def value_as_an_argument(A, x: float):
    A[0] = x


@mended(refused.match_statement, VECTOR, "use if, elif and else")
def if_for_a_match(A):
    if refused.LIMIT == 3:
        A[0] = 1.0


@mended(refused.walrus, VECTOR, "assign the variable in a line of its own")
def line_of_its_own(A):
    x = 1.0
    A[0] = x


@mended(refused.deletion, VECTOR, "leave the line out")
def line_left_out(A):
    A[0] = 1.0


@mended(refused.nothing, VECTOR, "assign elements of its array arguments", is_error=True)
def something(A):
    for i in range(3, 5):
        A[i] = 1.0


# ---- loops


@mended(refused.step_zero, lambda: (vector(9),), "use an integer that is not zero", is_error=True)
def step_one(A):
    for i in range(0, 9, 1):
        A[i] = 1.0


@mended(refused.fractional_step, lambda: (np.arange(12.0), 3.0), "or int(x)", is_error=True)
def whole_step(A, x):
    for i in range(0, 10, int(x)):
        A[i] = 1.0


@mended(refused.empty_range, VECTOR, "write range(start, stop, step)", is_error=True)
def full_range(A):
    for i in range(0, len(A), 1):
        A[i] = 1.0


# ---- values


@mended(refused.string, VECTOR, "pass it as an argument of such a type", lambda kernel, A: kernel(A, 4.0),
        is_error=True)  # fmt: skip
def number_for_a_string(A, x: float):
    A[0] = x


@mended(refused.string_from_outside, VECTOR, "compute it outside the kernel",
        lambda kernel, A: kernel(A, float(len(refused.NAME))), is_error=True)  # fmt: skip
def number_from_outside(A, x: float):
    A[0] = x


@mended(
    refused.formatted_string,
    VECTOR,
    "compute it before the kernel is called and pass it as an argument",
    lambda kernel, A: kernel(A, float(f"{A[0]}")),
)
def value_of_a_formatted_string(A, x: float):
    A[0] = x


def complex_numbers() -> tuple[np.ndarray]:
    return (np.array([1.0 + 2.0j, 3.0 - 1.0j]),)


def complex_numbers_and_room() -> tuple[np.ndarray, np.ndarray]:
    return (*complex_numbers(), np.zeros(1))


@mended(refused.complex_number, complex_numbers, "or a complex array or variable")
def in_a_complex_array(A):
    A[0] = A[0] * 2j


@mended(refused.complex_number, VECTOR, "use z.real, z.imag or abs(z)", is_error=True)
def imaginary_part(A):
    A[0] = (A[0] * 2j).imag


@mended(refused.ordered_complex_numbers, complex_numbers_and_room, "compare abs(z), z.real or z.imag")
def ordered_magnitudes(Z, R):
    R[0] = 1.0 if abs(Z[0]) < abs(Z[1]) else 0.0


@mended(refused.floor_of_a_complex_quotient, complex_numbers, "use /, or the parts z.real and z.imag", is_error=True)
def floor_of_parts(Z):
    Z[0] = complex(Z[0].real // 2, Z[0].imag // 2)


@mended(refused.floor_of_a_complex_number, complex_numbers, "use abs(z), z.real or z.imag", is_error=True)
def floor_of_a_part(Z):
    Z[0] = np.floor(Z[0].real)


@mended(refused.greatest_complex_number, complex_numbers_and_room, "use np.abs(Z), Z.real or Z.imag", is_error=True)
def greatest_magnitude(Z, R):
    R[0] = np.max(np.abs(Z))


@mended(refused.open_grid, VECTOR, "give each a name: i, j = np.ogrid[0:n, 0:m]", is_error=True)
def open_grid_by_names(A):
    i, j = np.ogrid[0:4, 0:4]
    A[:4] = np.sum(i + j)


@mended(refused.open_grid, VECTOR, "or use np.mgrid", is_error=True)
def full_grid(A):
    A[:4] = np.sum(np.mgrid[0:4, 0:4])


@mended(refused.wide_integer, VECTOR, "use a float or a smaller integer")
def float_for_a_wide_integer(A):
    A[0] = 1e20


@mended(refused.bits_of_floats, VECTOR, "convert them: int(x)", is_error=True)
def bits_of_integers(A):
    for i in range(len(A)):
        A[i] = int(A[i]) & 1


@mended(refused.negative_shift, VECTOR, "shift the other way", is_error=True)
def shifted_right(A):
    for i in range(len(A)):
        A[i] = i >> 1


@mended(refused.membership, VECTOR, "use == or !=, and spell out each value")
def values_spelled_out(A):
    for i in range(len(A)):
        if i == 1 or i == 2:
            A[i] = 1.0


@mended(refused.number_as_a_condition, lambda: (np.array([0.0, 2.0, -1.0, 0.0]),), "x if x != 0 else y for x or y")
def choice_for_an_or(A):
    for i in range(len(A)):
        A[i] = A[i] if A[i] != 0 else 1.0


@mended(refused.unassigned, VECTOR, "assign 'x' before this line", is_error=True)
def assigned_before(A):
    x = 1.0
    A[0] = x


@mended(refused.undefined_name, VECTOR, "pass it as an argument", lambda kernel, A: kernel(A, 2.0), is_error=True)
def defined_name(A, undefined: float):
    A[0] = undefined


@mended(refused.undefined_attribute, VECTOR, "pass it as an argument", lambda kernel, A: kernel(A, 2.0), is_error=True)
def defined_attribute(A, x: float):
    A[0] = x


# ---- local arrays


@mended(refused.unsupported_local_type, VECTOR, "as dtype=np.float64")
def supported_local_type(A):
    t = np.zeros(3, dtype=np.float64)
    t[0] = A[0]


@mended(
    refused.shape_from_data,
    lambda: (vector()[3:],),
    "pass the size as an integer argument",
    lambda kernel, A: kernel(A, int(A[0])),
)
def shape_from_an_argument(A, size: int):
    t = np.zeros(size)
    t[0] = A[0]


@mended(refused.unsupported_order, VECTOR, "np.zeros(n, dtype=np.float32)")
def supported_order(A):
    t = np.zeros(3)
    t[0] = A[0]


# ---- arguments of the kernel


@mended(refused.starred, lambda: (vector(), 1.0, 2.0), "list the arguments by name, before any *")
def listed(A, first: float, second: float):
    A[0] = 1.0


@mended(
    refused.keyword_only,
    lambda: (vector(), 2.0),
    "list the arguments by name, before any *",
    reference=lambda A, x: refused.keyword_only(A, x=x),
)
def by_position(A, x: float):
    A[0] = x


# ---- whole arrays


@mended(refused.array_for_a_number, VECTOR, "use a new name for the array")
def array_with_a_name_of_its_own(A):
    s = 1.0
    A[0] = s
    t = A * 2.0
    A[1] = t[0]


@mended(refused.number_that_becomes_an_array, VECTOR, "give the result a name of its own")
def result_with_a_name_of_its_own(A):
    s = A[0] * 1.0
    result = s + A
    A[0] = result[1]


@mended(refused.array_in_an_attribute, VECTOR, "assign it to a name")
def array_in_a_name(A):
    A[0] = 2.0
    doubled = A * 2.0


@mended(refused.array_of_the_last_iteration, VECTOR, "make the array before, and assign its elements there")
def array_from_before(A):
    t = A * 2.0
    for i in range(len(A)):
        t[:] = A * 2.0
        A[i] = t[i]
    A[0] = t[0]


@mended(refused.subscripted_expression, lambda: (vector(), 2.0), "give the array a name of its own", is_error=True)
def expression_as_an_argument(A, x: float):
    A[1] = x + 1.0


# ---- tuples and what calls return


@mended(refused.tuple_name_reused, VECTOR, "use a name of its own for the tuple")
def tuple_of_its_own(A):
    t = (A[0], A[1])
    A[2] = t[0] + t[1]
    u = (A[1], A[2])
    A[3] = u[0] - u[1]


@mended(refused.tuple_in_an_element, TWO, "unpack the values: x, y = a, b", is_error=True)
def number_in_an_element(A, B):
    x, A[2] = B[0], B[1]
    A[0] = x


@mended(
    refused.tuple_of_a_call_as_a_number,
    VECTOR,
    "give what it returns a name in a line of its own, x, y = f(A)",
    is_error=True,
)
def part_of_what_a_call_returns(A):
    x, _ = refused.sum_and_difference(A[0], A[1])
    A[2] = x + 1.0


@mended(refused.starred_argument, SQUARE, "pass each argument by position")
def arguments_by_position(A):
    x, _ = refused.sum_and_difference(A.shape[0], A.shape[1])
    A[0, 0] = x


def first_of(x, y):
    return x


@mended(refused.starred_parameter, VECTOR, "list the arguments of least_of by name")
def parameters_by_name(A):
    A[0] = first_of(A[0], A[1])


def without_label(x, label):
    return x * 2.0


@mended(refused.default_that_is_no_number, VECTOR, "pass 'label' explicitly")
def label_passed(A):
    A[0] = without_label(A[0], 1)


@mended(refused.array_or_number, lambda: (vector(), 2), "use a name of its own for each")
def name_for_each(A, n):
    if n > 3:
        t = np.zeros(4)
        t[0] = 1.0
        x = t[0]
    else:
        x = 1.0
    A[0] = x


def two(x, n):
    for k in range(n):
        x[k] = 2.0
    if n > 3:
        return n, n
    return n, n


@mended(
    refused.number_or_tuple,
    lambda: (vector(), 3),
    "let each return give as many numbers as the others",
)
def always_two(A, n):
    x, _ = two(A, n)
    A[1] = x


@mended(
    refused.function_returned,
    VECTOR,
    "return numbers or arrays",
    lambda kernel, A: (kernel(A), math.sqrt)[1],
)
def nothing_returned(A):
    A[0] = 1.0


@mended(
    refused.tuple_of_a_tuple_as_a_number,
    TWO,
    "give it a name of its own, a, b = t, and use its elements",
    is_error=True,
)
def array_of_a_tuple(A, B):
    t = 2.0, (B[0], B[1])
    a, b = t
    A[0] = a * b[1]


# ---- tests of arguments, and what is from outside


@mended(
    refused.assertion_after_a_loop,
    VECTOR,
    "check the arguments at the top of the kernel, before anything but assignments of variables",
)
def assertion_first(A):
    assert A[0] > -1.0
    for i in range(len(A)):
        A[i] += 2.0


@mended(refused.global_array_written, VECTOR, "pass the array as an argument")
def array_written(A):
    A[0] = 0.5


@mended(
    refused.long_global_array,
    VECTOR,
    "add an argument LONG to the kernel and pass an array",
    lambda kernel, A: kernel(A, refused.LONG),
)
def long_array_passed(A, LONG):
    for i in range(len(A)):
        A[i] *= LONG[i]


@mended(
    refused.break_in_a_loop_over_a_tuple,
    VECTOR,
    "loop over range(len(...)) of an array with these values",
    lambda kernel, A: kernel(A, np.array(refused.a_table())),
)
def break_in_a_loop_over_an_array(A, table):
    for k in range(len(table)):
        if A[0] > table[k]:
            break
        A[0] += table[k]


@mended(refused.one_name_for_pairs, VECTOR, "name as many variables as there are values: for i, x in enumerate(A)")
def two_names_for_pairs(A):
    for i, x in enumerate(A):
        A[0] += 1.0


@mended(refused.loop_over_a_number, lambda: (vector(), 3), "loop over a range", is_error=True)
def loop_over_its_range(A, n):
    for x in range(n):
        A[0] += x


@mended(refused.call_before_a_test, VECTOR, "test the arguments first")
def test_before_a_call(A):
    if A[0] < 0.0:
        raise ValueError
    x = refused.measured(A)
    A[0] = x


@mended(
    refused.raises_a_local_error,
    VECTOR,
    "exceptions and functions that are defined at the top of a module",
)
def raises_a_known_error(A):
    if A[0] < 0.0:
        raise ValueError
    A[0] = 1.0


@mended(
    refused.dictionary_from_outside,
    lambda: (vector(), "steps"),
    "add an argument SETTINGS to the kernel and pass an array of what is needed",
    lambda kernel, A, key: kernel(A, np.array([refused.SETTINGS[key]])),
)
def array_of_what_is_needed(A, SETTINGS):
    A[0] = SETTINGS[0]


@mended(refused.variable_place_in_a_tuple, VECTOR, "or an array: t = np.empty(n)")
def array_in_place_of_a_tuple(A):
    t = np.empty(2)
    t[0] = A[0]
    t[1] = A[1]
    for i in range(2):
        A[i + 2] = t[i]


@mended(
    refused.residuals_of_least_squares,
    lambda: (np.array([[2.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), np.array([1.0, 2.0, 3.0])),
    "r = b - A @ x, and np.sum(r * r)",
    reference=lambda A, b: b.__setitem__(0, 9.0),
)
def residuals_from_the_solution(A, b):
    x, _, _, _ = np.linalg.lstsq(A, b, rcond=None)
    r = b - A @ x
    b[0] = np.sum(r * r)
