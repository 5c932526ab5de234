"""Views: right addresses for every layout and type, and code that LLVM vectorises."""

import re

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from polytune.runtime.intrinsics.memory import keep_alive, view

FAST = {"error_model": "numpy", "fastmath": {"contract", "nsz", "reassoc"}, "nogil": True}


@njit(**FAST)
def copy_plane(target, source, rows, columns):
    source_view = view(source, "source", "source target")
    target_view = view(target, "target", "source target")
    for i in range(rows):
        for j in range(columns):
            target_view[i, j] = source_view[i, j]


def layouts_of(values: np.ndarray) -> dict[str, np.ndarray]:
    """The same values in every kind of memory layout."""
    rows, columns = values.shape
    padded = np.zeros((2 * rows, 3 * columns), values.dtype)
    padded[::2, ::3] = values
    unaligned = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    unaligned[:] = values
    read_only = values.copy()
    read_only.flags.writeable = False
    return {
        "C": np.ascontiguousarray(values),
        "F": np.asfortranarray(values),
        "strided": padded[::2, ::3],
        "backwards": np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1],
        "unaligned": unaligned,
        "read-only": read_only,
    }


@pytest.mark.parametrize("layout", ["C", "F", "strided", "backwards", "unaligned", "read-only"])
def test_loads_from_every_layout(layout):
    values = np.arange(35.0).reshape(5, 7)
    target = np.zeros((5, 7))
    copy_plane(target, layouts_of(values)[layout], 5, 7)
    np.testing.assert_array_equal(target, values)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "backwards", "unaligned"])
def test_stores_to_every_layout(layout):
    values = np.arange(35.0).reshape(5, 7)
    target = layouts_of(np.zeros((5, 7)))[layout]
    copy_plane(target, values, 5, 7)
    np.testing.assert_array_equal(target, values)


@pytest.mark.parametrize(
    ("source", "target"),
    [("float64", "float32"), ("int64", "int32"), ("int32", "float64"), ("float64", "int64"), ("float32", "float64")],
)
def test_stores_convert_as_numpy_does(source, target):
    values = np.array([[1.0, -2.75, 100.5, 1 / 3]]).astype(source)
    if source == "int64":
        values[0, 0] = 3_000_000_000  # wraps
    stored = np.zeros((1, 4), target)
    copy_plane(stored, values, 1, 4)
    np.testing.assert_array_equal(stored, values.astype(target))


def test_subscripts_of_every_integer_type():
    @njit
    def pick(array, i, j):
        return view(array, "A", "A")[i, j]

    values = np.arange(200 * 3.0).reshape(200, 3)
    for kind in (np.int8, np.int32, np.uint8, np.uint32, np.uint64):
        assert pick(values, kind(120), kind(2)) == values[120, 2], kind
    assert pick(values, np.uint8(199), 1) == values[199, 1]
    # A negative subscript is an address before the array, here still within the memory of its parent.
    assert pick(values[100:], np.int8(-3), 0) == values[97, 0]


def test_one_and_three_dimensions_and_views_as_arguments():
    @njit
    def inner(cube, line, n):
        total = 0.0
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    total += cube[i, j, k] * line[k]
        line[0] = total

    @njit
    def outer(cube, line, n):
        inner(view(cube, "cube", "cube line"), view(line, "line", "cube line"), n)

    cube, line = np.arange(64.0).reshape(4, 4, 4), np.arange(1.0, 5.0)
    expected = (cube @ line).sum()
    outer(np.asfortranarray(cube), line, 4)
    assert line[0] == expected


def test_an_array_made_in_the_function_lives_as_long_as_it_is_kept():
    @njit
    def fill(n):
        first = np.empty(n)
        numbers = view(first, "first", "first second")
        for i in range(n):
            numbers[i] = 1.0
        second = np.empty(n)  # would take the place of the first, had that been freed
        others = view(second, "second", "first second")
        for i in range(n):
            others[i] = 2.0
        total = 0.0
        for i in range(n):
            total += numbers[i]
        keep_alive(first)
        keep_alive(second)
        return total

    assert fill(1000) == 1000.0


REFUSED = {
    "not one of the names": ("view(array, 'B', 'A C')[0]", np.zeros(3)),
    "an array of numbers": ("view(array, 'A', 'A')[0]", np.zeros(3, "M8[s]")),
    "cannot store complex128": ("view(array, 'A', 'A')[0] = 1j", np.zeros(3)),
    "one or more dimensions": ("view(array, 'A', 'A')[0]", 1.5),
    "literal strings": ("view(array, str(1), 'A')[0]", np.zeros(3)),
    "takes 1 integer subscripts": ("view(array, 'A', 'A')[0, 1]", np.zeros(3)),
    "read-only": ("view(array, 'A', 'A')[0] = 1.0", np.broadcast_to(1.0, 3)),
    "cannot store": ("view(array, 'A', 'A')[0] = 'text'", np.zeros(3)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_misuse_is_refused_at_compile_time(message):
    statement, argument = REFUSED[message]
    names = {"view": view}
    exec(f"def misuse(array):\n    {statement}\n", names)
    with pytest.raises(TypingError, match=message):
        njit(names["misuse"])(argument)


def gemm(C, A, B, n):
    C = view(C, "C", "C A B")
    A = view(A, "A", "C A B")
    B = view(B, "B", "C A B")
    for i in range(n):
        for k in range(n):
            for j in range(n):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]


def jacobi(A, B, _, n):
    A = view(A, "A", "A B")
    B = view(B, "B", "A B")
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, 1 + j] + A[1 + i, j] + A[i - 1, j])


def product(A, x, y, n):
    A = view(A, "A", "A x y")
    x = view(x, "x", "A x y")
    y = view(y, "y", "A x y")
    for i in range(n):
        for j in range(n):
            y[i, 0] = y[i, 0] + A[i, j] * x[0, j]


@pytest.mark.parametrize("function", [gemm, jacobi, product])
def test_loops_over_several_arrays_are_vectorised_without_tests_for_overlap(function):
    compiled = njit(**FAST)(function)
    rng = np.random.default_rng(0)
    arrays = [rng.random((19, 19)) for _ in range(3)]
    expected = [array.copy() for array in arrays]
    compiled(*arrays, 19)
    (code,) = compiled.inspect_llvm().values()
    assert re.search(r"fmul [^\n]*<\d+ x double>", code)
    assert "memcheck" not in code

    plain = {"view": lambda array, name, names: array}
    type(function)(function.__code__, plain)(*expected, 19)
    for result, reference in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-13)


def test_an_update_within_one_array_keeps_its_order():
    @njit(**FAST)
    def prefix_sums(array, n):
        A = view(array, "A", "A")
        for i in range(1, n):
            A[i] = A[i] + A[i - 1]

    numbers = np.ones(1000)
    prefix_sums(numbers, 1000)
    np.testing.assert_array_equal(numbers, np.arange(1.0, 1001.0))


def test_one_view_may_be_passed_for_two_parameters():
    @njit(**FAST)
    def step(A, B, i):
        B[i] = A[i] + 1.0

    @njit(**FAST)
    def shift(array, n):
        A = view(array, "A", "A")
        for i in range(n):
            step(A, A, i)

    numbers = np.zeros(100)
    shift(numbers, 100)
    np.testing.assert_array_equal(numbers, np.ones(100))
