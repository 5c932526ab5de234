"""Choice of the configurations of a kernel that are run."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.gpu.phases import Deadline
from polytune.errors import DeviceError, SpaceError
from polytune.runtime.devices.device import Device, LoadedKernel
from polytune.runtime.machine import machine
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.partitioned.launches import shape_of, source_of
from polytune.runtime.partitioned.space import VERSION
from polytune.tuner import Configuration

PPCG_DEFAULT = {"block": 32, "height": 1, "shared": False, "unroll_tile": False, "points_x": 1, "points_y": 1}
"""The version that PPCG makes when it is told nothing, in the paper's terms T = 32, S = U_T = U_S = false, B = 1."""


def has_device_version(generated: GeneratedKernel) -> bool:
    """Return whether a kernel can run on the devices that are in use."""
    return VERSION in generated.space["version"].values  # type: ignore[union-attr]


def on_device(generated: GeneratedKernel, device: Device, **choices: int | bool) -> Configuration:
    """The configuration that runs a whole kernel on a device, with some choices; those that it does not have are left
    out."""
    names = {parameter.name for parameter in generated.space.parameters}
    known = {f"{name}_0": value for name, value in choices.items() if f"{name}_0" in names}
    if known.get("shared_0") is False:
        known.pop("unroll_copy_0", None)
    return generated.space.configuration(version=VERSION, split=0, platform_0=device.identity, **known)


def split_between(generated: GeneratedKernel, tuned: Configuration, ratio: float) -> Configuration:
    """The configuration that gives the beginning of the leading member to the device, in the shape of a configuration
    that runs all of it there, and the rest to the processor."""
    values = {name: value for name, value in tuned.items() if name != "split"}
    return generated.space.configuration(**values, split=1, ratio_0=ratio, platform_1="cpu")


def random_configurations(generated: GeneratedKernel, seed: int) -> Iterator[Configuration]:
    """Configurations with a device in them, splits and ratios among them, without end."""
    rng = np.random.default_rng(seed)
    while True:
        configuration = generated.space.sample(rng)
        if configuration["version"] == VERSION:
            yield configuration


def paper_versions(generated: GeneratedKernel, device: Device) -> list[Configuration]:
    """Every version of the paper's table 1, T, S, U_T, U_S and B; points of a thread and depths, which the table does
    not have, take turns, those left out with which a version would not fit into the device."""
    blocks, heights = range(32, 257, 32), (1, 2, 4, 8, 16, 32)
    memory = ((False, False), (True, False), (True, True))
    others = list(itertools.product((1, 2, 4, 8), (1, 2, 4, 8), (4, 8, 16, 32, 64)))
    found: dict[Configuration, None] = {}
    for turn, (block, height, (shared, unroll_copy), unroll_tile) in enumerate(
        itertools.product(blocks, heights, memory, (False, True))
    ):
        version = {
            "block": block,
            "height": height,
            "shared": shared,
            "unroll_copy": unroll_copy,
            "unroll_tile": unroll_tile,
        }
        for across, along, depth in (others[(turn + later) % len(others)] for later in range(len(others))):
            shape = {**version, "points_x": across, "points_y": along, "depth": depth}
            with contextlib.suppress(SpaceError):
                found[on_device(generated, device, **shape)] = None
                break
    return list(found)


def promising(generated: GeneratedKernel, device: Device, *, thorough: bool) -> list[Configuration]:
    """The configurations that may be fast: full blocks, several points of a thread, shared memory with and without.

    Args:
        generated: the kernel.
        device: where.
        thorough: for a kernel that computes much for each element; else the few that matter to one bound by memory.
    """
    points = [(1, 1), (2, 4), (4, 4)] + ([(2, 2), (4, 8), (8, 8)] if thorough else [(2, 1)])
    choices: dict[str, Sequence[Any]] = {
        "block": (128, 256),
        "height": (4, 8, 16) if thorough else (1, 8),
        "points": points,
        "shared": (True,) if thorough else (False, True),
        "depth": (8, 16, 32) if thorough else (16,),
        "unroll_tile": (False, True),
    }
    found: dict[Configuration, None] = {}
    for values in itertools.product(*choices.values()):
        chosen = dict(zip(choices, values, strict=True))
        across, along = chosen.pop("points")
        with contextlib.suppress(SpaceError):  # it does not fit into the device
            found[on_device(generated, device, points_x=across, points_y=along, **chosen)] = None
    return list(found)


def compile_ahead(
    generated: GeneratedKernel, device: Device, configurations: Sequence[Configuration], deadline: Deadline
) -> int:
    """Compile configurations side by side, into the disk cache; how many succeeded in time, in part at least.

    One that cannot be compiled says so when it is run.  OpenCL's compilers are the drivers' own and keep nothing.
    """
    if device.dialect != "cuda":
        return 0

    def attempt(configuration: Configuration) -> list[LoadedKernel]:
        found: list[LoadedKernel] = []
        if deadline.is_over:
            return found
        for part in generated.module.PARTITIONED.parts:
            code = part.device
            if code is not None:
                source = source_of(code, shape_of(code, configuration, 0), device.dialect)
                try:
                    found.append(device.compile(source, code.name, contract=not generated.module.STRICT))
                except DeviceError:
                    break
        return found

    with ThreadPoolExecutor(machine().cores) as pool:
        # CUDA unloads a kernel only in the thread that opened the device: this one.
        kernels = list(pool.map(attempt, configurations))
    return sum(map(bool, kernels))
