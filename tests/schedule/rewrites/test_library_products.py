"""Products of matrices by the library: which kernels have them, what stands for what, and that results are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.frontend.expression import MATRIX_PRODUCT, LibraryCall
from polytune.frontend.scop import Scop
from polytune.schedule.analysis.instances import is_of_source
from polytune.schedule.candidate import Candidate
from polytune.schedule.rewrites.library_products import LIBRARY
from polytune.schedule.unions import domain_of
from tests.every_version import stages_of
from tests.validation.validate import validate

MANY = 160
"""An extent of matrices of which the product is given to the library."""


def update(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def with_factors(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= 0.5
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] -= 0.25 * A[i, k] * B[k, j]


def from_zeros(C, A, B):
    C[:] = A @ B


def scaled_from_zeros(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0.0
            for k in range(A.shape[1]):
                C[i, j] += -0.5 * A[i, k] * B[k, j]


def of_sums(C, A, B):
    C[:] = 0.5 * A @ B + 0.25 * C


def several(C, A, B):
    C[:] = A @ B @ A @ B + C


def transposed(C, A, B):
    C[:] = C + (B.T @ A.T).T


def of_a_part(C, A, B):
    for i in range(1, C.shape[0]):
        for k in range(2, A.shape[1]):
            for j in range(3, C.shape[1]):
                C[i - 1, j] += A[i, k - 2] * B[k, j - 3]


def used_between(C, A, B):
    """The elements that are zero are read before the product is added to them."""
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0.0
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            A[i, k] += C[i, 0] + 1.0
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def used_after(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            A[i, k] = C[i, 0]
    for k in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[k, j] *= 2.0


def gram(C, A, B):
    """One matrix on both sides, and elements beside it that are none of the product's."""
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]
    B[0, 0] = C[0, 0]


def lower_triangle(C, A, B):
    for i in range(C.shape[0]):
        for j in range(i):
            C[i, j] = 0.0
            for k in range(A.shape[1]):
                C[i, j] -= 0.5 * A[i, k] * B[k, j]


def least_of_two(C, A, B):
    for i in range(min(C.shape[0], B.shape[1])):
        for j in range(max(i, 2), C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def upper_triangle(C, A, B):
    for i in range(A.shape[0]):
        for j in range(i, A.shape[0]):
            for k in range(A.shape[1]):
                C[j, i] += A[i, k] * A[j, k]


def symmetric(C, A, B):
    D = A.T @ A
    C[:2, :2] += D[:2, :2] + D[1, 0]


KERNELS = (
    update,
    with_factors,
    from_zeros,
    scaled_from_zeros,
    of_sums,
    several,
    transposed,
    of_a_part,
    used_between,
    used_after,
    lower_triangle,
    least_of_two,
    upper_triangle,
    symmetric,
)


def every_other_row(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[2 * i // 2, j] += A[i, k] * B[k, j]


def triangle_of_the_sum(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(i):
                C[i, j] += A[i, k] * B[k, j]


def with_gaps(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            if i + j != 4:
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]


def of_itself(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += C[i, k] * B[k, j]


def along_diagonals(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(3):
                C[i, j] += A[i + k, k] * B[k, j]


def with_a_weight(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j] * B[i, j]


def again_and_again(C, A, B):
    for _ in range(3):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]


def one_row_after_another(C, A, B):
    """Each row of A is made of the row of C before it."""
    for i in range(1, C.shape[0]):
        for k in range(A.shape[1]):
            A[i, k] = C[i - 1, 0]
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


OTHERS = (triangle_of_the_sum, of_itself, along_diagonals, with_a_weight, again_and_again, one_row_after_another)


def matrices(rows: int, inner: int, columns: int, dtype: str = "float64", seed: int = 0) -> tuple[np.ndarray, ...]:
    """Three matrices of integers, whose sums of products are exact."""
    numbers = np.random.default_rng(seed)
    shapes = (rows, columns), (rows, inner), (inner, columns)
    found = [numbers.integers(-4, 5, shape).astype(dtype) for shape in shapes]
    return tuple(each + 1j * each[::-1] for each in found) if dtype.startswith("complex") else tuple(found)


def candidate_of(function: Callable[..., Any], arguments: tuple[np.ndarray, ...]) -> Candidate | None:
    stages = stages_of(function, arguments)
    return next((each for each in stages.candidates if each.order == LIBRARY), None)


def calls_in(scop: Scop) -> list[LibraryCall]:
    operations = (operation for statement in scop.statements for operation in statement.operations)
    return [each for each in operations if isinstance(each, LibraryCall)]


def check(function: Callable[..., Any], arguments: tuple[np.ndarray, ...]) -> None:
    """Whether the version computes what Python does."""
    kernel = polytune.kernel(function)
    expected = [array.copy(order="K") for array in arguments]
    function(*expected)
    given = [np.lib.stride_tricks.as_strided(array, array.shape, array.strides) for array in arguments]
    kernel.run(kernel.space(*given).configuration(version="library"), *given)
    for wanted, got in zip(expected, given, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_products_are_calls(function: Callable[..., Any]) -> None:
    check(function, matrices(7, 5, 9) if function is not several else matrices(5, 5, 5))


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_every_version_does_what_the_source_does(function: Callable[..., Any]) -> None:
    arguments = matrices(4, 3, 5) if function is not several else matrices(4, 4, 4)
    stages = stages_of(function, arguments)
    assert "library" in validate(stages, dict(zip("CAB", arguments, strict=True))).versions


def test_how_many_calls_there_are() -> None:
    counts = {update: 1, with_factors: 1, from_zeros: 1, several: 3, used_between: 1}
    for function, count in counts.items():
        found = candidate_of(function, matrices(5, 5, 5))
        assert found is not None
        assert [each.function for each in calls_in(found.dependences.scop)] == [MATRIX_PRODUCT] * count


def test_zeros_are_part_of_the_call() -> None:
    """Where nothing comes between, and the result is neither scaled nor taken away, nothing else is left."""
    found = candidate_of(from_zeros, matrices(5, 5, 5))
    assert found is not None and [each.name for each in found.dependences.scop.statements] == ["P0"]
    between = candidate_of(used_between, matrices(5, 5, 5))
    assert between is not None and len(between.dependences.scop.statements) == 4


@pytest.mark.parametrize("function", OTHERS, ids=lambda function: function.__name__)
def test_what_is_no_product(function: Callable[..., Any]) -> None:
    assert candidate_of(function, matrices(6, 6, 6)) is None


def test_one_matrix_on_both_sides() -> None:
    check(gram, matrices(6, 4, 6))


def test_strict_kernels_keep_their_sums() -> None:
    names = [program.name for program in stages_of(update, matrices(5, 5, 5), strict=True).programs]
    assert "library" not in names


def test_integers_are_no_products_of_the_library() -> None:
    assert candidate_of(update, matrices(5, 5, 5, "int64")) is None
    C, A, B = matrices(5, 5, 5)
    assert candidate_of(update, (C, A.astype("float32"), B)) is None


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_types(dtype: str) -> None:
    for function in (update, from_zeros):
        check(function, matrices(6, 5, 7, dtype))


@pytest.mark.slow
def test_layouts() -> None:
    layouts = (
        np.asfortranarray,
        lambda array: np.repeat(array, 2, axis=0)[::2],
        lambda array: np.repeat(array, 2, axis=1)[:, ::2],
        lambda array: np.repeat(np.repeat(array, 2, axis=1), 2, axis=0)[::2, ::2].T.copy().T,
        lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    )
    for place in range(3):
        for layout in layouts:
            arguments = list(matrices(6, 5, 7))
            arguments[place] = layout(arguments[place])
            check(update, tuple(arguments))
            check(from_zeros, tuple(arguments))


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (1, 5, 1), (5, 1, 4), (1, 4, 6), (0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)]
)
def test_small_sizes(sizes: tuple[int, int, int]) -> None:
    for function in (update, with_factors, from_zeros, scaled_from_zeros, of_sums):
        check(function, matrices(*sizes))


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 5, 1), (2, 0, 2), (0, 3, 4), (3, 1, 3), (0, 0, 0)])
def test_small_triangles(sizes: tuple[int, int, int]) -> None:
    for function in (lower_triangle, upper_triangle, least_of_two):
        check(function, matrices(*sizes))


def test_no_warning_of_numbers_that_are_none(recwarn: pytest.WarningsRecorder) -> None:
    C, A, B = matrices(6, 5, 7)
    A[2, 3], B[1, 1] = np.inf, np.nan
    kernel = polytune.kernel(from_zeros)
    kernel.run(kernel.space(C, A, B).configuration(version="library"), C, A, B)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(C, A @ B)
    assert not [each for each in recwarn if each.category is RuntimeWarning]


def test_instances_that_are_missing_or_there_twice() -> None:
    """The proof of instances sees what a call stands for."""
    found = candidate_of(with_factors, matrices(5, 5, 5))
    assert found is not None and found.origin is not None
    assert is_of_source(found)
    source, origin = found.origin.source, found.origin
    call = domain_of(found.dependences.scop, [found.dependences.scop.statement("P0")])
    product = next(each for each in source.statements if len(each.iterators) == 3)
    assert is_of_source(replace(found, origin=replace(origin, whole=frozenset()))) is False
    missing = origin.relation.subtract_range(domain_of(source, [product]).lexmax())
    assert is_of_source(replace(found, origin=replace(origin, relation=missing))) is False
    others = domain_of(source, [each for each in source.statements if each is not product])
    twice = origin.relation.union(call.universe().intersect(call).apply(origin.relation).identity())
    assert is_of_source(replace(found, origin=replace(origin, relation=twice))) is False
    more = origin.relation.union(origin.relation.intersect_domain(call).domain().product(others).unwrap())
    assert is_of_source(replace(found, origin=replace(origin, relation=more))) is False


def test_small_calls_are_not_given_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # as many as calls of the tests have beside others
    kernel = polytune.kernel(from_zeros)
    small, large = matrices(9, 9, 9), matrices(MANY, MANY, MANY)
    for arguments, reason in ((small, "Min-Arithmetic"), (large, "")):
        refused = kernel.tuner(*arguments).refused.get("version", {})
        assert refused.get("library", "").startswith(reason) and bool(reason) == ("library" in refused)


def test_explanation_names_the_version() -> None:
    kernel = polytune.kernel(from_zeros)
    kernel(*matrices(9, 9, 9))
    assert "library: products of matrices by NumPy's library, all else serial" in kernel.explain()
