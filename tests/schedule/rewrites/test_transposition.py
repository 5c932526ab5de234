"""Transposed copies: which kernels have them, what is copied, and that every version computes what the source does."""

from __future__ import annotations

import time
from collections.abc import Callable

import islpy as isl
import numpy as np
import pytest

from polytune.frontend.scop import ArrayRole, Scop
from polytune.pipeline import Stages
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.recipe import Recipe
from polytune.schedule.regions import RegionKind
from polytune.schedule.rewrites.transposition import TRANSPOSED
from polytune.signature import ArrayType, ScalarType, Signature
from tests.every_version import SMALL, check_versions, stages_of
from tests.schedule.kernels import polybench_case

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
"""Numbers are to be no numbers."""


def columns_of_some(A, r):
    """Columns from the second on and rows from the third on are touched, one column after another."""
    m, n = A.shape
    for k in range(1, n):
        for j in range(k + 1, n):
            r[j] = 0.0
            for i in range(2, m):
                r[j] += A[i, k] * A[i, j]
            for i in range(2, m):
                A[i, j] = A[i, j] - A[i, k] * r[j]


def columns_of_zeros(A, r):
    """The same on an array of the kernel's own, which begins with zeros."""
    m, n = A.shape
    T = np.zeros((m, n))
    for i in range(2, m):
        for j in range(n):
            T[i, j] = A[i, j]
    for k in range(1, n):
        for j in range(k + 1, n):
            r[j] = 0.0
            for i in range(m):
                r[j] += T[i, k] * T[i, j]
            for i in range(m):
                T[i, j] = T[i, j] - T[i, k] * r[j]
    for i in range(m):
        for j in range(n):
            A[i, j] = T[i, j] + 1.0


def middle_axis(A, r):
    """Lines along the second of three axes."""
    p, m, n = A.shape
    for k in range(n):
        for j in range(k + 1, n):
            for q in range(p):
                r[q, j] = 0.0
                for i in range(m):
                    r[q, j] += A[q, i, k] * A[q, i, j]
                for i in range(m):
                    A[q, i, j] = A[q, i, j] - A[q, i, k] * r[q, j]


def transposed(stages: Stages) -> Scop:
    """The kernel with its copies."""
    (found,) = (each for each in stages.candidates if each.order == TRANSPOSED)
    assert is_proven_legal(found.schedule, found.dependences)
    return found.dependences.scop


def elements(text: str, scop: Scop) -> isl.Set:
    return isl.Set.read_from_str(scop.context.get_ctx(), f"[m, n] -> {{ {text} }}").intersect_params(scop.context)


def check(function: Callable, stages: Stages, initial: list[np.ndarray]) -> None:
    """All versions, of which one has copies, against the source."""
    assert any(program.recipe == Recipe(TRANSPOSED) for program in stages.programs)
    check_versions(function, stages, initial)


@pytest.fixture(scope="module")
def strict() -> Stages:
    stages = polybench_case("gramschmidt").stages
    return Stages(stages.function, stages.signature, True, target=SMALL)


def test_what_is_copied() -> None:
    scop = transposed(polybench_case("gramschmidt").stages)
    copies = {
        (statement.accesses[0].array, statement.accesses[1].array): statement.domain.reset_tuple_id()
        for statement in scop.statements
        if "transposed" in statement.text
    }
    whole = elements("[i, j] : 0 <= i < m and 0 <= j < n", scop)
    assert set(copies) == {("A", "A_transposed0"), ("A_transposed0", "A"), ("Q_transposed0", "Q")}
    assert copies["A", "A_transposed0"].is_equal(whole)
    assert copies["Q_transposed0", "Q"].is_equal(whole)
    assert copies["A_transposed0", "A"].is_equal(elements("[i, j] : 0 <= i < m and 0 < j < n", scop))
    assert all(scop.array(f"{name}_transposed0").role is ArrayRole.LOCAL for name in "AQ")


def test_shape_of_a_copy() -> None:
    generator = np.random.default_rng(0)
    scop = transposed(
        stages_of(middle_axis, [generator.normal(size=(2, 3, 4)), generator.normal(size=(2, 4))], strict=True)
    )
    shape = scop.array("A").shape
    assert scop.array("A_transposed0").shape == (shape[0], shape[2], shape[1])


def test_diagonals_of_tiles_work_on_copies() -> None:
    stages = polybench_case("gramschmidt").stages
    plan = next(plan for plan in stages.plans if plan.recipe == Recipe(TRANSPOSED))
    assert RegionKind.WAVEFRONT in {region.kind for region in plan.regions}
    assert all(region.prefix is None for region in plan.regions)


def test_a_column_stays_in_the_first_cache_while_a_tile_works_on_it() -> None:
    """Of the loops over k and j that over k is innermost: along it A' is the same, and not Q'."""
    loops = polybench_case("gramschmidt").stages.show("loops")
    version = loops[loops.index("version transposed:") : loops.index("version transposed_jammed:")]
    assert "R[c1, c0] = R[c1, c0] + Q_transposed0[c1, c2] * A_transposed0[c0, c2]" in version


def test_it_is_what_an_untuned_call_runs() -> None:
    assert polybench_case("gramschmidt").stages.programs[0].recipe == Recipe(TRANSPOSED)


@pytest.mark.parametrize("name", ["gemm", "2mm", "lu", "symm", "covariance", "adi", "deriche", "mvt", "doitgen"])
def test_other_kernels_have_none(name: str) -> None:
    assert not any(candidate.order == TRANSPOSED for candidate in polybench_case(name).stages.candidates)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (3, 4), (7, 5), (9, 13)])
def test_columns(strict: Stages, shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(1)
    m, n = shape
    check(strict.function, strict, [generator.normal(size=size) for size in ((m, n), (n, n), (m, n))])


@pytest.mark.parametrize("layout", ["C", "spread", "reversed"])
@pytest.mark.parametrize("function", [columns_of_some, columns_of_zeros])
def test_parts_and_layouts(function: Callable, layout: str) -> None:
    generator = np.random.default_rng(2)
    wide = generator.normal(size=(9, 22))
    wide[4, 6] = np.nan
    A = {"C": wide[:, :11].copy(), "spread": wide[:, ::2], "reversed": wide[::-1, 10::-1]}[layout]
    check(function, stages_of(function, [A, np.zeros(11)], strict=True), [A, np.zeros(11)])


def test_rows_of_fortran_arrays_are_walked_against_their_layout() -> None:
    generator = np.random.default_rng(3)

    def rows(A, r):
        n, m = A.shape
        for k in range(n):
            for j in range(k + 1, n):
                r[j] = 0.0
                for i in range(m):
                    r[j] += A[k, i] * A[j, i]
                for i in range(m):
                    A[j, i] = A[j, i] - A[k, i] * r[j]

    A, r = np.asfortranarray(generator.normal(size=(6, 9))), np.zeros(6)
    check(rows, stages_of(rows, [A, r], strict=True), [A, r])
    contiguous = stages_of(rows, [np.ascontiguousarray(A), r], strict=True)
    assert not any(candidate.order == TRANSPOSED for candidate in contiguous.candidates)


def test_three_axes() -> None:
    generator = np.random.default_rng(4)
    initial = [generator.normal(size=(2, 5, 4)), generator.normal(size=(2, 4))]
    check(middle_axis, stages_of(middle_axis, initial, strict=True), initial)


def many_polyhedra(n, m, A):
    for i in range(m + 1):
        A[i + 2, m - i] -= A[i, i + 2] + A[n - 1, i + 1] * A[i, i + 1] % 13
    for i in range(2, n):
        for j in range(i + 1, -1, -1):
            A[0, j + 1] = A[i, j + 1] - A[i, j + 1] + A[j, j] * A[i, j + 1] % 13
            for k in range(2, n - 1, 2):
                A[k, j + 1] = (A[k - 2, j + 1] + A[k + 1, j + 1]) % 11
                A[k, j + 1] = (A[k - 2, j + 1] + A[k, j + 1]) % 11
        for j in range(i + 1, -1, -1):
            for k in range(m - 1, -1, -1):
                A[j, k + 1] = (A[j, k + 3] + A[j, k + 1]) % 11


def test_copies_of_elements_that_are_many_polyhedra_are_given_up() -> None:
    """The mere order of such copies took isl minutes, and gigabytes of memory."""
    types = (("n", ScalarType("int64")), ("m", ScalarType("int64")), ("A", ArrayType("int64", 2)))
    stages = Stages(many_polyhedra, Signature(types), True)
    begun = time.thread_time()
    assert next(candidate.name for candidate in stages.candidates) == "source"
    assert any(each.startswith(TRANSPOSED.name) for each in stages.given_up)
    assert time.thread_time() - begun < 60
