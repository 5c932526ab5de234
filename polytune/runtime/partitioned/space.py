"""The choices that devices add to a kernel's space: table 1 of Pfaffe, Grosser and Tillmann (ICS 2019), and coarsening.

=====================  ======  ========================================================================================
``split``              d       how many coincident members are split: 2^d partitions
``ratio_<d>``          R_d     where member d is split, from its beginning
``platform_<i>``       P_i     where partition i runs: ``cpu`` or the identity of a device
``threads_<i>``        T_cpu   threads on the processor
``block_<i>``          T_gpu   threads of a block, a multiple of 32
``height_<i>``         B       of these, along y
``shared_<i>``         S       whether tiles of what is read are kept in shared memory
``unroll_tile_<i>``    U_T     whether the loops over a tile's points are unrolled
``unroll_copy_<i>``    U_S     whether the loops that fill shared memory are unrolled
``points_x_<i>``               points of a thread along x, and ``points_y_<i>`` along y
``depth_<i>``                  points of a tile along a sequential member
``regions``                    whether several regions are divided ``alike``, or each in its way, ``apart``; and then
``region_<k>``                 whether region k is ``shared`` as the others, at ratios and threads of its ``own``, or
                               all of it the processor's (``cpu``)
``ratio_<d>_<k>``              where member d of region k is split, if that is its own
``threads_<i>_<k>``            threads of partition i on the processor in region k, if that is its own
=====================  ======  ========================================================================================

What does not fit into a device, as far as its limits of threads and of shared memory say so before anything is
compiled, is not part of the space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from polytune.runtime.devices.device import DeviceLimits
from polytune.runtime.partitioned.choices import BLOCK, CHOICES, DEPTH, HEIGHT, POINTS_X, POINTS_Y, traits_of
from polytune.runtime.partitioned.description import DeviceCode, Partitioned
from polytune.runtime.partitioned.pieces import ALIKE, APART, CPU, OWN, SHARED
from polytune.runtime.teams.threads import current_threads
from polytune.tuner import Constraint, Integer, Is, Nominal, Ordinal, Ratio, Space

__all__ = ["VERSION", "constraints_of", "first_shape", "on_device", "with_devices"]

VERSION = "partitioned"
"""The version that is shared among platforms."""


def with_devices(space: Space, partitioned: Partitioned, limits: Mapping[str, DeviceLimits]) -> Space:
    """A kernel's space with the version that is shared among the processor and devices.

    Args:
        space: every choice that there is without devices.
        partitioned: the version.
        limits: what the devices can hold, by their identities.
    """
    platforms = tuple(limits)
    codes = partitioned.codes
    parameters: list[Nominal | Ordinal | Integer | Ratio] = []
    tiles = max(part.tiles for part in partitioned.parts)
    for parameter in space.parameters:
        if isinstance(parameter, Nominal) and parameter.name == "version":
            parameter = replace(parameter, values=(*parameter.values, VERSION))
        elif isinstance(parameter, Integer) and parameter.name in {f"tile_{number}" for number in range(tiles)}:
            condition = Is("version", VERSION)
            parameter = replace(parameter, when=None if parameter.when is None else parameter.when | condition)
        parameters.append(parameter)
    chosen = Is("version", VERSION)
    splits = partitioned.splits
    parameters.append(Nominal("split", tuple(range(splits + 1)), when=chosen))
    for member in range(splits):
        deep_enough = Is("split", *range(member + 1, splits + 1))
        parameters.append(Ratio(f"ratio_{member}", 0.0, 1.0, when=deep_enough))
    partitions, cores = 2**splits, current_threads()
    if partitioned.regions:
        parameters.append(Nominal("regions", (ALIKE, APART), when=chosen))
    for number in range(partitions):
        exists = Is("split", *(split for split in range(splits + 1) if 2**split > number))
        first = platforms[0] if number == 0 else CPU
        parameters.append(Nominal(f"platform_{number}", (CPU, *platforms), default=first, when=exists))
        parameters.append(Integer(f"threads_{number}", 1, cores, default=cores, when=Is(f"platform_{number}", CPU)))
        parameters += _partition(number, partitioned, limits)
    for region in partitioned.regions:
        parameters += _region(region, splits, cores)
    fitting = [constraint for number in range(partitions) for constraint in constraints_of(number, codes, limits)]
    uses = _uses_a_device(partitions, partitioned.regions)
    return Space(parameters, (*space.constraints, *uses, *fitting))


def _region(number: int, splits: int, cores: int) -> list[Nominal | Ordinal | Integer | Ratio]:
    """The parameters of a region that is not divided as the others are.

    Args:
        number: the region's.
        splits: how many members may be split.
        cores: how many threads there may be.
    """
    is_own = Is(f"region_{number}", OWN)
    found: list[Nominal | Ordinal | Integer | Ratio] = [
        Nominal(f"region_{number}", (SHARED, OWN, CPU), when=Is("regions", APART))
    ]
    for member in range(splits):
        deep_enough = Is("split", *range(member + 1, splits + 1))
        found.append(Ratio(f"ratio_{member}_{number}", 0.0, 1.0, when=is_own & deep_enough))
    for partition in range(2**splits):
        there = is_own & Is(f"platform_{partition}", CPU)
        found.append(Integer(f"threads_{partition}_{number}", 1, cores, default=cores, when=there))
    return found


def on_device(partitioned: Partitioned, platform: str, limits: DeviceLimits) -> Space:
    """The space of a kernel whose arrays are at home on a device: everything runs there that can.

    Args:
        partitioned: the version.
        platform: the identity of the device.
        limits: what it can hold.
    """
    only = {platform: limits}
    return Space(
        [
            Nominal("version", (VERSION,)),
            Nominal("split", (0,)),
            Nominal("platform_0", (platform,)),
            *_partition(0, partitioned, only),
        ],
        constraints_of(0, partitioned.codes, only),
    )


def _partition(
    number: int, partitioned: Partitioned, limits: Mapping[str, DeviceLimits]
) -> list[Nominal | Ordinal | Integer | Ratio]:
    """The parameters of one partition, there where it runs on a device."""
    codes = partitioned.codes
    first = first_shape(number, codes, limits)
    there = Is(f"platform_{number}", *limits)
    traits = traits_of(
        tiled=any(code.axes > 1 for code in codes),
        shares=any(code.shares for code in codes),
        sequential=any(code.sequential for code in codes),
    )
    return [
        choice.parameter(
            number,
            first.get(choice.name, choice.default),
            there if choice.within is None else Is(f"{choice.within}_{number}", True),
        )
        for choice in CHOICES
        if choice.exists(traits)
    ]


def _uses_a_device(partitions: int, regions: Sequence[int]) -> list[Constraint]:
    """Require that not every partition, and not every region, is the processor's: that is what the other versions are
    for.

    Args:
        partitions: how many there may be.
        regions: the numbers of the regions that may each be divided in its way.
    """
    found, number = [], 1
    while number <= partitions:
        names = [f"platform_{index}" for index in range(number)]
        others = "" if number == partitions else f"split != {number.bit_length() - 1} or "
        everywhere = " and ".join(f"{name} == '{CPU}'" for name in names)
        found.append(Constraint(f"{others}not ({everywhere})", "some partition runs on a device"))
        number *= 2
    if regions:
        everywhere = " and ".join(f"region_{region} == '{CPU}'" for region in regions)
        found.append(Constraint(f"not ({everywhere})", "some region is shared with a device"))
    return found


_FIRST = {choice.name: choice.default for choice in (POINTS_X, POINTS_Y, DEPTH)}
_FIRST_HEIGHTS = tuple(height for height in reversed(HEIGHT.values) if height <= HEIGHT.default)


def constraints_of(number: int, codes: Sequence[DeviceCode], limits: Mapping[str, DeviceLimits]) -> list[Constraint]:
    """Return what the parameters of a partition must satisfy for the kernels of all regions to fit where it runs.

    How many registers a kernel needs is not known before it is compiled.

    Args:
        number: the partition's.
        codes: the kernels.
        limits: of the devices, by identity.
    """
    alike: dict[tuple[Any, ...], list[str]] = {}
    for identity, device in limits.items():
        alike.setdefault((device.threads_per_block, device.block_shape, device.shared_memory), []).append(identity)
    found = []
    for (threads, shape, shared_memory), identities in alike.items():
        elsewhere = f"platform_{number} not in {tuple(identities)!r} or " if len(alike) > 1 else ""
        there = " and ".join(identities)
        found += [
            Constraint(f"{elsewhere}{condition}", f"{reason} on {there}")
            for condition, reason in _conditions(number, codes, threads, shape, shared_memory)
        ]
    return found


def _conditions(
    number: int, codes: Sequence[DeviceCode], threads: int, shape: tuple[int, int, int], shared_memory: int
) -> Iterator[tuple[str, str]]:
    """Conditions on the parameters that not all values satisfy, with reasons."""
    block, height, most = f"block_{number}", f"height_{number}", max(BLOCK.values)
    if threads < most:
        yield f"{block} <= {threads}", f"a block has at most {threads} threads"
    if shape[0] < most:
        reason = f"a block has at most {shape[0]} threads along x"
        if any(code.axes == 1 for code in codes):
            yield f"{block} <= {shape[0]}", reason
        if any(code.axes > 1 for code in codes):
            yield f"{block} // {height} <= {shape[0]}", reason
    if shape[1] < max(HEIGHT.values) and any(code.axes > 1 for code in codes):
        yield f"{height} <= {shape[1]}", f"a block has at most {shape[1]} threads along y"
    sizes = list(dict.fromkeys(_shared_memory(number, code) for code in codes if code.shares))
    if sizes:
        size = sizes[0] if len(sizes) == 1 else f"max({', '.join(sizes)})"
        yield (
            f"not shared_{number} or {size} <= {shared_memory}",
            f"a block has {shared_memory} bytes of shared memory",
        )


def _shared_memory(number: int, code: DeviceCode) -> str:
    """The bytes that a kernel needs, in terms of a partition's parameters; see ``launches.shape_of``."""
    block, height = f"block_{number}", f"height_{number}"
    across, along = f"points_x_{number}", f"points_y_{number}"
    return code.shared_memory.format(
        x=f"({block} * {across})" if code.axes == 1 else f"({block} // {height} * {across})",
        y=f"({height} * {along})",
        z=1,
        depth=f"depth_{number}",
    )


def first_shape(number: int, codes: Sequence[DeviceCode], limits: Mapping[str, DeviceLimits]) -> dict[str, Any]:
    """The values that the search begins with, which fit into every device: a block of as many threads as can be, and
    shared memory where it is large enough, and where copying to it brings anything nearer.

    Every device takes blocks of 32 threads along x.

    Args:
        number: the partition's.
        codes: the kernels.
        limits: of the devices, by identity.

    Returns:
        Values of ``block``, ``height`` and ``shared``.
    """
    constraints = constraints_of(number, codes, limits)

    def fits(block: int, height: int, shared: bool) -> bool:
        values = {**_FIRST, "block": block, "height": height, "shared": shared}
        named = {f"{name}_{number}": value for name, value in values.items()}
        return all(
            constraint.holds({**named, f"platform_{number}": identity})
            for constraint in constraints
            for identity in limits
        )

    block, height = next(
        (block, height)
        for block, height in product(reversed(BLOCK.values), _FIRST_HEIGHTS)
        if fits(block, height, shared=False)
    )
    near = all(device.shared_is_near for device in limits.values())
    return {"block": block, "height": height, "shared": near and fits(block, height, shared=True)}
