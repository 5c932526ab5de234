"""The kinds of devices, and what each lists when it is looked for; nothing is opened here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polytune.runtime.devices.device import Device

__all__ = ["KINDS", "Found", "Listing", "listed"]

KINDS = ("cuda", "opencl")

INSTALL_PYCUDA = (
    "for a CUDA GPU: put nvcc of a CUDA toolkit on PATH, and with a C++ compiler at hand pip install 'polytune[cuda]', "
    "which builds pycuda in a minute or two"
)
INSTALL_DRIVER = "for a CUDA GPU: install the NVIDIA driver, which brings libcuda.so.1"


@dataclass(frozen=True)
class Found:
    """A device that a driver lists.

    Attributes:
        identity: such as ``opencl:0``; the number is that of the driver's own order, over all platforms.
        description: the device's own name, and how it is reached.
        model: the device's own name.
        is_gpu: whether it is a GPU, and not a processor.
        open: makes the ``Device``, or raises a ``DeviceError``.
        reason: why it must not be used; empty if it can be.
        remedy: what to do about that.
    """

    identity: str
    description: str
    model: str
    is_gpu: bool
    open: Callable[[], Device]
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Listing:
    """All devices of a kind, or why there are none.

    Attributes:
        description: the kind in words.
        found: the devices.
        reason: why none can be found, where that is so.
        remedy: what to do about that.
    """

    description: str
    found: tuple[Found, ...] = ()
    reason: str = ""
    remedy: str = ""

    @property
    def obstacle(self) -> str:
        """Why no device of the kind can be used, and what to do about it; empty if one can be."""
        if not self.found:
            return f"{self.reason or 'there is none'}{'; ' if self.remedy else ''}{self.remedy}"
        if any(not found.reason for found in self.found):
            return ""
        return " | ".join(f"{found.identity} ({found.model}): {found.reason}; {found.remedy}" for found in self.found)


@functools.cache
def listed(kind: str) -> Listing:
    """What there is of a kind, looked for once in a process; an unknown kind has no devices."""
    look = {"cuda": _cuda, "opencl": _opencl}.get(kind)
    return look() if look else Listing(kind, (), f"devices are of the kinds {' and '.join(KINDS)}", "name one of these")


def _cuda() -> Listing:
    what = "CUDA"
    try:
        import pycuda.driver as driver
    except ModuleNotFoundError as error:
        return Listing(what, (), f"pycuda is not installed: {error}", INSTALL_PYCUDA)
    except ImportError as error:
        # pycuda is linked against the driver's library.
        return Listing(what, (), f"pycuda cannot be loaded: {error}", INSTALL_DRIVER)
    try:
        driver.init()
        models = [driver.Device(index).name() for index in range(driver.Device.count())]
    except driver.Error as error:
        return Listing(what, (), f"the driver finds no device: {error}", INSTALL_DRIVER)
    from polytune.runtime.devices.cuda import CudaDevice

    found = tuple(
        Found(f"cuda:{index}", model, model, True, functools.partial(CudaDevice, index))
        for index, model in enumerate(models)
    )
    return Listing(what, found, "" if found else "the driver lists no device", INSTALL_DRIVER)


def _opencl() -> Listing:
    what = "OpenCL"
    try:
        import pyopencl
    except ImportError as error:
        reason = f"pyopencl cannot be imported: {error}"
        return Listing(what, (), reason, "pip install 'polytune[opencl]'")
    from polytune.runtime.devices.opencl import OpenCLDevice, reason_if_unusable

    driver = "install the OpenCL driver of the device, or, for the processor itself, pip install 'pyopencl[pocl]'"
    try:
        raw_devices = [raw for platform in pyopencl.get_platforms() for raw in _devices_of(pyopencl, platform)]
    except pyopencl.Error as error:
        return Listing(what, (), f"no OpenCL driver: {error}", driver)
    found = []
    for index, raw in enumerate(raw_devices):
        identity = f"opencl:{index}"
        reason, remedy = reason_if_unusable(raw) or ("", "")
        model = raw.name.strip()
        found.append(
            Found(
                identity=identity,
                description=f"{model} ({raw.platform.name.strip()})",
                model=model,
                is_gpu=bool(raw.type & pyopencl.device_type.GPU),
                open=functools.partial(OpenCLDevice, raw, identity),
                reason=reason,
                remedy=remedy,
            )
        )
    return Listing(what, tuple(found), "" if found else "the OpenCL drivers list no device", driver)


def _devices_of(pyopencl: Any, platform: Any) -> list[Any]:
    try:
        return platform.get_devices()
    except pyopencl.Error:  # a driver whose devices are not there
        return []
