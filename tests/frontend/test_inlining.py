"""Calls of the user's functions."""

from __future__ import annotations

import numpy as np

from polytune.frontend.expression import Call, Constant, Select, walk
from polytune.frontend.scop import ArrayRole
from tests.frontend import features, programs
from tests.frontend.helpers import analysed, domain_is, dtypes, elements
from tests.frontend.interpreter import Run


def test_a_function_that_only_computes_becomes_an_expression() -> None:
    scop = analysed(programs.nussinov, seq="int32[::1]", table="int32[:, ::1]")
    assert len(scop.statements) == 5
    pairing = scop.statement("S2")
    assert [access.array for access in pairing.accesses] == ["table", "table", "seq", "seq", "table"]
    assert any(isinstance(node, Select) for node in walk(pairing.operations[0]))
    assert not [array for array in scop.arrays if array.role is ArrayRole.SCALAR]


def test_branches_of_an_inlined_function_become_choices() -> None:
    scop = analysed(features.expressions_inlined)
    calls = [node for node in walk(scop.statements[0].operations[0]) if isinstance(node, Call)]
    assert [call.function for call in calls] == ["sqrt"]


def test_procedures_bring_loops_and_variables_of_their_own() -> None:
    scop = analysed(features.procedures_inlined)
    scalars = [array.name for array in scop.arrays if array.role is ArrayRole.SCALAR]
    assert scalars == ["scale_factor", "dot_total", "dot_total_1", "fill_value"]
    assert domain_is(scop, "S1", "[n, A_1] -> { S1[i, j] : 0 <= i < n and 0 <= j < A_1 }")
    assert scop.statement("S1").iterators[1] == "j"
    assert scop.statement("S1").location.text.strip() == "M[row, j] *= factor"


def rank_one(M, x, y):
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            M[i, j] += x[i] * y[j]


def uses_the_same_iterators(A, x):
    for i in range(2):
        rank_one(A, x, x)
        A[i, i] = 0.0


def test_iterators_of_inlined_loops_are_told_apart() -> None:
    scop = analysed(uses_the_same_iterators)
    assert scop.statements[0].iterators == ("i", "i_1", "j")


def outer_product_twice(A, x, y):
    rank_one(A, x, y)
    rank_one(A, y, x)


def test_array_arguments_are_the_callers_arrays() -> None:
    scop = analysed(outer_product_twice)
    first, second = scop.statements
    assert [access.array for access in first.accesses] == ["A", "x", "y", "A"]
    assert [access.array for access in second.accesses] == ["A", "y", "x", "A"]


def scratch(x):
    t = np.empty_like(x)
    for i in range(len(x)):
        t[i] = x[len(x) - 1 - i]
    for i in range(len(x)):
        x[i] = t[i]


def two_scratches(x, y):
    scratch(x)
    scratch(y)


def test_local_arrays_of_inlined_functions_are_their_own() -> None:
    scop = analysed(two_scratches, x="float32[::1]")
    types = dtypes(scop)
    assert (types["scratch_t"], types["scratch_t_1"]) == ("float32", "float64")
    arguments = {"x": np.arange(4, dtype="float32"), "y": np.arange(3.0)}
    Run(scop, arguments).execute()
    assert arguments["x"].tolist() == [3, 2, 1, 0] and arguments["y"].tolist() == [2, 1, 0]


def countdown(x, n):
    while n > 0:
        x = x * 0.5
        n = n - 1
    return x


def assigned_arguments(A):
    for i in range(len(A)):
        A[i] = countdown(A[i], i)


def test_an_inlined_function_may_assign_its_arguments() -> None:
    scop = analysed(assigned_arguments)
    arguments = {"A": np.ones(5)}
    Run(scop, arguments).execute()
    assert arguments["A"].tolist() == [1.0, 0.5, 0.25, 0.125, 0.0625]


def apply_twice(function, x):
    return function(function(x))


def increment(x):
    return x + 1.0


def functions_as_arguments(A):
    A[0] = apply_twice(increment, A[0])


def test_functions_may_be_arguments_of_inlined_functions() -> None:
    operation = analysed(functions_as_arguments).statements[0].operations[0]
    assert len(elements(operation.value)) == 1
    assert [node.value for node in walk(operation) if isinstance(node, Constant) and node.dtype == "float64"] == [
        1.0,
        1.0,
    ]


def branching(x, flag):
    y = x
    if flag:
        y = y * 2.0
        z = 1.0
    else:
        z = 2.0
    if x > 3.0:
        return y + z
    else:
        return y - z


def branched(A):
    for i in range(len(A)):
        A[i] = branching(A[i], i > 1) + branching(A[i], True)


def test_assignments_in_branches_become_choices() -> None:
    scop = analysed(branched)
    values = np.array([1.0, 4.0, 2.0, 5.0])
    expected = values.copy()
    branched(expected)
    Run(scop, {"A": values}).execute()
    assert values.tolist() == expected.tolist()
