"""Counts of whole kernels against what plain Python does: arrays that record every access."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from polytune.frontend import analyse, infer_signature
from polytune.schedule.counting.counts import Counts, count


class Recorder:
    """Stands in for an array of zeros; knows which elements were accessed, how often, and how many statements wrote."""

    writes = 0

    def __init__(self, *shape: int):
        self.shape = shape
        self.touched: set[tuple[int, ...]] = set()
        self.accesses = 0

    def __getitem__(self, subscripts: int | tuple[int, ...]) -> float:
        self._note(subscripts)
        return 1.0

    def __setitem__(self, subscripts: int | tuple[int, ...], value: float) -> None:
        self._note(subscripts)
        Recorder.writes += 1

    def _note(self, subscripts: int | tuple[int, ...]) -> None:
        place = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        assert all(0 <= index < extent for index, extent in zip(place, self.shape, strict=True))
        self.touched.add(place)
        self.accesses += 1


def gemm(n, m, beta, A, B, C):
    for i in range(n):
        for j in range(n):
            C[i, j] *= beta
        for k in range(m):
            for j in range(n):
                C[i, j] += A[i, k] * B[k, j]


def factorise(n, m, beta, A, B, C):
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= beta
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def smooth(n, m, beta, A, B, C):
    for _ in range(m):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = beta * (A[i, j] + A[i, j - 1] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = B[i, j]


def every_third_backwards(n, m, beta, A, B, C):
    for i in range(n - 1, -1, -3):
        for j in range(i, m, 2):
            C[i, j] = A[j, i] + beta
            if i > j - 4:
                C[i, j] += 1.0


def counts_of(kernel: Callable) -> Counts:
    return count(analyse(kernel, infer_signature(kernel)))


@pytest.mark.parametrize("kernel", [gemm, factorise, smooth, every_third_backwards])
def test_counts_are_what_plain_python_does(kernel: Callable) -> None:
    counts = counts_of(kernel)
    assert counts.compute is not None
    for n in range(8):
        for m in range(8):
            extent = max(n, m)
            arrays = {name: Recorder(extent, extent) for name in "ABC"}
            Recorder.writes = 0
            kernel(n, m, 2.0, **arrays)
            assert counts.compute.evaluate(n=n, m=m) == Recorder.writes
            for array in counts.arrays:
                recorded = arrays[array.array]
                assert array.footprint is not None and array.reuse is not None
                assert array.footprint.evaluate(n=n, m=m) == len(recorded.touched), (array, n, m)
                assert array.reuse.accesses.evaluate(n=n, m=m) == recorded.accesses, (array, n, m)
            assert {name for name, recorded in arrays.items() if recorded.touched} <= {a.array for a in counts.arrays}


def test_outer_iteration_is_the_outermost_loop() -> None:
    counts = counts_of(gemm)
    reuse = {array.array: array.reuse for array in counts.arrays}
    # Within one i: a row of C is scaled and updated m times (a read and a write each), A[i, k] is read by n values of
    # j, and every element of B once.
    assert reuse["C"] and reuse["C"].evaluate(n=5, m=7) == 2 + 2 * 7
    assert reuse["A"] and reuse["A"].evaluate(n=5, m=7) == 5
    assert reuse["B"] and reuse["B"].evaluate(n=5, m=7) == 1
    assert counts.reuse(n=5, m=7) == 16


def test_scalar_variables_are_no_memory() -> None:
    def total(n, A):
        s = 0.0
        for i in range(n):
            s += A[i]
        A[0] = s

    counts = counts_of(total)
    assert [array.array for array in counts.arrays] == ["A"]
    assert counts.memory is not None and counts.memory.evaluate(n=6) == 6 + 1


def test_counts_are_printed_as_functions_without_imports() -> None:
    source = counts_of(gemm).python()
    names: dict = {}
    exec(compile(source, "counts", "exec"), {"__builtins__": {}}, names)
    parameters = list(inspect.signature(names["compute"]).parameters)
    assert names["compute"](**{name: {"n": 3, "m": 4}.get(name, 3) for name in parameters}) == 9 + 36
    assert "import" not in source
