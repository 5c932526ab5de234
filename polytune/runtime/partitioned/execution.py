"""One call shared among platforms: device work first, then the processor's parts, then everything is joined.

A device that fails costs no result.  Nothing of what it writes reaches the host before all of it has arrived, and what
the processor writes meanwhile can be undone; so the call is begun again without the device.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from polytune.errors import DeviceError, DeviceWarning
from polytune.runtime.devices.device import Box, Device, Event
from polytune.runtime.devices.discovery import device as open_device
from polytune.runtime.partitioned.combination import combine, neutral_copy
from polytune.runtime.partitioned.description import Part, Partitioned, Transfer
from polytune.runtime.partitioned.holdings import Holdings
from polytune.runtime.partitioned.launches import KernelCache, arguments_of, grid_of, shape_of
from polytune.runtime.partitioned.pool import BufferPool
from polytune.runtime.partitioned.undo import UndoLog

__all__ = ["CPU", "Call", "Execution", "Report"]

CPU = "cpu"
"""The platform that is the processor."""

RunPart = Callable[[Part, tuple[int, ...], int, Mapping[str, np.ndarray]], None]
"""Runs a region's part on the processor: the region, the integers that say which part, the number of threads, and
arrays to use in place of those of the call."""

Limits = tuple[tuple[int, int], ...]
"""Per shared member of a band, the range of a part."""


@dataclass(frozen=True)
class Call:
    """What a call works on.

    Attributes:
        arrays: all arrays in memory by name, scalars among them as arrays of one element.
        scalars: the scalar arguments.
        parameters: the kernel's parameters.
        configuration: how the call is to be run.
        run_part: runs a part on the processor.
    """

    arrays: Mapping[str, np.ndarray]
    scalars: Mapping[str, Any]
    parameters: tuple[int, ...]
    configuration: Mapping[str, Any]
    run_part: RunPart


@dataclass(frozen=True)
class Report:
    """What became of a call.

    Attributes:
        seconds: per partition, the seconds that its platform worked on it; where a platform has several partitions
            of one region, its first one stands for all.
        failure: why the configuration could not be run as it is, None where it was.
    """

    seconds: dict[int, float]
    failure: str | None = None


@dataclass(frozen=True)
class _Piece:
    """A part of a region for one platform; ``reductions`` are the arrays, with their operators, that it updates in
    copies of its own."""

    partition: int
    platform: str
    limits: Limits
    reductions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Partial:
    """What a piece has added up in a copy of an array: by the name under which devices hold it, and where."""

    name: str
    array: str
    operator: str
    copy: np.ndarray
    boxes: list[Box]


@dataclass
class _DeviceState:
    """A device during a call."""

    holdings: Holdings
    events: list[tuple[int, Event, Event]] = field(default_factory=list)
    private: list[Any] = field(default_factory=list)


class Execution:
    """Runs the partitioned version of one kernel; keeps compiled kernels and device memory from call to call."""

    def __init__(self, partitioned: Partitioned, contract: bool):
        self._partitioned = partitioned
        self._kernels = KernelCache(contract)
        self._pools: dict[str, BufferPool] = {}

    def prepare(self, configuration: Mapping[str, Any]) -> float:
        """Compile what a configuration runs on devices; the seconds that took.

        Raises:
            DeviceError: a kernel cannot be compiled or launched as it is asked for, or the device is not there.
        """
        start = time.perf_counter()
        for part in self._partitioned.parts:
            if part.device is not None:
                for partition, platform in platforms(configuration).items():
                    if platform != CPU:
                        shape = shape_of(part.device, configuration, partition)
                        self._kernels.kernel(open_device(platform), part.device, shape)
        return time.perf_counter() - start

    def run(self, call: Call) -> Report:
        """Run a call once, on the processor alone if a device fails.

        Everything the configuration needs has been compiled before.
        """
        undo = UndoLog()
        attempt = _Attempt(self, call, undo)
        try:
            return attempt.run()
        except DeviceError as error:
            undo.restore()
            warnings.warn(f"{error}; the call runs on the processor instead", DeviceWarning, stacklevel=2)
            self.run_on_processor(call)
            return Report({}, str(error))
        finally:
            attempt.release()

    def run_on_processor(self, call: Call) -> None:
        """Run all regions whole on the processor."""
        for number, around in self._partitioned.steps(*call.parameters):
            part = self._partitioned.parts[number]
            limits = part.ranges(*call.parameters, *around)[: part.shared]
            call.run_part(part, _integers(around, limits), call.configuration.get("threads_0", 0), {})

    def pool(self, device: Device) -> BufferPool:
        """The memory kept on a device."""
        found = self._pools.get(device.identity)
        if found is None:
            found = self._pools[device.identity] = BufferPool(device)
        return found

    @property
    def partitioned(self) -> Partitioned:
        """What is run."""
        return self._partitioned

    @property
    def kernels(self) -> KernelCache:
        """The compiled kernels."""
        return self._kernels


def platforms(configuration: Mapping[str, Any]) -> dict[int, str]:
    """The platform of each partition of a configuration."""
    return {number: configuration[f"platform_{number}"] for number in range(2 ** configuration["split"])}


def pieces(part: Part, ranges: Limits, configuration: Mapping[str, Any]) -> list[_Piece]:
    """The parts of a region, those without any points left out.

    The partition whose number has the binary digits b0 b1 ... is on side b_d of the split of member d, the lower one if
    b_d is 0.  A region with fewer members to split than the configuration splits takes the partitions whose further
    digits are 0; one that no device can run is the processor's.
    """
    chosen, split = platforms(configuration), configuration["split"]
    depth = min(split, part.splits) if part.device is not None else 0
    shared = ranges[: part.shared]
    cuts = []
    for member in range(depth):
        start, stop = shared[member]
        middle = start + round(configuration[f"ratio_{member}"] * (stop - start))
        cuts.append(((start, middle), (middle, stop)))
    found = []
    for sides in product((0, 1), repeat=depth):
        limits = tuple(cuts[member][side] for member, side in enumerate(sides)) + shared[depth:]
        if all(start < stop for start, stop in limits):
            partition = sum(side << (split - 1 - member) for member, side in enumerate(sides))
            platform = chosen[partition] if part.device is not None else CPU
            reductions = tuple(
                reduction
                for member, side in enumerate(sides)
                if side and part.reductions
                for reduction in part.reductions[member]
            )
            found.append(_Piece(partition, platform, limits, reductions))
    return found


def _integers(around: tuple[int, ...], limits: Limits) -> tuple[int, ...]:
    return (*around, *(limit for pair in limits for limit in pair))


def _by_array(transfers: list[Transfer]) -> dict[str, list[Box]]:
    found: dict[str, list[Box]] = {}
    for array, box in transfers:
        found.setdefault(array, []).append(box)
    return found


class _Attempt:
    """One try to run a call as its configuration says."""

    def __init__(self, execution: Execution, call: Call, undo: UndoLog):
        self.execution, self.call, self.undo = execution, call, undo
        self.devices: dict[str, _DeviceState] = {}
        self.seconds: dict[int, float] = {}

    def run(self) -> Report:
        call, partitioned = self.call, self.execution.partitioned
        for number, around in partitioned.steps(*call.parameters):
            part = partitioned.parts[number]
            ranges = part.ranges(*call.parameters, *around)
            self.step(part, around, ranges)
        self.bring_home({identity: state.holdings.dirty for identity, state in self.devices.items()}, last=True)
        for state in self.devices.values():
            device = state.holdings.device
            for partition, first, last in state.events:
                self.seconds[partition] = self.seconds.get(partition, 0.0) + device.seconds(first, last)
        return Report(self.seconds)

    def step(self, part: Part, around: tuple[int, ...], ranges: Limits) -> None:
        """One region: devices first, then the processor."""
        call = self.call
        mine: list[_Piece] = []
        theirs: list[_Piece] = []
        for piece in pieces(part, ranges, call.configuration):
            (mine if piece.platform == CPU else theirs).append(piece)
        touched = []
        for piece in (*theirs, *mine):
            limits = _integers(around, piece.limits)
            reads = _by_array(part.reads(*call.parameters, *limits))
            writes = _by_array(part.writes(*call.parameters, *limits))
            partials = []
            for array, operator in piece.reductions:
                reads.pop(array, None)
                name, copy = f"{array} of partition {piece.partition}", neutral_copy(call.arrays[array], operator)
                partials.append(_Partial(name, array, operator, copy, writes.pop(array)))
            touched.append((piece, reads, writes, partials))
            self.fetch_for(piece.platform, reads, writes)
        for piece, reads, writes, partials in touched:
            if piece.platform != CPU:
                self.launch(part, piece, around, ranges, reads, writes, partials)
        for piece, _, writes, partials in touched:
            if piece.platform == CPU:
                self.compute(part, piece, around, writes, partials)
        for piece, _, _, partials in touched:
            self.join(piece.platform, partials)

    def join(self, platform: str, partials: list[_Partial]) -> None:
        """Combine what a piece has added up on its own with what the others have."""
        for partial in partials:
            wanted = {identity: [partial.name] for identity in self.devices if identity == platform}
            self.bring_home(wanted)
            self.fetch_for(CPU, {}, {partial.array: partial.boxes})
            self.undo.save(self.call.arrays[partial.array], partial.boxes)
            combine(self.call.arrays[partial.array], partial.copy, partial.operator, partial.boxes)
            for identity, state in self.devices.items():
                state.holdings.host_wrote(partial.array, partial.boxes)
                if identity == platform:
                    state.holdings.drop(partial.name)

    def fetch_for(self, platform: str, reads: dict[str, list[Box]], writes: dict[str, list[Box]]) -> None:
        """Bring home what a platform needs, or overwrites, and another one has."""
        wanted: dict[str, list[str]] = {}
        for identity, state in self.devices.items():
            for array in {**reads, **writes}:
                boxes = [*reads.get(array, []), *writes.get(array, [])]
                if identity == platform:
                    boxes = state.holdings.clashes(array, reads.get(array, []))
                if state.holdings.is_needed(array, boxes):
                    wanted.setdefault(identity, []).append(array)
        self.bring_home(wanted)

    def bring_home(self, wanted: Mapping[str, list[str]], *, last: bool = False) -> None:
        """Download what the host lacks of arrays; all of it arrives before any of it is put in place.

        After the last time nothing can fail any more.
        """
        chosen = {identity: names for identity, names in wanted.items() if names}
        for identity, names in chosen.items():
            self.devices[identity].holdings.fetch(names)
        for identity in chosen:
            self.devices[identity].holdings.stream.synchronize()
        for identity, names in chosen.items():
            holdings = self.devices[identity].holdings
            for name in names if not last else ():
                if name in self.call.arrays:
                    self.undo.save(self.call.arrays[name], holdings.dirty_boxes(name))
            holdings.commit(names)

    def launch(
        self,
        part: Part,
        piece: _Piece,
        around: tuple[int, ...],
        ranges: Limits,
        reads: dict[str, list[Box]],
        writes: dict[str, list[Box]],
        partials: list[_Partial],
    ) -> None:
        """Enqueue a part on a device: what it reads, and its kernel."""
        call, code = self.call, part.device
        assert code is not None
        state = self.state(piece.platform)
        holdings, device = state.holdings, state.holdings.device
        first = device.record(holdings.stream)
        copied = {partial.array: partial for partial in partials}
        for name in code.arrays:
            if name in copied:
                holdings.upload(copied[name].name, copied[name].copy, copied[name].boxes)
            else:
                holdings.upload(name, call.arrays[name], reads.get(name, []))
        shape = shape_of(code, call.configuration, piece.partition)
        kernel = self.execution.kernels.kernel(device, code, shape)
        limits = (*piece.limits, *ranges[part.shared :])
        own = tuple(limits[position] for position in code.positions)
        grid = grid_of(code, shape, own, device)
        threads = int(np.prod(grid)) * int(np.prod(shape.block))
        buffers = {name: holdings.buffer(copied[name].name if name in copied else name) for name in code.arrays}
        for name in code.private:
            buffers[name] = self.execution.pool(device).take(max(8, call.arrays[name].nbytes * threads))
            state.private.append(buffers[name])
        shapes = {name: call.arrays[name].shape for name in (*code.arrays, *code.private)}
        arguments = arguments_of(code, buffers, shapes, call.scalars, (*call.parameters, *around), own)
        device.launch(holdings.stream, kernel, grid, shape.block, arguments)
        state.events.append((piece.partition, first, device.record(holdings.stream)))
        for partial in partials:
            holdings.wrote(partial.name, partial.boxes)
        for name, boxes in writes.items():
            holdings.wrote(name, boxes)
            for identity, other in self.devices.items():
                if identity != piece.platform:
                    other.holdings.host_wrote(name, boxes)

    def compute(
        self,
        part: Part,
        piece: _Piece,
        around: tuple[int, ...],
        writes: dict[str, list[Box]],
        partials: list[_Partial],
    ) -> None:
        """Run a part on the processor."""
        call = self.call
        for name, boxes in writes.items():
            self.undo.save(call.arrays[name], boxes)
        start = time.perf_counter()
        threads = call.configuration.get(f"threads_{piece.partition}", 0)
        copies = {partial.array: partial.copy for partial in partials}
        call.run_part(part, _integers(around, piece.limits), threads, copies)
        elapsed = time.perf_counter() - start
        self.seconds[piece.partition] = self.seconds.get(piece.partition, 0.0) + elapsed
        for name, boxes in writes.items():
            for state in self.devices.values():
                state.holdings.host_wrote(name, boxes)

    def state(self, identity: str) -> _DeviceState:
        """A device, opened for the call.

        Raises:
            DeviceUnavailableError: it is not there.
        """
        found = self.devices.get(identity)
        if found is None:
            device = open_device(identity)
            holdings = Holdings(device, device.stream(), self.execution.pool(device))
            found = self.devices[identity] = _DeviceState(holdings)
        return found

    def release(self) -> None:
        """Give all device memory back to the pools."""
        for state in self.devices.values():
            pool = self.execution.pool(state.holdings.device)
            # Memory that a kernel may still be using is not for the next call.
            with contextlib.suppress(DeviceError):
                state.holdings.stream.synchronize()
            for buffer in state.private:
                pool.give(buffer)
            state.holdings.release()
