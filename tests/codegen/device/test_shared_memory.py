"""What a kernel says of the shared memory that it needs; whether that is so is checked where kernels are compiled."""

from __future__ import annotations

import pytest

from polytune.codegen.device.kernel import shared_memory_text
from polytune.pipeline import Stages
from polytune.signature import Signature, parse_type
from polytune.tuner import Constraint


def shared_memory(function, **types):
    """The texts of a kernel's regions, those without shared memory left out."""
    signature = Signature((("n", parse_type("int64")), *((name, parse_type(text)) for name, text in types.items())))
    stages = Stages(function, signature, devices=True)
    assert stages.partitioned is not None
    kernels = [part.kernel for part in stages.partitioned.parts if part.kernel is not None]
    texts = [shared_memory_text(kernel, stages.scop) for kernel in kernels]
    return [text for text in texts if text]


def product(n: int, A, B, C):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


def blur(n: int, A, B):
    for i in range(1, n - 1):
        for j in range(2, n - 1):
            B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 2] + A[i, j + 1]


def sheared(n: int, x, y, z):
    for i in range(n):
        for j in range(n):
            z[i, j] = x[i + j] * y[2 * i + 1]


def test_copies_of_one_kernel_are_added_up():
    (found,) = shared_memory(product, A="float64[:, ::1]", B="float32[:, ::1]", C="float64[:, ::1]")
    assert found == "8 * {y} * ({depth} // 2 * 2 + 1) + 4 * {depth} * ({x} // 2 * 2 + 1)"


def test_copy_of_a_stencil_has_a_margin():
    (found,) = shared_memory(blur, A="float64[:, ::1]", B="float64[:, ::1]")
    assert found.format(x=32, y=8) == "8 * (8 + 2) * ((32 + 3) // 2 * 2 + 1)"


@pytest.mark.parametrize(("x", "y", "expected"), [(32, 8, 8 * 39 + 8 * 15), (1, 1, 8 * 1 + 8 * 1)])
def test_copy_along_two_members_at_once(x, y, expected):
    (found,) = shared_memory(sheared, x="float64[::1]", y="float64[::1]", z="float64[:, ::1]")
    bound = found.format(x="block", y=y)
    assert eval(found.format(x=x, y=y)) == expected
    # What is generated is an expression that a space understands.
    assert Constraint(f"{bound} <= {expected}").holds({"block": x})
    assert not Constraint(f"{bound} < {expected}").holds({"block": x})
