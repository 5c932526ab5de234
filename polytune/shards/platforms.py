"""Shards on workers with devices: shared between the processor and the devices as calls of a kernel are.

A shard's parts of regions take the place of a call's regions, and its windows that of a call's arrays: each device has
memory for the boxes that the shard accesses, and its kernels count from their first elements.  A tuner chooses for
shards of a kind how they are divided, and the rules leave devices out of those that have too little to do.
"""

from __future__ import annotations

import hashlib
import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from polytune.errors import DeviceError
from polytune.history import default_store, machine_key
from polytune.records import dataclass
from polytune.runtime.devices.discovery import devices
from polytune.runtime.partitioned.call import SharedCall
from polytune.runtime.partitioned.description import Part, Partitioned, Transfer
from polytune.runtime.partitioned.execution import Execution
from polytune.runtime.partitioned.pieces import Limits
from polytune.runtime.partitioned.space import VERSION as PARTITIONED
from polytune.runtime.partitioned.space import with_devices
from polytune.runtime.tuning.first_choices import shared_starts
from polytune.runtime.tuning.rules import refusals
from polytune.runtime.tuning.rules_calibration import thresholds_of
from polytune.runtime.tuning.tuning_mode import current_mode
from polytune.shards.boxes import strided_in
from polytune.tuner import Configuration, Key, Nominal, OnlineTuner, Space

__all__ = ["Platforms", "ShardWork", "within"]

_PROCESSOR = "processor"
"""The version that leaves devices alone."""

_DIGITS = 3
"""So many binary digits of the extents of a shard count: shards that are nearly as large are of one kind."""

RunOnProcessor = Callable[[int, tuple[int, ...], Mapping[str, np.ndarray]], None]
"""Runs a region's part: the region's number, the integers that say which part, and arrays in place of the shard's."""


@dataclass(frozen=True)
class ShardWork:
    """The work of a shard.

    Attributes:
        runs: the parts of regions in order, each a number and the values of the loops around it with its limits.
        parameters: the kernel's parameters.
        scalars: the arguments that are no arrays.
        arrays: the parts of arrays that it accesses.
        origins: of each of these the subscripts of its first element.
        outputs: the arrays that are needed afterwards.
        on_processor: runs a part.
    """

    runs: tuple[tuple[int, tuple[int, ...]], ...]
    parameters: tuple[int, ...]
    scalars: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    origins: Mapping[str, tuple[int, ...]]
    outputs: frozenset[str]
    on_processor: RunOnProcessor


class Platforms:
    """The devices of this process, for the shards of one kernel.

    Args:
        module: the generated module of its shards.
    """

    def __init__(self, module: ModuleType):
        self._module = module
        self._partitioned: Partitioned = module.PARTITIONED
        self._devices = devices() if self._partitioned.codes else ()
        self._tuners: dict[str, OnlineTuner] = {}
        self._lock = threading.Lock()
        if self._devices:
            self._digest = hashlib.sha256(inspect.getsource(module).encode()).hexdigest()[:16]
            self._execution = Execution(module.NAME, self._partitioned, self._devices, not module.STRICT)
            self._space = self._every_choice()

    @property
    def are_usable(self) -> bool:
        """Return whether there are devices that can run any of the kernel's shards."""
        return bool(self._devices)

    @property
    def has_lost_devices(self) -> bool:
        """Return whether one of the devices no longer answers."""
        return any(device.lost for device in self._devices)

    def _every_choice(self) -> Space:
        """The space of a shard; on the processor it has one thread, as workers run several shards at a time."""
        alone = Space([Nominal("version", (_PROCESSOR,))])
        space = with_devices(alone, self._partitioned, {device.identity: device.limits for device in self._devices})
        kept = [parameter for parameter in space.parameters if not parameter.name.startswith("threads_")]
        return Space(kept, space.constraints)

    def run(self, work: ShardWork) -> None:
        """Run a shard once, and learn from the time that it takes.  What a device fails to do the processor does."""
        tuner = self._tuner(work)
        configuration = self._choice(tuner)
        compiling = 0.0
        if configuration["version"] == PARTITIONED:
            try:
                plan = self._execution.prepare(configuration)
            except DeviceError as error:
                tuner.fail(configuration, str(error))
                configuration = self._space.configuration(version=_PROCESSOR)
            else:
                compiling = plan.seconds
        begun = time.perf_counter()
        failure: DeviceError | None = None
        try:
            if configuration["version"] == PARTITIONED:
                failure = self._share(work, configuration)
            else:
                for number, integers in work.runs:
                    work.on_processor(number, integers, {})
        except BaseException:
            tuner.abandon(configuration)
            raise
        if failure is None:
            tuner.report(configuration, time.perf_counter() - begun, compile_seconds=compiling)
        else:
            tuner.fail(configuration, str(failure), compile_seconds=compiling)

    def _choice(self, tuner: OnlineTuner) -> Configuration:
        """The way in which the next shard of a kind is run."""
        mode = current_mode()
        if mode == "on":
            return tuner.choose()
        best = None if mode == "off" else tuner.best
        return self._space.configuration(version=_PROCESSOR) if best is None else best[0]

    def _share(self, work: ShardWork, configuration: Configuration) -> DeviceError | None:
        """Run a shard as a configuration of the version that is shared says; why a device has failed, if one has."""

        def run_part(part: Part, integers: tuple[int, ...], threads: int, replaced: Mapping[str, np.ndarray]) -> None:
            number = next(k for k, each in enumerate(self._partitioned.parts) if each.run is part.run)
            work.on_processor(number, integers, replaced)

        # What has been worked out of a plan is so of the whole call, and not of this shard.
        plan = replace(self._execution.prepare(configuration), works={})
        temporary = frozenset(work.arrays) - work.outputs
        call = SharedCall(work.arrays, work.scalars, work.parameters, plan, run_part, temporary, origins=work.origins)
        return self._execution.run(call, within(self._partitioned, work)).failure

    # ---- kinds of shards

    def _tuner(self, work: ShardWork) -> OnlineTuner:
        """The tuner of shards of the kind of one."""
        parts = self._partitioned.parts
        ranges = [_limits(parts[number], integers) for number, integers in work.runs]
        times = Counter(
            (number, tuple(_rounded(stop - start) for start, stop in limits))
            for (number, _), limits in zip(work.runs, ranges, strict=True)
        )
        described = "; ".join(
            f"region {number} {' x '.join(map(str, extents)) or 'whole'}" + (f", {count} times" if count > 1 else "")
            for (number, extents), count in times.items()
        )
        with self._lock:
            found = self._tuners.get(described)
            if found is None:
                found = self._tuners[described] = self._new_tuner(described, self._counts(work, ranges))
            return found

    def _new_tuner(self, described: str, counts: Mapping[str, int]) -> OnlineTuner:
        store = default_store()
        thresholds = {device.identity: thresholds_of(device, store) for device in self._devices}
        starts = [self._space.configuration(version=_PROCESSOR)]
        starts += shared_starts(self._space, self._partitioned, self._devices)
        return OnlineTuner(
            self._space,
            key=Key(f"{self._module.NAME}.shard {self._digest}", described, machine_key(1)),
            store=store,
            refused=refusals(self._space, counts, thresholds),
            starts=starts,
        )

    def _counts(self, work: ShardWork, ranges: Sequence[Limits]) -> dict[str, int]:
        """The points of a shard, and the elements that would be moved to a device: what the rules count."""
        points = 0
        for (number, integers), limits in zip(work.runs, ranges, strict=True):
            part = self._partitioned.parts[number]
            around = integers[: len(integers) - 2 * part.shared]
            inner = part.ranges(*work.parameters, *around)[part.shared :]
            points += prod(max(stop - start, 0) for start, stop in (*limits, *inner))
        return {"compute": points, "memory": sum(block.size for block in work.arrays.values())}


def _limits(part: Part, integers: tuple[int, ...]) -> Limits:
    """The limits among the integers that say which part of a region is meant."""
    ends = integers[len(integers) - 2 * part.shared :]
    return tuple(zip(ends[::2], ends[1::2], strict=True))


def _rounded(extent: int) -> int:
    """An extent with its first binary digits alone."""
    dropped = max(extent.bit_length() - _DIGITS, 0)
    return extent >> dropped << dropped


def within(partitioned: Partitioned, work: ShardWork) -> Partitioned:
    """The version that is shared with a shard's limits in place of whole regions, and boxes of its windows.

    Args:
        partitioned: the kernel's regions.
        work: the shard.
    """
    parts = partitioned.parts
    steps: list[tuple[int, tuple[int, ...]]] = []
    limits: dict[tuple[int, tuple[int, ...]], Limits] = {}
    for number, integers in work.runs:
        around = integers[: len(integers) - 2 * parts[number].shared]
        steps.append((number, around))
        limits[number, around] = _limits(parts[number], integers)

    def limited(number: int, part: Part) -> Part:
        def ranges(*integers: int) -> Limits:
            around = integers[len(work.parameters) :]
            return (*limits[number, around], *part.ranges(*integers)[part.shared :])

        def reads(*integers: int) -> list[Transfer]:
            return _from_windows(part.reads(*integers), work)

        def writes(*integers: int) -> list[Transfer]:
            return _from_windows(part.writes(*integers), work)

        return replace(part, ranges=ranges, reads=reads, writes=writes)

    own = tuple(limited(number, part) for number, part in enumerate(parts))
    return Partitioned(lambda *_: iter(steps), partitioned.part_words, own)


def _from_windows(transfers: Sequence[Transfer], work: ShardWork) -> list[Transfer]:
    """Boxes of arrays as far as there are windows of them, counted from the windows' first elements."""
    found = []
    for name, box in transfers:
        if name in work.arrays:
            origin = work.origins[name]
            window = tuple(
                (first, first + extent) for first, extent in zip(origin, work.arrays[name].shape, strict=True)
            )
            inside = strided_in(tuple(box), window)
            if inside is not None:
                moved = zip(inside, origin, strict=True)
                found.append((name, tuple((start - first, stop - first, step) for (start, stop, step), first in moved)))
    return found
