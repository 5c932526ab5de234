"""One try to run a call as its configuration says, and what is done when a device fails in it.

Each region: what its pieces need is brought to where they run, devices begin, then the processor runs its own pieces.
After the last region everything comes home.

A device may fail at any moment, and the call must still give the right result.

- What a device refuses at once, for want of memory or because a kernel cannot be launched so, the processor does
  instead, and all that follows; what the devices have done until then stands.
- What goes wrong while a device works shows later, and what it has written since is worth nothing.  Then the call goes
  back to its last *checkpoint*, the last moment between two regions at which no device had anything that the host
  lacked, and the processor does the rest: of the region after the checkpoint the pieces that are *owed*, and all of the
  later ones.  What the host's arrays held before those were begun is in a log.  Nothing that devices have written
  reaches the host before all of it has arrived.
- Elements that are on a device alone when a call begins, of arrays that are kept there, cannot be had again: then the
  caller is told.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

import numpy as np

from polytune.errors import DeviceError, DeviceLostError, LaunchError
from polytune.records import dataclass
from polytune.runtime.devices.device import Box, Device, DeviceBuffer
from polytune.runtime.partitioned.boxes import whole
from polytune.runtime.partitioned.call import CallReport, SharedCall
from polytune.runtime.partitioned.clock import DeviceClock, shares_of
from polytune.runtime.partitioned.description import Part, Partitioned
from polytune.runtime.partitioned.holdings import Holdings
from polytune.runtime.partitioned.launches import arguments_of, grid_of
from polytune.runtime.partitioned.pieces import CPU, Boxes, Transfers, integers
from polytune.runtime.partitioned.pool import pool_of
from polytune.runtime.partitioned.work import Work, combine, works_of

__all__ = ["Attempt", "UndoLog"]


@dataclass
class _OnDevice:
    """A device during a call.

    Attributes:
        holdings: the arrays on it.
        clock: how long it works.
        private: memory of its kernels' threads.
        is_idle: whether all its work is known to be done.
    """

    holdings: Holdings
    clock: DeviceClock
    private: list[DeviceBuffer] = field(default_factory=list)
    is_idle: bool = False

    @property
    def device(self) -> Device:
        return self.holdings.device


class Attempt:
    """One call, run once; ``release`` it afterwards.

    Args:
        partitioned: the version.
        transfers: finds what pieces read and write.
        call: its arguments, and the plan that says what runs where.
    """

    def __init__(self, partitioned: Partitioned, transfers: Transfers, call: SharedCall):
        self._partitioned, self._transfers, self._call = partitioned, transfers, call
        self._devices: dict[str, _OnDevice] = {}
        self._processor: dict[int, float] = {}
        self._undo = UndoLog()
        self._failure: DeviceError | None = None
        self._owed: list[Work] = []
        self._after_owed = 0
        self._is_undone = self._has_begun = False
        self._irreplaceable = [name for name, residence in call.residences.items() if residence.holding.dirty]

    def run(self) -> CallReport:
        """Run the call, on the processor alone as soon as a device fails.

        Raises:
            DeviceLostError: or another DeviceError, where elements that were on a device alone are lost with it.
        """
        try:
            for name, residence in self._call.residences.items():
                self._on(residence.device).holdings.adopt(name, residence.holding)
            for index, (number, around) in enumerate(self._partitioned.steps(*self._call.parameters)):
                self._step(index, number, around)
            self._finish()
        except DeviceError as error:
            self._go_back(error)
            return CallReport((), error)
        if self._failure is not None:
            return CallReport((), self._failure)
        try:
            return CallReport(shares_of(self._processor, {name: on.clock for name, on in self._devices.items()}))
        except DeviceError as error:
            return CallReport((), error)

    def release(self) -> None:
        """Give all device memory back to the pools."""
        for on in self._devices.values():
            # Memory that a kernel may still be using is not for the next call.
            if not on.is_idle:
                with contextlib.suppress(DeviceError):
                    on.holdings.stream.synchronize()
            for buffer in on.private:
                pool_of(on.device).give(buffer)
            on.holdings.release()

    # ---- one region

    def _step(self, index: int, number: int, around: tuple[int, ...]) -> None:
        part = self._partitioned.parts[number]
        works = works_of(self._call, self._transfers, part, number, around)
        self._is_undone = True
        if not any(on.holdings.is_dirty for on in self._devices.values()):
            # A checkpoint.  What the processor does of this region stands, but where pieces add up in the same place.
            self._undo, self._owed, self._after_owed = UndoLog(), list(works), index + 1
            self._is_undone = any(work.partials for work in works)
        for work in works:
            self._fetch_for(work.piece.platform, work.reads, work.writes)
        mine: list[Work] = []
        for platform, grouped in itertools.groupby(works, key=lambda work: work.piece.platform):
            group = list(grouped)
            mine += group if platform == CPU or self._failure else self._enqueue(part, platform, group)
        for work in mine:
            if work.piece.platform != CPU:
                self._fetch_for(CPU, work.reads, work.writes)
            self._compute(part, work)
        for work in works:
            for name, boxes in work.writes.items():
                self._wrote(None if work in mine else work.piece.platform, name, boxes)
        for work in works:
            self._join(work, on_device=work not in mine)

    def _fetch_for(self, platform: str, reads: Boxes, writes: Boxes) -> None:
        """Bring home what a platform needs, or overwrites, and another one has."""
        wanted: dict[str, list[str]] = {}
        for identity, on in self._devices.items():
            if not on.holdings.is_dirty:
                continue
            for array in {**reads, **writes}:
                boxes = [*reads.get(array, []), *writes.get(array, [])]
                if identity == platform:
                    boxes = on.holdings.clashes(array, reads.get(array, []))
                if on.holdings.is_needed(array, boxes):
                    wanted.setdefault(identity, []).append(array)
        self._bring_home(wanted)

    def _enqueue(self, part: Part, platform: str, works: list[Work]) -> list[Work]:
        """Enqueue pieces on a device: first all that they read, then their kernels.

        Returns:
            The pieces that the device does not take.
        """
        waiting = list(works)
        first = works[0].piece.partition
        try:
            on = self._on(self._call.plan.devices[platform])
            since = on.clock.start(first)
            staged = [self._stage(on, part, work) for work in works]
            since = on.clock.stop(first, since, moved=True)
            for grid, arguments in staged:
                work = waiting[0]
                kernel, shape = self._call.plan.kernels[work.number, work.piece.partition]
                # A member that is not shared may have no points: then there is nothing to do.
                if 0 not in grid:
                    self._has_begun = True
                    on.device.launch(on.holdings.stream, kernel, grid, shape.block, arguments)
                    for name, boxes in itertools.chain(work.writes.items(), ((p.name, p.boxes) for p in work.partials)):
                        on.holdings.wrote(name, boxes)
                waiting.pop(0)
                since = on.clock.stop(work.piece.partition, since, moved=False)
        except DeviceLostError:
            raise
        except DeviceError as error:
            self._failure = error
        return waiting

    def _stage(
        self, on: _OnDevice, part: Part, work: Work
    ) -> tuple[tuple[int, int, int], Sequence[DeviceBuffer | np.generic]]:
        """Move what a piece needs; the grid and the arguments of its kernel."""
        call, code, holdings = self._call, part.device, on.holdings
        assert code is not None
        copied = {partial.array: partial for partial in work.partials}
        for name in code.arrays:
            if name in copied:
                holdings.upload(copied[name].name, copied[name].copy, copied[name].boxes)
            else:
                holdings.upload(name, call.arrays[name], work.reads.get(name, []))
        _, shape = call.plan.kernels[work.number, work.piece.partition]
        limits = (*work.piece.limits, *work.ranges[part.shared :])
        own = tuple(limits[position] for position in code.positions)
        grid = grid_of(code, shape, own, on.device)
        threads = math.prod(grid) * math.prod(shape.block)
        buffers = {name: holdings.buffer(copied[name].name if name in copied else name) for name in code.arrays}
        for name in code.private:
            buffers[name] = pool_of(on.device).take(max(8, call.arrays[name].nbytes * threads))
            on.private.append(buffers[name])
        shapes = {name: call.arrays[name].shape for name in (*code.arrays, *code.private)}
        integers_of = (*call.parameters, *work.around)
        return grid, arguments_of(code, buffers, shapes, call.scalars, integers_of, own, call.origins)

    def _compute(self, part: Part, work: Work) -> None:
        """Run a piece on the processor."""
        call, partition = self._call, work.piece.partition
        if self._is_undone:
            for name, boxes in work.writes.items():
                self._save(name, boxes)
        self._has_begun = True
        start = time.perf_counter()
        copies = {partial.array: partial.copy for partial in work.partials}
        call.run_part(part, integers(work.around, work.piece.limits), self._threads(partition, work.number), copies)
        self._processor[partition] = self._processor.get(partition, 0.0) + time.perf_counter() - start
        if not self._is_undone:
            self._owed.remove(work)

    def _join(self, work: Work, *, on_device: bool) -> None:
        """Combine what a piece has added up on its own with what the others have."""
        for partial in work.partials:
            holdings = self._devices[work.piece.platform].holdings if on_device else None
            if holdings is not None:
                self._bring_home({work.piece.platform: [partial.name]})
                holdings.drop(partial.name)
            self._fetch_for(CPU, {}, {partial.array: partial.boxes})
            self._save(partial.array, partial.boxes)
            combine(self._call.arrays[partial.array], partial.copy, partial.operator, partial.boxes)
            self._wrote(None, partial.array, partial.boxes)

    def _wrote(self, writer: str | None, name: str, boxes: list[Box]) -> None:
        """Mark what devices hold of boxes as no longer the newest, but for the device that wrote them, if one did."""
        for identity, on in self._devices.items():
            if identity != writer:
                on.holdings.host_wrote(name, boxes)

    # ---- coming home

    def _finish(self) -> None:
        """Bring everything where it belongs; what fails here fails before any of it is put in place."""
        for name, residence in self._call.residences.items():
            if residence.at_home:
                everything = {name: [whole(residence.host.shape)]}
                self._fetch_for(residence.device.identity, everything, {})
                self._on(residence.device).holdings.upload(name, residence.host, everything[name])
        temporary = self._call.temporary
        leaving = {
            identity: [name for name in on.holdings.leaving if name not in temporary]
            for identity, on in self._devices.items()
        }
        self._fetch(leaving)
        for on in self._devices.values():
            on.holdings.stream.synchronize()
            on.is_idle = True
        for identity, names in leaving.items():
            self._devices[identity].holdings.commit(names)

    def _bring_home(self, wanted: Mapping[str, list[str]]) -> None:
        """Download what the host lacks of arrays."""
        chosen = {identity: names for identity, names in wanted.items() if names}
        self._fetch(chosen)
        for identity in chosen:
            self._devices[identity].holdings.stream.synchronize()
        for identity, names in chosen.items():
            holdings = self._devices[identity].holdings
            for name in names:
                self._save(name, holdings.dirty_boxes(name))
            holdings.commit(names)

    def _fetch(self, wanted: Mapping[str, list[str]]) -> None:
        for identity, names in wanted.items():
            on = self._devices[identity]
            if names and on.clock.first is not None:
                since = on.clock.start(on.clock.first)
                on.holdings.fetch(names)
                on.clock.stop(on.clock.first, since, moved=True)
            elif names:
                on.holdings.fetch(names)

    # ---- when a device fails

    def _save(self, name: str, boxes: list[Box]) -> None:
        """Keep what an array of the call holds, where going back is possible at all."""
        if name in self._call.arrays and not self._irreplaceable:
            self._undo.save(self._call.arrays[name], boxes)

    def _go_back(self, error: DeviceError) -> None:
        """Go back to the checkpoint and have the processor do the rest.

        Raises:
            DeviceError: elements that were on a device alone are lost.
        """
        if self._irreplaceable and not self._has_begun and not isinstance(error, DeviceLostError):
            self._irreplaceable = []  # what devices have is as it was, and can still be had
            for name, residence in self._call.residences.items():
                residence.bring_home(name)
        for residence in self._call.residences.values():
            residence.holding.forget()
        if self._irreplaceable:
            kind = type(error) if isinstance(error, DeviceLostError) else LaunchError
            arrays = ", ".join(self._irreplaceable)
            raise kind(
                f"{error}; what only the device had of {arrays} is lost, and must be made anew before it is used again"
            ) from error
        self._undo.restore()
        call, parts = self._call, self._partitioned.parts
        for work in self._owed:
            threads = self._threads(work.piece.partition, work.number)
            call.run_part(parts[work.number], integers(work.around, work.piece.limits), threads, {})
        for number, around in itertools.islice(self._partitioned.steps(*call.parameters), self._after_owed, None):
            part = parts[number]
            limits = part.ranges(*call.parameters, *around)[: part.shared]
            call.run_part(part, integers(around, limits), self._threads(0, number), {})
        for name, residence in call.residences.items():
            if residence.at_home:
                residence.send_back(name)

    def _threads(self, partition: int, region: int) -> int:
        """Return how many threads a region's part of a partition has on the processor; 0 where the configuration says
        nothing."""
        chosen = self._call.plan.configuration
        return int(chosen.get(f"threads_{partition}_{region}", chosen.get(f"threads_{partition}", 0)))

    def _on(self, device: Device) -> _OnDevice:
        found = self._devices.get(device.identity)
        if found is None:
            holdings = Holdings(device, device.stream(), pool_of(device))
            found = self._devices[device.identity] = _OnDevice(holdings, DeviceClock(holdings))
        return found


@dataclass(frozen=True)
class _Saved:
    """An array, its values from before where ``changed`` says so, and anything elsewhere."""

    host: np.ndarray
    values: np.ndarray
    changed: np.ndarray


class UndoLog:
    """Values from before they were first written, element by element."""

    def __init__(self) -> None:
        self._saved: dict[int, _Saved] = {}

    def save(self, host: np.ndarray, boxes: Iterable[Box]) -> None:
        """Keep what boxes of an array hold, where that has not been kept before."""
        saved = self._saved.get(id(host))
        if saved is None:
            saved = self._saved[id(host)] = _Saved(host, np.empty(host.shape, host.dtype), np.zeros(host.shape, bool))
        for box in boxes:
            where = tuple(slice(*axis) for axis in box)
            np.copyto(saved.values[where], host[where], where=~saved.changed[where])
            saved.changed[where] = True

    def restore(self) -> None:
        """Put everything back."""
        for saved in self._saved.values():
            np.copyto(saved.host, saved.values, where=saved.changed)
        self._saved = {}
