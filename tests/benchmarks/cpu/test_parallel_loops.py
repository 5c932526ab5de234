"""Which loops get ``prange``."""

import numpy as np
import pytest

import polytune
from benchmarks.cpu.parallel_loops import SourceLoop, choose_loops, outermost_parallel, source_loops
from polybench.registry import benchmark


def marked(kernel) -> list[str]:
    return [loop.variable for loop in outermost_parallel(source_loops(kernel.stages()))]


@polytune.kernel
def copied_through_a_row(A):
    n = A.shape[0]
    row = np.empty(n)
    for r in range(n):
        for i in range(n):
            row[i] = 2.0 * A[r, i]
        for j in range(n):
            A[r, j] = row[j]


@polytune.kernel
def copied_through_a_row_each(A):
    n = A.shape[0]
    rows = np.empty((n, n))
    for t in range(n):
        for r in range(n):
            for i in range(n):
                rows[r, i] = A[r, i] + t
            for j in range(n):
                A[r, j] = rows[r, j]


@polytune.kernel
def copied_through_a_scalar(A):
    for i in range(A.shape[0]):
        value = 2.0 * A[i, 0]
        A[i, 0] = value


@polytune.kernel
def summed(A, s):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            s[k] += A[i, k]
    for m in range(A.shape[0]):
        s[0] += A[m, 0]


def test_an_array_that_needs_a_copy_per_iteration_disqualifies_its_loop():
    assert marked(copied_through_a_row) == ["i", "j"]


def test_an_array_whose_elements_belong_to_one_iteration_does_not():
    assert marked(copied_through_a_row_each) == ["r"]


def test_a_scalar_of_the_iteration_does_not():
    assert marked(copied_through_a_scalar) == ["i"]


def test_a_reduction_is_not_parallel():
    assert marked(summed) == ["k"]


@pytest.mark.parametrize(
    ("name", "loops"), [("gemm", ["i"]), ("jacobi-2d", ["i", "i"]), ("lu", ["j"]), ("trisolv", [])]
)
def test_polybench(name, loops):
    assert marked(benchmark(name).kernel) == loops


# One outer parallel loop i with two parallel loops j and k in it, and one outer parallel loop m.
LOOPS = (
    SourceLoop("i", 1, True, (SourceLoop("j", 2, True), SourceLoop("k", 3, True))),
    SourceLoop("t", 4, False, (SourceLoop("m", 5, True),)),
)


def test_all_outermost_parallel_loops_are_tried_at_once():
    tried = []
    choice = choose_loops(LOOPS, lambda lines: tried.append(set(lines)))
    assert [loop.variable for loop in choice.loops] == ["i", "m"]
    assert tried == [{1, 5}]
    assert choice.refused == ()


def test_a_loop_that_fails_gives_way_to_those_inside_it_and_the_others_stay():
    choice = choose_loops(LOOPS, lambda lines: "too hard" if lines & {1, 3} else None)
    assert [loop.variable for loop in choice.loops] == ["j", "m"]
    assert choice.refused == (
        "no prange on loop i (line 1): too hard",
        "no prange on loop k (line 3): too hard",
    )


def test_nothing_is_left_where_every_loop_fails():
    choice = choose_loops(LOOPS, lambda lines: "never" if lines else None)
    assert choice.loops == ()
    assert len(choice.refused) == 4
