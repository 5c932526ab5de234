"""Devices for tests: the stand-in for a CUDA GPU and PoCL at the same time, with rubbish in all of their memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from polytune.runtime.devices import backends, discovery
from polytune.runtime.devices.backends import Found, Listing
from polytune.runtime.devices.device import Device, DeviceBuffer
from polytune.runtime.partitioned import pool
from polytune.runtime.partitioned.pool import BufferPool
from tests.device_stand_in.build import CannotBuildError
from tests.device_stand_in.load import StandIn, load
from tests.device_versions.real_gpu import VARIABLE, RealGpu


class RubbishPool(BufferPool):
    """Every buffer that it gives is full of what reads as NaN."""

    def __init__(self, device: Device):
        super().__init__(device)
        self._owner = device

    def take(self, nbytes: int) -> DeviceBuffer:
        buffer = super().take(nbytes)
        stream = self._owner.stream()
        self._owner.upload(stream, buffer, np.full(nbytes, 0xFF, np.uint8), ((0, nbytes, 1),))
        stream.synchronize()
        return buffer


def cuda_stand_in() -> StandIn | RealGpu | None:
    """The stand-in for a CUDA device, or with ``--gpu`` a real one; None where it cannot be built."""
    if os.environ.get(VARIABLE):
        return RealGpu()
    try:
        return load()
    except CannotBuildError:
        return None


def _cuda(stand_in: StandIn | RealGpu | None) -> Listing:
    if isinstance(stand_in, RealGpu):
        return stand_in.listing()
    if stand_in is None:
        return Listing("CUDA", (), "the stand-in cannot be built here")
    return Listing("CUDA", (Found("cuda:0", "stand-in", "stand-in", True, stand_in.device),))


@contextmanager
def offered(kinds: tuple[str, ...] = ("cuda", "opencl")) -> Iterator[tuple[str, ...]]:
    """Within, the devices are those of some kinds; their identities, which may be none.

    Args:
        kinds: ``cuda``, the stand-in, as new; ``opencl``, what drivers there are, in tests PoCL.
    """
    stand_in = cuda_stand_in() if "cuda" in kinds else None
    none = Listing("OpenCL", (), "not looked for")
    opencl = backends.listed("opencl") if "opencl" in kinds else none
    listings = {"cuda": _cuda(stand_in), "opencl": opencl}
    if stand_in is not None:
        stand_in.reset()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "listed", listings.__getitem__)
        patch.setattr(discovery, "_opened", discovery._Open())
        patch.setattr(pool, "BufferPool", RubbishPool)
        patch.setenv("POLYTUNE_DEVICES", ",".join(kinds))
        opened = discovery.devices() if any(listing.found for listing in listings.values()) else ()
        yield tuple(device.identity for device in opened)
        for device in opened:
            if device.identity.startswith("cuda") and not device.lost:
                device.close()  # type: ignore[attr-defined]
    if stand_in is not None:
        stand_in.reset()
