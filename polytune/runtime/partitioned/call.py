"""A call that is shared among platforms, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from polytune.errors import DeviceError
from polytune.records import dataclass
from polytune.runtime.devices.device import Device, LoadedKernel
from polytune.runtime.partitioned.description import Part
from polytune.runtime.partitioned.launches import KernelShape
from polytune.runtime.partitioned.residency import Residence

__all__ = ["CallPlan", "CallReport", "RunPart", "Share", "SharedCall"]

RunPart = Callable[[Part, tuple[int, ...], int, Mapping[str, np.ndarray]], None]
"""Runs a region's part on the processor: the region, the integers that say which part, the number of threads, and
arrays to use in place of those of the call."""


@dataclass(frozen=True)
class CallPlan:
    """The needs of a configuration, ready to be launched.

    Attributes:
        configuration: the configuration.
        devices: by identity, the devices it runs on.
        kernels: by region and partition, the kernels.
        seconds: how long it took to compile what was not there yet.
        works: what has been worked out of it, for ``polytune.runtime.partitioned.work``.
    """

    configuration: Mapping[str, Any]
    devices: Mapping[str, Device]
    kernels: Mapping[tuple[int, int], tuple[LoadedKernel, KernelShape]]
    seconds: float
    works: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class SharedCall:
    """The data that a call works on.

    Attributes:
        arrays: all arrays in memory by name, scalars among them as arrays of one element.
        scalars: the scalar arguments.
        parameters: the kernel's parameters.
        plan: how the call is to be run.
        run_part: runs a part on the processor.
        temporary: arrays whose contents nobody needs after the call.
        residences: the arrays that are kept on a device, by name.
        origins: where the arrays are parts of others, the subscripts of the first element of each, by name; what the
            call reads and writes is told from there on.
    """

    arrays: Mapping[str, np.ndarray]
    scalars: Mapping[str, Any]
    parameters: tuple[int, ...]
    plan: CallPlan
    run_part: RunPart
    temporary: frozenset[str] = frozenset()
    residences: Mapping[str, Residence] = field(default_factory=dict)
    origins: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """The work that a platform did of a partition in one call.

    Attributes:
        partition: its number; regions that no device can run count as the processor's share of partition 0.
        platform: where it ran.
        seconds: how long the platform worked on it, transfers included.
        kernel_seconds: of these, the seconds without transfers.
        uploaded, downloaded: bytes moved to the device and back.

    Where a platform has several partitions, its transfers are those of the first one.
    """

    partition: int
    platform: str
    seconds: float
    kernel_seconds: float
    uploaded: int = 0
    downloaded: int = 0


@dataclass(frozen=True)
class CallReport:
    """The outcome of a call.

    Attributes:
        shares: what was done of each partition; empty where the configuration could not be run.
        failure: why it could not be run as it is, None where it was.
    """

    shares: tuple[Share, ...]
    failure: DeviceError | None = None
