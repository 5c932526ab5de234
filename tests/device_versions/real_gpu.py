"""A GPU of the machine in place of the stand-in, for tests of device versions and random programs: ``--gpu``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from polytune.runtime.devices import backends, discovery
from polytune.runtime.devices.backends import Listing
from polytune.runtime.devices.cuda import CudaDevice

VARIABLE = "POLYTUNE_TESTS_USE_GPU"
"""The environment variable by which worker processes of pytest know of the option."""


class RealGpu:
    """The first CUDA device, under the controls of the stand-in as far as a device has them."""

    def listing(self) -> Listing:
        """What the machine's CUDA devices are."""
        return backends.listed("cuda")

    def set(self, **settings: int) -> None:
        """Choose the order of threads, which is the device's own; a test that needs anything else is skipped."""
        if set(settings) - {"order"}:
            pytest.skip("a GPU does not fail when it is told to")

    def get(self, name: str) -> int:
        """Skip a test that counts."""
        pytest.skip(f"a GPU does not say its {name}")

    def fault(self) -> str:
        """Return nothing: what a kernel did wrong, the driver says by an error."""
        return ""

    def reset(self) -> None:
        """Leave the device as it is."""

    @contextmanager
    def offered(self) -> Iterator[CudaDevice]:
        """Within, the device is the only one."""
        listing = self.listing()
        none = Listing("OpenCL", (), "not looked for", "")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backends, "listed", lambda kind: listing if kind == "cuda" else none)
            patch.setattr(discovery, "_opened", discovery._Open())
            patch.setenv("POLYTUNE_DEVICES", "cuda:0")
            device = discovery.device("cuda:0")
            assert isinstance(device, CudaDevice)
            yield device
            if not device.lost:
                device.close()
