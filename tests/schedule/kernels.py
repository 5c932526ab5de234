"""Kernels that put the scheduler to the test, with small arguments, and the compiler's stages for them."""

from __future__ import annotations

import copy
import functools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, cast

import numpy as np

from polybench.datasets import CATALOGUE, Dataset
from polybench.registry import benchmark
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.analysis.instances import is_of_source
from polytune.schedule.analysis.legality import check_legality
from polytune.schedule.candidate import Candidate, Order, candidate_schedules


def product_of_sums(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * B[k, j]
            C[i, j] = total


def rows_times_matrix(A, C):
    t = np.empty(A.shape[1])
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            t[p] = 0.0
            for s in range(A.shape[1]):
                t[p] += A[i, s] * C[s, p]
        for p in range(A.shape[1]):
            A[i, p] = t[p]


def three_behind(steps, A, B):
    """A stencil of which two iterations of i may run statement by statement, and no more."""
    for _t in range(steps):
        for i in range(3, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = A[i - 1, j] + A[i + 1, j] - B[i - 3, j]
        for i in range(3, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i - 1, j] + B[i, j + 1] - B[i + 1, j]


def two_live_ranges(A, B, C):
    """The scalar t lives twice in each iteration; the two lives may be swapped but not mixed."""
    for i in range(len(A)):
        t = A[i] * 2.0
        B[i] = t + 1.0
        t = A[i] * 3.0
        C[i] = t - 1.0


def scalar_used_twice(A, B, C):
    """The scalar t is first each iteration's own, then one for all iterations of another loop."""
    for i in range(len(A)):
        t = A[i] * 2.0
        B[i] = t + t * t
    t = A[0]
    for i in range(len(A)):
        C[i] = t * A[i]


def scalar_out_of_loop(A, B):
    """The last value of t is read after the loop, so that its iterations cannot be shared out."""
    t = 0.0
    for i in range(len(A)):
        t = A[i] + 0.5
        B[i] = t * t
    B[0] = t


def returned_scalar(A, B):
    total = 0.0
    for i in range(len(A)):
        total += A[i]
        B[i] = total
    return total


def row_buffer(A, B):
    n, m = A.shape
    row = np.empty(m)
    for i in range(n):
        for j in range(m):
            row[j] = A[i, j] * 2.0
        for j in range(m):
            B[i, j] = row[m - 1 - j] + row[j]


def row_buffer_kept_at_one_end(A, B):
    """row[0] passes from one iteration of i to the next."""
    n, m = A.shape
    row = np.empty(m)
    for j in range(m):
        row[j] = 0.25
    for i in range(n):
        for j in range(1, m):
            row[j] = A[i, j] + row[0]
        for j in range(m):
            B[i, j] = row[j]
        row[0] = A[i, 0]


def accumulated_from_zeros(A, B):
    n, m = A.shape
    total = np.zeros(m)
    for i in range(n):
        for j in range(m):
            total[j] += A[i, j]
    for j in range(m):
        B[j] = total[j]


def triangular(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            A[i, j] = A[i, j] - A[j, i] * A[i, i]
        for j in range(i, n):
            A[i, j] = A[i, j] * 0.5


def stencil(steps, A, B):
    n = len(A)
    for _ in range(steps):
        for i in range(1, n - 1):
            B[i] = 0.25 * (A[i - 1] + 2.0 * A[i] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = B[i]


def in_place_stencil(steps, A):
    n, m = A.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = 0.25 * (A[i - 1, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j])


def descending(A, B):
    n = len(A)
    for i in range(n - 2, -1, -1):
        A[i] = A[i] + 0.5 * A[i + 1]
    for i in range(n - 1, -1, -2):
        B[i] = A[n - 1 - i]


def may_write(A, B, limit):
    """Whether line by line B[i] is overwritten is known only from the data."""
    n = len(A)
    for i in range(n):
        B[i] = 1.0
        if A[i] > limit:
            B[i] = A[i]
    for i in range(1, n):
        A[i] = B[i] + B[i - 1]


def last_above(A, B, limit):
    """The scalar is overwritten or not, so that its value may come from any iteration before."""
    found = 0.0
    for i in range(len(A)):
        if A[i] > limit:
            found = A[i]
        B[i] = found


def reductions(A, B):
    """A sum, a product and a maximum over the same loops, with a write before and a read after each."""
    n = len(A)
    for i in range(n):
        B[i, 0] = 0.0
        B[i, 1] = 1.0
        B[i, 2] = A[i, 0]
        for j in range(n):
            B[i, 0] += A[i, j]
            B[i, 1] *= 1.0 + A[j, i] * 0.125
            B[i, 2] = max(B[i, 2], A[i, j])
        A[i, i] = B[i, 0] - B[i, 1] * B[i, 2]


def two_sums_into_one(A, B, s):
    n = len(A)
    for i in range(n):
        s[0] += A[i]
    for i in range(n):
        s[0] += B[i] * A[i]
    for i in range(n):
        B[i] = s[0]


def guarded(A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            if i > j:
                A[i, j] = B[j] + 1.0
            elif j >= 2:
                A[i, j] = A[i, j - 2] * 0.5
        if i % 2 == 0:
            B[0] = A[i, 0]


def transposed_copy(A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            B[j, i] = A[i, j]
    for j in range(m):
        for i in range(n):
            A[i, j] = B[j, i] + B[j, 0]


def reversed_dependence(A, B):
    n = len(A)
    for i in range(n - 1):
        A[i] = A[i + 1] * 2.0
    for i in range(n):
        B[i] = A[n - 1 - i]


def matrix(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Reproducible contents: fractions between 0 and 1, integers below 10."""
    values = np.random.default_rng(sum(shape)).random(shape)
    return (values * 10).astype(dtype) if dtype.startswith("int") else values.astype(dtype)


@dataclass(frozen=True)
class Case:
    """A function with arguments; ``arguments`` gives them anew each time."""

    name: str
    function: Callable[..., Any]
    _arguments: tuple[Any, ...]

    def arguments(self) -> dict[str, Any]:
        names = self.function.__code__.co_varnames[: len(self._arguments)]
        return dict(zip(names, copy.deepcopy(self._arguments), strict=True))

    @property
    def seed(self) -> int:
        return zlib.crc32(self.name.encode())

    @property
    def stages(self) -> Stages:
        """The compiler's stages for the types of the arguments, computed once per process."""
        return _stages(self)


_known: dict[str, Stages] = {}


def _stages(case: Case) -> Stages:
    if case.name not in _known:
        given, function = case.arguments(), cast(FunctionType, case.function)
        _known[case.name] = Stages(function, signature_of(tuple(given), tuple(given.values())))
    return _known[case.name]


SMALL = {
    function.__name__: Case(function.__name__, function, arguments)
    for function, arguments in (
        (product_of_sums, (matrix(5, 4), matrix(5, 3), matrix(3, 4))),
        (two_live_ranges, (matrix(7), matrix(7), matrix(7))),
        (scalar_used_twice, (matrix(7), matrix(7), matrix(7))),
        (scalar_out_of_loop, (matrix(7), matrix(7))),
        (returned_scalar, (matrix(7), matrix(7))),
        (row_buffer, (matrix(5, 4), matrix(5, 4))),
        (row_buffer_kept_at_one_end, (matrix(5, 4), matrix(5, 4))),
        (accumulated_from_zeros, (matrix(5, 4), matrix(4))),
        (triangular, (matrix(6, 6),)),
        (stencil, (4, matrix(7), matrix(7))),
        (in_place_stencil, (3, matrix(6, 5))),
        (descending, (matrix(7), matrix(7))),
        (may_write, (matrix(7), matrix(7), 0.5)),
        (last_above, (matrix(7), matrix(7), 0.5)),
        (reductions, (matrix(4, 4), matrix(4, 4))),
        (two_sums_into_one, (matrix(6), matrix(6), matrix(1))),
        (guarded, (matrix(6, 5), matrix(6))),
        (transposed_copy, (matrix(5, 4), matrix(4, 5))),
        (reversed_dependence, (matrix(7), matrix(7))),
    )
}
"""The functions above, by name."""


@functools.cache
def polybench_case(name: str) -> Case:
    """A kernel of the suite on the suite's data, at sizes of a few points that differ from one another."""
    suite = benchmark(name)
    sizes = {
        parameter: 3 if parameter in ("tsteps", "tmax") else 7 - number
        for number, parameter in enumerate(suite.sizes(Dataset.MINI))
    }
    return Case(name, suite.kernel.__wrapped__, suite.initialise(**sizes))


POLYBENCH = tuple(CATALOGUE)


def legal_candidates(name: str, orders: Sequence[Order]) -> tuple[Candidate, ...]:
    """The candidates of a kernel in some orders, after each was found legal and isl gave up on none.

    Args:
        name: one of ``SMALL`` or ``POLYBENCH``.
        orders: the source order first.
    """
    case = SMALL[name] if name in SMALL else polybench_case(name)
    found = candidate_schedules(case.stages.dependences, tuple(orders))
    assert not found.given_up
    for candidate in found.made:
        assert is_of_source(candidate) and check_legality(candidate)
    return found.made
