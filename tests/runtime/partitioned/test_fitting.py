"""What a device's limits leave of a kernel's space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polytune.errors import SpaceError
from polytune.runtime.devices.device import DeviceLimits
from polytune.runtime.partitioned.description import DeviceCode, Partitioned
from polytune.runtime.partitioned.space import constraints_of, first_shape, on_device, with_devices
from polytune.tuner import HierarchicalTuner, Nominal, Space
from tests.runtime.partitioned.fake_device import LIMITS
from tests.runtime.partitioned.programs import Plane, part_of

FLAT = DeviceCode("flat", "", (), (), (), (), (0,), 0, "")
UPRIGHT = DeviceCode(
    "upright", "", (), (), (), (), (2, 0, 1), 1, "8 * {y} * {depth} + 8 * {depth} * ({x} // 2 * 2 + 1)"
)
STENCIL = DeviceCode("stencil", "", (), (), (), (), (0, 1), 0, "8 * ({y} + 2) * (({x} + 2) // 2 * 2 + 1)")

ROOMY = DeviceLimits(1024, (1024, 1024, 64), 1 << 20, 65536, 1, 32, 1 << 30)


def partitioned(*codes: DeviceCode) -> Partitioned:
    part = part_of(Plane("A", "B"), 0)
    return Partitioned(lambda: iter(()), 0, tuple(replace(part, device=code, splits=1) for code in codes))


def space_of(limits, *codes):
    return with_devices(Space([Nominal("version", ("source",))]), partitioned(*codes), limits)


def bytes_of(configuration):
    """What ``UPRIGHT`` needs, written out."""
    x = configuration["block_0"] // configuration["height_0"] * configuration["points_x_0"]
    y = configuration["height_0"] * configuration["points_y_0"]
    depth = configuration["depth_0"]
    return 8 * y * depth + 8 * depth * (x | 1)


def test_roomy_device_refuses_nothing_but_shared_memory():
    assert constraints_of(0, [FLAT], {"cuda:0": ROOMY}) == []
    (only,) = constraints_of(0, [FLAT, UPRIGHT, UPRIGHT], {"cuda:0": ROOMY})
    assert only.expression == (
        "not shared_0 or 8 * (height_0 * points_y_0) * depth_0 + 8 * depth_0 * "
        "((block_0 // height_0 * points_x_0) // 2 * 2 + 1) <= 1048576"
    )
    assert only.reason == "a block has 1048576 bytes of shared memory on cuda:0"


def test_search_begins_with_shared_memory_only_where_it_is_nearer():
    far = replace(ROOMY, shared_is_near=False)
    assert first_shape(0, [UPRIGHT], {"cuda:0": ROOMY})["shared"]
    assert not first_shape(0, [UPRIGHT], {"opencl:0": far})["shared"]
    assert not first_shape(0, [UPRIGHT], {"cuda:0": ROOMY, "opencl:0": far})["shared"]


def test_no_configuration_of_the_space_needs_more_shared_memory_than_there_is():
    space = on_device(partitioned(UPRIGHT), "cuda:0", replace(ROOMY, shared_memory=16384))
    everything = list(space.enumerate())
    sharing = [configuration for configuration in everything if configuration["shared_0"]]
    assert sharing and max(map(bytes_of, sharing)) <= 16384
    without = [configuration for configuration in everything if not configuration["shared_0"]]
    assert max(map(bytes_of, without)) > 16384
    wider = on_device(partitioned(UPRIGHT), "cuda:0", ROOMY)
    assert len(everything) < space.size() + 1 < wider.size() + 1


def test_largest_kernel_of_a_partition_decides():
    limits = {"cuda:0": replace(ROOMY, shared_memory=8 * 10 * 67)}
    alone = space_of(limits, STENCIL)
    alone.configuration(version="partitioned", split=0, height_0=8, points_x_0=2)
    with pytest.raises(SpaceError, match=r"5360 bytes of shared memory on cuda:0"):
        space_of(limits, STENCIL, UPRIGHT).configuration(
            version="partitioned", split=0, height_0=8, points_x_0=2, shared_0=True
        )


def test_tuner_never_proposes_what_does_not_fit():
    space = space_of({"cuda:0": replace(ROOMY, shared_memory=16384, threads_per_block=128)}, UPRIGHT)
    tuner = HierarchicalTuner(space, rng=np.random.default_rng(0))
    seen = 0
    for _ in range(300):
        configuration = tuner.ask()
        if configuration.get("shared_0"):
            seen += 1
            assert bytes_of(configuration) <= 16384
        assert configuration.get("block_0", 0) <= 128
        tuner.tell(configuration, 1.0 + sum(map(len, map(repr, configuration.values()))) / 100)
    assert seen > 10


@pytest.mark.parametrize(
    ("limits", "codes", "expected"),
    [
        ({}, [FLAT, UPRIGHT], {"block": 256, "height": 8, "shared": True}),
        ({"threads_per_block": 100}, [UPRIGHT], {"block": 96, "height": 8, "shared": True}),
        ({"block_shape": (64, 64, 64)}, [FLAT], {"block": 64, "height": 8, "shared": False}),
        ({"block_shape": (1024, 4, 1)}, [UPRIGHT], {"block": 256, "height": 4, "shared": True}),
        ({"block_shape": (32, 2, 1)}, [UPRIGHT], {"block": 64, "height": 2, "shared": True}),
        ({"shared_memory": 4096}, [UPRIGHT], {"block": 256, "height": 8, "shared": False}),
    ],
)
def test_search_begins_with_what_fits(limits, codes, expected):
    there = {"cuda:0": ROOMY, "cuda:1": replace(ROOMY, **limits)}
    found = first_shape(0, codes, there)
    assert {name: found[name] for name in expected if name != "shared" or any(code.shares for code in codes)} == {
        name: value for name, value in expected.items() if name != "shared" or any(code.shares for code in codes)
    }
    # The space itself checks that its default satisfies all constraints.
    space = space_of(there, *codes)
    for platform in there:
        space.configuration(version="partitioned", split=0, platform_0=platform)


def test_each_device_has_its_own_limits():
    limits = {"cuda:0": ROOMY, "opencl:0": replace(ROOMY, threads_per_block=64), "opencl:1": ROOMY}
    space = space_of(limits, FLAT)
    space.configuration(version="partitioned", split=0, platform_0="cuda:0", block_0=256)
    space.configuration(version="partitioned", split=0, platform_0="opencl:1", block_0=256)
    with pytest.raises(SpaceError, match="a block has at most 64 threads on opencl:0"):
        space.configuration(version="partitioned", split=0, platform_0="opencl:0", block_0=96)


def test_some_region_is_shared_with_a_device():
    space = space_of({"cuda:0": ROOMY}, FLAT, FLAT)
    apart = {"version": "partitioned", "split": 0, "regions": "apart"}
    for regions in (("shared", "cpu"), ("cpu", "own"), ("own", "shared")):
        space.configuration(**apart, region_0=regions[0], region_1=regions[1])
    with pytest.raises(SpaceError, match="some region is shared with a device"):
        space.configuration(**apart, region_0="cpu", region_1="cpu")
    rng = np.random.default_rng(0)
    drawn = [space.sample(rng) for _ in range(200)]
    ways = {(each.get("region_0"), each.get("region_1")) for each in drawn}
    assert ("cpu", "cpu") not in ways and {("shared", "cpu"), ("cpu", "own"), (None, None)} <= ways


def test_hopper_as_it_is_without_asking_for_more_keeps_most_of_the_space():
    space = on_device(partitioned(UPRIGHT), "cuda:0", LIMITS)
    assert 0.5 < space.size() / on_device(partitioned(UPRIGHT), "cuda:0", ROOMY).size() < 1
