"""Index-set splitting: which loops are cut and where, and that the order of execution stays the source's."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl
import numpy as np
import pytest

from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.candidate import Candidate
from polytune.schedule.orders.source import SOURCE
from polytune.schedule.rewrites.splitting import split_source
from tests.every_version import check_versions, stages_of
from tests.schedule.kernels import polybench_case


def split(stages: Stages) -> Candidate | None:
    source = Candidate(SOURCE, stages.scop.schedule, stages.dependences)
    return next(iter(split_source(source).made), None)


def split_function(function: Callable, *arguments: object) -> Candidate | None:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return split(Stages(function, signature_of(names, arguments)))  # type: ignore[arg-type]


def bands(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    below = [band for position in range(node.n_children()) for band in bands(node.child(position))]
    return [node, *below] if node.get_type() == isl.schedule_node_type.band else below


def test_rows_and_columns_of_shortest_paths() -> None:
    stages = polybench_case("floyd-warshall").stages
    found = split(stages)
    assert found is not None
    outermost, *inner = bands(found.schedule.get_root())
    assert analyse_band(outermost, stages.dependences).coincident == (False,)
    assert len(inner) == 3 + 9
    assert all(analyse_band(band, stages.dependences).coincident == (True,) for band in inner)


def test_the_order_is_that_of_the_source() -> None:
    """No two instances change places: a schedule is legal even if every earlier instance must come first."""
    stages = polybench_case("floyd-warshall").stages
    found = split(stages)
    assert found is not None and is_proven_legal(found.schedule, stages.dependences)
    source, cut = (schedule.get_map() for schedule in (stages.scop.schedule, found.schedule))
    assert source.lex_lt_union_map(source).is_subset(cut.lex_lt_union_map(cut))


@pytest.mark.parametrize("name", ["lu", "cholesky", "gramschmidt", "nussinov", "seidel-2d", "gemm", "jacobi-1d"])
def test_other_loops_stay_whole(name: str) -> None:
    assert split(polybench_case(name).stages) is None


def one_source(x):
    for i in range(len(x)):
        x[i] = x[i] * 0.5 + x[3]


def two_sources(m, x):
    for i in range(len(x)):
        x[i] = x[i] * 0.5 + x[3] + x[m]


def three_sources(m, x):
    for i in range(len(x)):
        x[i] = x[i] * 0.5 + x[3] + x[m] + x[2 * m]


def a_chain(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] + x[0]


def downwards(n, x):
    for k in range(n):
        for i in range(n - 1, -1, -1):
            x[i] = x[i] + x[n - 1 - k]


def two_colours(A):
    for colour in range(2):
        for i in range(1, A.shape[0] - 1):
            for j in range(1 + (i + colour) % 2, A.shape[1] - 1, 2):
                A[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]


def test_a_loop_of_two_iterations_stays_whole() -> None:
    assert split_function(two_colours, np.zeros((9, 9))) is None


@pytest.mark.parametrize("function, pieces", [(one_source, 3), (two_sources, 7), (downwards, 3)])
def test_a_loop_is_cut_where_all_its_dependences_meet(function: Callable, pieces: int) -> None:
    arguments = [7, np.zeros(7)][-function.__code__.co_argcount :]
    found = split_function(function, *arguments)
    assert found is not None
    innermost = [band for band in bands(found.schedule.get_root()) if not bands(band)[1:]]
    assert len(innermost) == pieces
    assert all(analyse_band(band, found.dependences).coincident == (True,) for band in innermost)


@pytest.mark.parametrize("function", [a_chain, three_sources])
def test_a_loop_that_too_many_cuts_would_free_stays_whole(function: Callable) -> None:
    arguments = [7, np.zeros(7)][-function.__code__.co_argcount :]
    assert split_function(function, *arguments) is None


def meets_in_the_middle(n, A):
    for i in range(2, n):
        A[n - 1 - i, i + 3] = A[i, i + 2]


def meets_at_a_third(n, A):
    for i in range(n):
        A[2 * i, i] = A[i, n - 1 - i] + 1.0


def meets_once_for_each_row(n, m, A):
    for i in range(0, n, 3):
        for _j in range(m):
            A[i // 2, i] += 1.0
            A[i, n - 1 - i] = 2.0


@pytest.mark.parametrize("function", [meets_in_the_middle, meets_at_a_third, meets_once_for_each_row])
@pytest.mark.parametrize("strict", [False, True])
def test_place_of_a_cut_may_be_a_quotient(function: Callable, strict: bool) -> None:
    """(n - 1) / 2 and (n - 1) / 3 are integers for some n; of the loop nothing is lost for the others."""
    for n in range(1, 13):
        A = np.random.default_rng(n).random((30, 30))
        arguments = (n, 4, A) if function is meets_once_for_each_row else (n, A)
        stages = stages_of(function, arguments, strict=strict)
        check_versions(function, stages, arguments, tiles=((3,),))


def test_loops_of_several_statements_are_cut_or_left() -> None:
    """isl has no single relation between the iterations where a piece has no instances, or those of two statements."""

    def branches(n, m, A, B, C, D, alpha):
        for i in range(2, m - 1):
            for j in range(i // 2, n - 1, 3):
                if i == n - 1:
                    A[j, j] = max(C[j, i], min(0.5, D[j, j - 1]))
                elif i <= i + 1:
                    B[j] = min(B[j], (A[j + 1, j]) * 0.125)

    arguments = (6, 9, *(np.ones(shape, np.int64) for shape in ((24, 24), (24,), (6, 9), (6, 9))), -0.25)
    check_versions(branches, stages_of(branches, arguments), arguments)
