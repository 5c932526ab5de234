"""``@polytune.kernel`` as its users see it: arguments of every kind, results, refusals, failures, what is kept."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, PolytuneError, SpaceError, UnsupportedSourceError
from tests.schedule.kernels import matrix


@polytune.kernel
def smooth(A, B):
    """Three neighbours' mean."""
    for i in range(1, len(A) - 1):
        B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0


@polytune.kernel
def scaled(A, B, factor=2.0):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            B[i, j] = factor * A[i, j] + i - j


@polytune.kernel
def added(A, B):
    for i in range(len(A)):
        A[i] += B[i]


@polytune.kernel
def summed(A, start):
    total = start
    for i in range(len(A)):
        total += A[i]
    return total


@polytune.kernel
def prefix_sums(A):
    """Neither loop can be shared out: there is but one version."""
    for i in range(1, len(A)):
        A[i] = A[i] + A[i - 1]


def in_version(kernel: Any, version: str, *arguments: Any) -> Any:
    """Run one version with tiles of three points, which divide little."""
    space = kernel.space(*arguments)
    sizes = {name: 3 for name in space.configuration(version=version) if name.startswith("tile_")}
    return kernel.run(space.configuration(version=version, **sizes), *arguments)


def versions_of(kernel: Any, *arguments: Any) -> list[str]:
    return [version.name for version in kernel.generated(*arguments).module.VERSIONS]


def check_every_version(kernel: Any, *arguments: Any) -> None:
    """Compare each version, strictly compiled, with plain Python, bit for bit but for the bits of a NaN."""
    expected = [np.copy(value) if isinstance(value, np.ndarray) else value for value in arguments]
    with np.errstate(all="ignore"):
        wanted = kernel.__wrapped__(*expected)
    for version in versions_of(kernel.strict, *arguments):
        actual = [value.copy("K") if isinstance(value, np.ndarray) else value for value in arguments]
        result = in_version(kernel.strict, version, *actual)
        for before, after in zip(expected, actual, strict=True):
            np.testing.assert_array_equal(after, before, err_msg=version)
            if isinstance(before, np.ndarray) and before.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(after), np.signbit(before))
        np.testing.assert_array_equal(result, wanted)


# Calls


def moved(A, *, by, times=1):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += by * times
    return A


def test_calls_by_position_keyword_and_default() -> None:
    A = matrix(4, 3)
    wanted = np.empty((4, 3))
    scaled.__wrapped__(A, wanted)
    for call in (lambda B: scaled(A, B), lambda B: scaled(B=B, A=A), lambda B: scaled(A, B, factor=2.0)):
        B = np.empty((4, 3))
        call(B)
        np.testing.assert_allclose(B, wanted, rtol=1e-15)
    B = np.empty((4, 3))
    scaled(A, factor=-1.0, B=B)
    np.testing.assert_allclose(B, wanted - 3.0 * A, rtol=1e-12)


def test_arguments_that_are_passed_by_name_alone() -> None:
    A = matrix(4, 3)
    kernel = polytune.kernel(moved)
    np.testing.assert_allclose(kernel(A.copy(), by=2.0), A + 2.0)
    np.testing.assert_allclose(kernel(A.copy(), by=2.0, times=3), A + 6.0)
    with pytest.raises(ArgumentError, match=r"moved\(A, \*, by, times=1\)"):
        kernel(A, 2.0)


@pytest.mark.parametrize("call", [lambda A: scaled(A), lambda A: scaled(A, A, 1.0, 2.0), lambda A: scaled(A, C=A)])
def test_wrong_number_of_arguments(call: Any) -> None:
    with pytest.raises(ArgumentError, match=r"scaled\(A, B, factor=2.0\)"):
        call(matrix(3, 3))


def test_every_call_counts_once() -> None:
    """Whatever the tuner tries, a call that updates in place does so once."""
    counts, ones = np.zeros(50), np.ones(50)
    for call in range(1, 31):
        added(counts, ones)
        assert (counts == call).all()


def test_result_and_initial_value() -> None:
    A = np.arange(10.0)
    assert summed(A, 5.0) == 50.0
    assert summed(A[:0], 5.0) == 5.0


def test_bool_counts_as_a_number() -> None:
    assert summed(np.arange(4.0), True) == 7.0


def test_function_is_still_there() -> None:
    assert smooth.__name__ == "smooth"
    assert smooth.__doc__ == "Three neighbours' mean."
    assert repr(smooth) == "<polytune kernel smooth>"
    assert repr(smooth.strict) == "<polytune kernel smooth (strict)>"
    assert smooth.strict is smooth.strict and smooth.strict.strict is smooth.strict


def test_only_functions_are_decorated() -> None:
    with pytest.raises(PolytuneError, match="takes a plain Python function, not builtin_function_or_method"):
        polytune.kernel(math.sqrt)
    compiled = type("Dispatcher", (), {"py_func": staticmethod(cleared)})()
    with pytest.raises(PolytuneError, match=r"not Dispatcher: put it in place of Numba's decorator, or .* py_func"):
        polytune.kernel(compiled)
    with pytest.raises(PolytuneError, match="not staticmethod: put it below @staticmethod"):
        polytune.kernel(staticmethod(cleared))


def cleared(x):
    for i in range(len(x)):
        x[i] = 0.0


def test_arguments_that_are_missing_or_too_many_are_errors_of_types_as_in_python() -> None:
    kernel = polytune.kernel(cleared)
    for arguments, keywords in (((), {}), ((np.ones(3), 1), {}), ((np.ones(3),), {"y": 1}), ((np.ones(3),), {"x": 1})):
        for function in (kernel, cleared):
            with pytest.raises(TypeError):
                function(*arguments, **keywords)
        with pytest.raises(ArgumentError, match=r"^cleared\(x\): "):
            kernel(*arguments, **keywords)


def test_a_method_that_is_a_kernel_is_told_that_it_has_no_object() -> None:
    class Model:
        @polytune.kernel
        def cleared(self, x):
            for i in range(len(x)):
                x[i] = 0.0

        @staticmethod
        @polytune.kernel
        def filled(x):
            for i in range(len(x)):
                x[i] = 1.0

    with pytest.raises(ArgumentError, match=r"missing a required argument: 'x'; a kernel is bound to no object: make"):
        Model().cleared(np.zeros(3))
    x = np.zeros(3)
    Model().filled(x)
    assert x.sum() == 3.0


def test_unsupported_source_is_refused_at_the_call() -> None:
    @polytune.kernel
    def reads_a_file(A):
        for i in range(len(A)):
            with open("numbers.txt") as file:
                A[i] = float(file.readline())

    with pytest.raises(UnsupportedSourceError, match=r"test_kernel\.py:\d+"):
        reads_a_file(np.zeros(2))


# Refused arguments


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


WHOLE = np.arange(10.0)
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "too small": (smooth, lambda: (np.ones(6), np.ones(4)), "goes past the end of axis 0, for shape"),
    "overlap": (smooth, lambda: (WHOLE[:8], WHOLE[2:]), "overlap in memory"),
    "same array": (added, lambda: (WHOLE, WHOLE), "overlap in memory"),
    "read-only": (added, lambda: (read_only(np.ones(3)), np.ones(3)), "read-only"),
    "broadcast": (added, lambda: (np.lib.stride_tricks.as_strided(np.ones(1), (4,), (0,)), np.ones(4)), "same place"),
    "list": (added, lambda: ([1.0, 2.0], np.ones(2)), "numpy.array"),
    "long": (added, lambda: (np.ones(2, np.longdouble), np.ones(2)), "longdouble|float128"),
    "huge integer": (summed, lambda: (np.ones(2), 2**70), "does not fit"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_refused_call_writes_nothing(why: str) -> None:
    kernel, make, message = REFUSED[why]
    arguments = make()
    before = [np.copy(value) for value in arguments[:1]]
    with pytest.raises(ArgumentError, match=message):
        kernel(*arguments)
    np.testing.assert_array_equal(arguments[0], before[0])


def _tested_for_nothing(A, B):
    A[0] = 5.0
    for i in range(len(B)):
        if A[i] <= 1.0:
            pass


def _passed_over(A, B):
    A[0] = 5.0
    for i in range(len(B)):
        if A[i] <= B[i]:
            continue


def _read_for_nothing(A, B):
    A[0] = 5.0
    for i in range(len(B)):
        A[i] * 2.0


def _seen_for_nothing(A, B):
    A[0] = 5.0
    if A[0] > 1.0:
        part = A[:] + A[len(B) - 1]  # noqa: F841


def _read_through_a_subscript(A, B):
    A[0] = 5.0
    for i in range(1):
        if A[int(B[i]) + 3] <= 1.0:
            pass


@pytest.mark.parametrize(
    "function",
    [_tested_for_nothing, _passed_over, _read_for_nothing, _seen_for_nothing, _read_through_a_subscript],
    ids=lambda it: it.__name__,
)
def test_what_is_read_for_nothing_must_be_in_range_too(function: Any) -> None:
    for call in (function, polytune.kernel(function)):
        with pytest.raises((IndexError, ArgumentError)):
            call(np.zeros(3), np.zeros(4))
        A = np.zeros(4)
        call(A, np.zeros(4))
        assert A.tolist() == [5.0, 0.0, 0.0, 0.0]


def test_views_that_do_not_overlap_are_taken() -> None:
    whole = np.arange(10.0)
    added(whole[::2], whole[1::2])
    np.testing.assert_array_equal(whole, [1, 1, 5, 3, 9, 5, 13, 7, 17, 9])


def test_unknown_configuration_is_refused() -> None:
    A, B = np.ones(4), np.ones(4)
    with pytest.raises(SpaceError):
        added.run({"version": "missing"}, A, B)
    assert (A == 1).all()


# Kinds of arrays


@polytune.kernel
def mixed(A, B):
    n, m = A.shape
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, 0, -2):
            A[i, j] = B[j, i] * 0.5 + A[i, j - 1]


LAYOUTS = {
    "C": lambda: matrix(6, 5),
    "F": lambda: np.asfortranarray(matrix(6, 5)),
    "strided": lambda: matrix(12, 10)[::2, ::2],
    "reversed": lambda: matrix(6, 5)[::-1, ::-1],
    "unaligned": lambda: np.frombuffer(bytearray(8 * 30 + 1), np.float64, 30, 1).reshape(6, 5),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    """The array itself is passed, not a copy with a layout of its own."""
    expected, B = LAYOUTS[layout]().copy(), matrix(5, 6).T.copy().T
    mixed.__wrapped__(expected, B)
    actual = LAYOUTS[layout]()
    in_version(mixed.strict, "source", actual, B)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 1)])
def test_sizes_without_work(shape: tuple[int, int]) -> None:
    A = matrix(*shape)
    mixed(A, matrix(*shape[::-1]))
    np.testing.assert_array_equal(A, matrix(*shape))


# Arithmetic


@polytune.kernel
def integers(P, Q):
    n = len(P)
    for i in range(n):
        P[i] = P[i] * Q[i] + i
        Q[i] = P[i] // 7 - P[i] % 5 + abs(Q[i])


def test_int32_wraps_round_as_numpy_does() -> None:
    generator = np.random.default_rng(0)
    P, Q = (generator.integers(-(2**31), 2**31, 40).astype(np.int32) for _ in range(2))
    Q[:2] = -(2**31), 2**31 - 1
    check_every_version(integers, P, Q)


@polytune.kernel
def single(A, B, factor):
    for i in range(len(A)):
        t = A[i] * 0.1 + factor
        B[i] = t / 3 + math.sqrt(A[i])


def test_float32_is_computed_as_numpy_does() -> None:
    check_every_version(single, matrix(40).astype(np.float32), np.empty(40, np.float32), 0.3)


@polytune.kernel
def special(A, B, C):
    for i in range(len(A)):
        C[i, 0] = A[i] + B[i]
        C[i, 1] = min(A[i], B[i])
        C[i, 2] = max(A[i], B[i])
        C[i, 3] = A[i] / B[i]
        C[i, 4] = A[i] if A[i] < B[i] else -B[i]
        C[i, 5] = abs(A[i]) * 0.0


def test_nan_infinity_and_signed_zero() -> None:
    """min and max with a NaN are Python's, which depend on the order of their arguments."""
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5])
    A, B = (part.ravel().copy() for part in np.meshgrid(values, values))
    check_every_version(special, A, B, np.empty((len(A), 6)))


@polytune.kernel
def infinite_sum(A):
    total = 0.0
    for i in range(len(A)):
        total += A[i]
    return total


def test_nan_and_infinity_survive_reassociation() -> None:
    """Sums may be reordered, but not as if there were no NaN and no infinity."""
    values = np.ones(100)
    values[50] = np.inf
    assert infinite_sum(values) == np.inf
    values[70] = -np.inf
    assert math.isnan(infinite_sum(values))


# Failures and threads


def test_threads_call_one_kernel_at_once() -> None:
    arrays = [np.zeros(200 + k) for k in range(6)]
    failures: list[BaseException] = []
    start = threading.Barrier(len(arrays))

    def work(A: np.ndarray) -> None:
        try:
            start.wait()
            for _ in range(20):
                added(A, np.ones(len(A)))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(A,)) for A in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all((A == 20).all() for A in arrays)


def test_explanation_before_and_after_calls() -> None:
    @polytune.kernel
    def explained(A, B):
        for i in range(1, len(A)):
            A[i] = A[i] + A[i - 1]
        for i in range(len(B)):
            B[i] = B[i] * 2.0
        for i in range(len(B)):
            A[0] += B[i]

    before = explained.explain()
    explained(np.ones(8), np.ones(8))
    after = explained.explain()
    first = explained.__wrapped__.__code__.co_firstlineno
    for text in (before, after):
        assert f"{Path(__file__).name}:{first + 2}: for i: not parallel" in text
        assert f"line {first + 3} reads A that line {first + 3} computes in an earlier iteration" in text
        assert f"{Path(__file__).name}:{first + 4}: for i: parallel" in text
        assert f"line {first + 7} accumulates into A (+)" in text
        assert f"line {first + 3} accumulates" not in text
    assert "tuning for" not in before
    assert "A_0=8" in after and "after 1 call\n" in after
