"""C text against Python: the same numbers, bit for bit."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

from polytune.codegen.c_source import CRole, c_function
from polytune.frontend import analyse
from polytune.runtime.calls.arguments import signature_of
from polytune.show import c_text_of, show_c
from polytune.signature import Signature, parse_type
from tests.codegen.c_programs import compiled
from tests.frontend import features
from tests.frontend.test_semantics import CASES


def names_of(function, arguments):
    return function.__code__.co_varnames[: len(arguments)]


def scop_of(function, arguments):
    return analyse(function, signature_of(names_of(function, arguments), arguments))


@pytest.fixture(scope="module", params=["any sizes", "these sizes"])
def calls(tmp_path_factory, request):
    """Every function of the language's features, for the types of its first arguments, or for its first arguments."""
    chosen = {function.__name__: (function, several[0]) for function, several in CASES.items()}
    scops = {name: scop_of(*case) for name, case in chosen.items()}
    names = {name: names_of(*case) for name, case in chosen.items()}
    fixed = {name: arguments for name, (_, arguments) in chosen.items()} if request.param == "these sizes" else {}
    calls = compiled(scops, names, tmp_path_factory.mktemp("c"), fixed)
    return {name: (call, name in fixed) for name, call in calls.items()}


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_every_feature_means_the_same_in_c(calls, function):
    call, is_fixed = calls[function.__name__]
    for arguments in CASES[function][: 1 if is_fixed else None]:
        expected, actual = copy.deepcopy(arguments), copy.deepcopy(arguments)
        result = function(*expected)
        assert call(*actual) == result
        for wanted, found in zip(expected, actual, strict=True):
            np.testing.assert_array_equal(wanted, found, strict=isinstance(wanted, np.ndarray))


def move(A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            A[i, j] = A[i, j] - 2.0 * B[j, i]


@pytest.mark.parametrize("layout", ["F", "strided", "reversed"])
def test_arrays_of_every_layout(tmp_path, layout):
    def laid_out(array):
        if layout == "F":
            return np.asfortranarray(array)
        room = np.zeros((2 * array.shape[0], 3 * array.shape[1]))
        view = room[::2, ::3] if layout == "strided" else room[::-2, ::-3]
        view[...] = array
        return view

    def arguments():
        rng = np.random.default_rng(0)
        return laid_out(rng.random((4, 5))), laid_out(rng.random((5, 4)))

    call = compiled({"move": scop_of(move, arguments())}, {"move": ("A", "B")}, tmp_path)["move"]
    expected, actual = arguments(), arguments()
    move(*expected)
    call(*actual)
    np.testing.assert_array_equal(expected[0], actual[0])


def awkward(double, NAN, free, pt_abs, c0, int32_t):
    for NULL in range(double.shape[0]):
        double[NULL] = NAN[NULL] * free + pt_abs * c0 + int32_t


def test_names_that_mean_something_in_c(tmp_path):
    arguments = (np.zeros(3), np.arange(3.0), 2.0, 3.0, 5.0, 7.0)
    call = compiled({"a": scop_of(awkward, arguments)}, {"a": names_of(awkward, arguments)}, tmp_path)["a"]
    call(*arguments)
    assert np.array_equal(arguments[0], np.arange(3.0) * 2 + 22)


def first_of_each(x, n, k):
    t = 0.0
    for i in range(n):
        x[i] = x[i] ** k + math_constant
        t = max(t, x[i])
    return t


math_constant = float("inf")


def test_text_says_what_it_takes_and_holds_only_the_helpers_that_it_calls():
    kinds = {"x": "float64[::1]", "n": "int", "k": "float"}
    scop = analyse(first_of_each, Signature(tuple((name, parse_type(kind)) for name, kind in kinds.items())))
    function = c_function(scop)
    assert [(a.name, a.role, a.of) for a in function.arguments] == [
        ("x_extent_0", CRole.EXTENT, "x"),
        ("n", CRole.SCALAR, "n"),
        ("k", CRole.SCALAR, "k"),
        ("x", CRole.ARRAY, "x"),
    ]
    assert function.result == "float64"
    text = c_text_of(function)
    assert " * x_extent_0: the extent of x along axis 0\n" in text
    assert set(re.findall(r"static inline \w+ (\w+)", text)) == {"pt_pow_f64", "pt_max_f64"}
    assert "PT_INFINITY_f64 ((double)INFINITY)" in text


def test_sizes_can_be_constants():
    scop = scop_of(move, (np.ones((4, 5)), np.ones((5, 4))))
    function = c_function(scop, constants={"n": 4, "m": 5})
    assert [argument.name for argument in function.arguments] == ["B_extent_0", "B_extent_1", "A", "B"]
    assert function.text.startswith("enum { n = 4, m = 5 };\nvoid kernel_move(int64_t B_extent_0, ")


def test_loops_are_marked_for_polyhedral_compilers():
    scop = scop_of(features.local_arrays, CASES[features.local_arrays][0])
    text = c_function(scop, marked=True).text
    before, inside = text.split("#pragma scop\n")
    inside, after = inside.split("#pragma endscop\n")
    assert "pt_memory" in before or "pt_zeros" in before
    assert "for (c0 = 0; c0 < n; c0++) {" in inside
    assert "int64_t" not in inside
    assert "free(" in after
    assert "#pragma" not in show_c(scop)
