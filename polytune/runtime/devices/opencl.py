"""OpenCL devices, through pyopencl.

Programs are not kept on disk here: every driver that is used keeps them itself.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from polytune.errors import DeviceCompilationError, DeviceError, DeviceLostError, DeviceMemoryError, LaunchError
from polytune.runtime.devices.device import DeviceBuffer, DeviceLimits, Event, LoadedKernel, Stream
from polytune.runtime.devices.staged import StagedDevice, StagedStream, Staging
from polytune.runtime.devices.transfers import Rectangle

__all__ = ["OpenCLDevice", "reason_if_unusable"]

_FEWEST_THREADS = 32
"""The threads of a block, in the smallest kernels that there are."""

_silencing = threading.Lock()
"""The filters of warnings belong to all threads."""


def reason_if_unusable(raw: Any) -> tuple[str, str] | None:
    """Return why a device must not be used, and what to do about it; None if it can be.

    PoCL links every kernel with the system's linker, and ends the whole process if there is none.  A processor that is
    newer than its LLVM it takes for a ``generic`` one, for which LLVM then refuses to compile anything on x86
    (https://github.com/pocl/pocl/issues/1049).

    Args:
        raw: a ``pyopencl.Device``.
    """
    if "Portable Computing Language" in raw.platform.name:
        if shutil.which("ld") is None:
            return "PoCL needs the linker ld, which is not on PATH", "install binutils"
        if "x86_64" in raw.version and raw.version.rstrip().endswith("-generic"):
            return (
                "this PoCL is older than the processor and compiles nothing for it",
                "install a newer PoCL, or another OpenCL driver for processors, such as Intel's: "
                "pip install intel-opencl-rt intel-cmplr-lib-rt, then write the path of its libintelocl.so "
                f"({sys.prefix}/lib/libintelocl.so) to a file intel.icd, and the path of that to OCL_ICD_VENDORS",
            )
    if not raw.available or not raw.compiler_available:
        return "the driver says that it is not available", "look at the driver's installation"
    if min(raw.max_work_group_size, raw.max_work_item_sizes[0]) < _FEWEST_THREADS:
        return f"a block may not have {_FEWEST_THREADS} threads along x there", "use another device"
    return None


def compiler_options(raw: Any) -> tuple[str, ...]:
    """Return what every kernel for a device is compiled with.

    Warnings are left out: the text is not the user's, and PoCL prints on standard error that there are some.

    Intel's compiler for processors (2026.2) turns a thread's loop into vectors although the loop reads what it wrote an
    iteration or two before, and the results are wrong: nothing but its optimisation as a whole can be turned off.
    """
    import pyopencl

    options = ["-cl-std=CL1.2", "-w"]
    if raw.single_fp_config & pyopencl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    if raw.type & pyopencl.device_type.CPU and "intel" in raw.platform.vendor.lower():
        options.append("-cl-opt-disable")
    return tuple(options)


class OpenCLDevice(StagedDevice):
    """An OpenCL device with a context of its own."""

    dialect = "opencl"

    def __init__(self, raw: Any, identity: str):
        """
        Args:
            raw: a ``pyopencl.Device``.
            identity: what it is to be called.

        Raises:
            DeviceError: no context can be made on it.
        """
        import pyopencl

        super().__init__()
        self._cl: Any = pyopencl
        self._raw = raw
        self.identity = identity
        self.description = f"{raw.name.strip()} ({raw.platform.name.strip()})"
        self.key = f"opencl {raw.name.strip()}, {raw.platform.version.strip()}, {raw.driver_version.strip()}"
        self.limits = _limits(raw)
        with self._translated("open"):
            self._context = pyopencl.Context([raw])
        self._options = compiler_options(raw)
        self._allocated = _Count()
        self._launching = threading.Lock()

    def stream(self) -> OpenCLStream:
        with self._translated("make a stream on"):
            profiling = self._cl.command_queue_properties.PROFILING_ENABLE
            return OpenCLStream(self, self._cl.CommandQueue(self._context, properties=profiling))

    def allocate(self, nbytes: int) -> DeviceBuffer:
        size = max(1, nbytes)
        if size > self.memory_free():
            raise DeviceMemoryError(
                f"{self.identity} has {self.memory_free()} bytes left of {self.limits.memory}, "
                f"and {nbytes} are needed: split the work between more devices, or give less of it to this one"
            )
        with self._translated(f"allocate {nbytes} bytes on"):
            raw = self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, size)
        self._allocated.add(size)
        return DeviceBuffer(nbytes, raw.int_ptr, raw, functools.partial(_release, raw, self._allocated, size))

    def wrap(self, address: int, nbytes: int) -> DeviceBuffer:
        raise DeviceError(
            f"{self.identity} is an OpenCL device, whose memory has no addresses that others could hand over"
        )

    def compile(self, source: str, name: str, *, contract: bool = False) -> LoadedKernel:
        options = [*self._options, *(["-DPT_CONTRACT"] if contract else [])]
        try:
            with self._translated("compile on"), _silent(self._cl.CompilerWarning):
                program = self._cl.Program(self._context, source).build(options, cache_dir=False)
                kernel = self._cl.Kernel(program, name)
        except DeviceLostError:
            raise
        except DeviceError as error:
            raise DeviceCompilationError(f"{name} cannot be compiled for {self.identity}: {error.__cause__}") from error
        about = functools.partial(kernel.get_work_group_info, device=self._raw)
        information = self._cl.kernel_work_group_info
        return LoadedKernel(
            name=name,
            registers=None,
            shared_memory=about(information.LOCAL_MEM_SIZE),
            local_memory=about(information.PRIVATE_MEM_SIZE),
            threads_limit=about(information.WORK_GROUP_SIZE),
            handle=kernel,
        )

    def launch(
        self,
        stream: Stream,
        kernel: LoadedKernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[DeviceBuffer | np.generic],
    ) -> None:
        assert isinstance(stream, OpenCLStream)
        size = tuple(blocks * threads for blocks, threads in zip(grid, block, strict=True))
        values = [argument.require() if isinstance(argument, DeviceBuffer) else argument for argument in arguments]
        try:
            # The arguments are part of the kernel until it is enqueued.
            with self._launching, self._translated("launch a kernel on"):
                try:
                    kernel.handle.set_args(*values)
                except TypeError as error:
                    raise LaunchError(f"{kernel.name} does not take these {len(values)} arguments: {error}") from error
                stream.launched.append(self._cl.enqueue_nd_range_kernel(stream.queue, kernel.handle, size, block))
                stream.queue.flush()
        except (DeviceLostError, DeviceMemoryError, LaunchError):
            raise
        except DeviceError as error:
            raise LaunchError(f"{kernel.name} with {grid} blocks of {block} threads: {error}") from error.__cause__

    def record(self, stream: Stream) -> Event:
        assert isinstance(stream, OpenCLStream)
        with self._translated("record an event on"):
            event = self._cl.enqueue_marker(stream.queue)
            stream.queue.flush()
        return Event(event)

    def wait(self, stream: Stream, event: Event) -> None:
        assert isinstance(stream, OpenCLStream)
        with self._translated("wait for an event on"):
            self._cl.enqueue_barrier(stream.queue, wait_for=[event.handle])

    def seconds(self, first: Event, last: Event) -> float:
        self.wait_for(last)
        with self._translated("read the time of an event on"):
            return float((last.handle.profile.end - first.handle.profile.end) * 1e-9)

    def has_passed(self, event: Event) -> bool:
        with self._translated("look at an event on"):
            status = event.handle.command_execution_status
        # A negative status is that of work that failed: whoever waits for it is told.
        return bool(status <= self._cl.command_execution_status.COMPLETE)

    def wait_for(self, event: Event) -> None:
        with self._translated("wait for"):
            event.handle.wait()

    def wait_for_others(self) -> None:
        """Wait for nothing: other libraries have contexts of their own, which share no memory with this."""

    def memory_free(self) -> int:
        """The device's memory less what has been allocated here: OpenCL does not tell what others use."""
        return max(0, self.limits.memory - self._allocated.total)

    def close(self) -> None:
        self.staging.clear()

    def _allocate_staging(self, nbytes: int) -> Staging:
        flags = self._cl.mem_flags.READ_WRITE | self._cl.mem_flags.ALLOC_HOST_PTR
        maps = self._cl.map_flags.READ | self._cl.map_flags.WRITE
        with self._translated(f"lock {nbytes} bytes of host memory for"):
            raw = self._cl.Buffer(self._context, flags, nbytes)
            queue = self._cl.CommandQueue(self._context)
            mapped, _ = self._cl.enqueue_map_buffer(queue, raw, maps, 0, (nbytes,), np.uint8)
        return Staging(mapped, raw)

    def _copy_in(self, stream: Stream, buffer: DeviceBuffer, staging: Staging, parts: Iterable[Rectangle]) -> None:
        self._copy(stream, buffer, staging, parts, into_device=True)

    def _copy_out(self, stream: Stream, staging: Staging, buffer: DeviceBuffer, parts: Iterable[Rectangle]) -> None:
        self._copy(stream, buffer, staging, parts, into_device=False)

    def _copy(
        self, stream: Stream, buffer: DeviceBuffer, staging: Staging, parts: Iterable[Rectangle], *, into_device: bool
    ) -> None:
        assert isinstance(stream, OpenCLStream)
        ends = (buffer.handle, staging.bytes) if into_device else (staging.bytes, buffer.handle)
        with self._translated("copy to" if into_device else "copy from"):
            for part in parts:
                if part.rows == part.slices == 1:
                    host = staging.bytes[part.host_offset : part.host_offset + part.width]
                    flat = (buffer.handle, host) if into_device else (host, buffer.handle)
                    event = self._cl.enqueue_copy(
                        stream.queue, *flat, is_blocking=False, **{_OFFSET[into_device]: part.device_offset}
                    )
                else:
                    event = self._cl.enqueue_copy(
                        stream.queue,
                        *ends,
                        buffer_origin=(part.device_offset, 0, 0),
                        host_origin=(part.host_offset, 0, 0),
                        region=(part.width, part.rows, part.slices),
                        buffer_pitches=(part.device_pitch, part.device_slice),
                        host_pitches=(part.host_pitch, part.host_slice),
                        is_blocking=False,
                    )
                # pyopencl waits for a copy whose event nobody holds.
                stream.copying.append(event)
            stream.queue.flush()

    @contextlib.contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Raise what pyopencl raises within as an error that says what could not be done to this device.

        Raises:
            DeviceError: or the subclass that fits.
        """
        if self.lost:
            raise DeviceLostError(f"{self} has stopped answering and is not used again")
        try:
            yield
        except self._cl.Error as error:
            raise self._error(what, error) from error

    def _error(self, what: str, error: Any) -> DeviceError:
        text = f"cannot {what} {self}: {error}"
        status = self._cl.status_code
        if error.code in (status.DEVICE_NOT_AVAILABLE, status.INVALID_CONTEXT, status.INVALID_COMMAND_QUEUE):
            self.lost = True
            return DeviceLostError(f"{text}; the device is not used again")
        if error.code in (
            status.MEM_OBJECT_ALLOCATION_FAILURE,
            status.OUT_OF_HOST_MEMORY,
            status.INVALID_BUFFER_SIZE,
        ):
            return DeviceMemoryError(text)
        return DeviceError(text)


_OFFSET = {True: "dst_offset", False: "src_offset"}


class OpenCLStream(StagedStream):
    """An in-order command queue.

    Attributes:
        queue: the ``pyopencl.CommandQueue``.
        launched: the events of the kernels launched since the last synchronization.
        copying: the events of the copies enqueued since then.
    """

    device: OpenCLDevice

    def __init__(self, device: OpenCLDevice, queue: Any):
        super().__init__(device)
        self.queue = queue
        self.launched: list[Any] = []
        self.copying: list[Any] = []

    def _finish(self) -> None:
        launched, self.launched = self.launched, []
        with self.device._translated("finish the work of"):
            self.queue.finish()
            # Finishing does not tell that a kernel failed.
            failed = [event for event in launched if event.command_execution_status < 0]
        self.copying.clear()
        if failed:
            code = failed[0].command_execution_status
            raise LaunchError(f"a kernel failed on {self.device}: OpenCL status {code}")


class _Count:
    """The number of bytes that are allocated, over all threads."""

    def __init__(self) -> None:
        self.total = 0
        self._lock = threading.RLock()

    def add(self, nbytes: int) -> None:
        with self._lock:
            self.total += nbytes


def _release(raw: Any, allocated: _Count, nbytes: int) -> None:
    raw.release()
    allocated.add(-nbytes)


@contextlib.contextmanager
def _silent(category: type[Warning]) -> Iterator[None]:
    """Leave out what pyopencl says of drivers whose compilers report success: there is nothing to warn of."""
    with _silencing, warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield


def _limits(raw: Any) -> DeviceLimits:
    import pyopencl

    x, y, z = [*raw.max_work_item_sizes, 1, 1, 1][:3]
    return DeviceLimits(
        threads_per_block=raw.max_work_group_size,
        block_shape=(x, y, z),
        shared_memory=raw.local_mem_size,
        registers_per_block=_told(raw, "registers_per_block_nv", 0),
        multiprocessors=raw.max_compute_units,
        warp=_told(raw, "warp_size_nv", 0) or _told(raw, "wavefront_width_amd", 0) or 1,
        memory=raw.global_mem_size,
        float64=bool(raw.double_fp_config),
        grid_shape=(2**31 - 1, 2**31 - 1, 2**31 - 1),
        shared_is_near=raw.local_mem_type == pyopencl.device_local_mem_type.LOCAL,
    )


def _told(raw: Any, attribute: str, otherwise: int) -> int:
    """Return what a vendor's own question answers, where the device knows it."""
    try:
        return int(getattr(raw, attribute))
    except Exception:  # pyopencl raises whatever status the driver makes up
        return otherwise
