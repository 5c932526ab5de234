"""The interface of a device to the rest of the run time: memory, streams, kernels and exact copies of boxes of arrays.

Work is ordered within a stream.  A stream is used by one thread at a time; a device by as many as like.  Whatever a
driver raises arrives as a ``DeviceError``; a device that no longer answers is ``lost`` and is not offered again.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polytune.errors import DeviceError, DeviceWarning
from polytune.records import dataclass
from polytune.tracebacks import warn_caller

__all__ = ["Box", "Device", "DeviceBuffer", "DeviceLimits", "Event", "LoadedKernel", "Stream", "warn_of_device"]

Box = tuple[tuple[int, int, int], ...]
"""Elements of an array: (start, stop, step) for each axis, ``0 <= start <= stop <= extent`` and ``step >= 1``."""


@dataclass(frozen=True)
class DeviceLimits:
    """The limits of what a device can hold.

    Attributes:
        threads_per_block: the most threads that a block may have.
        block_shape: the greatest extent of a block along x, y and z.
        shared_memory: bytes of shared memory that a block may use.
        registers_per_block: 32-bit registers that a block may use; 0 where the device does not tell.
        multiprocessors: how many blocks can run at the same time at least, each on a multiprocessor of its own.
        warp: how many threads run in step; 1 where the device does not tell.
        memory: bytes, total.
        float64: whether there is double precision.
        grid_shape: the greatest extent of a grid along x, y and z.
        shared_is_near: whether shared memory is other memory than the device's, and faster; not so where the device is
            a processor.
    """

    threads_per_block: int
    block_shape: tuple[int, int, int]
    shared_memory: int
    registers_per_block: int
    multiprocessors: int
    warp: int
    memory: int
    float64: bool = True
    grid_shape: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    shared_is_near: bool = True


class DeviceBuffer:
    """Memory on a device; freed by ``free``, at the end of a ``with`` block, or when nobody refers to it any more.

    Attributes:
        nbytes: its size in bytes.
        address: where it is, in the device's own terms.
        handle: what the backend launches kernels with; None once the memory has been freed.
    """

    def __init__(self, nbytes: int, address: int, handle: Any, release: Callable[[], None] | None):
        """
        Args:
            nbytes: the size in bytes.
            address: where it is.
            handle: what the backend passes to kernels.
            release: gives the memory back, without referring to this object; None for memory that somebody else owns.
        """
        self.nbytes, self.address, self.handle = nbytes, address, handle
        self._finalizer = weakref.finalize(self, release) if release is not None else None

    def free(self) -> None:
        """Give the memory back; a second time does nothing."""
        self.handle = None
        if self._finalizer is not None:
            self._finalizer()

    def require(self) -> Any:
        """The handle.

        Raises:
            DeviceError: the memory has been freed.
        """
        if self.handle is None:
            raise DeviceError(f"a buffer of {self.nbytes} bytes is used after it has been freed")
        return self.handle

    def __enter__(self) -> DeviceBuffer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.free()


@dataclass(frozen=True)
class Event:
    """A point in a stream, passed when all the work enqueued before it is done."""

    handle: Any


@dataclass(frozen=True)
class LoadedKernel:
    """A compiled kernel.

    Attributes:
        name: its name in the source.
        registers: 32-bit registers that a thread uses.
        shared_memory: bytes of shared memory that a block uses.
        local_memory: bytes of device memory that a thread uses for what does not fit into its registers.
        threads_limit: the most threads that a block may have with these needs.
        handle: what the backend launches.

    Numbers are None where the device does not tell.
    """

    name: str
    registers: int | None
    shared_memory: int | None
    local_memory: int | None
    threads_limit: int | None
    handle: Any


class Stream(ABC):
    """A queue of work on a device, done in the order in which it was enqueued."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all work is done; every array that was to be downloaded then holds its values.

        Raises:
            LaunchError: a kernel failed while it ran.
            DeviceLostError: the device no longer answers.
        """


class Device(ABC):
    """One device.

    Attributes:
        identity: what a configuration names, such as ``cuda:0`` or ``opencl:1``.
        description: the device's own name.
        key: stable text for caches and the history: name, and compute capability or driver.
        dialect: the prelude that its kernels need: ``cuda`` or ``opencl``.
        limits: what it can hold.
        lost: whether it has stopped answering; then every use raises ``DeviceLostError``.
    """

    identity: str
    description: str
    key: str
    dialect: str
    limits: DeviceLimits
    lost: bool = False

    @abstractmethod
    def stream(self) -> Stream:
        """A new stream."""

    @abstractmethod
    def allocate(self, nbytes: int) -> DeviceBuffer:
        """Memory with arbitrary contents.

        Raises:
            DeviceMemoryError: there is not as much left.
        """

    @abstractmethod
    def wrap(self, address: int, nbytes: int) -> DeviceBuffer:
        """Memory that somebody else owns and keeps alive, such as that of a ``__cuda_array_interface__``.

        Raises:
            DeviceError: this kind of device has no addresses.
        """

    @abstractmethod
    def compile(self, source: str, name: str, *, contract: bool = False) -> LoadedKernel:
        """A kernel from its text, or from the disk cache.

        Args:
            source: the whole text, prelude included.
            name: the kernel's name in it.
            contract: whether a multiplication and an addition may become one operation that rounds once.

        Raises:
            DeviceCompilationError: with what the compiler says.
        """

    @abstractmethod
    def upload(self, stream: Stream, buffer: DeviceBuffer, host: np.ndarray, box: Box) -> None:
        """Copy exactly the elements of ``host[box]`` to the device; the host array may change as soon as this returns.

        Args:
            stream: where it is enqueued.
            buffer: an array of the shape and dtype of ``host``, dense in C order.
            host: an array with any strides.
            box: which elements.
        """

    @abstractmethod
    def download(self, stream: Stream, host: np.ndarray, buffer: DeviceBuffer, box: Box) -> None:
        """Copy exactly the elements of ``host[box]`` from the device, to be there once the stream is synchronized.

        Args:
            stream: where it is enqueued.
            host: an array with any strides, of which no other element is written.
            buffer: an array of the shape and dtype of ``host``, dense in C order.
            box: which elements.
        """

    @abstractmethod
    def launch(
        self,
        stream: Stream,
        kernel: LoadedKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[DeviceBuffer | np.generic],
    ) -> None:
        """Enqueue a kernel.

        Args:
            stream: where it is enqueued.
            kernel: what ``compile`` gave.
            grid: blocks along x, y and z.
            block: threads of a block along x, y and z.
            arguments: buffers, and scalars of exactly the types that the kernel declares.

        Raises:
            LaunchError: it cannot be launched so.
        """

    @abstractmethod
    def record(self, stream: Stream) -> Event:
        """The point in the stream after all that has been enqueued so far."""

    @abstractmethod
    def wait(self, stream: Stream, event: Event) -> None:
        """Have all later work of the stream wait for an event of another stream of this device."""

    @abstractmethod
    def seconds(self, first: Event, last: Event) -> float:
        """The time from one event to a later one, which is waited for."""

    @abstractmethod
    def wait_for_others(self) -> None:
        """Wait for the work on this device that other libraries in this process have enqueued, on whatever stream."""

    @abstractmethod
    def memory_free(self) -> int:
        """Bytes that can be allocated, as far as the device tells."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the device; nothing of it may be used afterwards."""

    def __repr__(self) -> str:
        return f"{self.identity} ({self.description})"


def warn_of_device(text: str) -> None:
    """Warn, at the line of the program that has called polytune; in a thread of polytune's own, at its last line."""
    warn_caller(DeviceWarning(text))
