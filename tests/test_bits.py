"""Operations on bits in compiled kernels against NumPy: of integers of every width, elements, arrays and variables."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.signature import SIGNED_TYPES, UNSIGNED_TYPES
from tests.test_control import in_every_version
from tests.test_dtypes import numbers
from tests.test_results import compared

INTEGERS = (*SIGNED_TYPES, *UNSIGNED_TYPES)
SIZES = (0, 1, 5, 33)

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")


def elements(A, B, C):
    for i in range(len(A)):
        C[i] = (A[i] & B[i]) ^ (A[i] | 5)
        C[i] += ~B[i]
        C[i] ^= A[i] >> 3
        C[i] |= B[i] << 2
        C[i] &= ~(A[i] << (B[i] & 15))
        C[i] -= A[i] >> (B[i] & 127)


def whole(A, B, mask):
    C = (A & B) | (A ^ 3) | ~B
    C <<= 1
    D = np.bitwise_and(A, B) + np.left_shift(A, 2) - np.right_shift(B, np.bitwise_or(A & 7, 1)) + np.invert(A)
    positive = (A > 0) & ~mask
    positive |= B > 0
    positive ^= mask
    return C, D, np.bitwise_xor(A, B), positive, np.sum(A & 1), np.bitwise_not(mask)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_of_elements_and_arrays(dtype: str) -> None:
    for n in SIZES:
        A, B = numbers(n, dtype), numbers(n, dtype, 1)
        compared(elements, A, B, np.zeros(n, dtype))
        compared(whole, A, B, np.arange(n) % 3 == 0)
    in_every_version(elements, numbers(66, dtype)[::2], numbers(33, dtype, 1)[::-1], np.zeros(33, dtype))


def mixed(A, B, k):
    return A & B, A | k, k ^ B, A << k, 1 << B, B >> k, 0x5A & A


@pytest.mark.parametrize("right", ["uint8", "int32", "int64"])
@pytest.mark.parametrize("left", ["int8", "uint16", "int64"])
def test_types_of_bits_are_promoted_as_numpy_does(left: str, right: str) -> None:
    compared(mixed, numbers(9, left), numbers(9, right) & 7, 3)


def checksum(data, polynomial=0x1021):
    value = 0xFFFF
    for byte in data:
        value ^= (0xFF & byte) << 8
        for _ in range(8):
            is_carried = value & 0x8000
            value = (value << 1) & 0xFFFF
            if is_carried:
                value ^= polynomial
    return ~value & 0xFFFF


def test_variables_of_bits_are_carried_from_iteration_to_iteration() -> None:
    for n in SIZES:
        compared(checksum, np.arange(n, dtype=np.int64) * 37)


def subscripted(A, B):
    for i in range(len(A)):
        A[i] = B[i >> 1] + B[i & 3] + B[(i << 1) & 7]


def test_bits_of_loop_variables_are_affine() -> None:
    compared(subscripted, np.zeros(16), np.arange(8.0))
