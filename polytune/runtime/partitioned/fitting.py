"""The shapes of kernels that fit into a device, as far as its limits say so before anything is compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from polytune.runtime.devices.device import DeviceLimits
from polytune.runtime.partitioned.choices import BLOCK, DEPTH, HEIGHT, POINTS_X, POINTS_Y
from polytune.runtime.partitioned.description import DeviceCode
from polytune.tuner import Constraint

__all__ = ["constraints_of", "first_shape"]

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
