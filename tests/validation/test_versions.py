"""Every version of many kernels, held against the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polytune.codegen.transform import Target
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.codegen.registers.test_points import (
    POINTS,
    added_in_loops_inside,
    added_in_some_rows,
    added_to_the_right,
)
from tests.frontend.test_semantics import CASES
from tests.schedule.kernels import SMALL, Case, matrix, polybench_case
from tests.validation.reference import execute_source
from tests.validation.validate import validate

TARGETS = (Target(16, 8), Target(16, 16), Target(32, 32))
"""Few lanes and registers: small problems have whole vectors, and blocks of several shapes."""

POLYBENCH = (
    "2mm",
    "atax",
    "bicg",
    "cholesky",
    "doitgen",
    "fdtd-2d",
    "gemm",
    "gemver",
    "gramschmidt",
    "jacobi-2d",
    "lu",
    "mvt",
    "nussinov",
    "seidel-2d",
    "symm",
    "syr2k",
    "trisolv",
)


def hold(stages: Stages, arguments: dict[str, Any], seeds: range = range(2)) -> int:
    """Hold all versions against the source; how many instances that has."""
    for seed in seeds:
        report = validate(stages, arguments, seed)
        assert report.undecided == () and report.versions == tuple(program.name for program in stages.programs)
    return report.instances


def stages_of(
    function: Callable[..., Any], arguments: tuple[Any, ...], strict: bool = False, target: int = 0
) -> Stages:
    names = function.__code__.co_varnames[: len(arguments)]
    return Stages(function, signature_of(names, arguments), strict, target=TARGETS[target])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SMALL)
def test_kernels_that_put_the_scheduler_to_the_test(name: str) -> None:
    case = SMALL[name]
    assert hold(replace(case.stages, target=TARGETS[case.seed % 2]), case.arguments()) > 9


@pytest.mark.parametrize("name", ["product_of_sums", "reductions", "accumulated_from_zeros", "in_place_stencil"])
def test_strict_kernels(name: str) -> None:
    case = SMALL[name]
    assert hold(replace(case.stages, target=TARGETS[0], strict=True), case.arguments()) > 9


@pytest.mark.parametrize("function", POINTS)
@pytest.mark.parametrize("target", range(len(TARGETS)))
def test_points_side_by_side(function: Callable[..., Any], target: int) -> None:
    arguments = (np.ones((5, 5)), np.ones((6, 7)), np.ones((5, 2)))
    stages = stages_of(function, arguments, target=target)
    assert any(program.has_vectors for program in stages.programs)
    names = function.__code__.co_varnames
    assert hold(stages, dict(zip(names, arguments, strict=False)), range(1)) > 9


@pytest.mark.parametrize("function", [added_to_the_right, added_in_loops_inside, added_in_some_rows])
@pytest.mark.parametrize("n", [0, 2])
def test_points_whose_loops_may_have_no_iterations(function: Callable[..., Any], n: int) -> None:
    out = np.ones((5, 6)) if function is added_in_some_rows else np.ones((6, 11 if n else 2))
    arguments = (out, np.ones((6, 6)), np.ones((6, 6)), n)
    names = function.__code__.co_varnames
    assert hold(stages_of(function, arguments), dict(zip(names, arguments, strict=False)), range(1)) > 9


@pytest.mark.parametrize("name", POLYBENCH)
def test_polybench(name: str) -> None:
    case = polybench_case(name)
    assert hold(replace(case.stages, target=TARGETS[case.seed % 3]), case.arguments()) > 30


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_features_of_the_language(function: Callable[..., Any]) -> None:
    several = CASES[function]
    stages = stages_of(function, several[0])
    names = function.__code__.co_varnames[: len(several[0])]
    for arguments in several:
        hold(stages, dict(zip(names, arguments, strict=True)), range(1))


def test_layouts() -> None:
    """Vectors of arrays of which another axis is contiguous, or none is known to be."""
    case = SMALL["product_of_sums"]
    for layout in (np.asfortranarray, lambda array: np.repeat(array, 2, axis=-1)[..., ::2]):
        arguments = tuple(layout(array) for array in case.arguments().values())
        stages = stages_of(case.function, arguments)
        assert hold(stages, dict(zip(case.arguments(), arguments, strict=True))) == 100


def test_partial_tiles_of_each_size() -> None:
    case = SMALL["product_of_sums"]
    stages = replace(case.stages, target=TARGETS[0])
    for rows in range(1, 6):
        for columns in (1, 4, 7):
            arguments = {"C": matrix(rows, columns), "A": matrix(rows, 3), "B": matrix(3, columns)}
            hold(stages, arguments, range(1))


def test_call_without_instances() -> None:
    case = Case("gemm", SMALL["product_of_sums"].function, (matrix(0, 4), matrix(0, 3), matrix(3, 4)))
    assert hold(SMALL["product_of_sums"].stages, case.arguments()) == 0


def test_arguments_that_a_call_refuses() -> None:
    case = SMALL["product_of_sums"]
    with pytest.raises(ValueError, match=r"refuses these arguments: S1\[0, 0, 2\]: B\[2, 0\] is accessed, outside"):
        validate(case.stages, {"C": matrix(2, 2), "A": matrix(2, 3), "B": matrix(2, 2)})


def test_source_order_is_that_of_python() -> None:
    """What the reference executes is what Python does, where Python's numbers are integers."""

    def both(A, B):
        n = A.shape[0]
        for i in range(1, n):
            A[i] = 3 * A[i - 1] + B[i] * B[n - 1 - i] - 2 * A[i]
            if i % 3 != 1:
                B[i - 1] += A[i]

    arguments = {"A": np.arange(9), "B": np.arange(9) - 4}
    stages = stages_of(both, tuple(arguments.values()))
    reference = execute_source(stages.scop, arguments, seed=3)
    given = [np.array(reference.initial[name], object) for name in arguments]
    both(*given)
    for name, expected in zip(arguments, given, strict=True):
        assert [int(value) % (2**61 - 1) for value in expected] == reference.final[name]


def test_iterations_that_were_lost() -> None:
    """A loop that is cut where a quotient lies: where the quotient is no integer, pieces do not cover it."""

    def antidiagonal(n, A):
        for i in range(2, n):
            A[n - 1 - i, i + 3] = A[i, i + 2]

    stages = stages_of(antidiagonal, (9, matrix(16, 16)))
    for n in range(3, 14):
        assert hold(stages, {"n": n, "A": matrix(16, 16)}, range(1)) == n - 2


def test_result_that_several_tiles_have_read() -> None:
    def last(C, D):
        s = D[0]
        for i in range(C.shape[0]):
            C[i] += s
        return s

    arguments = {"C": matrix(9), "D": matrix(1)}
    assert hold(stages_of(last, tuple(arguments.values())), arguments, range(5)) == 10
