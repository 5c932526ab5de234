"""Small kernels, and how to run one once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polytune.runtime.devices.backends import PRELUDES
from polytune.runtime.devices.device import Device

ADD = """
PT_KERNEL(8, 1, 1) add(i64 n, f64 number, PT_GLOBAL const f64 *PT_RESTRICT from, PT_GLOBAL f64 *PT_RESTRICT to)
{
    const i64 i = (i64)PT_BLOCK_X * 8 + PT_THREAD_X;
    if (i < n) to[i] = from[i] + number;
}
"""


def compiled(device: Device, text: str, name: str, *, contract: bool = False):
    """A kernel of a text without prelude."""
    return device.compile(PRELUDES[device.dialect] + text, name, contract=contract)


def whole(array: np.ndarray):
    """The box of all elements."""
    return tuple((0, extent, 1) for extent in array.shape)


def run(device: Device, kernel, grid, block, arguments: Sequence[np.ndarray | np.generic]) -> None:
    """Run a kernel on arrays of the host, all of which are uploaded before and downloaded after it."""
    stream = device.stream()
    given, buffers = [], []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            buffer = device.allocate(argument.nbytes)
            device.upload(stream, buffer, argument, whole(argument))
            buffers.append((buffer, argument))
            given.append(buffer)
        else:
            given.append(argument)
    device.launch(stream, kernel, grid, block, given)
    for buffer, array in buffers:
        device.download(stream, array, buffer, whole(array))
    stream.synchronize()
    for buffer, _ in buffers:
        buffer.free()
