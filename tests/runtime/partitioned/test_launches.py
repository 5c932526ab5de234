"""Parts of regions as kernels: shapes, grids, limits, arguments, and how long the platforms work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from polytune.errors import DeviceUnavailableError, LaunchError
from polytune.runtime.devices.device import LoadedKernel
from polytune.runtime.partitioned.clock import DeviceClock, shares_of
from polytune.runtime.partitioned.description import DeviceCode
from polytune.runtime.partitioned.holdings import Holdings
from polytune.runtime.partitioned.launches import (
    LoadedKernels,
    arguments_of,
    grid_of,
    shape_of,
    shared_memory_of,
    source_of,
)
from polytune.runtime.partitioned.pool import pool_of
from polytune.tuner import Configuration
from tests.runtime.partitioned.fake_device import LIMITS, FakeDevice
from tests.runtime.partitioned.programs import Program, Strided, configuration

FLAT = DeviceCode("flat", "text", ("A",), (), (("A", 0),), (("f", "float32"),), (0,), 0, "")
DEEP = DeviceCode("deep", "text", ("A", "B"), ("B",), (("A", 1),), (), (2, 0, 1), 1, "8 * {y} * ({depth} // 2 * 2 + 1)")


def test_block_is_flat_or_has_a_height():
    chosen = {"block_1": 128, "height_1": 4, "points_x_1": 2, "points_y_1": 8, "depth_1": 32, "shared_1": True}
    assert shape_of(FLAT, chosen, 1).block == (128, 1, 1)
    shape = shape_of(DEEP, chosen, 1)
    assert (shape.block, shape.points, shape.depth, shape.shared) == ((32, 4, 1), (2, 8, 1), 32, True)


def test_shared_memory_is_known_by_the_shape():
    chosen = {"block_0": 64, "height_0": 4, "points_y_0": 2, "depth_0": 16}
    assert shared_memory_of(DEEP, shape_of(DEEP, chosen, 0)) == 8 * (4 * 2) * 17
    assert shared_memory_of(DEEP, shape_of(DEEP, {**chosen, "shared_0": False}, 0)) == 0
    assert shared_memory_of(FLAT, shape_of(FLAT, chosen, 0)) == 0


def test_shared_memory_is_only_used_where_there_is_something_to_keep():
    chosen = {"shared_0": True, "unroll_copy_0": True}
    assert (shape_of(FLAT, chosen, 0).shared, shape_of(FLAT, chosen, 0).unroll_copy) == (False, False)
    assert (shape_of(DEEP, chosen, 0).shared, shape_of(DEEP, chosen, 0).unroll_copy) == (True, True)
    assert not shape_of(DEEP, {"shared_0": False, "unroll_copy_0": True}, 0).unroll_copy


@pytest.mark.parametrize(
    ("ranges", "grid"),
    [
        (((0, 7), (0, 64), (0, 64)), (1, 8, 1)),
        (((0, 7), (0, 65), (5, 70)), (2, 9, 1)),
        (((0, 7), (3, 3), (0, 64)), (1, 0, 1)),
        (((0, 7), (5, 3), (0, 1)), (1, 0, 1)),
    ],
)
def test_grid_covers_every_point(ranges, grid):
    shape = shape_of(DEEP, {"block_0": 256, "height_0": 8, "points_x_0": 2}, 0)
    assert grid_of(DEEP, shape, ranges, FakeDevice({})) == grid


def test_grid_larger_than_the_device_takes_is_refused():
    device = FakeDevice({}, limits=replace(LIMITS, grid_shape=(10, 10, 10)))
    with pytest.raises(LaunchError, match="11 blocks along x, where 10 is the most"):
        grid_of(FLAT, shape_of(FLAT, {"block_0": 32}, 0), ((0, 321),), device)


@pytest.mark.parametrize(
    ("limits", "kernel", "message"),
    [
        ({"threads_per_block": 128}, {}, "a block of 256 threads, where this kernel may have 128"),
        ({}, {"threads_limit": 64}, "where this kernel may have 64"),
        ({"block_shape": (64, 1, 1)}, {}, "256 threads along x, where 64"),
        ({"shared_memory": 100}, {"shared_memory": 101}, "101 bytes of shared memory, where a block has 100"),
        ({"registers_per_block": 1000}, {"registers": 4}, "4 registers for each of 256 threads"),
    ],
)
def test_kernel_that_does_not_fit_is_refused(monkeypatch, limits, kernel, message):
    device = FakeDevice({"flat": lambda *_: None}, limits=replace(LIMITS, **limits))
    compiled = replace(LoadedKernel("flat", 1, 0, 0, 1024, None), **kernel)
    monkeypatch.setattr(device, "compile", lambda *_, **__: compiled)
    with pytest.raises(LaunchError, match=f"cuda:0: .*{message}"):
        LoadedKernels(contract=True).kernel(device, FLAT, shape_of(FLAT, {}, 0))


def test_kernel_is_compiled_once_by_many_threads():
    device, cache = FakeDevice({"flat": lambda *_: None}), LoadedKernels(contract=True)
    shape = shape_of(FLAT, {}, 0)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: cache.kernel(device, FLAT, shape), range(16)))
    assert device.operations == ["compile"]
    assert all(kernel is found[0] for kernel in found)
    cache.kernel(device, FLAT, shape_of(FLAT, {"block_0": 64}, 0))
    assert device.operations == ["compile"] * 2


def test_source_says_the_shape():
    text = source_of(DEEP, shape_of(DEEP, {"block_0": 64, "height_0": 2, "unroll_tile_0": True}, 0), "cuda")
    for line in ("#define BLOCK_X 32", "#define BLOCK_Y 2", "#define POINTS_X 1", "#define SHARED 1"):
        assert f"{line}\n" in text
    assert '#define UNROLLED_TILE _Pragma("unroll 4")\n' in text
    assert text.endswith("text")


def test_arguments_have_the_types_that_kernels_declare():
    device = FakeDevice({})
    buffers = {"A": device.allocate(8)}
    found = arguments_of(FLAT, buffers, {"A": (5,)}, {"f": 0.5}, (7,), ((1, 2),))
    assert found[0] is buffers["A"]
    assert [(type(each), each) for each in found[1:]] == [
        (np.int64, 5),
        (np.float32, 0.5),
        (np.int64, 7),
        (np.int64, 1),
        (np.int64, 2),
    ]


def test_plan_is_made_once_and_not_for_a_lost_device():
    program = Program([Strided("A", "B", (0, 1), (0, 1), hull=False)])
    chosen = Configuration(configuration("cuda:0"))
    plan = program.execution.prepare(chosen)
    assert plan.seconds > 0
    assert program.execution.prepare(chosen).kernels is plan.kernels
    assert program.execution.prepare(chosen).seconds == 0
    program.device.lost = True
    with pytest.raises(DeviceUnavailableError, match=r"cuda:0.*stopped answering"):
        program.execution.prepare(chosen)


def test_clock_tells_transfers_from_kernels_and_scales_what_it_leaves_out():
    device = FakeDevice({})
    holdings = Holdings(device, device.stream(), pool_of(device))
    holdings.uploaded, holdings.downloaded = 100, 10
    clock = DeviceClock(holdings)
    for partition in (1, 3) * 60:
        since = clock.stop(partition, clock.start(partition), moved=True)
        clock.stop(partition, since, moved=False)
    cpu, first, second = shares_of({0: 5.0}, {"cuda:0": clock})
    assert (cpu.platform, cpu.partition, cpu.seconds, cpu.kernel_seconds) == ("cpu", 0, 5.0, 5.0)
    assert (first.partition, first.uploaded, first.downloaded) == (1, 100, 10)
    assert (second.partition, second.uploaded, second.downloaded) == (3, 0, 0)
    # Every span is one tick of a millisecond.
    assert first.seconds + second.seconds == pytest.approx(0.240, rel=0.05)
    assert first.kernel_seconds == pytest.approx(first.seconds / 2)
    assert device.operations.count("record") < 100
