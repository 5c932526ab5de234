"""The model against Python: the same numbers, bit for bit, and exactly the accesses that its relations say."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import islpy as isl
import numpy as np
import pytest

from polytune.frontend import analyse
from polytune.signature import Signature, parse_type
from tests.frontend import features, programs
from tests.frontend.interpreter import Run, check_accesses, maps_of

MATRIX, VECTOR = "float64[:, ::1]", "float64[::1]"


def matrix(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = np.random.default_rng(sum(shape)).random(shape)
    return (values * 10).astype(dtype) if dtype.startswith("int") else values.astype(dtype)


def type_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join([':'] * (value.ndim - 1) + ['::1'])}]"
    return type(value).__name__


def square(n: int) -> np.ndarray:
    return matrix(n, n) + n * np.eye(n)


CASES: dict[Callable[..., Any], list[tuple[Any, ...]]] = {
    programs.gemm: [
        (1.5, 1.2, matrix(3, 4), matrix(3, 2), matrix(2, 4)),
        (1.5, 1.2, matrix(0, 4), matrix(0, 2), matrix(2, 4)),
    ],
    programs.lu: [(square(5),), (square(1),)],
    programs.cholesky: [(square(5),), (square(0),)],
    programs.jacobi_2d: [
        (2, matrix(5, 5), matrix(5, 5)),
        (-1, matrix(5, 5), matrix(5, 5)),
        (2, matrix(1, 1), matrix(1, 1)),
    ],
    programs.atax: [(matrix(3, 4), matrix(4), matrix(4), matrix(3))],
    programs.symm: [(1.5, 1.2, matrix(3, 4), matrix(3, 3), matrix(3, 4))],
    programs.durbin: [(matrix(6), matrix(6), matrix(6))],
    programs.nussinov: [(np.array([0, 3, 1, 2, 3, 0, 2], dtype="int32"), np.zeros((7, 7), dtype="int32"))],
    features.steps: [(matrix(9),), (matrix(2),)],
    features.triangle_of_steps: [(matrix(7, 7),)],
    features.shadowed: [(matrix(4),)],
    features.ends: [(matrix(4, 5), matrix(3))],
    features.chains: [(matrix(5, 6),)],
    features.affine_choices: [(matrix(6), matrix(8))],
    features.substituted: [(matrix(7), matrix(7))],
    features.merged: [(matrix(6), matrix(6))],
    features.carried: [(matrix(5),)],
    features.conditional_expression: [(matrix(5), matrix(5))],
    features.data_branch: [(matrix(8), matrix(8), 0.5)],
    features.data_choice: [(matrix(6), matrix(6))],
    features.branch_around_loops: [(matrix(6, 4), matrix(6), 0.5)],
    features.exchanged_by_data: [(matrix(9), matrix(9)[::-1].copy()), (matrix(1), matrix(1))],
    features.extremes: [
        (matrix(7), matrix(7)[::-1].copy()),
        (np.array([0.1, np.nan, 0.3, -1.0]), np.array([np.nan, 0.2, np.nan, 3.0])),
        (np.array([np.nan, 2.0, 0.0]), np.array([1.0, np.inf, np.nan])),
    ],
    features.unordered_values: [
        (np.array([0.1, np.nan, np.inf, 0.5, -np.inf, 9.0]), np.array([np.nan, 1.0, 2.0, -np.inf, np.inf, 3.0]))
    ],
    features.infinite_starts: [
        (matrix(3, 4), matrix(3, 3)),
        (np.array([[-np.inf, np.nan], [np.inf, 3.0], [np.nan, np.nan]]), matrix(3, 3)),
    ],
    features.extreme_constants: [
        (matrix(6), matrix(6, dtype="float32"), matrix(6, dtype="int64"), matrix(6, dtype="int32"))
    ],
    features.zeros_of_both_signs: [(matrix(6),)],
    features.newton: [(matrix(4), matrix(4))],
    features.swapped: [(matrix(4), matrix(5), 2.0, 3.0)],
    features.several_targets: [(matrix(4), matrix(5))],
    features.reassigned_arguments: [(matrix(4), 1.5, 4)],
    features.local_arrays: [(matrix(3, 4), matrix(3, 4))],
    features.derived: [(matrix(9), 3)],
    features.expressions_inlined: [(matrix(6), matrix(6) * 3.0)],
    features.procedures_inlined: [(matrix(3, 4), matrix(3), matrix(4))],
    features.single_precision: [(matrix(5, dtype="float32"), matrix(5), 0.3)],
    features.integers: [(matrix(6, dtype="int32"), matrix(7, dtype="int64"))],
    features.mixed_integers: [(matrix(6, dtype="int32"), matrix(6, dtype="float32"))],
    features.returned: [(matrix(5),)],
    features.constants: [(matrix(3),)],
}


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        pytest.param(function, arguments, id=f"{function.__name__}-{number}")
        for function, several in CASES.items()
        for number, arguments in enumerate(several)
    ],
)
def test_the_model_computes_what_python_computes(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    names = function.__code__.co_varnames[: len(arguments)]
    kinds = tuple((name, parse_type(type_of(value))) for name, value in zip(names, arguments, strict=True))
    scop = analyse(function, Signature(kinds))
    expected, actual = copy.deepcopy(arguments), copy.deepcopy(arguments)
    result = function(*expected)
    run = Run(scop, dict(zip(names, actual, strict=True))).execute()
    for wanted, found in zip(expected, actual, strict=True):
        np.testing.assert_array_equal(wanted, found, strict=isinstance(wanted, np.ndarray))
    assert result == run.result
    check_accesses(run)


def test_the_schedule_holds_exactly_the_domains() -> None:
    scop = analyse(features.steps, Signature((("A", parse_type(VECTOR)),)))
    union = isl.UnionSet.empty(scop.context.get_space())
    for statement in scop.statements:
        union = union.union(isl.UnionSet.from_set(statement.domain))
    assert scop.schedule.get_domain().is_equal(union)
    assert len(maps_of(scop.schedule.get_map())) == len(scop.statements)
