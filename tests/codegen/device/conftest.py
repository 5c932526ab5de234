"""The devices that tests of device code run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polytune.runtime.devices import backends
from polytune.runtime.devices.device import Device
from tests.device_versions.offered import cuda_stand_in, offered


@pytest.fixture
def cuda() -> Iterator[Device]:
    """The stand-in for a CUDA device."""
    stand_in = cuda_stand_in()
    if stand_in is None:
        pytest.skip("the stand-in for CUDA cannot be built here")
    with stand_in.offered() as device:
        yield device


@pytest.fixture(params=["cuda", "opencl"])
def platform(request: pytest.FixtureRequest) -> Iterator[str]:
    """The identity of each device in turn, while it is the only one."""
    with offered((request.param,)) as platforms:
        if not platforms:
            pytest.skip(backends.listed(request.param).obstacle)
        yield platforms[0]
