"""Calls shared among platforms, one kernel's: device work first, then the processor's parts, then everything is joined.

A device that fails costs no result; see ``polytune.runtime.partitioned.attempt``.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polytune.errors import DeviceError, DeviceUnavailableError
from polytune.runtime.devices.device import Device, warn_of_device
from polytune.runtime.partitioned.attempt import Attempt
from polytune.runtime.partitioned.call import CallPlan, CallReport, SharedCall
from polytune.runtime.partitioned.description import Partitioned
from polytune.runtime.partitioned.launches import LoadedKernels, shape_of
from polytune.runtime.partitioned.pieces import CPU, Transfers, platforms
from polytune.tuner import Configuration

__all__ = ["Execution"]

_KEPT_PLANS = 1024

_lost: weakref.WeakSet[Device] = weakref.WeakSet()
"""The devices that have been said to be lost, by whatever kernel found out first."""

_telling = threading.Lock()


class Execution:
    """Runs the partitioned version of one kernel; keeps compiled kernels and what was worked out from call to call."""

    def __init__(self, name: str, partitioned: Partitioned, devices: Sequence[Device], contract: bool):
        """
        Args:
            name: the kernel's, for people.
            partitioned: the version.
            devices: where it may run.
            contract: whether a multiplication and an addition may become one operation.
        """
        self.partitioned = partitioned
        self._name = name
        self._devices = {device.identity: device for device in devices}
        self._kernels = LoadedKernels(contract)
        self._transfers = Transfers(partitioned.parts)
        self._plans: dict[Configuration, CallPlan] = {}
        self._warned: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()

    def prepare(self, configuration: Mapping[str, Any]) -> CallPlan:
        """Return what a configuration needs, compiled where it has not been yet.

        Raises:
            DeviceUnavailableError: a device no longer answers.
            DeviceError: a kernel cannot be compiled or launched as it is asked for.
        """
        key = configuration if isinstance(configuration, Configuration) else Configuration(dict(configuration))
        plan = self._plans.get(key)
        if plan is not None and not any(device.lost for device in plan.devices.values()):
            return plan
        plan, seconds = self._plan(key)
        with self._lock:
            if len(self._plans) >= _KEPT_PLANS:
                self._plans = {}
            self._plans[key] = plan
        return replace(plan, seconds=seconds)

    def _plan(self, configuration: Configuration) -> tuple[CallPlan, float]:
        start = time.perf_counter()
        chosen = {number: platform for number, platform in platforms(configuration).items() if platform != CPU}
        devices = {platform: self._devices[platform] for platform in chosen.values()}
        for device in devices.values():
            if device.lost:
                raise DeviceUnavailableError(f"{device.identity} ({device.description}) has stopped answering")
        kernels = {}
        for number, part in enumerate(self.partitioned.parts):
            on_devices = part.device is not None and configuration.get(f"region_{number}") != CPU
            for partition, platform in chosen.items() if on_devices else ():
                assert part.device is not None
                shape = shape_of(part.device, configuration, partition)
                kernels[number, partition] = self._kernels.kernel(devices[platform], part.device, shape), shape
        return CallPlan(configuration, devices, kernels, 0.0), time.perf_counter() - start

    def run(self, call: SharedCall, within: Partitioned | None = None) -> CallReport:
        """Run a call once, on the processor as far as a device fails, which is warned of once for each cause.

        Args:
            call: the call.
            within: the version with the limits that the call keeps within; None where it is all of it.

        Raises:
            DeviceError: a device has failed, and elements that were on it alone are lost.
        """
        transfers = self._transfers if within is None else Transfers(within.parts)
        attempt = Attempt(within or self.partitioned, transfers, call)
        try:
            report = attempt.run()
        finally:
            attempt.release()
        if report.failure is not None:
            self.warn(report.failure, call.plan.configuration)
        return report

    def warn(self, error: DeviceError, configuration: Mapping[str, Any]) -> None:
        """Say that a configuration has failed, and what that means: once for the same platforms and kind of error, and
        once in a process for a device that is lost."""
        named = sorted(set(platforms(configuration).values()))
        lost = {device for name in named if (device := self._devices.get(name)) is not None and device.lost}
        cause = (type(error).__name__, *named)
        with _telling:
            if lost <= set(_lost) if lost else cause in self._warned:
                return
            _lost.update(lost)
            self._warned.add(cause)
        then = "the device is not used again" if lost else "that is not tried again"
        text = f"{self._name}: {error}; the call is served otherwise, and {then}"
        warn_of_device(text)
