"""Domains, access relations and schedules, compared with their isl text."""

from __future__ import annotations

import math

import islpy as isl

from polytune.frontend.expression import Argument, Binary, Constant, Extent, ParameterValue, walk
from polytune.frontend.polyhedral.accesses import elements_in_order
from polytune.frontend.scop import AccessKind, ArrayRole
from tests.frontend import features, programs
from tests.frontend.helpers import analysed, domain_is, relation_is
from tests.frontend.interpreter import maps_of


def test_gemm_is_two_boxes() -> None:
    scop = analysed(programs.gemm)
    assert domain_is(scop, "S0", "[n, m] -> { S0[i, j] : 0 <= i < n and 0 <= j < m }")
    assert domain_is(scop, "S1", "[n, m, A_1] -> { S1[i, k, j] : 0 <= i < n and 0 <= k < A_1 and 0 <= j < m }")
    assert relation_is(
        scop, "S1_1", "[n, m, A_1] -> { S1[i, k, j] -> A[i, k] : 0 <= i < n and 0 <= k < A_1 and 0 <= j < m }"
    )
    assert [access.array for access in scop.statement("S1").accesses] == ["C", "A", "B", "C"]
    assert [access.kind for access in scop.statement("S1").accesses] == [AccessKind.READ] * 3 + [AccessKind.MUST_WRITE]
    assert scop.statement("S1").iterators == ("i", "k", "j")


def test_parameters_are_named_as_in_the_source() -> None:
    scop = analysed(programs.gemm)
    assert [(p.name, p.source, p.nonnegative) for p in scop.parameters] == [
        ("n", Extent("C", 0), True),
        ("m", Extent("C", 1), True),
        ("A_1", Extent("A", 1), True),
    ]
    assert scop.context.is_equal(
        isl.Set.read_from_str(scop.context.get_ctx(), "[n, m, A_1] -> { : n >= 0 and m >= 0 and A_1 >= 0 }")
    )


def test_triangles() -> None:
    scop = analysed(programs.lu)
    assert domain_is(scop, "S0", "[n] -> { S0[i, j, k] : 0 <= i < n and 0 <= j < i and 0 <= k < j }")
    assert domain_is(scop, "S2", "[n] -> { S2[i, j, k] : 0 <= i <= j < n and 0 <= k < i }")


def test_steps_of_either_sign() -> None:
    scop = analysed(features.steps)
    assert domain_is(scop, "S0", "[n] -> { S0[i] : exists k : i = 1 + 3k and 1 <= i < n }")
    assert domain_is(scop, "S1", "[n] -> { S1[i] : exists k : i = n - 1 - 2k and k >= 0 and i > -1 }")
    assert domain_is(scop, "S2", "[n] -> { S2[i] : 0 < i <= n - 2 }")
    times = {
        relation.get_tuple_name(isl.dim_type.in_): relation
        for relation in maps_of(scop.schedule.get_map().intersect_domain(scop.schedule.get_domain()))
    }
    context = scop.context.get_ctx()
    downward = isl.Map.read_from_str(context, "[n] -> { S1[i] -> [1, -i] }").intersect_domain(
        scop.statement("S1").domain
    )
    assert times["S1"].is_equal(downward)


def banded(A, low: int, high: int):
    n = len(A)
    for i in range(n):
        for j in range(max(0, i - low), min(n, i + high + 1)):
            for k in range(max(0, max(i, j) - low), min(n, min(i, j) + high + 1)):
                if k <= 2 - max(-j, 3 - i):
                    A[i] += A[k]
            for k in range(min(i, j), max(i, j), 2):
                A[k] = 0.0
            for k in range(min(i + 5, n) - 1, max(j, i - 5), -1):
                A[k] = 1.0


def test_bounds_by_minima_and_maxima_are_convex() -> None:
    """A domain of many pieces costs isl seconds, and code for each of them."""
    scop = analysed(banded)
    around = "0 <= i < n and 0 <= j < n and i - low <= j <= i + high"
    inside = "0 <= k < n and i - low <= k <= i + high and j - low <= k <= j + high and k <= 2 + j and k <= i - 1"
    assert domain_is(scop, "S0", f"[n, low, high] -> {{ S0[i, j, k] : {around} and {inside} }}")
    assert len(scop.statement("S0").domain.get_basic_sets()) == 1
    # Only the reverse, from the least to the greatest, takes several.
    ends = "(k >= i or k >= j) and (k < i or k < j)"
    step = "exists s : (k = i + 2s and i <= j) or (k = j + 2s and j <= i)"
    assert domain_is(scop, "S1", f"[n, low, high] -> {{ S1[i, j, k] : {around} and {ends} and {step} }}")
    downward = "k < i + 5 and k < n and k > j and k > i - 5"
    assert domain_is(scop, "S2", f"[n, low, high] -> {{ S2[i, j, k] : {around} and {downward} }}")
    assert len(scop.statement("S2").domain.get_basic_sets()) == 1


def test_conditions_become_constraints() -> None:
    scop = analysed(features.chains)
    inner = "1 <= i < n - 1 and j <= 4 and j != 2"
    box = "0 <= i < n and 0 <= j < m"
    assert domain_is(scop, "S0", f"[n, m] -> {{ S0[i, j] : {box} and {inner} }}")
    assert domain_is(scop, "S1", f"[n, m] -> {{ S1[i, j] : {box} and not ({inner}) and (i = 0 or j % 2 = 1) }}")
    assert domain_is(scop, "S2", f"[n, m] -> {{ S2[i, j] : {box} and not ({inner}) and not (i = 0 or j % 2 = 1) }}")


def test_a_conditional_expression_restricts_the_accesses_of_its_branches() -> None:
    scop = analysed(features.conditional_expression)
    assert domain_is(scop, "S0", "[n] -> { S0[i] : 0 <= i < n }")
    assert relation_is(scop, "S0_0", "[n] -> { S0[i] -> B[i - 1] : 0 < i < n }")
    assert relation_is(scop, "S0_1", "[n] -> { S0[i] -> B[i + 1] : 0 <= i < n - 1 }")
    # A choice by data lets both of its branches happen.
    assert [str(access.kind.value) for access in scop.statement("S1").accesses] == ["read"] * 4 + ["must-write"]


def test_negative_constants_count_from_the_end() -> None:
    scop = analysed(features.ends)
    assert relation_is(scop, "S0_0", "[A_0, A_1, B_0] -> { S0[i] -> B[B_0 - 2] : 0 <= i < A_0 }")
    assert relation_is(scop, "S0_2", "[A_0, A_1, B_0] -> { S0[i] -> A[i, A_1 - 1] : 0 <= i < A_0 }")


def test_iterators_of_nested_loops_over_one_name_are_told_apart() -> None:
    scop = analysed(features.shadowed)
    assert scop.statement("S1").iterators == ("i", "i_1")
    assert scop.statement("S2").iterators == ("i",)


def test_affine_variables_are_substituted() -> None:
    scop = analysed(features.substituted)
    assert not [array for array in scop.arrays if array.role is ArrayRole.SCALAR]
    assert relation_is(scop, "S1_1", "[n] -> { S1[i] -> A[2i + 1] : 0 <= i and 2i + 1 < n }")
    assert domain_is(scop, "S0", "[n] -> { S0[i] : 0 <= i < floor(n / 2) }")


def test_branches_of_an_affine_variable_are_merged() -> None:
    scop = analysed(features.merged)
    assert relation_is(scop, "S0_1", "[n] -> { S0[i] -> B[i - 1] : 2 < i < n; S0[i] -> B[0] : 0 <= i <= 2 and i < n }")


def test_a_variable_that_is_carried_lives_in_memory() -> None:
    scop = analysed(features.carried)
    scalars = [array.name for array in scop.arrays if array.role is ArrayRole.SCALAR]
    assert scalars == ["count", "last"]
    assert scop.statement("S3").reduction is not None


def test_integers_that_are_not_affine_become_parameters() -> None:
    scop = analysed(features.derived, n="int")
    assert [parameter.name for parameter in scop.parameters] == ["n", "size", "root"]
    n = ParameterValue("n")
    assert scop.parameters[0].source == Argument("n", "int64")
    assert scop.parameters[1].source == Binary("*", n, n, "int64")
    assert domain_is(scop, "S0", "[size] -> { S0[i] : 0 <= i < size }")


def test_local_arrays_have_shapes_and_content() -> None:
    scop = analysed(features.local_arrays)
    row, total, copy = scop.array("row"), scop.array("total"), scop.array("copy")
    assert (row.role, row.shape, row.zeroed) == (ArrayRole.LOCAL, (ParameterValue("m"),), False)
    assert (total.shape, total.zeroed) == ((ParameterValue("n"), ParameterValue("m")), True)
    assert (copy.shape, copy.dtype) == ((ParameterValue("n"), ParameterValue("m")), "float64")


def test_arguments_that_are_assigned_start_as_the_argument() -> None:
    scop = analysed(features.reassigned_arguments)
    assert (scop.array("alpha").role, scop.array("alpha").initial) == (ArrayRole.SCALAR, "alpha")
    assert domain_is(scop, "S1", "[n] -> { S1[i] : 0 <= i < n - 1 }")
    assert scop.result is not None


def test_writes_under_data_may_happen() -> None:
    scop = analysed(features.data_branch)
    first, second = scop.statements
    assert first.is_opaque and second.is_opaque
    kinds = [access.kind for access in first.accesses if access.is_write]
    assert kinds == [AccessKind.MAY_WRITE] * 3
    # The affine part of the condition is a part of the domain, the affine branch one of the write's.
    assert domain_is(scop, "S1", "[A_0] -> { S1[i] : 2 <= i < A_0 }")
    assert relation_is(scop, "S0_4", "[A_0] -> { S0[i] -> B[i] : 2 < i < A_0 }")


def test_a_choice_of_values_by_data_is_one_certain_write() -> None:
    scop = analysed(features.data_choice)
    (statement,) = scop.statements
    assert not statement.is_opaque
    assert statement.accesses[-1].kind is AccessKind.MUST_WRITE


def test_a_branch_on_data_moves_into_the_loops_in_it() -> None:
    scop = analysed(features.branch_around_loops)
    assert domain_is(scop, "S0", "[n, m] -> { S0[i, j] : 0 <= i < n and 0 <= j < m }")
    assert all(statement.is_opaque for statement in scop.statements)
    assert [loop.statements for loop in scop.loops] == [("S0", "S1"), ("S0",), ("S1",)]


def test_a_while_is_one_opaque_statement() -> None:
    scop = analysed(features.newton)
    assert [statement.is_opaque for statement in scop.statements] == [False, False, True, False]
    kinds = {access.array: access.kind for access in scop.statement("S2").accesses if access.is_write}
    assert kinds == {"guess": AccessKind.MAY_WRITE, "count": AccessKind.MAY_WRITE}


def test_accesses_come_in_evaluation_order() -> None:
    for function in (features.data_branch, features.newton, features.conditional_expression, programs.gemm):
        scop = analysed(function)
        for statement in scop.statements:
            order = [(element.array, written) for element, written in elements_in_order(statement.operations)]
            assert order == [(access.array, access.is_write) for access in statement.accesses]
    references = [access.reference for statement in scop.statements for access in statement.accesses]
    assert len(set(references)) == len(references)


def test_constant_conditions_are_decided() -> None:
    scop = analysed(features.constants)
    assert len(scop.statements) == 1
    constants = [node.value for node in walk(scop.statements[0].operations[0]) if isinstance(node, Constant)]
    assert constants == [0.25 * math.pi]


def test_loops_know_their_statements_and_places() -> None:
    scop = analysed(programs.lu)
    assert [(loop.variable, loop.depth, loop.statements) for loop in scop.loops] == [
        ("i", 0, ("S0", "S1", "S2")),
        ("j", 1, ("S0", "S1")),
        ("k", 2, ("S0",)),
        ("j", 1, ("S2",)),
        ("k", 2, ("S2",)),
    ]
    assert [loop.location.text.strip() for loop in scop.loops[:2]] == ["for i in range(n):", "for j in range(i):"]


def test_the_schedule_is_a_band_over_a_sequence() -> None:
    scop = analysed(programs.gemm)
    node = scop.schedule.get_root().child(0)
    assert node.get_type() == isl.schedule_node_type.band
    node = node.child(0)
    assert node.get_type() == isl.schedule_node_type.sequence
    assert node.n_children() == 2
    assert node.child(1).child(0).get_type() == isl.schedule_node_type.band
