"""The device that the tests of the device benchmark run on: the processor, through PoCL or another driver."""

import pytest

from polytune.runtime.devices import backends
from polytune.runtime.devices.discovery import device


@pytest.fixture(scope="session")
def opencl():
    """A device through pyopencl."""
    usable = [found.identity for found in backends.listed("opencl").found if not found.reason]
    if not usable:
        pytest.skip(backends.listed("opencl").obstacle)
    return device(usable[0])
