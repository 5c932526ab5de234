"""The devices that tests run on: PoCL, which is this processor, and the stand-in for a CUDA GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from polytune.runtime.devices import backends
from polytune.runtime.devices.device import Device
from tests.device_stand_in.build import CannotBuildError
from tests.device_stand_in.load import StandIn, load


@pytest.fixture(scope="session")
def opencl() -> Device:
    """A device through pyopencl."""
    listing = backends.listed("opencl")
    usable = [found for found in listing.found if not found.reason]
    if not usable:
        pytest.skip(listing.obstacle)
    return usable[0].open()


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    """The controls of the stand-in for a CUDA device; it is as new before and after the test."""
    try:
        loaded = load()
    except CannotBuildError as error:
        pytest.skip(str(error))
    loaded.reset()
    yield loaded
    loaded.reset()


@pytest.fixture
def cuda(stand_in: StandIn) -> Iterator[Device]:
    """A device through pycuda, on the stand-in."""
    device = stand_in.device()
    yield device
    if not device.lost:
        device.close()


@pytest.fixture(params=["opencl", "cuda"])
def device(request: pytest.FixtureRequest) -> Device:
    """Each kind of device in turn."""
    return request.getfixturevalue(request.param)
