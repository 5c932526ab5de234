"""Array expressions against NumPy itself: the same numbers, the same types, and errors for shapes that do not fit."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import islpy as isl
import numpy as np
import pytest

from polytune.cli.target import import_file
from polytune.errors import UnsupportedSourceError
from polytune.frontend import analyse
from polytune.runtime.calls.arguments import signature_of
from tests.frontend.array_programs import PROGRAMS, Program, masks, positions
from tests.frontend.interpreter import Run, check_accesses

INTEGERS = ("int32", "int64", "uint8", "int16", "uint32")
TYPES = ("uint8", "int16", "int32", "int64", "uint32", "float32", "float64")


def values(shape: Any, dtype: str, layout: str, seed: int) -> Any:
    """Numbers of a type, in an array of a layout; what is no shape stands for itself."""
    if not isinstance(shape, tuple):
        return shape
    numbers = np.random.default_rng(seed).random(shape)
    array = (numbers * 9 + 1).astype(dtype) if dtype in INTEGERS else numbers.astype(dtype)
    if layout == "A":
        wide = np.zeros(tuple(2 * extent for extent in shape), dtype)
        wide[tuple(slice(None, None, 2) for _ in shape)] = array
        return wide[tuple(slice(None, None, 2) for _ in shape)]
    return np.asarray(array, order=layout)


def modelled(kernel: Callable[..., Any], arguments: tuple[Any, ...], *, strict: bool = False) -> Any:
    """Run the model of a kernel on arguments; what it returns."""
    names = tuple(inspect.signature(kernel).parameters)
    scop = analyse(kernel, signature_of(names, arguments), strict=strict, may_end=False)  # all instances are run
    # Generated code tests the conditions in terms of the SCoP's parameters.
    assert all(each.violated.get_space().is_equal(scop.context.get_space()) for each in scop.size_conditions)
    run = Run(scop, dict(zip(names, arguments, strict=True))).execute()
    check_accesses(run)
    return run.result


def check(program: Program, size: int, dtype: str = "float64", layout: str = "C", *, strict: bool = False) -> None:
    arguments = tuple(values(shape, dtype, layout, seed) for seed, shape in enumerate(program.shapes(size)))
    expected, found = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        program.kernel(*expected)
        modelled(program.kernel, found, strict=strict)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for wanted, array in zip(expected, found, strict=True):
        if isinstance(wanted, np.ndarray):
            np.testing.assert_allclose(array, wanted, rtol=tolerance, atol=tolerance, strict=True)


NAMES = [program.kernel.__name__ for program in PROGRAMS]


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 6])
def test_the_model_computes_what_numpy_computes(program: Program, size: int) -> None:
    if size >= program.least:
        check(program, size)


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
@pytest.mark.parametrize(("dtype", "layout"), [("float32", "C"), ("float64", "F"), ("float64", "A")])
def test_other_types_and_layouts(program: Program, dtype: str, layout: str) -> None:
    check(program, 4, dtype, layout, strict=layout == "F")


SUBSCRIPTS = [
    f"{start}:{stop}{step}"
    for start, stop, step in itertools.product(("", "1", "-2", "4"), ("", "3", "-1", "-5"), ("", ":2", ":-1", ":-3"))
]


@pytest.fixture(scope="module")
def slices(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module with a function for each of the subscripts."""
    path: Path = tmp_path_factory.mktemp("slices") / "slices_of_a_vector.py"
    text = ["import numpy as np"]
    for number, subscript in enumerate(SUBSCRIPTS):
        text += [
            f"def read_{number}(A, B):",
            f"    part = A[{subscript}]",
            "    B[0] = part.size",
            "    B[1] = np.sum(part * np.arange(part.size))",
            f"    A[{subscript}] = -2.0 * A[{subscript}]",
        ]
    path.write_text("\n".join(text))
    return import_file(path)


@pytest.mark.parametrize("number", range(len(SUBSCRIPTS)), ids=SUBSCRIPTS)
def test_a_slice_has_the_elements_that_python_gives_it(slices: Any, number: int) -> None:
    kernel = getattr(slices, f"read_{number}")
    for size in range(7):
        expected, found = [(np.arange(1.0, size + 1), np.zeros(2)) for _ in range(2)]
        kernel(*expected)
        modelled(kernel, found)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


# ---- types


def sums(A, B, C):
    C[0] = np.sum(A)
    C[1] = (A + B).sum()
    C[2] = np.mean(A)
    C[3] = np.sum((A > 3) + 1)
    C[4] = np.max(A) + np.min(B) + np.prod(A)


def results(A, B, C):
    s = A + B
    q = A / B
    h = A * 0.5
    w = np.where(A > B, A, 1)
    t = (A > 2) * 3
    m = A > B
    C[1] = np.sum(m)
    C[0] = s[0] + q[0] + h[0] + w[0] + t[0]
    C[2] = m[0]


def returned_results(A, B):
    s = A + B
    q = A / B
    h = A * 0.5
    w = np.where(A > B, A, 1)
    t = (A > 2) * 3
    m = A > B
    return s, q, h, w, t, m


@pytest.mark.parametrize("kernel", [sums, results])
@pytest.mark.parametrize("types", list(itertools.product(TYPES, repeat=2)))
def test_types_are_promoted_as_numpy_does(kernel: Callable[..., Any], types: tuple[str, str]) -> None:
    arrays = [values((5,), dtype, "C", seed) for seed, dtype in enumerate(types)]
    expected, found = np.zeros(5), np.zeros(5)
    kernel(*arrays, expected)
    modelled(kernel, (*arrays, found))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_named_results_have_the_types_that_numpy_gives_them() -> None:
    for left, right in itertools.product(TYPES, repeat=2):
        A, B = values((3,), left, "C", 0), values((3,), right, "C", 1)
        scop = analyse(returned_results, signature_of(("A", "B"), (A, B)))
        types = {array.name: array.dtype for array in scop.arrays}
        wanted = {"s": A + B, "q": A / B, "h": A * 0.5, "w": np.where(A > B, A, 1), "t": (A > 2) * 3, "m": A > B}
        assert {name: types[name] for name in wanted} == {name: array.dtype.name for name, array in wanted.items()}


def test_not_a_number_is_propagated_by_extrema_and_found_first() -> None:
    def extremes(A, B):
        B[0] = np.max(A)
        B[1] = np.min(A[1:])
        B[2] = np.argmax(A)
        B[3] = np.argmin(A)

    for numbers in ([1.0, np.nan, 3.0], [np.nan, 2.0, np.nan], [1.0, 5.0, 5.0], [-np.inf, -np.inf, np.inf]):
        expected, found = np.zeros(4), np.zeros(4)
        extremes(np.array(numbers), expected)
        modelled(extremes, (np.array(numbers), found))
        np.testing.assert_array_equal(found, expected)


# ---- no more memory than is needed


def copies(kernel: Callable[..., Any], *arguments: Any) -> list[int]:
    """The ranks of the arrays and variables that a kernel makes."""
    names = tuple(inspect.signature(kernel).parameters)
    scop = analyse(kernel, signature_of(names, arguments))
    return sorted(array.ndim for array in scop.arrays if array.name not in names)


def test_a_copy_is_made_only_where_something_is_read_after_it_is_written() -> None:
    def apart(A):
        A[1:] = A[:-1] * 2  # read one before it is written

    def ahead(A):
        A[:-1] = A[1:] * 2

    def halves(A):
        A[::2] = A[1::2]

    def with_a_row(A):
        A[:] = A + A[0]

    vector, matrix = np.zeros(6), np.zeros((3, 3))
    assert copies(apart, vector) == [1]
    assert copies(ahead, vector) == []
    assert copies(halves, vector) == []
    assert copies(with_a_row, matrix) == [1]


def test_products_are_added_up_where_they_belong() -> None:
    def product(C, A, B):
        C[:] = 1.5 * A @ B + 2.0 * C

    def in_place(C, A, B):
        C[:] = A @ C

    def twice(C, A, B):
        for i in range(C.shape[0]):
            C[i + 1 :, i] = C[i, i + 1 :] = A[:, i] @ B[:, i + 1 :]

    square, vector = np.zeros((3, 3)), np.zeros(3)

    def solved(L, x, b):
        for i in range(len(x)):
            x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]

    def halved(C, A, B):
        C[:] = (A @ B) * 0.5 + C[0, 0]

    assert copies(twice, square, square, square) == []
    assert copies(solved, square, vector, vector) == []
    assert copies(halved, square, square, square) == [2]
    assert copies(product, square, square, square) == []
    assert copies(in_place, square, square, square) == [2]


def test_of_a_matrix_times_its_transpose_half_is_added_up() -> None:
    def whole(A, B):
        return A @ B.T

    def half(A, B):
        return A @ A.T

    def few(A, B):
        points = np.ones((A.shape[0], 12))
        return points @ points.T

    def updates(function: Callable[..., Any]) -> int:
        found: list[isl.Point] = []
        scop = analyse(function, signature_of(("A", "B"), (np.zeros((4, 5)),) * 2))
        (summed,) = (each for each in scop.statements if each.reduction is not None)
        domain = summed.domain
        for place in range(domain.dim(isl.dim_type.param)):
            name = domain.get_dim_name(isl.dim_type.param, place)
            domain = domain.fix_val(isl.dim_type.param, place, 5 if name.endswith("_1") else 4)
        domain.foreach_point(found.append)
        return len(found)

    assert updates(whole) == 4 * 4 * 5
    assert updates(half) == 4 * 5 * 5 // 2
    assert updates(few) == 4 * 4 * 12


# ---- errors


def of_other_rank(A: Any, B: Any) -> None:
    A[:] = np.zeros((3, 4)) + np.zeros((4, 3))


def test_shapes_that_never_fit_are_refused_with_both_shapes() -> None:
    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(of_other_rank, signature_of(("A", "B"), (np.zeros((3, 3)), np.zeros(3))))
    assert "shapes (3, 4) and (4, 3) do not fit" in caught.value.what
    assert caught.value.location.text.strip().startswith("A[:] = np.zeros((3, 4))")


REFUSED: list[tuple[Callable[..., Any], str]] = []


def refused(what: str) -> Callable[[Any], Any]:
    def register(kernel: Any) -> Any:
        REFUSED.append((kernel, what))
        return kernel

    return register


@refused("the step x of a slice")
def fractional_step(A):
    x = 2.0 * A.shape[0]
    A[::x] = 0


@refused("the step 0 of a slice")
def step_of_nothing(A):
    A[::0] = 0


@refused("A has 1 dimension and is accessed with 2 subscripts")
def too_many_subscripts(A):
    A[0, 1:] = 0


@refused("the array A > 0 as a condition")
def condition(A):
    if not (A > 0):
        A[0] = 1


@refused("- of an array of truth values")
def negative_mask(A):
    A[:] = -(A > 0)


@refused("math.sqrt of a whole array")
def root(A):
    A[:] = math.sqrt(A)


@refused("elements of int64 are updated with numbers of float64")
def cut_off(A):
    t = np.zeros(3, dtype=np.int64)
    t += 0.5
    A[:3] = t


@refused("an array in another shape gets a name")
def flattened(A):
    t = np.reshape(A, (1, A.shape[0], 1))
    pairs = np.concatenate((A, A))[: 2 * (A.shape[0] // 2)].reshape((2, A.shape[0] // 2))
    flat = pairs.reshape(-1)
    flat[0] = 1
    A[0] = pairs[0, 0] + t[0, 0, 0]


@refused("an assignment to a part of a result")
def assigned_flat(A):
    pairs = np.zeros((2, 3))
    pairs.reshape(-1)[:] = 1
    A[0] = pairs[0, 0]


@refused("the array 't' is another one after an iteration of the loop")
def growing(A):
    t = A[:1] * 1.0
    for _ in range(3):
        t = np.concatenate((t, t))
    A[0] = t[0]


@pytest.mark.parametrize(("kernel", "what"), REFUSED, ids=[kernel.__name__ for kernel, _ in REFUSED])
def test_what_is_not_compiled_is_refused_with_a_reason(kernel: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(kernel, signature_of(("A",), (np.zeros(5),)))
    assert what in caught.value.what
    assert len(caught.value.reason) > 10 and len(caught.value.remedy) > 5


def test_integers_work_as_numbers_do() -> None:
    for dtype in ("int32", "int64"):
        for program in PROGRAMS:
            if program.kernel in (masks, positions):
                check(program, 3, dtype)


def test_sums_are_computed_in_targets_that_meet_at_the_same_places() -> None:
    """The diagonal, where a row and a column meet, is no reason for an array of its own."""

    def products(A, C):
        for i in range(len(C)):
            C[i:, i] = C[i, i:] = A[:, i] @ A[:, i:] / 2.0

    def shifted(A, x):
        x[1:] = x[:-1] = A[:, 0] @ A[:, 1:]

    A = values((4, 4), "float64", "C", 0)
    for kernel, target, is_direct in ((products, np.zeros((4, 4)), True), (shifted, np.zeros(4), False)):
        scop = analyse(kernel, signature_of(tuple(inspect.signature(kernel).parameters), (A, target)))
        assert is_direct == ("temporary" not in {array.name for array in scop.arrays})
        expected = target.copy()
        kernel(A, expected)
        modelled(kernel, (A, target))
        np.testing.assert_allclose(target, expected)
