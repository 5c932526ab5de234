"""The stand-in for a CUDA device in this process: the real pycuda on a driver that runs kernels on the processor."""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polytune.runtime.devices import backends, discovery
from polytune.runtime.devices.backends import Found, Listing
from polytune.runtime.devices.cuda import CudaDevice
from tests.device_stand_in import build, compiler


class StandIn:
    """The stand-in's own controls.

    ``set`` knows: ``order`` of a block's threads (0 forward, 1 backward, 2 shuffled); ``memory``, the device's bytes;
    ``allocations_left`` and ``launches_left`` that succeed, and ``calls_left`` until the device is lost (-1: all);
    ``modules_fail``: none can be loaded; ``pops_fail``: the context of a lost device stays current.
    ``get`` knows: ``launches`` and ``copies`` since the reset, and ``used`` bytes of memory.
    """

    def __init__(self, library: ctypes.CDLL):
        self._library = library
        library.stand_in_fault.restype = ctypes.c_char_p
        library.stand_in_get.restype = ctypes.c_long
        library.stand_in_set.argtypes = (ctypes.c_char_p, ctypes.c_long)

    def set(self, **settings: int) -> None:
        """Change how the device behaves."""
        if settings.keys() & {"memory", "allocations_left"}:
            # Where an allocation fails, pycuda looks for garbage, each time among all that other tests have left.
            gc.collect()
            gc.freeze()
        for name, value in settings.items():
            if self._library.stand_in_set(name.encode(), value):
                raise ValueError(f"the stand-in has no setting {name}")

    def get(self, name: str) -> int:
        """A count."""
        return self._library.stand_in_get(name.encode())

    def fault(self) -> str:
        """What a kernel did wrong; empty if nothing."""
        return self._library.stand_in_fault().decode()

    def reset(self) -> None:
        """A device as new; memory stays allocated."""
        self._library.stand_in_reset()

    def device(self) -> CudaDevice:
        """The device, with the compiler for it."""
        return CudaDevice(0, compiler=compiler)

    @contextmanager
    def offered(self) -> Iterator[CudaDevice]:
        """Within, ``devices()`` and ``device("cuda:0")`` give the stand-in, as new, and there are no other devices."""
        self.reset()
        listing = Listing("CUDA", (Found("cuda:0", "stand-in", "stand-in", True, self.device),))
        none = Listing("OpenCL", (), "not looked for", "")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backends, "listed", lambda kind: listing if kind == "cuda" else none)
            patch.setattr(discovery, "_opened", discovery._Open())
            patch.setenv("POLYTUNE_DEVICES", "cuda")
            device = discovery.device("cuda:0")
            assert isinstance(device, CudaDevice)
            yield device
            if not device.lost:
                device.close()
        self.reset()


@functools.cache
def load() -> StandIn:
    """Have pycuda use the stand-in in this process.

    Raises:
        build.CannotBuildError: it cannot be built here, or pycuda uses a real driver in this process already.
    """
    path = build.driver()
    if "libcuda.so" in Path("/proc/self/maps").read_text():
        raise build.CannotBuildError("this process has loaded a real CUDA driver already")
    # pycuda asks for libcuda.so.1, and gets the library of that name that is loaded already.
    stand_in = StandIn(ctypes.CDLL(str(path)))
    if importlib.util.find_spec("pycuda") is None:
        sys.path.append(str(build.pycuda()))
    import pycuda.driver

    pycuda.driver.init()
    return stand_in
