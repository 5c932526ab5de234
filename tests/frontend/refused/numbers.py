"""Numbers and operations on them that are refused, and what to write instead."""

# ruff: noqa: F401, F821, UP037
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.refused.cases import mended, refused
from tests.frontend.values import VECTOR, matrix, vector


@refused("the constant inf where int64 is computed", "A[i] = np.inf")
def infinity_in_integers(A: "int64[::1]"):
    for i in range(len(A)):
        A[i] = np.inf


@mended(
    infinity_in_integers,
    lambda: (np.arange(5),),
    "the greatest or the least integer, as np.iinfo(np.int64).max",
    is_error=True,
)
def greatest_integer(A):
    for i in range(len(A)):
        A[i] = np.iinfo(np.int64).max


@refused("the constant nan where int32 is computed", 'A[i] = A[i] + np.int32(float("nan"))')
def nan_in_integers(A: "int32[::1]"):
    for i in range(len(A)):
        A[i] = A[i] + np.int32(float("nan"))


@mended(
    nan_in_integers,
    lambda: (np.arange(5, dtype=np.int32),),
    "use a float64 array",
    lambda kernel, A: kernel(A.astype(np.float64)),
    is_error=True,
)
def nan_in_floats(A):
    for i in range(len(A)):
        A[i] = A[i] + np.nan


@refused("the constant 1099511627776 where int32 is computed", "A[i] += 2**40")
def integer_of_too_many_bits(A: "int32[::1]"):
    for i in range(len(A)):
        A[i] += 2**40


@mended(
    integer_of_too_many_bits,
    lambda: (np.arange(5, dtype=np.int32),),
    "use a float64 array",
    lambda kernel, A: kernel(A.astype(np.float64)),
    is_error=True,
)
def integer_in_floats(A):
    for i in range(len(A)):
        A[i] += 2**40


@mended(
    integer_of_too_many_bits,
    lambda: (np.zeros(5, dtype=np.int32),),
    "the greatest or the least integer, as np.iinfo(np.int32).max",
    is_error=True,
)
def greatest_integer_of_32_bits(A):
    for i in range(len(A)):
        A[i] += np.iinfo(np.int32).max


@refused("a negative power of a NumPy integer", "A[i] = A[i] ** -2")
def negative_power_of_an_integer(A: "int64[::1]"):
    for i in range(len(A)):
        A[i] = A[i] ** -2


@mended(negative_power_of_an_integer, lambda: (np.arange(1, 6),), "make a float of it first", is_error=True)
def negative_power_of_a_float(A):
    for i in range(len(A)):
        A[i] = int(float(A[i]) ** -2)


@refused('an argument is annotated as "float128[::1]"', '"float128[::1]"')
def annotated_with_long_doubles(A: "float128[::1]"):
    for i in range(len(A)):
        A[i] = 1


@mended(
    annotated_with_long_doubles,
    lambda: (np.zeros(5, dtype=np.longdouble),),
    "annotate it with one of these types, and pass arguments of it",
    lambda kernel, A: (converted := A.astype(np.float64), kernel(converted), A.__setitem__(..., converted))[1],
)
def annotated_as_floats(A: "float64[::1]"):
    for i in range(len(A)):
        A[i] = 1


@refused('float("many") is no number', 'float("many")')
def text_that_is_no_number(A):
    for i in range(len(A)):
        A[i] = float("many")


@mended(text_that_is_no_number, VECTOR, "write a number", is_error=True)
def number_for_text(A):
    for i in range(len(A)):
        A[i] = float("1e3")


@refused("a value of type str", "'text'")
def string(A):
    A[0] = 'text'  # fmt: skip


@mended(string, VECTOR, "pass it as an argument of such a type", lambda kernel, A: kernel(A, 4.0),
        is_error=True)  # fmt: skip
def number_for_a_string(A, x: float):
    A[0] = x


NAME = "name"


@refused("a value of type str", "NAME")
def string_from_outside(A):
    A[0] = NAME


@mended(string_from_outside, VECTOR, "compute it outside the kernel",
        lambda kernel, A: kernel(A, float(len(NAME))), is_error=True)  # fmt: skip
def number_from_outside(A, x: float):
    A[0] = x


@refused("a formatted string", "f'{A[0]}'")
def formatted_string(A):
    A[0] = f'{A[0]}'  # fmt: skip


@mended(
    formatted_string,
    VECTOR,
    "compute it before the kernel is called and pass it as an argument",
    lambda kernel, A: kernel(A, float(f"{A[0]}")),
)
def value_of_a_formatted_string(A, x: float):
    A[0] = x


@refused("an integer of more than 64 bits", "99999999999999999999")
def wide_integer(A):
    A[0] = 99999999999999999999


@mended(wide_integer, VECTOR, "use a float or a smaller integer")
def float_for_a_wide_integer(A):
    A[0] = 1e20


@refused("& of numbers of float64", "A[i] = A[i] & 1")
def bits_of_floats(A: "float64[::1]"):
    for i in range(len(A)):
        A[i] = A[i] & 1


@mended(bits_of_floats, VECTOR, "convert them: int(x)", is_error=True)
def bits_of_integers(A):
    for i in range(len(A)):
        A[i] = int(A[i]) & 1


@refused("<< by a negative number", "A[i] = i << -1")
def negative_shift(A):
    for i in range(len(A)):
        A[i] = i << -1


@mended(negative_shift, VECTOR, "shift the other way", is_error=True)
def shifted_right(A):
    for i in range(len(A)):
        A[i] = i >> 1


@refused("a comparison by is or in", "A[0] is A[1]")
def identity(A):
    if A[0] is A[1]:
        A[0] = 1.0


@mended(identity, VECTOR, "use == or !=")
def compared_by_value(A):
    if A[0] == A[1]:
        A[0] = 1.0


@refused("a comparison by is or in", "i in A")
def membership(A):
    for i in range(len(A)):
        if i in A:
            A[i] = 1.0


@mended(membership, lambda: (np.array([2.0, 1.0]),), "in with a tuple, x in (1, 2)")
def values_in_a_tuple(A):
    for i in range(len(A)):
        if i in (A[0], A[1]):
            A[i] = 1.0


@refused("a matrix product (@) of numbers", "A @ B")
def matrix_product(A: float, B: float, C):
    C[0] = A @ B


@mended(matrix_product, lambda: (2.0, 3.0, vector(1)), "write * for a product of numbers", is_error=True)
def product_of_numbers(A: float, B: float, C):
    C[0] = A * B


@refused("a complex number where float64 is computed", "A[0] = A[0] * 2j")
def complex_number(A):
    A[0] = A[0] * 2j


def complex_numbers() -> tuple[np.ndarray]:
    return (np.array([1.0 + 2.0j, 3.0 - 1.0j]),)


@mended(complex_number, complex_numbers, "or a complex array or variable")
def in_a_complex_array(A):
    A[0] = A[0] * 2j


@mended(complex_number, VECTOR, "use z.real, z.imag or abs(z)", is_error=True)
def imaginary_part(A):
    A[0] = (A[0] * 2j).imag


@refused("< of complex numbers", "R[0] = 1.0 if Z[0] < Z[1] else 0.0")
def ordered_complex_numbers(Z: "complex128[::1]", R):
    R[0] = 1.0 if Z[0] < Z[1] else 0.0


def complex_numbers_and_room() -> tuple[np.ndarray, np.ndarray]:
    return (*complex_numbers(), np.zeros(1))


@mended(ordered_complex_numbers, complex_numbers_and_room, "compare abs(z), z.real or z.imag")
def ordered_magnitudes(Z, R):
    R[0] = 1.0 if abs(Z[0]) < abs(Z[1]) else 0.0


@refused("// of complex numbers", "Z[0] = Z[0] // 2")
def floor_of_a_complex_quotient(Z: "complex128[::1]"):
    Z[0] = Z[0] // 2


@mended(floor_of_a_complex_quotient, complex_numbers, "use /, or the parts z.real and z.imag", is_error=True)
def floor_of_parts(Z):
    Z[0] = complex(Z[0].real // 2, Z[0].imag // 2)


@refused("floor of a complex number", "Z[0] = np.floor(Z[0])")
def floor_of_a_complex_number(Z: "complex128[::1]"):
    Z[0] = np.floor(Z[0])


@mended(floor_of_a_complex_number, complex_numbers, "use abs(z), z.real or z.imag", is_error=True)
def floor_of_a_part(Z):
    Z[0] = np.floor(Z[0].real)


@refused("degrees of a complex number", "Z[:] = np.degrees(Z)")
def degrees_of_complex_numbers(Z: "complex128[::1]"):
    Z[:] = np.degrees(Z)


@mended(degrees_of_complex_numbers, complex_numbers, "use abs(z), z.real or z.imag", is_error=True)
def degrees_of_parts(Z):
    Z[:] = np.degrees(Z.real)


@refused("fabs of a complex number", "Z[0] = np.fabs(Z[0])")
def magnitude_by_fabs(Z: "complex128[::1]"):
    Z[0] = np.fabs(Z[0])


@mended(magnitude_by_fabs, complex_numbers, "use abs(z), z.real or z.imag", is_error=True)
def magnitude_by_abs(Z):
    Z[0] = abs(Z[0])


@refused("np.max of complex numbers, which have no order", "np.max(Z)")
def greatest_complex_number(Z: "complex128[::1]", R):
    R[0] = np.max(Z)


@mended(greatest_complex_number, complex_numbers_and_room, "use np.abs(Z), Z.real or Z.imag", is_error=True)
def greatest_magnitude(Z, R):
    R[0] = np.max(np.abs(Z))


@refused("~ of what may be a bool of Python's", "~found")
def inverse_of_a_flag(A, c):
    found = False
    for i in range(len(A)):
        found = found or A[i] > c
    if ~found:
        A[0] = c


@mended(inverse_of_a_flag, lambda: (vector(), 9.0), "write not found")
def negation_of_a_flag(A, c):
    found = False
    for i in range(len(A)):
        found = found or A[i] > c
    if not found:
        A[0] = c


@refused("~ of what may be a bool of Python's", "~found")
def inverse_of_a_flag_that_is_counted(A, c):
    found = A[0] > c
    A[0] = ~found
    found += 1
    A[1] = found


@mended(
    inverse_of_a_flag_that_is_counted,
    lambda: (vector(), 9.0),
    "give Python's and NumPy's truth values, and numbers, different names",
)
def flag_and_count(A, c):
    found = A[0] > c
    A[0] = ~found
    count = found + 1
    A[1] = count


@refused("np.mean of elements of int16 with dtype=int64", "np.mean(A, axis=0, dtype=np.int64)")
def means_as_integers(A: "int16[:, ::1]"):
    return np.mean(A, axis=0, dtype=np.int64)


@mended(
    means_as_integers, lambda: (np.arange(-6, 6, dtype=np.int16).reshape(4, 3),), "convert the result", is_error=False
)
def converted_means(A):
    return np.mean(A, axis=0).astype(np.int64)


@refused("np.var of elements of float64 with dtype=complex128", "np.var(A, dtype=np.complex128)")
def variance_as_complex(A: VECTOR):
    return np.var(A, dtype=np.complex128)


@mended(variance_as_complex, lambda: (vector(5),), "np.complex128(...) of a number")
def converted_variance(A):
    return np.complex128(np.var(A))
