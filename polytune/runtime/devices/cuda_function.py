"""A kernel that is loaded into a CUDA context, and the types of the arguments that it is called with."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.errors import DeviceCompilationError, LaunchError
from polytune.runtime.devices.cubin import kernel_needs

__all__ = ["CudaFunction"]


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
