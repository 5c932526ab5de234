"""The traffic of calls with arrays in chunks, held against halos that are counted element by element."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from benchmarks.scale.wire import traffic_of


@polytune.kernel
def symmetric(A, out):
    for i in range(1, len(out) - 1):
        out[i] = A[i - 1] + A[i] + A[i + 1]


@polytune.kernel
def asymmetric(A, out):
    for i in range(2, out.shape[0] - 1):
        for j in range(out.shape[1] - 3):
            out[i, j] = A[i - 2, j] + A[i + 1, j + 3]


@polytune.kernel
def strided(A, out):
    for i in range(len(out) - 4):
        out[i] = A[2 * i] + A[2 * i + 6]


@polytune.kernel
def triangular(A, out):
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = A[i, j] + A[j, i]


@polytune.kernel
def smoothed(steps, A, B):
    for _ in range(steps):
        for i in range(1, len(A) - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(1, len(A) - 1):
            A[i] = B[i]


@polytune.kernel
def added(A, total):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total[j] += A[i, j]


def zeros(*shape, chunks):
    import dask.array  # takes a second, which collecting the tests need not wait for

    return dask.array.zeros(shape, chunks=chunks)


def halo(points, reads, chunks_read, chunks_written):
    """The bytes of the elements that iterations read from chunks that are elsewhere, each once for each worker.

    Args:
        points: the subscripts that are written.
        reads: from these the subscripts that are read.
        chunks_read, chunks_written: per axis the extents of the chunks of both arrays.
    """

    def place(index, chunks):
        return tuple(int(np.searchsorted(np.cumsum(c), i, side="right")) for i, c in zip(index, chunks, strict=True))

    needed = {(element, place(point, chunks_written)) for point in points for element in reads(*point)}
    return 8 * sum(place(element, chunks_read) != worker for element, worker in needed)


def test_symmetric_halos():
    found = traffic_of(symmetric, {"A": zeros(40, chunks=10), "out": zeros(40, chunks=10)})
    assert (found.workers, found.shards) == (4, 4)
    assert found.least == 2 * 3 * 8
    # The two chunks in the middle have both of their ends cut out at once, for either neighbour.
    assert found.sent == (1 + 2 * 2 + 2 * 2 + 1) * 8


def test_asymmetric_halos_of_uneven_chunks():
    chunks = ((12, 7, 11), (13, 9))
    found = traffic_of(asymmetric, {"A": zeros(30, 22, chunks=chunks), "out": zeros(30, 22, chunks=chunks)})
    points = [(i, j) for i in range(2, 29) for j in range(19)]
    assert found.least == halo(points, lambda i, j: [(i - 2, j), (i + 1, j + 3)], chunks, chunks)
    assert found.sent >= found.least > 0


def test_strided_halos():
    read, written = ((24, 20, 16),), ((12, 10, 8),)
    found = traffic_of(strided, {"A": zeros(60, chunks=read), "out": zeros(30, chunks=written)})
    assert found.least == halo([(i,) for i in range(26)], lambda i: [(2 * i,), (2 * i + 6,)], read, written) == 48
    # Boxes have what lies between the elements that are read, and the last chunk's own is cut out beside its border.
    assert found.sent == (5 + 5 + 13) * 8


def test_triangular_halos():
    chunks = ((4, 4, 3), (4, 4, 3))
    found = traffic_of(triangular, {"A": zeros(11, 11, chunks=chunks), "out": zeros(11, 11, chunks=chunks)})
    points = [(i, j) for i in range(11) for j in range(i + 1)]
    assert found.least == halo(points, lambda i, j: [(i, j), (j, i)], chunks, chunks)
    assert found.sent >= found.least > 0


@pytest.mark.parametrize(("steps", "exchanges"), [(1, 4), (2, 2)])
def test_halos_of_composed_steps(steps, exchanges):
    found = traffic_of(smoothed, {"steps": 4, "A": zeros(40, chunks=10), "B": zeros(40, chunks=10)}, steps)
    assert found.shards == 4 * exchanges * (2 if steps == 1 else 1)
    # With every exchange each of three borders is crossed both ways, by as many elements as there are steps.
    assert found.least == exchanges * 3 * 2 * steps * 8


def test_partial_sums_come_together_once():
    found = traffic_of(added, {"A": zeros(20, 6, chunks=(5, 6)), "total": zeros(6, chunks=6)})
    assert found.least == 3 * 6 * 8
    assert found.sent >= found.least


def test_what_nobody_needs_from_elsewhere_is_not_sent():
    found = traffic_of(symmetric, {"A": zeros(40, chunks=40), "out": zeros(40, chunks=40)})
    assert (found.workers, found.sent, found.least) == (1, 0, 0)


def test_large_boxes_are_not_sent_with_small_ones():
    """Of the last chunk the shard there needs nearly all, and its neighbour some elements."""
    found = traffic_of(strided, {"A": zeros(400_000, chunks=200_000), "out": zeros(200_000, chunks=100_000)})
    assert found.least == 3 * 8
    assert found.sent == 5 * 8
