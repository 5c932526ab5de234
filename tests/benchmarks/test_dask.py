"""What is compared computes the same."""

import dask
import dask.array
import numpy as np
import pytest

from benchmarks.dask import heat, iterated, on_disk
from benchmarks.dask_overlap import overlapped


@pytest.fixture(autouse=True)
def synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("depth", [1, 4])
def test_heat_is_the_same_by_overlap(depth):
    A = np.random.default_rng(0).random((40, 30))
    expected = A.copy()
    heat.__wrapped__(2, expected, A.copy())
    chunks = dask.array.from_array(A, chunks=(15, 10))
    assert np.allclose(overlapped(chunks, 4, depth).compute(), expected, rtol=1e-13)
    assert np.allclose(heat(2, chunks, chunks)[0].compute(), expected, rtol=1e-13)


def test_heat_on_disk_is_checked(tmp_path):
    pytest.importorskip("zarr")
    assert on_disk(150, 50, 1, tmp_path) > 0


def test_the_work_of_a_shard_is_as_long_as_it_is_told_to_be():
    x = np.random.default_rng(0).random(20)
    expected = np.empty_like(x)
    iterated.__wrapped__(3, x, expected)
    chunks = dask.array.from_array(x, chunks=5)
    assert np.allclose(iterated(3, chunks, chunks).compute(), expected)
