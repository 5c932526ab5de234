"""What kernels need is read from code that was compiled for a GPU that is not there."""

import numpy as np
import pytest

from benchmarks.occupancy import SHAPES, needs_of, table
from polybench.registry import benchmark
from polytune.errors import DeviceCompilationError
from polytune.runtime.devices import nvrtc


def test_what_does_not_fit_is_said_and_not_compiled():
    shapes = {"wide": {"block": 256, "height": 1, "points_x": 8, "points_y": 8, "depth": 64}}
    found = list(needs_of(benchmark("gemm"), np.dtype(np.float64), shapes))
    (wide,) = [each for each in found if each.shared_memory]
    assert wide.shared_memory == 8 * (8 * 65 + 64 * 2049)
    assert (wide.registers, wide.occupancy) == (None, 0.0)
    assert "does not fit" in list(table(found).columns[-1].cells)


@pytest.fixture(scope="module")
def needs():
    try:
        nvrtc.compiler()
    except DeviceCompilationError as problem:
        pytest.skip(str(problem))
    shapes = {name: SHAPES[name] for name in ("default", "PPCG's default", "4 x 4 points")}
    return list(needs_of(benchmark("gemm"), np.dtype(np.float64), shapes))


def test_both_regions_of_gemm_in_every_shape(needs):
    assert [(entry.region, entry.shape) for entry in needs] == [
        (region, shape) for region in (0, 1) for shape in ("default", "PPCG's default", "4 x 4 points")
    ]
    assert len(needs) == table(needs).row_count


def test_a_block_of_one_warp_leaves_half_of_them_unused(needs):
    """A multiprocessor holds 64 warps and 32 blocks."""
    assert {entry.occupancy for entry in needs if entry.shape == "PPCG's default"} == {0.5}


def test_shared_memory_is_used_where_it_is_asked_for(needs):
    product = {entry.shape: entry for entry in needs if entry.region == 1}
    assert product["PPCG's default"].shared_memory == 0
    assert 0 < product["default"].shared_memory < product["4 x 4 points"].shared_memory
    assert product["default"].registers < product["4 x 4 points"].registers
