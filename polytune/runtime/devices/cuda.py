"""CUDA devices, through pycuda.

A CUDA context is current in a thread: the device's primary context, which all libraries of a process share, is pushed
around every use, so that any thread may use a device.  Machine code comes from NVRTC or nvcc.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from polytune.errors import (
    DeviceCompilationError,
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    DeviceUnavailableError,
    LaunchError,
)
from polytune.runtime.devices import nvrtc
from polytune.runtime.devices.cubin import kernel_needs
from polytune.runtime.devices.device import Buffer, Event, Kernel, Limits, Stream
from polytune.runtime.devices.kernel_cache import kernel_cache, key_of_kernel
from polytune.runtime.devices.staged import StagedDevice, StagedStream
from polytune.runtime.devices.staging import Staging
from polytune.runtime.devices.transfers import Rectangle

__all__ = ["CudaCompiler", "CudaDevice", "chosen_compiler"]


class CudaCompiler(Protocol):
    """What makes machine code of CUDA text: ``nvrtc.ForDriver``, or whatever has the same two functions."""

    def compile(self, source: str, arch: str, options: Sequence[str]) -> bytes:
        """A cubin, or what else the driver loads; raises ``DeviceCompilationError``."""

    def compiler(self) -> str:
        """Its name and version; raises ``DeviceCompilationError`` where it is not installed."""


def chosen_compiler(driver: int) -> CudaCompiler:
    """The compiler that ``$POLYTUNE_CUDA_COMPILER`` names, as ``module`` or ``module:attribute``; else NVRTC or nvcc.

    Args:
        driver: the version of CUDA that the driver is for, such as 12040 for 12.4.

    Raises:
        DeviceUnavailableError: there is none of that name.
    """
    named = os.environ.get("POLYTUNE_CUDA_COMPILER")
    if not named:
        return nvrtc.ForDriver(driver // 1000)
    module, _, attribute = named.partition(":")
    try:
        found: Any = importlib.import_module(module)
        return getattr(found, attribute) if attribute else found
    except (ImportError, AttributeError) as error:
        raise DeviceUnavailableError(
            f"POLYTUNE_CUDA_COMPILER={named!r} cannot be used ({error}): "
            "name a module with the functions compile and compiler, or unset it"
        ) from error


class CudaDevice(StagedDevice):
    """A CUDA GPU."""

    dialect = "cuda"

    def __init__(self, index: int, compiler: CudaCompiler | None = None):
        """
        Args:
            index: the driver's number of the device.
            compiler: what makes its machine code; by default ``chosen_compiler``'s.

        Raises:
            DeviceUnavailableError: the device cannot be opened.
        """
        import pycuda.driver

        super().__init__()
        self._cuda = pycuda.driver
        driver_version = self._cuda.get_driver_version()
        self._compiler = compiler or chosen_compiler(driver_version)
        self.identity = f"cuda:{index}"
        try:
            self._raw = self._cuda.Device(index)
            self.description = self._raw.name()
            self._context = self._raw.retain_primary_context()
        except self._cuda.Error as error:
            raise DeviceUnavailableError(f"{self.identity} cannot be opened: {error}") from error
        major, minor = self._raw.compute_capability()
        self.arch = f"sm_{major}{minor}"
        self.key = f"cuda {self.description}, {self.arch}, driver {driver_version}"
        self.limits = _limits(self._cuda, self._raw)
        self.largest_pitch = self._raw.get_attribute(self._cuda.device_attribute.MAX_PITCH)
        self._launching = threading.Lock()
        self._events: list[Any] = []
        self._streams: list[Any] = []
        # At exit this comes after the buffers' own finalizers, which were made later.
        self._finalizer = weakref.finalize(self, _detach, self._cuda, self._context)

    def stream(self) -> CudaStream:
        with self._current("make a stream on"):
            raw = self._streams.pop() if self._streams else self._cuda.Stream()
        return CudaStream(self, _Recycled(raw, self._streams))

    def allocate(self, nbytes: int) -> Buffer:
        with self._current(f"allocate {nbytes} bytes on"):
            raw = self._cuda.mem_alloc(max(1, nbytes))
        return Buffer(nbytes, int(raw), int(raw), functools.partial(self._free, raw))

    def wrap(self, address: int, nbytes: int) -> Buffer:
        return Buffer(nbytes, address, address, None)

    def compile(self, source: str, name: str, *, contract: bool = False) -> Kernel:
        options = nvrtc.options(contract)
        cache = kernel_cache()
        key = key_of_kernel(self._compiler.compiler(), self.arch, *options, source)
        code = cache.load(key)
        if code is None:
            code = self._compiler.compile(source, self.arch, options)
            cache.store(key, code)
        try:
            with self._current(f"load {name} into"):
                function = self._cuda.module_from_buffer(code).get_function(name)
                return Kernel(
                    name=name,
                    registers=function.num_regs,
                    shared_memory=function.shared_size_bytes,
                    local_memory=function.local_size_bytes,
                    threads_limit=function.max_threads_per_block,
                    handle=_Function(function, _arguments_size(code, name)),
                )
        except (DeviceLostError, DeviceMemoryError):
            raise
        except DeviceError as error:
            raise DeviceCompilationError(str(error)) from error.__cause__

    def launch(
        self,
        stream: Stream,
        kernel: Kernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[Buffer | np.generic],
    ) -> None:
        assert isinstance(stream, CudaStream)
        function: _Function = kernel.handle
        layout = "".join("P" if isinstance(argument, Buffer) else argument.dtype.char for argument in arguments)
        values = [argument.address if isinstance(argument, Buffer) else argument for argument in arguments]
        if function.arguments_size not in (None, _size(layout)):
            raise LaunchError(
                f"{kernel.name} takes {function.arguments_size} bytes of arguments, and {_size(layout)} were given"
            )
        try:
            # The layout and the block's shape are part of the function until it is launched.
            with self._launching, self._current(f"launch {kernel.name} with blocks of {block} on"):
                function.raw.prepare(layout)
                function.raw.prepared_async_call(grid, block, stream.raw, *values)
        except (DeviceLostError, DeviceMemoryError):
            raise
        except DeviceError as error:
            raise LaunchError(str(error)) from error.__cause__

    def record(self, stream: Stream) -> Event:
        assert isinstance(stream, CudaStream)
        with self._current("record an event on"):
            raw = self._events.pop() if self._events else self._cuda.Event()
            raw.record(stream.raw)
        return Event(_Recycled(raw, self._events))

    def wait(self, stream: Stream, event: Event) -> None:
        assert isinstance(stream, CudaStream)
        with self._current("wait for an event on"):
            stream.raw.wait_for_event(event.handle.raw)

    def seconds(self, first: Event, last: Event) -> float:
        with self._current("read the time of an event on"):
            last.handle.raw.synchronize()
            return first.handle.raw.time_till(last.handle.raw) * 1e-3

    def has_passed(self, event: Event) -> bool:
        with self._current("look at an event on"):
            return event.handle.raw.query()

    def wait_for(self, event: Event) -> None:
        with self._current("wait for the work of"):
            event.handle.raw.synchronize()

    def memory_free(self) -> int:
        with self._current("ask for the free memory of"):
            free, _ = self._cuda.mem_get_info()
        return free

    def close(self) -> None:
        self.staging.clear()
        with contextlib.suppress(DeviceError), self._current("close"):
            self._events.clear()
            self._streams.clear()
        self._finalizer()

    def _allocate_staging(self, nbytes: int) -> Staging:
        with self._current(f"lock {nbytes} bytes of host memory for"):
            locked = self._cuda.pagelocked_empty(nbytes, np.uint8)
        staging = Staging(locked, locked.base)
        weakref.finalize(staging, self._free, locked.base)
        return staging

    def _free(self, raw: Any) -> None:
        """Free memory, from whatever thread; what a lost device had is gone already."""
        with contextlib.suppress(DeviceError), self._current("free memory of"):
            raw.free()

    def _copy_in(self, stream: Stream, buffer: Buffer, staging: Staging, parts: Iterable[Rectangle]) -> None:
        assert isinstance(stream, CudaStream)
        with self._current("copy to"):
            for part in parts:
                host = staging.bytes[part.host_offset :]
                place = buffer.address + part.device_offset
                if part.rows == part.slices == 1:
                    self._cuda.memcpy_htod_async(place, host[: part.width], stream.raw)
                    continue
                copy = self._cuda.Memcpy3D()
                copy.set_src_host(host)
                copy.set_dst_device(place)
                copy.src_pitch, copy.src_height = part.host_pitch, part.host_slice // part.host_pitch
                copy.dst_pitch, copy.dst_height = part.device_pitch, part.device_slice // part.device_pitch
                copy.width_in_bytes, copy.height, copy.depth = part.width, part.rows, part.slices
                copy(stream.raw)

    def _copy_out(self, stream: Stream, staging: Staging, buffer: Buffer, parts: Iterable[Rectangle]) -> None:
        assert isinstance(stream, CudaStream)
        with self._current("copy from"):
            for part in parts:
                host = staging.bytes[part.host_offset :]
                place = buffer.address + part.device_offset
                if part.rows == part.slices == 1:
                    self._cuda.memcpy_dtoh_async(host[: part.width], place, stream.raw)
                    continue
                copy = self._cuda.Memcpy3D()
                copy.set_src_device(place)
                copy.set_dst_host(host)
                copy.src_pitch, copy.src_height = part.device_pitch, part.device_slice // part.device_pitch
                copy.dst_pitch, copy.dst_height = part.host_pitch, part.host_slice // part.host_pitch
                copy.width_in_bytes, copy.height, copy.depth = part.width, part.rows, part.slices
                copy(stream.raw)

    @contextlib.contextmanager
    def _current(self, what: str) -> Iterator[None]:
        """The device's context in this thread, and pycuda's exceptions as errors that say what could not be done.

        Raises:
            DeviceError: or the subclass that fits.
        """
        if self.lost:
            raise DeviceLostError(f"{self.identity} ({self.description}) has stopped answering and is not used again")
        try:
            self._context.push()
        except self._cuda.Error as error:
            raise self._error(what, error) from error
        try:
            yield
        except self._cuda.Error as error:
            raise self._error(what, error) from error
        finally:
            self._leave()

    def _leave(self) -> None:
        """Take the context off this thread's stack, whatever has happened to it."""
        try:
            self._cuda.Context.pop()
        except self._cuda.Error:
            self.lost = True
        # pycuda ends the process at its exit if its own stack still holds a context, and complains about everything
        # that it cannot destroy in one: a context that it counts as dead is spared both.
        if self.lost and self._finalizer.detach() is not None:
            with contextlib.suppress(self._cuda.Error):
                self._context.detach()

    def _error(self, what: str, error: Exception) -> DeviceError:
        text = f"cannot {what} {self.identity} ({self.description}): {error}"
        if isinstance(error, self._cuda.MemoryError):
            return DeviceMemoryError(text)
        # After an error of a kernel, such as an access out of bounds, the driver refuses everything in this process.
        try:
            self._cuda.Event().record()
        except self._cuda.Error:
            self.lost = True
            return DeviceLostError(f"{text}; the device is not used again in this process")
        return DeviceError(text)


class CudaStream(StagedStream):
    """A CUDA stream."""

    device: CudaDevice

    def __init__(self, device: CudaDevice, handle: _Recycled):
        super().__init__(device)
        self._handle = handle

    @property
    def raw(self) -> Any:
        """The ``pycuda.driver.Stream``."""
        return self._handle.raw

    def _finish(self) -> None:
        try:
            with self.device._current("finish the work of"):
                self.raw.synchronize()
        except (DeviceLostError, DeviceMemoryError):
            raise
        except DeviceError as error:
            raise LaunchError(str(error)) from error.__cause__


class _Function:
    """A ``pycuda.driver.Function``, and the bytes of its arguments where they are known."""

    def __init__(self, raw: Any, arguments_size: int | None):
        self.raw, self.arguments_size = raw, arguments_size


class _Recycled:
    """A pycuda object that goes back to a list when it is no longer used.

    Making one takes longer than using it, and pycuda cannot destroy one in another thread than the context's own.
    """

    def __init__(self, raw: Any, pool: list[Any]):
        self.raw, self._pool = raw, pool

    def __del__(self) -> None:
        self._pool.append(self.raw)


def _detach(cuda: Any, context: Any) -> None:
    """Let go of a primary context: pycuda does it wrongly when the object is destroyed."""
    with contextlib.suppress(cuda.Error):
        context.push()
        context.detach()


def _arguments_size(code: bytes, name: str) -> int | None:
    """The bytes of a kernel's arguments, if the code is a cubin, which a compiler of the user's own may not give."""
    try:
        return kernel_needs(code, name).arguments
    except DeviceCompilationError:
        return None


@functools.cache
def _size(layout: str) -> int:
    """The bytes of arguments of given types, each aligned to its own size."""
    size = 0
    for character in layout:
        width = 8 if character == "P" else np.dtype(character).itemsize
        size = -(-size // width) * width + width
    return size


def _limits(cuda: Any, raw: Any) -> Limits:
    names, ask = cuda.device_attribute, raw.get_attribute
    return Limits(
        threads_per_block=ask(names.MAX_THREADS_PER_BLOCK),
        block_shape=(ask(names.MAX_BLOCK_DIM_X), ask(names.MAX_BLOCK_DIM_Y), ask(names.MAX_BLOCK_DIM_Z)),
        shared_memory=ask(names.MAX_SHARED_MEMORY_PER_BLOCK),
        registers_per_block=ask(names.MAX_REGISTERS_PER_BLOCK),
        multiprocessors=ask(names.MULTIPROCESSOR_COUNT),
        warp=ask(names.WARP_SIZE),
        memory=raw.total_memory(),
        grid_shape=(ask(names.MAX_GRID_DIM_X), ask(names.MAX_GRID_DIM_Y), ask(names.MAX_GRID_DIM_Z)),
    )
