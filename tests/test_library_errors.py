"""Calls of NumPy that fail inside of kernels, and those that are refused."""

# ruff: noqa: RUF059

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError
from tests.every_version import stages_of
from tests.test_library import numbers, solved, solved_in_a_loop, symmetric, until_small
from tests.test_results import kernel_of

# ---- what NumPy raises


def written_after(A, b, out):
    x = np.linalg.solve(A, b)
    for i in range(len(b)):
        out[i] = x[i]


def written_before(A, b, out):
    for i in range(len(b)):
        out[i] = 1.0
    x = np.linalg.solve(A, b)
    for i in range(len(b)):
        out[i] = x[i]


def test_numpys_errors_are_raised_and_nothing_is_written_after_them() -> None:
    for strict in (False, True):
        kernel = polytune.kernel(strict=strict, budget=0, background=False)(written_after)
        A, b = np.zeros((4, 4)), numbers(4)
        space = kernel.space(A, b, np.zeros(4))
        for version in space["version"].values:
            out = np.full(4, 5.0)
            with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
                kernel.run(space.configuration(version=version), A, b, out)
            np.testing.assert_array_equal(out, 5.0)
        for _ in range(3):
            with pytest.raises(np.linalg.LinAlgError):
                kernel(A, b, out)
        kernel(np.eye(4), b, out)  # nothing is left of it
        np.testing.assert_array_equal(out, b)
    kernel = polytune.kernel(written_before)
    arguments = np.zeros((4, 4)), numbers(4), np.full(4, 5.0)
    generated = kernel.generated(*arguments)
    for version in generated.module.VERSIONS:
        arguments[2][:] = 5.0
        with pytest.raises(np.linalg.LinAlgError):
            kernel.run(generated.space.configuration(version=version.name, **version.sizes), *arguments)
        # An order that writes the ones after the call, as both are written over, has written nothing.
        assert arguments[2].tolist() in ([1.0] * 4, [5.0] * 4), version.name


def test_errors_in_loops_end_them() -> None:
    A = np.zeros((6, 4, 4))
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            kernel_of(solved_in_a_loop, False)(A, numbers(6, 4), np.zeros((6, 4)))
    with pytest.raises(np.linalg.LinAlgError):
        kernel_of(until_small, False)(np.zeros((5, 5)), numbers(5))


def inverted_and_counted(A, steps):
    for k in range(A.shape[0]):
        A[k] = np.linalg.inv(A[k])
        steps[k] += 1.0 + A[k, 0, 0]


def test_an_iteration_ends_at_the_call_that_fails_where_others_run_beside_it() -> None:
    right = np.stack([symmetric(4, seed=seed) for seed in range(6)])
    right[3] = 0.0
    arguments = right.copy(), np.full(6, 7.0)
    text = stages_of(inverted_and_counted, arguments).show("loops")
    assert re.search(r"region 0, parallel.*(?:\n {8}.*)*numpy\.linalg", text)
    kernel = polytune.kernel(inverted_and_counted)
    generated = kernel.generated(*arguments)
    for version in generated.module.VERSIONS:
        A, steps = right.copy(), np.full(6, 7.0)
        with pytest.raises(np.linalg.LinAlgError):
            kernel.run(generated.space.configuration(version=version.name, **version.sizes), A, steps)
        assert steps[3] == 7.0, version.name
        np.testing.assert_array_equal(A[3], 0.0)


def solved_and_added_up(A, B, X, out):
    for k in range(A.shape[0]):
        X[k] = np.linalg.solve(A[k], B[k])
    for k in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[k] += X[k, j]
    return np.sort(out)


def test_calls_that_fail_leave_those_of_other_threads_alone() -> None:
    """Workers that come late to a call that has failed must not do what is left of it."""
    kernel = polytune.kernel(background=False)(solved_and_added_up)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for turn in range(60):
                A = np.stack([symmetric(6, seed=seed + each) for each in range(20)])
                B, X, out = numbers(20, 6, seed=seed), np.zeros((20, 6)), np.zeros(20)
                if turn % 3 == 2:
                    A[7] = 0.0
                    with pytest.raises(np.linalg.LinAlgError):
                        kernel(A, B, X, out)
                    continue
                result = kernel(A, B, X, out)
                right = np.linalg.solve(A, B[..., None])[..., 0]
                np.testing.assert_allclose(X, right, rtol=1e-9)
                np.testing.assert_allclose(out, right.sum(axis=1), rtol=1e-9, atol=1e-12)
                np.testing.assert_array_equal(result, np.sort(out))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_matrices_that_are_not_square_are_numpys_error_too() -> None:
    with pytest.raises((np.linalg.LinAlgError, ArgumentError, ValueError)):
        kernel_of(solved, False)(numbers(4, 3), numbers(4))


# ---- what is refused


def of_a_vector(A):
    return np.linalg.inv(A)


def with_residuals(A, b):
    x, residuals, rank, s = np.linalg.lstsq(A, b, rcond=None)
    return residuals


@pytest.mark.parametrize(
    ("function", "arguments", "what"),
    [
        (of_a_vector, (np.ones(3),), "which is not a matrix"),
        (with_residuals, (np.eye(3), np.ones(3)), "whose size depends on data"),
    ],
)
def test_what_has_no_certain_shape_or_type_is_refused(function, arguments, what: str) -> None:
    with pytest.raises(UnsupportedSourceError, match=what):
        polytune.kernel(function)(*arguments)
