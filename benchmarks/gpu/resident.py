"""A kernel whose arrays stay on the device, and the time of its launches alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from benchmarks.gpu.limits import best_seconds
from polytune.errors import DeviceError
from polytune.runtime.devices.device import Box, Device, DeviceBuffer
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.partitioned.boxes import is_empty, whole
from polytune.runtime.partitioned.description import Part
from polytune.runtime.partitioned.launches import LoadedKernels, arguments_of, grid_of, shape_of


class ResidentKernel(AbstractContextManager):
    """All regions of a kernel on one device, whole, on arrays that were uploaded once.

    What is measured is what the device does, launches queued one behind the other: neither transfers nor the host's
    work are in it.  Results stay on the device; that they are right is checked elsewhere.
    """

    def __init__(self, generated: GeneratedKernel, arguments: tuple[Any, ...], device: Device):
        """
        Raises:
            DeviceError: the arrays do not fit, or a region cannot run on a device.
        """
        module = generated.module
        self._device, self._stream = device, device.stream()
        self._parameters = generated.prepare(arguments).parameters
        named = dict(zip(module.ARGUMENTS, arguments, strict=True))
        self._scalars = {name: named[name] for name in module.SCALARS}
        extra = [k for k, name in enumerate(module.PARAMETERS) if name not in module.ARGUMENTS]
        own = module.scratch(*arguments, *[self._parameters[k] for k in extra]) if module.SCRATCH else ()
        arrays = {**{name: named[name] for name in module.ARRAYS}, **dict(zip(module.SCRATCH, own, strict=True))}
        self._arrays: dict[str, np.ndarray] = arrays
        self._kernels = LoadedKernels(contract=not module.STRICT)
        self._steps = list(self._nonempty_steps(module.PARTITIONED))
        self._private: dict[str, DeviceBuffer] = {}
        self._buffers: dict[str, DeviceBuffer] = {}
        try:
            for name, array in arrays.items():
                self._buffers[name] = device.allocate(max(array.nbytes, 8))
                device.upload(self._stream, self._buffers[name], array, whole(array.shape))
            self._stream.synchronize()
        except DeviceError:
            self.__exit__()
            raise

    def __exit__(self, *exception: object) -> None:
        for buffer in (*self._buffers.values(), *self._private.values()):
            buffer.free()

    def _nonempty_steps(self, partitioned: Any) -> Any:
        for number, around in partitioned.steps(*self._parameters):
            part = partitioned.parts[number]
            ranges = part.ranges(*self._parameters, *around)
            if part.device is None:
                raise DeviceError(f"region {number} is serial and runs on the CPU")
            if all(start < stop for start, stop in ranges[: part.shared]):
                yield part, around, ranges

    @property
    def touched(self) -> int:
        """The bytes that all regions together have to read and write at least, each element once in a region."""
        return sum(self._bytes(part, around, ranges) for part, around, ranges in self._steps)

    def _bytes(self, part: Part, around: tuple[int, ...], ranges: tuple[tuple[int, int], ...]) -> int:
        limits = [limit for pair in ranges[: part.shared] for limit in pair]
        total = 0
        for accessed in (part.reads, part.writes):
            for name, box in set(accessed(*self._parameters, *around, *limits)):
                total += _elements(box) * self._arrays[name].itemsize
        return total

    def seconds(self, configuration: Mapping[str, Any]) -> float:
        """The seconds of one run in a configuration's shape.

        Raises:
            DeviceError: it cannot be compiled or launched so.
        """
        launches = [self._launch_of(part, around, ranges, configuration) for part, around, ranges in self._steps]

        def enqueue() -> None:
            for launch in launches:
                launch()

        return best_seconds(self._device, self._stream, enqueue, repeats=3)

    def _launch_of(
        self,
        part: Part,
        around: tuple[int, ...],
        ranges: tuple[tuple[int, int], ...],
        configuration: Mapping[str, Any],
    ) -> Callable[[], None]:
        """The function that enqueues one region."""
        device, code = self._device, part.device
        assert code is not None
        shape = shape_of(code, configuration, 0)
        kernel = self._kernels.kernel(device, code, shape)
        own = tuple(ranges[position] for position in code.positions)
        grid = grid_of(code, shape, own, device)
        threads = int(np.prod(grid)) * int(np.prod(shape.block))
        buffers = {name: self._buffers[name] for name in code.arrays}
        buffers |= {name: self._copies(name, threads) for name in code.private}
        shapes = {name: self._arrays[name].shape for name in (*code.arrays, *code.private)}
        arguments = arguments_of(code, buffers, shapes, self._scalars, (*self._parameters, *around), own)
        return lambda: device.launch(self._stream, kernel, grid, shape.block, arguments)

    def _copies(self, name: str, threads: int) -> DeviceBuffer:
        """Memory for a copy of an array in each thread."""
        wanted = max(8, self._arrays[name].nbytes * threads)
        found = self._private.get(name)
        if found is None or found.nbytes < wanted:
            found = self._private[name] = self._device.allocate(wanted)
        return found


def _elements(box: Box) -> int:
    if is_empty(box):
        return 0
    return int(np.prod([-(-(stop - start) // step) for start, stop, step in box]))
