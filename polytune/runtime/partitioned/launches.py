"""A part of a region on a device: the macros of a configuration, the compiled kernel, and its launch."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polytune.errors import LaunchError
from polytune.records import dataclass
from polytune.runtime.devices.backends import PRELUDES
from polytune.runtime.devices.device import Device, DeviceBuffer, LoadedKernel
from polytune.runtime.partitioned.description import DeviceCode

__all__ = [
    "KernelShape",
    "LoadedKernels",
    "arguments_of",
    "grid_of",
    "shape_of",
    "shared_memory_of",
    "source_of",
    "text_of",
]

UNROLL = '_Pragma("unroll 4")'


@dataclass(frozen=True)
class KernelShape:
    """The settings that a kernel is compiled with.

    Attributes:
        block: threads of a block along x, y and z.
        points: points of a thread along x, y and z.
        depth: points of a tile along a sequential member.
        shared: whether tiles of what is read are kept in shared memory.
        unroll_tile, unroll_copy: whether the loops over a tile's points, and over what is copied, are unrolled.
    """

    block: tuple[int, int, int]
    points: tuple[int, int, int]
    depth: int
    shared: bool
    unroll_tile: bool
    unroll_copy: bool


def shape_of(code: DeviceCode, configuration: Mapping[str, Any], partition: int) -> KernelShape:
    """The shape that a configuration gives the kernels of one of its partitions.

    Args:
        code: the kernels.
        configuration: a member of the space; what it leaves out has its usual value.
        partition: the number of the partition.
    """

    def choice(name: str, default: Any) -> Any:
        return configuration.get(f"{name}_{partition}", default)

    threads, height = choice("block", 256), choice("height", 8)
    shared = code.shares and bool(choice("shared", True))
    across, along = choice("points_y", 1), choice("points_x", 1)
    return KernelShape(
        (threads, 1, 1) if code.axes == 1 else (threads // height, height, 1),
        (along, 1, 1) if code.axes == 1 else (along, across, 1),
        choice("depth", 16) if code.sequential else 1,
        shared,
        bool(choice("unroll_tile", False)),
        shared and bool(choice("unroll_copy", False)),
    )


def source_of(code: DeviceCode, shape: KernelShape, dialect: str) -> str:
    """The whole text of a kernel in the dialect of a device.

    Args:
        code: the kernel.
        shape: what its macros follow from.
        dialect: the name of the device's language, a key of ``PRELUDES``.
    """
    return f"{PRELUDES[dialect]}\n{text_of(code, shape)}"


def text_of(code: DeviceCode, shape: KernelShape, *, follows: bool = False) -> str:
    """The text of a kernel without what its dialect puts before it.

    Args:
        code: the kernel.
        shape: what its macros say.
        follows: whether another kernel stands before it in one text, whose macros have to go.
    """
    macros: dict[str, int | str] = {f"BLOCK_{axis}": extent for axis, extent in zip("XYZ", shape.block, strict=True)}
    macros |= {f"POINTS_{axis}": count for axis, count in zip("XYZ", shape.points, strict=True)}
    macros |= {"DEPTH": shape.depth, "SHARED": int(shape.shared)}
    macros |= {
        "UNROLLED_TILE": UNROLL if shape.unroll_tile else "",
        "UNROLLED_COPY": UNROLL if shape.unroll_copy else "",
    }
    lines = [f"#undef {name}" for name in macros] if follows else []
    return "\n".join([*lines, *(f"#define {name} {value}" for name, value in macros.items()), code.text])


def shared_memory_of(code: DeviceCode, shape: KernelShape) -> int:
    """The bytes of shared memory that a block of a kernel needs, before anything is compiled."""
    if not shape.shared:
        return 0
    x, y, z = (threads * points for threads, points in zip(shape.block, shape.points, strict=True))
    text = code.shared_memory.format(x=x, y=y, z=z, depth=shape.depth)
    return int(eval(text, {"__builtins__": {}, "min": min, "max": max}))


def grid_of(
    code: DeviceCode, shape: KernelShape, ranges: Sequence[tuple[int, int]], device: Device
) -> tuple[int, int, int]:
    """Return how many blocks along x, y and z cover the ranges of a kernel's members.

    Args:
        code: the kernel.
        shape: how many threads and points blocks have.
        ranges: of the members of the kernel, (start, stop) each, the sequential ones first.
        device: where it is to run.

    Raises:
        LaunchError: more than the device takes.
    """
    mapped = list(reversed(ranges[code.sequential :]))
    blocks = [
        max(0, -(-(stop - start) // (threads * points)))
        for (start, stop), threads, points in zip(mapped, shape.block, shape.points, strict=False)
    ]
    grid = (*blocks, *[1] * (3 - len(blocks)))
    for axis, count, most in zip("xyz", grid, device.limits.grid_shape, strict=True):
        if count > most:
            raise LaunchError(f"{device.identity}: {count} blocks along {axis}, where {most} is the most")
    return grid[0], grid[1], grid[2]


class LoadedKernels:
    """The kernels compiled so far in this process, and their launches."""

    def __init__(self, contract: bool):
        """
        Args:
            contract: whether a multiplication and an addition may become one operation.
        """
        self._contract = contract
        self._kernels: dict[tuple[str, str, KernelShape], LoadedKernel] = {}
        self._lock = threading.Lock()

    def kernel(self, device: Device, code: DeviceCode, shape: KernelShape) -> LoadedKernel:
        """A kernel for a device, compiled when it is first wanted.

        Args:
            device: where it is to run.
            code: the kernel.
            shape: what it is compiled with.

        Raises:
            DeviceCompilationError: it cannot be compiled.
            LaunchError: it needs more than the device has.
        """
        with self._lock:
            key = (device.identity, code.name, shape)
            found = self._kernels.get(key)
            if found is None:
                found = device.compile(source_of(code, shape, device.dialect), code.name, contract=self._contract)
                _check_limits(found, shape, device)
                self._kernels[key] = found
            return found


def _check_limits(kernel: LoadedKernel, shape: KernelShape, device: Device) -> None:
    limits = device.limits
    threads = shape.block[0] * shape.block[1] * shape.block[2]
    most = min(limits.threads_per_block, kernel.threads_limit or limits.threads_per_block)
    if threads > most:
        raise LaunchError(f"{device.identity}: a block of {threads} threads, where this kernel may have {most}")
    for axis, extent, greatest in zip("xyz", shape.block, limits.block_shape, strict=True):
        if extent > greatest:
            raise LaunchError(f"{device.identity}: {extent} threads along {axis}, where {greatest} is the most")
    if kernel.shared_memory is not None and kernel.shared_memory > limits.shared_memory:
        raise LaunchError(
            f"{device.identity}: {kernel.shared_memory} bytes of shared memory, where a block has "
            f"{limits.shared_memory}"
        )
    if kernel.registers is not None and 0 < limits.registers_per_block < kernel.registers * threads:
        raise LaunchError(
            f"{device.identity}: {kernel.registers} registers for each of {threads} threads, where a block has "
            f"{limits.registers_per_block}"
        )


def arguments_of(
    code: DeviceCode,
    buffers: Mapping[str, DeviceBuffer],
    shapes: Mapping[str, tuple[int, ...]],
    scalars: Mapping[str, Any],
    integers: Sequence[int],
    ranges: Sequence[tuple[int, int]],
    origins: Mapping[str, tuple[int, ...]] | None = None,
) -> list[DeviceBuffer | np.generic]:
    """Return what a kernel is launched with, in order.

    Args:
        code: the kernel.
        buffers: the memory of its arrays and private arrays.
        shapes: the shapes of all arrays.
        scalars: the scalar arguments.
        integers: parameters, and loops around the region.
        ranges: the limits of its members.
        origins: per array that is a part of another one, the subscripts of its first element.
    """
    found: list[DeviceBuffer | np.generic] = [buffers[name] for name in (*code.arrays, *code.private)]
    found += [np.int64(shapes[name][axis]) for name, axis in code.extents]
    found += [np.int64(origins[name][axis] if origins else 0) for name, axis in code.origins]
    found += [np.dtype(dtype).type(scalars[name]) for name, dtype in code.scalars]
    found += [np.int64(value) for value in integers]
    found += [np.int64(limit) for pair in ranges for limit in pair]
    return found
