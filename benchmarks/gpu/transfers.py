"""Transfers between host and device: are they exact, and how fast?"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from polytune.runtime.devices.device import Box, Device, Stream
from polytune.runtime.partitioned.boxes import whole

POISON = -1.0
"""The value of elements that nothing may write."""


def transfer_shapes(rows: int, columns: int) -> dict[str, tuple[np.ndarray, Box]]:
    """Arrays of a kind each, with a box: whole, rows, columns, a block, every third element, padded, transposed and
    reversed arrays."""
    dense = np.arange(float(rows * columns)).reshape(rows, columns)
    padded = np.zeros((rows, columns + 7))[:, :columns]
    padded[:] = dense
    middle = ((rows // 4, rows // 2, 1), (columns // 4, columns // 2, 1))
    every = (0, rows, 1), (0, columns, 1)
    return {
        "whole": (dense, every),
        "rows": (dense, ((rows // 4, rows // 2, 1), every[1])),
        "columns": (dense, (every[0], middle[1])),
        "block": (dense, middle),
        "every third column": (dense, (every[0], (0, columns, 3))),
        "padded rows": (padded, middle),
        "transposed": (dense.T.copy().T, middle),
        "reversed": (dense[::-1, ::-1], middle),
    }


def check_transfers(device: Device, rows: int, columns: int) -> dict[str, dict[str, Any]]:
    """Upload a box of every kind of array and download it into poisoned memory: exactly the box must arrive.

    Raises:
        DeviceError: the device failed.
    """
    stream = device.stream()
    found = {}
    for name, (host, box) in transfer_shapes(rows, columns).items():
        place = tuple(slice(*axis) for axis in box)
        back = np.full_like(host, POISON)
        poison = np.full(host.shape, POISON)
        with device.allocate(host.nbytes) as buffer:
            device.upload(stream, buffer, poison, whole(host.shape))
            device.upload(stream, buffer, host, box)
            device.download(stream, back, buffer, box)
            on_device = np.empty(host.shape)
            device.download(stream, on_device, buffer, whole(host.shape))
            stream.synchronize()
            expected = np.full(host.shape, POISON)
            expected[place] = host[place]
            exact = np.array_equal(back, expected) and np.array_equal(on_device, expected)
            moved = host[place].nbytes
            up = _rate(stream, moved, partial(device.upload, stream, buffer, host, box))
            down = _rate(stream, moved, partial(device.download, stream, back, buffer, box))
        found[name] = {"exact": exact, "bytes": moved, "upload": up, "download": down}
    return found


def _rate(stream: Stream, moved: int, transfer: Callable[[], None]) -> float:
    """Bytes per second of the fastest of three transfers; the first one before them pays for staging memory."""
    seconds = []
    for _ in range(4):
        begin = time.perf_counter()
        transfer()
        stream.synchronize()
        seconds.append(time.perf_counter() - begin)
    return moved / min(seconds[1:])
