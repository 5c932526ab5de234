"""Arrays that stay on a device from call to call: ``with polytune.resident(A, B):``.

A residence is known by the memory of its array, so that a view of the same elements is the same array.  What a call
needs of it is moved, and no more: a device that has written elements keeps them until the processor, another device or
the end of the block wants them.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field
from types import TracebackType

import numpy as np

from polytune.errors import ArgumentError, DeviceLostError, DeviceMemoryError
from polytune.records import dataclass
from polytune.runtime.devices.device import Device, warn_of_device
from polytune.runtime.devices.discovery import device as open_device
from polytune.runtime.devices.discovery import devices
from polytune.runtime.partitioned.boxes import whole
from polytune.runtime.partitioned.holdings import Holding, Holdings
from polytune.runtime.partitioned.pool import pool_of
from polytune.tracebacks import shows_frames_of_callers

__all__ = ["Residence", "in_use", "residences_of", "resident", "resident_arrays"]

Memory = tuple[int, tuple[int, ...], tuple[int, ...], str]
"""The properties that make an array the same as another: address, shape, strides and dtype."""

_serial = itertools.count()


@dataclass(eq=False)
class Residence:
    """An array that is kept on a device.

    Attributes:
        device: the device.
        holding: what is where.
        at_home: whether the device is where the array belongs, so that it must have all of it after every call; else
            the host is.
        lock: held by whoever uses it.
        users: how many blocks keep it there.
        serial: the order in which several are locked.
    """

    device: Device
    holding: Holding
    at_home: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    users: int = 0
    serial: int = field(default_factory=lambda: next(_serial))

    @property
    def host(self) -> np.ndarray:
        """The array on the host."""
        return self.holding.host

    @property
    def is_in_use(self) -> bool:
        """Return whether the array is still on the device, or nothing but there."""
        gone = self.device.lost and not self.holding.dirty
        return self.at_home or (self.users > 0 and not gone)

    def bring_home(self, name: str = "an array") -> None:
        """Have the host hold the newest elements.

        Raises:
            DeviceLostError: the device no longer answers, and what it had computed is lost.
        """
        if not self.holding.dirty:
            return
        with self._holdings(name) as holdings:
            holdings.fetch([name])
            holdings.stream.synchronize()
            holdings.commit([name])

    def send_back(self, name: str = "an array") -> None:
        """Have the device hold the newest elements of all of it.

        Raises:
            DeviceLostError: the device no longer answers.
        """
        with self._holdings(name) as holdings:
            holdings.upload(name, self.host, [whole(self.host.shape)])
            holdings.stream.synchronize()

    @contextmanager
    def _holdings(self, name: str) -> Iterator[Holdings]:
        if self.device.lost:
            raise DeviceLostError(
                f"{self.device.identity} ({self.device.description}) has stopped answering; what it had computed in "
                f"{name} of shape {self.host.shape} is lost, and the array has to be made anew"
            )
        holdings = Holdings(self.device, self.device.stream(), pool_of(self.device))
        holdings.adopt(name, self.holding)
        try:
            yield holdings
        finally:
            holdings.release()


class _Registry:
    """The arrays that are on devices in this process."""

    def __init__(self, found: dict[Memory, Residence]) -> None:
        self._found = found
        self._lock = threading.RLock()

    def __bool__(self) -> bool:
        return bool(self._found)

    def enter(self, array: np.ndarray, device: Device) -> Residence:
        """Keep an array on a device.

        Raises:
            ArgumentError: it is on another one already, or overlaps with an array that is.
            DeviceMemoryError: there is no room for it.
        """
        with self._lock:
            residence = self._found.get(_memory(array))
            if residence is None:
                for other in self._found.values():
                    if np.shares_memory(array, other.host):
                        raise ArgumentError(
                            f"an array of shape {array.shape} overlaps with one of shape {other.host.shape} that is "
                            f"resident on {other.device.identity}; name the larger one alone"
                        )
                buffer = pool_of(device).take(max(array.nbytes, 8))
                residence = self._found[_memory(array)] = Residence(device, Holding(buffer, array, kept=True))
            elif residence.device is not device:
                raise ArgumentError(
                    f"an array of shape {array.shape} is resident on {residence.device.identity} already, and cannot "
                    f"be on {device.identity} at the same time"
                )
            residence.users += 1
            return residence

    def leave(self, residence: Residence) -> None:
        """End that a block keeps an array on its device; after the last one it is at home.

        Raises:
            DeviceError: what the device had computed cannot be brought home.
        """
        with residence.lock, self._lock:
            residence.users -= 1
            if residence.users:
                return
            del self._found[_memory(residence.host)]
            try:
                residence.bring_home()
            finally:
                residence.holding.forget()
                pool_of(residence.device).give(residence.holding.buffer)

    def of(self, array: np.ndarray) -> tuple[Residence | None, list[Residence]]:
        """The residence of an array, and those of others with which it overlaps."""
        with self._lock:
            found = self._found.get(_memory(array))
            if found is not None:
                return found, []
            return None, [other for other in self._found.values() if np.may_share_memory(array, other.host)]


resident_arrays: dict[Memory, Residence] = {}
"""The arrays that are kept on devices now; others only read it."""

_registry = _Registry(resident_arrays)


def residences_of(arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, Residence], dict[str, list[Residence]]]:
    """The residences of arrays by name, and those of other arrays with which they overlap."""
    if not _registry:
        return {}, {}
    own: dict[str, Residence] = {}
    overlapping: dict[str, list[Residence]] = {}
    for name, array in arrays.items():
        found, others = _registry.of(array)
        if found is not None:
            own[name] = found
        elif others:
            overlapping[name] = others
    return own, overlapping


@contextmanager
def in_use(residences: list[Residence]) -> Iterator[None]:
    """Hold the locks of residences, always in the same order."""
    with ExitStack() as stack:
        for residence in sorted(residences, key=lambda each: each.serial):
            stack.enter_context(residence.lock)
        yield


class resident:
    """Keep arrays on a device while a ``with`` block runs.

    Calls of kernels within the block move of these arrays only what is not where it is needed, so that a sequence of
    calls on a device moves nothing at all; the tuner measures the kernels without transfers, and keeps what it learns
    of them apart.  After the block the arrays hold the results, whatever has happened in it.

    Between calls NumPy sees what the host has, which is not what a device has computed since: ``bring_home`` gets it,
    and ``changed`` says that the program itself has written to an array.  Where there is no device, all of this does
    nothing.  The arrays are kept alive until the block ends.  Blocks may be nested: an array comes home from the
    outermost one that names it.

    Args:
        arrays: NumPy arrays; no two of them may overlap.
        device: the identity of a device, such as ``cuda:0``; by default the first of those in use.

    Raises:
        ArgumentError: an argument is no array, or is on another device already.
        DeviceUnavailableError: there is no such device.
        DeviceLostError: at the end of the block, the device no longer answers, and what it had computed is lost.

    >>> import numpy, polytune
    >>> A = numpy.ones((100, 100))
    >>> with polytune.resident(A):
    ...     pass  # calls of kernels on A
    """

    @shows_frames_of_callers
    def __init__(self, *arrays: np.ndarray, device: str | None = None):
        for array in arrays:
            if not isinstance(array, np.ndarray):
                raise ArgumentError(f"polytune.resident takes NumPy arrays, not {type(array).__name__}")
        self._arrays = arrays
        self._identity = device
        self._residences: list[Residence] = []

    @shows_frames_of_callers
    def __enter__(self) -> resident:
        device = self._device()
        if device is None:
            return self
        try:
            for array in self._arrays:
                if array.size:
                    self._residences.append(_registry.enter(array, device))
        except DeviceMemoryError as error:
            warn_of_device(f"{error}; arrays stay where they are")
        except BaseException:
            self._leave()
            raise
        return self

    @shows_frames_of_callers
    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leave()

    @shows_frames_of_callers
    def bring_home(self, *arrays: np.ndarray) -> None:
        """Have the host hold the newest elements, for NumPy to read.

        Args:
            arrays: which; all of the block without any.
        """
        for residence in self._named(arrays):
            with residence.lock:
                residence.bring_home()

    @shows_frames_of_callers
    def changed(self, *arrays: np.ndarray) -> None:
        """Say that the program has written to arrays: all elements that the host has are the newest from now on.

        Who writes to a part of an array brings it home before.

        Args:
            arrays: which; all of the block without any.
        """
        for residence in self._named(arrays):
            with residence.lock:
                residence.holding.forget()

    def _device(self) -> Device | None:
        if self._identity is not None:
            return open_device(self._identity)
        return next(iter(devices()), None)

    def _named(self, arrays: tuple[np.ndarray, ...]) -> list[Residence]:
        if not arrays:
            return self._residences
        wanted = {_memory(array) for array in arrays}
        return [residence for residence in self._residences if _memory(residence.host) in wanted]

    def _leave(self) -> None:
        """Bring every array home, also after one could not be."""
        with ExitStack() as stack:
            while self._residences:
                stack.callback(_registry.leave, self._residences.pop())


def _memory(array: np.ndarray) -> Memory:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
