"""A device in this process's memory, whose kernels are Python functions and which fails when it is told to.

Nothing is done before a stream is synchronized or an event is waited for, in the order in which it was enqueued; so a
program that uses what has not arrived yet, or changes what has not been taken yet, gets wrong results.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from polytune.errors import DeviceError, DeviceLostError, DeviceMemoryError
from polytune.runtime.devices.device import Box, Device, DeviceBuffer, DeviceLimits, Event, LoadedKernel, Stream
from polytune.runtime.devices.transfers import view

GARBAGE = 0xA5
LIMITS = DeviceLimits(
    threads_per_block=1024,
    block_shape=(1024, 1024, 64),
    shared_memory=48 << 10,
    registers_per_block=65536,
    multiprocessors=4,
    warp=32,
    memory=1 << 24,
)


class FakeStream(Stream):
    """Work that has been enqueued."""

    def __init__(self, device: FakeDevice):
        self.device = device
        self.queue: list[Callable[[], None]] = []

    def synchronize(self) -> None:
        self.device.count("synchronize")
        queue, self.queue = self.queue, []
        for work in queue:
            work()


class FakeDevice(Device):
    """A device whose every operation is counted.

    Attributes:
        kernels: by name, a function of the bytes of every buffer, as float64 arrays, and of the scalars.
        operations: how many operations there have been, by kind.
        fail_at: the number of the operation that raises ``error``; 0 for none.
        error: what is raised then; a ``DeviceLostError`` makes the device lost.
    """

    dialect = "cuda"

    def __init__(
        self, kernels: dict[str, Callable[..., None]], identity: str = "cuda:0", limits: DeviceLimits = LIMITS
    ):
        self.identity, self.description, self.key, self.limits = identity, "fake", "fake", limits
        self.kernels = kernels
        self.operations: list[str] = []
        self.fail_at = 0
        self.fail_kind: str | None = None
        self.error: type[DeviceError] = DeviceError
        self.used = 0
        self.memory: dict[int, np.ndarray] = {}
        self._addresses = itertools.count(1 << 20, 1 << 20)
        self._clock = itertools.count()

    def count(self, kind: str) -> None:
        """Note an operation, and fail if it is the one that is to."""
        if self.lost:
            raise DeviceLostError(f"{self.identity} has stopped answering")
        self.operations.append(kind)
        counted = self.operations if self.fail_kind is None else [k for k in self.operations if k == self.fail_kind]
        if self.fail_at and len(counted) == self.fail_at and self.fail_kind in (None, kind):
            self.lost = issubclass(self.error, DeviceLostError)
            raise self.error(f"{self.identity}: {kind} failed")

    def stream(self) -> Stream:
        self.count("stream")
        return FakeStream(self)

    def allocate(self, nbytes: int) -> DeviceBuffer:
        self.count("allocate")
        if self.used + nbytes > self.limits.memory:
            raise DeviceMemoryError(f"{self.identity}: no room for {nbytes} bytes")
        self.used += nbytes
        address = next(self._addresses)
        self.memory[address] = np.full(-(-nbytes // 8) * 8, GARBAGE, np.uint8)

        def release() -> None:
            self.used -= nbytes
            del self.memory[address]

        return DeviceBuffer(nbytes, address, address, release)

    def wrap(self, address: int, nbytes: int) -> DeviceBuffer:
        return DeviceBuffer(nbytes, address, address, None)

    def compile(self, source: str, name: str, *, contract: bool = False) -> LoadedKernel:
        self.count("compile")
        return LoadedKernel(name, 32, 0, 0, 1024, self.kernels[name])

    def upload(self, stream: Stream, buffer: DeviceBuffer, host: np.ndarray, box: Box) -> None:
        self.count("upload")
        taken = view(host, box).copy()
        image = self.image(buffer, host)

        def work() -> None:
            view(image, box)[...] = taken

        stream.queue.append(work)

    def download(self, stream: Stream, host: np.ndarray, buffer: DeviceBuffer, box: Box) -> None:
        self.count("download")
        image = self.image(buffer, host)

        def work() -> None:
            view(host, box)[...] = view(image, box)

        stream.queue.append(work)

    def launch(
        self,
        stream: Stream,
        kernel: LoadedKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[DeviceBuffer | np.generic],
    ) -> None:
        self.count("launch")
        assert 0 not in grid
        values = [
            self.memory[argument.address].view(np.float64) if isinstance(argument, DeviceBuffer) else argument.item()
            for argument in arguments
        ]
        stream.queue.append(lambda: kernel.handle(*values))

    def record(self, stream: Stream) -> Event:
        self.count("record")
        return Event(next(self._clock))

    def wait(self, stream: Stream, event: Event) -> None:
        self.count("wait")

    def seconds(self, first: Event, last: Event) -> float:
        self.count("seconds")
        return (last.handle - first.handle) * 1e-3

    def wait_for_others(self) -> None:
        self.count("wait_for_others")

    def memory_free(self) -> int:
        return self.limits.memory - self.used

    def close(self) -> None:
        pass

    def image(self, buffer: DeviceBuffer, host: np.ndarray) -> np.ndarray:
        """What the device has of an array."""
        return self.memory[buffer.address][: host.nbytes].view(host.dtype).reshape(host.shape)
