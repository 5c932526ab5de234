"""Limits, transfers and launches, measured for real on a device that anybody has."""

import numpy as np
import pytest

from benchmarks.gpu.configurations import PPCG_DEFAULT, on_device, paper_versions, promising, split_between
from benchmarks.gpu.limits import measure_limits
from benchmarks.gpu.problems import BOUND_BY_MEMORY, problems, timed_kernels
from benchmarks.gpu.resident import ResidentKernel
from benchmarks.gpu.transfers import check_transfers
from polybench.datasets import Dataset
from polybench.registry import benchmark
from polytune.runtime.partitioned.boxes import whole


@pytest.fixture
def gemm(opencl, monkeypatch):
    """The generated gemm at MINI, with its arguments, for that device."""
    monkeypatch.setenv("POLYTUNE_DEVICES", opencl.identity)
    chosen = benchmark("gemm")
    initial = chosen.initialise(**chosen.sizes(Dataset.MINI))
    return type(chosen.kernel)(chosen.kernel.__wrapped__).generated(*initial), initial


def test_limits_are_measured(opencl):
    limits = measure_limits(opencl, copied=1 << 16, rounds=4)
    assert limits.copy > 0
    assert set(limits.flops) == {"float32", "float64"}
    assert all(rate > 0 for rate in limits.flops.values())


def test_transfers_are_found_exact(opencl):
    found = check_transfers(opencl, 23, 31)
    assert {name for name, entry in found.items() if entry["exact"]} == set(found)
    assert found["whole"]["bytes"] == 8 * 23 * 31
    assert found["every third column"]["bytes"] == 8 * 23 * 11


def test_transfers_of_more_than_the_box_are_found_out(opencl, monkeypatch):
    upload = opencl.upload

    def careless(stream, buffer, host, box):
        upload(stream, buffer, host, whole(host.shape))

    monkeypatch.setattr(opencl, "upload", careless)
    found = check_transfers(opencl, 23, 31)
    assert {name for name, entry in found.items() if entry["exact"]} == {"whole"}


def test_launches_are_timed_on_arrays_that_stay(opencl, gemm):
    generated, initial = gemm
    with ResidentKernel(generated, initial, opencl) as kernel:
        # Both regions read and write C, and the second one reads A and B.
        assert kernel.touched == 8 * (4 * 20 * 25 + 20 * 30 + 30 * 25)
        assert kernel.seconds(on_device(generated, opencl, **PPCG_DEFAULT)) > 0
    assert np.array_equal(initial[2], benchmark("gemm").initialise(**benchmark("gemm").sizes(Dataset.MINI))[2])


def test_configurations_are_members_of_the_space(opencl, gemm):
    generated, _ = gemm
    versions = paper_versions(generated, opencl)
    # 8 numbers of threads, 6 heights, 3 uses of shared memory, 2 of unrolling
    assert (
        len(
            {(v["block_0"], v["height_0"], v["shared_0"], v.get("unroll_copy_0"), v["unroll_tile_0"]) for v in versions}
        )
        == 8 * 6 * 3 * 2
    )
    assert {(v["points_x_0"], v["points_y_0"], v["depth_0"]) for v in versions} >= {(8, 8, 64), (1, 1, 4)}
    for configuration in (*versions, *promising(generated, opencl, thorough=True)):
        generated.space.validate(configuration)
    half = split_between(generated, versions[-1], 0.5)
    generated.space.validate(half)
    assert (half["platform_0"], half["platform_1"], half["ratio_0"]) == (opencl.identity, "cpu", 0.5)
    assert half["block_0"] == versions[-1]["block_0"]


def test_problems_begin_with_gemm_and_what_memory_bounds():
    kernels = timed_kernels()
    assert kernels[0] == "gemm"
    assert set(kernels[1:5]) == set(BOUND_BY_MEMORY)
    labels = [problem.label for problem in problems(kernels, Dataset.LARGE, 1 << 30)]
    assert labels[:4] == ["gemm float64", "gemm float32", "atax of 11584 x 11584", "atax"]
    assert len(problems(["atax", "syrk"], Dataset.MINI, 0)) == 2
