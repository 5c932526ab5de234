"""CUDA devices, through pycuda, for any thread; machine code comes from NVRTC or nvcc."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from polytune.environment import CUDA_COMPILER
from polytune.errors import (
    DeviceCompilationError,
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    DeviceUnavailableError,
    LaunchError,
)
from polytune.runtime.devices import nvrtc
from polytune.runtime.devices.cuda_context import CudaContext, CudaFunction, Recycled
from polytune.runtime.devices.device import DeviceBuffer, DeviceLimits, Event, LoadedKernel, Stream
from polytune.runtime.devices.kernel_cache import kernel_cache, key_of_kernel
from polytune.runtime.devices.staged import StagedDevice, StagedStream, Staging
from polytune.runtime.devices.transfers import Rectangle

__all__ = ["CudaCompiler", "CudaDevice", "chosen_compiler"]


class CudaCompiler(Protocol):
    """A compiler of CUDA text to machine code: ``nvrtc.ForDriver``, or whatever has the same two functions."""

    def compile(self, source: str, arch: str, options: Sequence[str]) -> bytes:
        """Return a cubin, or what else the driver loads.

        Args:
            source: the whole text, CUDA C++.
            arch: the architecture, such as ``sm_90``.
            options: as ``polytune.runtime.devices.nvrtc.options`` makes them.
        """

    def compiler(self) -> str:
        """Its name and version; raises ``DeviceCompilationError`` where it is not installed."""


def chosen_compiler(driver: int) -> CudaCompiler:
    """The compiler that ``$POLYTUNE_CUDA_COMPILER`` names, as ``module`` or ``module:attribute``; else NVRTC or nvcc.

    Args:
        driver: the version of CUDA that the driver is for, such as 12040 for 12.4.

    Raises:
        DeviceUnavailableError: there is none of that name.
    """
    named = CUDA_COMPILER.text
    if not named:
        return nvrtc.ForDriver(driver // 1000)
    module, _, attribute = named.partition(":")
    try:
        found: Any = importlib.import_module(module)
        compiler: CudaCompiler = getattr(found, attribute) if attribute else found
        return compiler
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
            self._context = CudaContext(self, self._cuda, self._raw.retain_primary_context())
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

    def stream(self) -> CudaStream:
        with self._context("make a stream on"):
            raw = self._streams.pop() if self._streams else self._cuda.Stream()
        return CudaStream(self, Recycled(raw, self._streams))

    def allocate(self, nbytes: int) -> DeviceBuffer:
        with self._context(f"allocate {nbytes} bytes on"):
            raw = self._cuda.mem_alloc(max(1, nbytes))
        return DeviceBuffer(nbytes, int(raw), int(raw), functools.partial(self._free, raw))

    def wrap(self, address: int, nbytes: int) -> DeviceBuffer:
        return DeviceBuffer(nbytes, address, address, None)

    def compile(self, source: str, name: str, *, contract: bool = False) -> LoadedKernel:
        options = nvrtc.options(contract)
        cache = kernel_cache()
        key = key_of_kernel(self._compiler.compiler(), self.arch, *options, source)
        code = cache.load(key)
        if code is None:
            code = self._compiler.compile(source, self.arch, options)
            cache.store(key, code)
        try:
            with self._context(f"load {name} into"):
                function = self._cuda.module_from_buffer(code).get_function(name)
                return LoadedKernel(
                    name=name,
                    registers=function.num_regs,
                    shared_memory=function.shared_size_bytes,
                    local_memory=function.local_size_bytes,
                    threads_limit=function.max_threads_per_block,
                    handle=CudaFunction(name, function, code),
                )
        except (DeviceLostError, DeviceMemoryError):
            raise
        except DeviceError as error:
            raise DeviceCompilationError(str(error)) from error.__cause__

    def launch(
        self,
        stream: Stream,
        kernel: LoadedKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[DeviceBuffer | np.generic],
    ) -> None:
        assert isinstance(stream, CudaStream)
        function: CudaFunction = kernel.handle
        layout = "".join(["P" if isinstance(argument, DeviceBuffer) else argument.dtype.char for argument in arguments])
        values = [argument.require() if isinstance(argument, DeviceBuffer) else argument for argument in arguments]
        try:
            # The layout and the block's shape are part of the function until it is launched.
            with self._launching, self._context("launch a kernel on"):
                function.prepare(layout)
                function.raw.prepared_async_call(grid, block, stream.raw, *values)
        except (DeviceLostError, DeviceMemoryError, LaunchError):
            raise
        except DeviceError as error:
            raise LaunchError(f"{kernel.name} with {grid} blocks of {block} threads: {error}") from error.__cause__

    def record(self, stream: Stream) -> Event:
        assert isinstance(stream, CudaStream)
        with self._context("record an event on"):
            raw = self._events.pop() if self._events else self._cuda.Event()
            raw.record(stream.raw)
        return Event(Recycled(raw, self._events))

    def wait(self, stream: Stream, event: Event) -> None:
        assert isinstance(stream, CudaStream)
        with self._context("wait for an event on"):
            stream.raw.wait_for_event(event.handle.raw)

    def seconds(self, first: Event, last: Event) -> float:
        with self._context("read the time of an event on"):
            last.handle.raw.synchronize()
            return float(first.handle.raw.time_till(last.handle.raw) * 1e-3)

    def has_passed(self, event: Event) -> bool:
        with self._context("look at an event on"):
            return bool(event.handle.raw.query())

    def wait_for(self, event: Event) -> None:
        with self._context("wait for the work of"):
            event.handle.raw.synchronize()

    def wait_for_others(self) -> None:
        with self._context("finish all work of"):
            self._cuda.Context.synchronize()

    def memory_free(self) -> int:
        with self._context("ask for the free memory of"):
            free, _ = self._cuda.mem_get_info()
        return int(free)

    def close(self) -> None:
        self.staging.clear()
        with contextlib.suppress(DeviceError), self._context("close"):
            self._events.clear()
            self._streams.clear()
        self._context.detach()

    def _allocate_staging(self, nbytes: int) -> Staging:
        with self._context(f"lock {nbytes} bytes of host memory for"):
            locked = self._cuda.pagelocked_empty(nbytes, np.uint8)
        staging = Staging(locked, locked.base)
        weakref.finalize(staging, self._free, locked.base)
        return staging

    def _free(self, raw: Any) -> None:
        """Free memory, from whatever thread; what a lost device had is gone already."""
        with contextlib.suppress(DeviceError), self._context("free memory of"):
            raw.free()

    def _copy_in(self, stream: Stream, buffer: DeviceBuffer, staging: Staging, parts: Iterable[Rectangle]) -> None:
        assert isinstance(stream, CudaStream)
        with self._context("copy to"):
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

    def _copy_out(self, stream: Stream, staging: Staging, buffer: DeviceBuffer, parts: Iterable[Rectangle]) -> None:
        assert isinstance(stream, CudaStream)
        with self._context("copy from"):
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


class CudaStream(StagedStream):
    """A CUDA stream."""

    device: CudaDevice

    def __init__(self, device: CudaDevice, handle: Recycled):
        super().__init__(device)
        self._handle = handle

    @property
    def raw(self) -> Any:
        """The ``pycuda.driver.Stream``."""
        return self._handle.raw

    def _finish(self) -> None:
        try:
            with self.device._context("finish the work of"):
                self.raw.synchronize()
        except (DeviceLostError, DeviceMemoryError):
            raise
        except DeviceError as error:
            raise LaunchError(str(error)) from error.__cause__


def _limits(cuda: Any, raw: Any) -> DeviceLimits:
    names, ask = cuda.device_attribute, raw.get_attribute
    return DeviceLimits(
        threads_per_block=ask(names.MAX_THREADS_PER_BLOCK),
        block_shape=(ask(names.MAX_BLOCK_DIM_X), ask(names.MAX_BLOCK_DIM_Y), ask(names.MAX_BLOCK_DIM_Z)),
        shared_memory=ask(names.MAX_SHARED_MEMORY_PER_BLOCK),
        registers_per_block=ask(names.MAX_REGISTERS_PER_BLOCK),
        multiprocessors=ask(names.MULTIPROCESSOR_COUNT),
        warp=ask(names.WARP_SIZE),
        memory=raw.total_memory(),
        grid_shape=(ask(names.MAX_GRID_DIM_X), ask(names.MAX_GRID_DIM_Y), ask(names.MAX_GRID_DIM_Z)),
    )
