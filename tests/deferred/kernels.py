"""Kernels that leave versions for later, and what can be seen of these."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import polytune
from polytune import pipeline
from polytune.deferred.packing import pack
from polytune.frontend.analyse import lower_function
from polytune.normal_form import NormalForm, normal_location


def smoothed(A: np.ndarray, B: np.ndarray, steps: int) -> None:
    for _ in range(steps):
        for i in range(1, len(A) - 1):
            B[i] = 0.25 * A[i - 1] + 0.5 * A[i] + 0.25 * A[i + 1]
        for i in range(1, len(A) - 1):
            A[i] = B[i]


def normalised(A, weights):
    shifted = A - A.max(axis=1)[:, None]
    total = np.exp(shifted).sum(axis=1)
    return (shifted - np.log(total)[:, None]) @ weights


def products(A, B):
    return A @ B + A @ A.T


def powers(A, n):
    P = A.copy()
    for _ in range(n):
        P = P @ A
        P -= P.sum()
    return P


def gathered(A, indices, out):
    for k in range(len(indices)):
        out[k] += A[indices[k]]


def first_above(A, limit):
    for i in range(len(A)):
        if A[i] > limit:
            return i
    return -1


def started(A: np.ndarray) -> list[np.ndarray]:
    return [A.copy(), np.zeros_like(A)]


def until(is_so: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def versions(kernel: Any) -> list[str]:
    """The versions that calls so far can run."""
    return [version.name for _, generated in kernel._generated.values() for version in generated.module.VERSIONS]


def holds(kernel: Any) -> bool:
    """Return whether calls go on without some versions."""
    return any(generated.deferred is not None for _, generated in kernel._generated.values())


def check_smoothed(kernel: Any, size: int = 50, steps: int = 3) -> None:
    start = np.random.default_rng(size).uniform(size=size)
    ours, theirs = started(start), started(start)
    smoothed(*theirs, steps)
    kernel(*ours, steps)
    for mine, his in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, his, rtol=1e-12)


ARGUMENTS = {
    smoothed: (np.ones(9), np.ones(9), 2),
    normalised: (np.ones((300, 4)), np.ones(4)),
    gathered: (np.ones(9), np.array([1, 2, 3]), np.ones(3)),
    first_above: (np.ones(9), 0.5),
}


def packed_kernel(function: Any, *, strict: bool = False) -> tuple[pipeline.Stages, bytes]:
    """The compiler's stages for a function, and what another process is sent of it."""
    kernel = polytune.kernel(strict=strict)(function)
    signature = kernel.generated(*ARGUMENTS[function]).module.SIGNATURE
    stages = replace(kernel.stages(signature), places=partial(normal_location, [NormalForm(function, 0)]))
    packed = pack(stages, lower_function(function, signature, strict=strict))
    assert packed is not None
    return stages, packed
