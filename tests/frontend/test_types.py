"""Types of expressions and variables: NumPy's promotion, with casts where the source mixes types."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polytune.frontend.expression import Binary, Call, Cast, Constant, Expression, Unary
from polytune.frontend.promotion import ScalarKind, Value, join
from polytune.frontend.scop import Scop
from tests.frontend import features
from tests.frontend.helpers import analysed, dtypes, elements

F32, F64, I32, I64 = "float32[::1]", "float64[::1]", "int32[::1]", "int64[::1]"


def value_of(scop: Scop, statement: int = 0) -> Expression:
    (operation,) = scop.statements[statement].operations
    return operation.value


def scaled(A, B, x):
    for i in range(len(A)):
        A[i] = A[i] * x + B[i]


@pytest.mark.parametrize(
    ("a", "b", "x", "product", "total"),
    [
        (F32, F32, "float", "float32", "float32"),
        (F32, F32, "int", "float32", "float32"),
        (F32, F32, "float64", "float64", "float64"),
        (F32, F64, "float", "float32", "float64"),
        (F32, I32, "float", "float32", "float64"),
        (I32, I32, "int", "int32", "int32"),
        (I32, I64, "int", "int32", "int64"),
        (I32, I32, "float", "float64", "float64"),
        (I32, F32, "int", "int32", "float64"),
        (I64, I64, "float32", "float64", "float64"),
        (F64, F32, "float32", "float64", "float64"),
    ],
)
def test_operations_have_the_type_that_numpy_gives(a: str, b: str, x: str, product: str, total: str) -> None:
    scop = analysed(scaled, A=a, B=b, x=x)
    value = value_of(scop)
    while isinstance(value, Cast):
        value = value.operand
    assert isinstance(value, Binary) and value.dtype == total
    left = value.left.operand if isinstance(value.left, Cast) else value.left
    assert left.dtype == product
    assert value.left.dtype == value.right.dtype == total
    # NumPy itself agrees.
    arrays = np.ones(1, a.split("[")[0]), np.ones(1, b.split("[")[0])
    number = {"float": 1.5, "int": 2}.get(x) or np.dtype(x).type(1.5)
    assert (arrays[0][0] * number).dtype == product
    assert (arrays[0][0] * number + arrays[1][0]).dtype == total


def test_the_join_is_a_least_upper_bound() -> None:
    kinds = [ScalarKind(dtype, False) for dtype in ("int32", "int64", "float32", "float64")]
    kinds += [ScalarKind("int64", True), ScalarKind("float64", True)]
    for left in kinds:
        assert join(left, left) == left
        for right in kinds:
            both = join(left, right)
            assert both == join(right, left)
            assert join(both, left) == both and join(both, right) == both


def test_scalars_have_the_promoted_type_of_what_they_are_assigned() -> None:
    scop = analysed(features.single_precision, A=F32, B=F64, alpha="float")
    assert dtypes(scop)["t"] == "float32"
    scop = analysed(features.single_precision, A=F32, B=F64, alpha="float32")
    assert dtypes(scop)["t"] == "float32"
    scop = analysed(features.single_precision, A=F64, B=F64, alpha="float")
    assert dtypes(scop)["t"] == "float64"


def later_types(A, B):
    total = 0
    factor = 0.5
    for i in range(len(A)):
        A[i] = total * factor
        total = total + B[i]
        factor = factor * 2.0


@pytest.mark.parametrize(("b", "expected"), [(F32, "float32"), (F64, "float64"), (I32, "int32"), (I64, "int64")])
def test_the_type_of_a_scalar_may_show_after_its_first_use(b: str, expected: str) -> None:
    types = dtypes(analysed(later_types, A=F64, B=b))
    assert types["total"] == expected
    assert types["factor"] == "float64"


def test_a_python_float_variable_takes_the_type_of_what_it_meets() -> None:
    value = value_of(analysed(later_types, A=F32, B=F32), 2)
    assert isinstance(value, Binary) and value.dtype == "float32"
    assert isinstance(value.right, Cast) and value.right.operand.dtype == "float64"


def divisions(A, P):
    for i in range(len(P)):
        A[i] = P[i] / 2
        P[i] = P[i] // 2
        P[i] = P[i] ** 2
        A[i] = i / 2


def test_true_division_of_integers_is_float64() -> None:
    scop = analysed(divisions, A=F64, P=I32)
    assert value_of(scop, 0).dtype == "float64"
    assert value_of(scop, 1) == Binary("//", elements(value_of(scop, 1))[0], Constant(2, "int32"), "int32")
    assert value_of(scop, 2).dtype == "int32"
    division = value_of(scop, 3)
    assert isinstance(division, Binary) and isinstance(division.left, Cast) and division.dtype == "float64"


def functions(A):
    for i in range(len(A)):
        A[i] = math.sqrt(A[i])
        A[i] = np.sqrt(A[i])
        A[i] = np.arctan2(A[i], 2)
        A[i] = math.floor(A[i])
        A[i] = np.floor(A[i])
        A[i] = abs(A[i])
        A[i] = math.log(A[i], 2.0)
        A[i] = np.maximum(A[i], 0.0)
        A[i] = max(A[i], 0.0)


def test_math_computes_in_double_and_numpy_in_the_type_of_the_argument() -> None:
    scop = analysed(functions, A=F32)
    element = elements(value_of(scop))[0]
    assert value_of(scop, 0) == Cast(Call("sqrt", (Cast(element, "float64"),), "float64"), "float32")
    assert value_of(scop, 1) == Call("sqrt", (element,), "float32")
    assert value_of(scop, 2) == Call("atan2", (element, Constant(2.0, "float32")), "float32")
    floor = Call("floor", (Cast(element, "float64"),), "float64")
    assert value_of(scop, 3) == Cast(Cast(floor, "int64"), "float32")
    assert value_of(scop, 4) == Call("floor", (element,), "float32")
    assert value_of(scop, 5) == Unary("abs", element, "float32")
    logarithm = Call("log", (Cast(element, "float64"),), "float64")
    assert value_of(scop, 6) == Cast(Binary("/", logarithm, Constant(math.log(2.0), "float64"), "float64"), "float32")
    assert value_of(scop, 7) == Call("maximum", (element, Constant(0.0, "float32")), "float32")
    assert value_of(scop, 8) == Binary("max", element, Constant(0.0, "float32"), "float32")


def folded(A):
    A[0] = 2**-1 + 7 // 2 - 5 % 3 + (1 if 2 < 3 else 0)
    A[1] = -(3 - 5) * math.pi
    A[2] = np.float32(0.1)
    A[3] = 1 / 3 if not (True and 1 == 2) else 0.0


def test_constants_are_folded_as_python_does() -> None:
    scop = analysed(folded)
    values = [value_of(scop, number) for number in range(4)]
    assert values == [
        Constant(2**-1 + 7 // 2 - 5 % 3 + 1, "float64"),
        Constant(-(3 - 5) * math.pi, "float64"),
        Constant(float(np.float32(0.1)), "float64"),
        Constant(1 / 3, "float64"),
    ]


def booleans(A, P):
    for i in range(len(A)):
        flag = A[i] > 0.5
        P[i] = flag + (i < 3)
        A[i] = 1.0 if flag else 0.0


def test_truth_values_count_as_integers() -> None:
    scop = analysed(booleans, A=F64, P=I32)
    assert dtypes(scop)["flag"] == "int64"
    assert value_of(scop, 1).dtype == "int32"


def test_values_tell_constants_from_others() -> None:
    assert Value(Constant(2, "int64"), True).constant == 2
    assert Value(Unary("-", Constant(2, "int64"), "int64")).constant is None
