"""Shards on the processes of a cluster, on arrays on disk, and below xarray."""

import dask
import dask.array
import numpy as np
import pytest

from polytune.errors import PolytuneError
from polytune.shards.code import Quoted, ShardCode, run_shard
from tests.shards.kernels import diffused, diffusion


@pytest.fixture
def problem():
    return diffusion((60, 50), 6)


@pytest.mark.slow
def test_processes_of_a_cluster(problem):
    distributed = pytest.importorskip("distributed")
    A, B, expected = problem
    options = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": ":0", "processes": True}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        given = (dask.array.from_array(A, chunks=((20, 3, 37), 25)), dask.array.from_array(B, chunks=(30, 20)))
        with dask.config.set({"polytune.steps-per-exchange": 2}):
            computed = dask.compute(*diffused(6, *given))
    assert all(np.array_equal(here, there) for here, there in zip(computed, expected, strict=True))


def test_arrays_on_disk(problem, tmp_path):
    zarr = pytest.importorskip("zarr")
    A, B, expected = problem
    for name, value in (("A", A), ("B", B)):
        zarr.save(str(tmp_path / name), value)
    given = [dask.array.from_zarr(str(tmp_path / name)).rechunk((20, 17)) for name in ("A", "B")]
    with dask.config.set(scheduler="synchronous"):
        diffused(6, *given)[0].to_zarr(str(tmp_path / "after"))
    assert np.array_equal(zarr.load(str(tmp_path / "after")), expected[0])


def test_xarray_applies_kernels(problem):
    xarray = pytest.importorskip("xarray")
    A, B, expected = problem
    values = [
        xarray.DataArray(dask.array.from_array(value, chunks=(20, 17)), dims=("y", "x"), coords={"y": np.arange(60)})
        for value in (A, B)
    ]
    after, _ = xarray.apply_ufunc(lambda a, b: diffused(6, a, b), *values, dask="allowed", output_core_dims=[[], []])
    assert isinstance(after.data, dask.array.Array)
    assert np.array_equal(after.compute(scheduler="synchronous").values, expected[0])
    assert list(after.y.values) == list(range(60))


def test_workers_with_other_versions_say_so():
    code = ShardCode("VERSION = 0", ("99.0", "3.99"))
    with pytest.raises(PolytuneError, match=r"polytune 99\.0, Python 3\.99; install the same versions"):
        run_shard(code, Quoted(()), (), {}, Quoted(()), Quoted(()), "")
