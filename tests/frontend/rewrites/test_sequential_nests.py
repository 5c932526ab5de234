"""Loops inside of opaque statements: which of them change places, and that results are the same in either order."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.frontend import analyse
from polytune.frontend.expression import Assign, Loop, walk
from polytune.runtime.calls.arguments import signature_of
from tests.frontend.test_array_expressions import modelled

STEPS = 3


def values(dtype: str, *shape: int, order: Any = "C") -> np.ndarray:
    numbers = np.random.default_rng(sum(shape)).integers(-9, 9, shape)
    return np.array(numbers, dtype=dtype, order=order)


def vector_times_matrix(A, v, w, steps):
    for _ in range(steps):
        w[:] = v @ A
        if w[0] == 0.5:
            break


def column_means(A, v, w, steps):
    for _ in range(steps):
        w[:] = A.mean(axis=0)
        if w[0] == 0.5:
            break


def under_a_condition(A, v, w, steps):
    while steps > 0:
        steps -= 1
        if v[0] != 0.5:
            w[:] = A.sum(axis=0)


def written_as_loops(A, v, w, steps):
    while steps > 0:
        steps -= 1
        for i in range(len(w)):
            w[i] = v[0]
            for k in range(len(v)):
                w[i] += v[k] * A[k, i] + w[i]


def matrix_product(A, B, C, steps):
    for _ in range(steps):
        C[:] = A @ B
        if C[0, 0] == 0.5:
            break


def two_axes(T, v, w, steps):
    for _ in range(steps):
        w[:] = T.sum(axis=(0, 1))
        if w[0] == 0.5:
            break


def matrix_times_vector(A, v, w, steps):
    for _ in range(steps):
        w[: A.shape[0]] = A @ w[: A.shape[1]]
        if w[0] == 0.5:
            break


def reads_other_elements(A, v, w, steps):
    while steps > 0:
        steps -= 1
        for i in range(1, len(w)):
            for k in range(len(v)):
                w[i] += A[k, i] * w[i - 1]


def bounds_that_depend(A, v, w, steps):
    while steps > 0:
        steps -= 1
        for i in range(len(w)):
            for k in range(i):
                w[i] += A[k, i]


def two_arrays(A, v, w, steps):
    while steps > 0:
        steps -= 1
        for i in range(len(w)):
            w[i] = 0
            for k in range(len(v)):
                w[i] += A[k, i]
            v[i] = w[i]


def one_element(A, v, w, steps):
    while steps > 0:
        steps -= 1
        for i in range(len(w)):
            for k in range(len(v)):
                w[0] = w[0] + A[k, i] * v[k]


def greatest_elements(A, v, w, steps):
    while steps > 0:
        steps -= 1
        for i in range(len(w)):
            for k in range(len(v)):
                if A[k, i] > w[i]:
                    w[i] = A[k, i]


def a_branch_inside(A, v, w, steps):
    while steps > 0:
        steps -= 1
        for i in range(len(w)):
            for k in range(len(v)):
                if A[k, i] > w[i]:
                    w[i] = v[k]


def nests(kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> list[str]:
    """The loops around each assignment to an element inside of statements, without those that count the steps, as
    their places in the subscripts: of `t[i] += A[k, i]` in a loop over k in one over i, "k i"."""
    signature = signature_of(tuple(inspect.signature(kernel).parameters), arguments)
    scop = analyse(kernel, signature, may_end=False)  # loops that may end early are parts of statements then

    def found(operation: Any, around: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        match operation:
            case Assign(target):
                if target.subscripts:
                    yield around
            case Loop(counter=counter, body=body):
                for part in body:
                    yield from found(part, (*around, counter))
            case _:
                for name in ("body", "then", "otherwise"):
                    for part in getattr(operation, name, ()):
                        yield from found(part, around)

    operations = [operation for statement in scop.statements for operation in statement.operations]
    made = [each for operation in operations for each in found(operation, ())]
    targets = [
        {getattr(subscript, "name", "") for subscript in part.target.subscripts}
        for operation in operations
        for part in walk(operation)
        if isinstance(part, Assign) and part.target.subscripts
    ]
    return [
        " ".join("element" if name in own else "sum" for name in around if not name.startswith("_"))
        for around, own in zip(made, targets, strict=True)
    ]


MATRIX = values("float64", 5, 7), values("float64", 5), values("float64", 7), STEPS

MOVED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[str]]] = {
    "a vector times a matrix": (vector_times_matrix, MATRIX, ["element", "sum element"]),
    "a mean of columns": (column_means, MATRIX, ["element", "sum element", "element"]),
    "under a condition": (under_a_condition, MATRIX, ["element", "sum element"]),
    "loops of the source": (written_as_loops, MATRIX, ["element", "sum element"]),
    "greatest elements": (greatest_elements, MATRIX, ["sum element"]),
    "a product of matrices": (
        matrix_product,
        (values("float64", 5, 7), values("float64", 7, 3), values("float64", 5, 3), STEPS),
        ["element element", "element sum element"],
    ),
    "a sum over two axes": (
        two_axes,
        (values("float64", 4, 5, 7), values("float64", 5), values("float64", 7), STEPS),
        ["element", "sum sum element"],
    ),
    "a matrix in Fortran order": (
        matrix_times_vector,
        (values("float64", 7, 5, order="F"), values("float64", 5), values("float64", 7), STEPS),
        ["element", "sum element", "element"],
    ),
}

KEPT: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[str]]] = {
    "a matrix times a vector": (
        matrix_times_vector,
        (values("float64", 7, 5), values("float64", 5), values("float64", 7), STEPS),
        ["element", "element sum", "element"],
    ),
    "rows in Fortran order": (
        vector_times_matrix,
        (values("float64", 5, 7, order="F"), values("float64", 5), values("float64", 7), STEPS),
        ["element", "element sum"],
    ),
    "other elements are read": (reads_other_elements, MATRIX, ["element sum"]),
    "bounds depend on the element": (bounds_that_depend, (values("float64", 7, 7), *MATRIX[1:]), ["element sum"]),
    "two arrays are written": (
        two_arrays,
        (values("float64", 7, 7), values("float64", 7), values("float64", 7), STEPS),
        ["element", "element sum", "element"],
    ),
    "one element takes all": (one_element, MATRIX, ["sum sum"]),
    "a branch inside": (a_branch_inside, MATRIX, ["element sum"]),
}


@pytest.mark.parametrize("name", MOVED)
def test_loops_over_elements_go_inside_where_that_goes_along_rows(name: str) -> None:
    kernel, arguments, wanted = MOVED[name]
    assert nests(kernel, arguments) == wanted


@pytest.mark.parametrize("name", KEPT)
def test_loops_stay_where_moving_them_is_wrong_or_no_better(name: str) -> None:
    kernel, arguments, wanted = KEPT[name]
    assert nests(kernel, arguments) == wanted


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", [*MOVED, *KEPT])
def test_the_model_computes_what_python_does(name: str, strict: bool) -> None:
    kernel, initial, _ = (MOVED | KEPT)[name]
    wanted, found = copy.deepcopy(initial), copy.deepcopy(initial)
    kernel(*wanted)
    modelled(kernel, found, strict=strict)
    for expected, array in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_sums_keep_their_order() -> None:
    """Bit for bit, also where the sum depends on the order in which it is computed."""
    rng = np.random.default_rng(3)
    A, v, w = rng.random((40, 9)) * 10.0 ** rng.integers(-9, 9, (40, 9)), rng.random(40), np.zeros(9)
    wanted, found = [A, v, w.copy(), 1], (A, v, w.copy(), 1)
    written_as_loops(*wanted)
    modelled(written_as_loops, found, strict=True)
    assert found[2].tobytes() == wanted[2].tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "complex128"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kernel", [vector_times_matrix, under_a_condition, written_as_loops])
def test_compiled_kernels_agree_with_numpy(kernel: Callable[..., Any], order: str, dtype: str) -> None:
    compiled = polytune.kernel(kernel)
    for rows, columns in ((1, 1), (4, 9), (33, 20)):
        arguments = values(dtype, rows, columns, order=order), values(dtype, rows), values(dtype, columns), 2
        wanted, found = copy.deepcopy(arguments), copy.deepcopy(arguments)
        with np.errstate(over="ignore"):
            kernel(*wanted)
        compiled(*found)
        np.testing.assert_allclose(found[2], wanted[2], rtol=1e-5)
