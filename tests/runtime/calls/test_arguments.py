"""Types of arguments, and the refusal of arrays that overlap."""

import numpy as np
import pytest

from polytune.errors import ArgumentError
from polytune.runtime.calls.arguments import check_overlap, signature_of
from polytune.signature import ArrayType, ScalarType, accepts, parse_type

GRID = np.arange(24.0).reshape(4, 6)

TYPES = [
    (3, ScalarType("int64")),
    (-(2**63), ScalarType("int64")),
    (1.5, ScalarType("float64")),
    (np.float64(1.5), ScalarType("float64", weak=False)),
    (np.float32(1.5), ScalarType("float32", weak=False)),
    (np.int32(3), ScalarType("int32", weak=False)),
    (np.int64(3), ScalarType("int64", weak=False)),
    (GRID, ArrayType("float64", 2, "C")),
    (GRID.T, ArrayType("float64", 2, "F")),
    (GRID[::2], ArrayType("float64", 2, "A")),
    (GRID[:, 0], ArrayType("float64", 1, "A")),
    (GRID[0], ArrayType("float64", 1, "C")),
    (GRID[:1, ::-1][:, :1], ArrayType("float64", 2, "C")),
    (GRID[:0], ArrayType("float64", 2, "C")),
    (np.zeros((2, 3, 4), "float32", order="F"), ArrayType("float32", 3, "F")),
    (np.zeros(3, "longlong"), ArrayType("int64", 1, "C")),
    (np.zeros(3, "int32"), ArrayType("int32", 1, "C")),
    (np.zeros((3, 2), bool), ArrayType("bool", 2, "C")),
    (np.zeros(3, np.uint8), ArrayType("uint8", 1, "C")),
    (np.bool_(True), ScalarType("bool", weak=False)),
    (True, ScalarType("int64", is_truth=True)),
    (np.uint64(2**63), ScalarType("uint64", weak=False)),
]


@pytest.mark.parametrize(("value", "wanted"), TYPES, ids=[str(wanted) for _, wanted in TYPES])
def test_types(value, wanted):
    assert signature_of(("x",), (value,))["x"] == wanted


def test_bools_of_python_fit_where_integers_and_truth_values_are_wanted_and_nothing_else_fits_for_them():
    flag, integer = parse_type("Python bool"), parse_type("int")
    assert flag == signature_of(("x",), (True,))["x"]
    assert accepts(integer, flag) and accepts(parse_type("bool"), flag) and accepts(parse_type("float"), flag)
    assert not any(accepts(flag, parse_type(given)) for given in ("int", "bool", "float"))
    assert not accepts(parse_type("bool"), integer)


def test_equal_types_give_one_signature_and_other_names_another():
    first = signature_of(("A", "alpha"), (GRID, 1.5))
    assert signature_of(("A", "alpha"), (GRID.copy(), 2.5)) is first
    assert str(signature_of(("B", "alpha"), (GRID, 1.5))) == "B: float64[:, ::1], alpha: float"
    assert signature_of(("A", "alpha"), (GRID, 1)) != first


REFUSED = [
    (None, "array or a number"),
    ([1.0, 2.0], r"numpy\.array\(x, dtype=numpy\.float64\)"),
    ((1.0,), r"numpy\.array\(x, dtype=numpy\.float64\)"),
    ("text", "value of type str cannot be used"),
    (np.clongdouble(1j), r"pass complex\(x\)"),
    (2**63, "does not fit into 64 bits"),
    (-(2**63) - 1, "does not fit into 64 bits"),
    (np.longdouble(1), "float128"),
    (np.zeros(3, np.clongdouble), r"x\.astype\(numpy\.complex128\)"),
    (np.zeros(3, object), "arrays of object"),
    (np.zeros(3, np.longdouble), r"float128.*x\.astype\(numpy\.float64\)"),
    (np.zeros(3, "float64").astype(np.dtype("float64").newbyteorder()), "not in this machine's order"),
    (np.array(1.5), "zero-dimensional"),
    (np.ma.masked_array([1.0, 2.0]), r"MaskedArray cannot be used; pass x\.filled\(y\), a plain array"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refusals_name_the_argument_and_the_remedy(value, message):
    for _ in range(2):  # a refusal is not remembered as a signature
        with pytest.raises(ArgumentError, match=f"argument 'x'.*{message}"):
            signature_of(("n", "x"), (1, value))


def test_the_number_of_arguments_is_checked():
    with pytest.raises(ArgumentError, match=r"2 arguments are wanted \(a, b\), 1 were given"):
        signature_of(("a", "b"), (1,))


def windows(array, length):
    """Overlapping windows of an array, writeable."""
    return np.lib.stride_tricks.sliding_window_view(array, length, writeable=True)


APART = {
    "separate": (np.zeros((3, 3)), np.zeros((3, 3))),
    "halves": (GRID[:2], GRID[2:]),
    "alternating columns": (GRID[:, ::2], GRID[:, 1::2]),
    "left and right": (GRID[:, :3], GRID[:, 3:]),
    "empty": (GRID, GRID[:0]),
}

OVERLAPPING = {
    "the same": (GRID, GRID),
    "transposed": (GRID, GRID.T),
    "shifted": (GRID[1:], GRID[:-1]),
    "crossing strides": (GRID.reshape(-1)[::2], GRID.reshape(-1)[::3]),
    "another type": (GRID, GRID.view(np.int64)),
}


@pytest.mark.parametrize("case", APART)
def test_arrays_apart_are_accepted(case):
    first, second = APART[case]
    check_overlap({"A": first, "B": second}, ["A", "B"])


@pytest.mark.parametrize("case", OVERLAPPING)
def test_overlapping_arrays_are_refused_where_one_is_written(case):
    first, second = OVERLAPPING[case]
    with pytest.raises(ArgumentError, match="'A' and 'B' overlap in memory, and the kernel writes to 'A'"):
        check_overlap({"A": first, "B": second}, ["A"])
    with pytest.raises(ArgumentError, match="writes to 'B'"):
        check_overlap({"A": first, "B": second}, ["B"])
    check_overlap({"A": first, "B": second}, [])


def test_an_overlap_too_hard_to_rule_out_is_refused(monkeypatch):
    box = np.zeros((17, 34, 71))
    arrays = {"A": box[::2, 1::10, 2::9], "B": box[1::4, 3::10, ::2]}
    check_overlap(arrays, ["A"])
    monkeypatch.setattr("polytune.runtime.calls.arguments._EXACT_OVERLAP_WORK", 1)
    with pytest.raises(ArgumentError, match="'A' and 'B' overlap"):
        check_overlap(arrays, ["A"])


def test_read_only_arrays_are_refused_where_written():
    array = np.zeros(3)
    array.flags.writeable = False
    check_overlap({"A": array}, [])
    with pytest.raises(ArgumentError, match=r"'A'.*read-only"):
        check_overlap({"A": array}, ["A"])


def broadcast(array, shape):
    return np.lib.stride_tricks.as_strided(array, shape, (0,) * (len(shape) - array.ndim) + array.strides)


@pytest.mark.parametrize(
    "array", [broadcast(np.zeros(3), (4, 3)), windows(np.zeros(9), 3), windows(np.zeros((5, 5)), (2, 2))]
)
def test_arrays_that_overlap_with_themselves_are_refused_where_written(array):
    check_overlap({"A": array}, [])
    with pytest.raises(ArgumentError, match=r"'A'.*several of its elements lie in the same place"):
        check_overlap({"A": array}, ["A"])


@pytest.mark.parametrize(
    "array",
    [
        GRID[::2, ::3],
        GRID.T[::-1],
        GRID.reshape(2, 2, 6).transpose(1, 2, 0),
        broadcast(np.zeros(3), (1, 3)),
        np.lib.stride_tricks.as_strided(np.zeros(10), (2, 2), (24, 16)),  # interleaved: elements 0, 2, 3 and 5
        np.lib.stride_tricks.as_strided(np.zeros(10), (3, 0), (0, 8)),
    ],
)
def test_strided_arrays_whose_elements_are_apart_are_accepted(array):
    check_overlap({"A": array}, ["A"])
