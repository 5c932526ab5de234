"""Common factors of sums: which there are, and that taking them out changes nothing but rounding."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.codegen.affine_range import mentions
from polytune.codegen.registers.accumulation import Scaled, scaled
from polytune.frontend.expression import Argument, Binary, Element, Expression, Iterator, Unary

F = "float64"
ALPHA, BETA = Argument("alpha", F), Argument("beta", F)
A, B = (Element(name, (Iterator("k"),), F) for name in "AB")


def times(left: Expression, right: Expression) -> Expression:
    return Binary("*", left, right, F)


def plus(left: Expression, right: Expression) -> Expression:
    return Binary("+", left, right, F)


@pytest.mark.parametrize(
    "expression, expected",
    [
        (times(ALPHA, A), Scaled(ALPHA, A)),
        (times(times(A, ALPHA), B), Scaled(ALPHA, times(A, B))),
        (times(times(ALPHA, A), BETA), Scaled(times(ALPHA, BETA), A)),
        (plus(times(A, ALPHA), times(ALPHA, B)), Scaled(ALPHA, plus(A, B))),
        (Unary("-", times(ALPHA, A), F), Scaled(ALPHA, Unary("-", A, F))),
        (plus(times(A, ALPHA), times(BETA, B)), None),
        (plus(times(A, ALPHA), B), None),
        (Binary("/", ALPHA, A, F), None),
        (times(ALPHA, BETA), Scaled(ALPHA, BETA)),
        (ALPHA, None),
        (A, None),
    ],
)
def test_factors(expression: Expression, expected: Scaled | None) -> None:
    assert scaled(expression, lambda part: not mentions(part, "k")) == expected


@polytune.kernel
def product(alpha, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


@polytune.kernel
def product_with_transposed(alpha, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] -= A[i, k] * alpha * B[j, k]


@pytest.mark.parametrize("alpha", [2.5, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("rows, columns, inner", [(7, 9, 5), (13, 40, 20), (3, 4, 0), (0, 4, 3), (5, 0, 2)])
def test_compiled(alpha: float, rows: int, columns: int, inner: int) -> None:
    """Without any product, a factor that is no number changes nothing."""
    generator = np.random.default_rng(3)
    C, A, B = (generator.random(shape) for shape in ((rows, columns), (rows, inner), (inner, columns)))
    with np.errstate(invalid="ignore"):
        term = (alpha * A) @ B if inner else np.zeros((rows, columns))
    for kernel, wanted, last in ((product, C + term, B), (product_with_transposed, C - term, B.T.copy())):
        space = kernel.space(alpha, C, A, last)
        names = [name for name in space.parameters[0].values if str(name).endswith(("_registers", "_packed"))]
        assert any(str(name).endswith("_packed") for name in names)
        for name in names:
            current = C.copy()
            kernel.run(space.configuration(version=name, tile_0=8), alpha, current, A, last)
            np.testing.assert_allclose(current, wanted, rtol=1e-12, err_msg=str(name))
