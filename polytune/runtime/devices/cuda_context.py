"""A device's CUDA context, current in a thread only while it is used there, and the kernels loaded into it.

All libraries of a process share a device's primary context.  pycuda keeps a stack of contexts for each thread and ties
its objects to the one on top: whatever is done with them happens within ``with context("do it on"):``.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

import numpy as np

from polytune.errors import DeviceCompilationError, DeviceError, DeviceLostError, DeviceMemoryError, LaunchError
from polytune.runtime.devices.cubin import kernel_needs
from polytune.runtime.devices.device import Device

__all__ = ["CudaContext", "CudaFunction", "Recycled"]


class CudaContext:
    """The primary context of a device; the device becomes ``lost`` when its driver refuses everything."""

    def __init__(self, device: Device, cuda: Any, raw: Any):
        """
        Args:
            device: whose context it is.
            cuda: the module ``pycuda.driver``.
            raw: the ``pycuda.driver.Context``.
        """
        self.device, self.cuda, self.raw = device, cuda, raw
        # At exit this comes after the finalizers of the device's buffers, which are made later.
        self._finalizer = weakref.finalize(device, _detach, cuda, raw)

    def __call__(self, what: str) -> _Entered:
        """Make the context current in a ``with`` block, in which ``what`` cannot be done to the device if it fails.

        Raises:
            DeviceError: or the subclass that fits, for whatever pycuda raises.
        """
        return _Entered(self, what)

    def detach(self) -> None:
        """Let go of the context; a second time does nothing."""
        self._finalizer()

    def enter(self, what: str) -> None:
        """Make the context current in this thread."""
        if self.device.lost:
            raise DeviceLostError(f"{self.device} has stopped answering and is not used again")
        if not self._finalizer.alive:
            # pycuda would push a context that it counts as dead, and take the one below it off the stack afterwards.
            raise DeviceError(f"cannot {what} {self.device}: it was closed")
        try:
            self.raw.push()
        except self.cuda.Error as error:
            raise self.error(what, error) from error

    def leave(self) -> None:
        """Take the context off this thread's stack, whatever has happened to it."""
        try:
            self.cuda.Context.pop()
        except self.cuda.Error:
            self.device.lost = True
        # pycuda ends the process at its exit if its own stack still holds a context, and complains about everything
        # that it cannot destroy in one: a context that it counts as dead is spared both.
        if self.device.lost and self._finalizer.detach() is not None:
            with contextlib.suppress(self.cuda.Error):
                self.raw.detach()

    def error(self, what: str, error: Exception) -> DeviceError:
        """Return what pycuda has raised, as an error that says what could not be done; the context is current."""
        text = f"cannot {what} {self.device}: {error}"
        if isinstance(error, self.cuda.MemoryError):
            return DeviceMemoryError(text)
        # After an error of a kernel, such as an access out of bounds, the driver refuses everything in this process.
        try:
            self.cuda.Event().record()
        except self.cuda.Error:
            self.device.lost = True
            return DeviceLostError(f"{text}; the device is not used again in this process")
        return DeviceError(text)


class _Entered:
    """A context in one ``with`` block; a class of its own, as it stands around every call of the driver."""

    __slots__ = ("_context", "_what")

    def __init__(self, context: CudaContext, what: str):
        self._context, self._what = context, what

    def __enter__(self) -> None:
        self._context.enter(self._what)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, self._context.cuda.Error):
                raise self._context.error(self._what, error) from error
        finally:
            self._context.leave()


class Recycled:
    """A pycuda object that goes back to a list when it is no longer used.

    Making one takes longer than using it, and pycuda cannot destroy one in another thread than the context's own.
    """

    def __init__(self, raw: Any, pool: list[Any]):
        self.raw, self._pool = raw, pool

    def __del__(self) -> None:
        self._pool.append(self.raw)


def _detach(cuda: Any, raw: Any) -> None:
    """Let go of a primary context: pycuda does it wrongly when the object is destroyed."""
    with contextlib.suppress(cuda.Error):
        raw.push()
        raw.detach()


class CudaFunction:
    """A ``pycuda.driver.Function`` that refuses arguments which are not as many bytes as its own."""

    def __init__(self, name: str, raw: Any, code: bytes):
        """
        Args:
            name: the kernel's.
            raw: the function.
            code: the machine code that it comes from.
        """
        self.raw = raw
        self._name, self._size, self._layout = name, _arguments_size(code, name), ""

    def prepare(self, layout: str) -> None:
        """Have it take arguments of given types, a character of the module ``struct`` each.

        Raises:
            LaunchError: the kernel takes others.
        """
        if layout == self._layout:
            return
        if self._size not in (None, _size(layout)):
            raise LaunchError(f"{self._name} takes {self._size} bytes of arguments, not {_size(layout)}")
        self.raw.prepare(layout)
        self._layout = layout


def _arguments_size(code: bytes, name: str) -> int | None:
    """The bytes of a kernel's arguments, if the code is a cubin, which a compiler of the user's own may not give."""
    try:
        return kernel_needs(code, name).arguments
    except DeviceCompilationError:
        return None


def _size(layout: str) -> int:
    """The bytes of arguments of given types, each aligned to its own size."""
    size = 0
    for character in layout:
        width = 8 if character == "P" else np.dtype(character).itemsize
        size = -(-size // width) * width + width
    return size
