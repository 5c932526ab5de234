"""The code of a kernel's shards, and how a worker runs one: on windows, parts of arrays that stand for the whole."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from polytune.errors import ArgumentError, PolytuneError
from polytune.records import dataclass
from polytune.runtime.modules.cache import ModuleCache, key_of
from polytune.runtime.modules.compiled_functions import CompiledFunctions
from polytune.runtime.partitioned.work import neutral_copy
from polytune.runtime.teams.context_memory import Contexts
from polytune.shards.boxes import Ranges, size_of, slices
from polytune.shards.platforms import Platforms, ShardWork
from polytune.shards.times import tell
from polytune.version import __version__

__all__ = ["ArrayWindow", "Output", "Quoted", "ShardCode", "Taken", "module_of", "run_shard"]

TILE, INNER_TILE = 32, 512
"""The extents of tiles, and of the innermost member of a band: rows of some vectors, in the second cache."""

MOST_KEPT = 1.25
"""The most memory that may be kept alive with what a shard gives, as a multiple of that, so that it need not be
copied."""


@dataclass(frozen=True)
class ShardCode:
    """A generated module as text, for workers.

    Attributes:
        text: the module's text.
        made_by: the versions of polytune and of Python that have made it.
    """

    text: str
    made_by: tuple[str, str] = (__version__, f"{sys.version_info[0]}.{sys.version_info[1]}")


@dataclass(frozen=True)
class Taken:
    """An array as a shard takes it.

    Attributes:
        name: the array.
        box: the part of it that there is memory for.
        dtype: the type of its elements.
        first: what elements begin with that no block gives.
        operator: by which the shard adds up in a copy that begins with neutral elements; None where it does not.
        pieces: per block, its number among the blocks that the task takes, and the box that it is.
        is_written: whether the shard writes to it.
    """

    name: str
    box: Ranges
    dtype: str
    first: Any
    operator: str | None
    pieces: tuple[tuple[int, Ranges], ...]
    is_written: bool


@dataclass(frozen=True)
class Output:
    """A box of an array that a shard gives."""

    name: str
    box: Ranges


class Quoted:
    """A value that Dask passes on as it is: in tuples, lists and dictionaries it looks for keys.

    Args:
        value: the value.
    """

    def __init__(self, value: Any):
        self.value = value


class ArrayWindow:
    """A part of an array, as code finds it that counts from the beginning of the whole array.

    It has an address and strides, from which the code computes where an element is, but not the memory of elements that
    lie outside of the part: these the code never touches, which is what the boxes are computed for.

    Args:
        block: the part, contiguous along its last axis.
        origin: the subscripts of its first element.

    Attributes:
        block, origin: the arguments.
    """

    def __init__(self, block: np.ndarray, origin: Sequence[int]):
        self.block = block
        self.origin = tuple(origin)
        self.strides = block.strides
        offset = sum(first * stride for first, stride in zip(origin, block.strides, strict=True))
        self.__array_interface__ = {"data": (block.__array_interface__["data"][0] - offset, False)}


class ShardRunner:
    """A generated module of shards, ready to run."""

    def __init__(self, module: ModuleType):
        self.module = module
        self._parts = module.PARTITIONED.parts
        most_tiles = max((part.tiles for part in self._parts), default=0)
        self._contexts = Contexts(module, module.PARTITIONED.part_words, most_tiles)
        self._functions = CompiledFunctions(module)
        self._compiling, self._opening = threading.Lock(), threading.Lock()
        self._platforms: Platforms | None = None

    def compile(self, number: int) -> None:
        """Have a region's code for the processor ready to run.

        Raises:
            CompilationError: it cannot be compiled.
        """
        part = self._parts[number]
        with self._compiling:
            self._functions.compile_function(part.run, part.team)

    @property
    def platforms(self) -> Platforms | None:
        """Return what shares shards with the devices of this process; None where it has none that can run them."""
        if self._platforms is None or self._platforms.has_lost_devices:
            with self._opening:
                if self._platforms is None or self._platforms.has_lost_devices:
                    self._platforms = Platforms(self.module)
        return self._platforms if self._platforms.are_usable else None

    def run_all(
        self,
        runs: Sequence[tuple[int, tuple[int, ...]]],
        parameters: Sequence[int],
        scalars: Mapping[str, Any],
        windows: Mapping[str, ArrayWindow],
        outputs: Collection[str],
    ) -> None:
        """Run parts of regions, one after another, where that is fastest: a device takes some of them or all.

        Args:
            runs: the parts, each a region's number and the values of the loops around it with the part's limits.
            parameters: the kernel's parameters.
            scalars: the arguments that are no arrays.
            windows: the parts of arrays that they access.
            outputs: the arrays that are needed afterwards.
        """
        platforms = self.platforms
        if platforms is None:
            for number, integers in runs:
                self.run(number, integers, parameters, scalars, windows)
            return
        for number in dict.fromkeys(number for number, _ in runs):
            self.compile(number)

        def on_processor(number: int, integers: tuple[int, ...], replaced: Mapping[str, np.ndarray]) -> None:
            there = {name: ArrayWindow(block, windows[name].origin) for name, block in replaced.items()}
            self.run(number, integers, parameters, scalars, {**windows, **there})

        work = ShardWork(
            tuple(runs),
            tuple(parameters),
            scalars,
            {name: window.block for name, window in windows.items()},
            {name: window.origin for name, window in windows.items()},
            frozenset(outputs),
            on_processor,
        )
        platforms.run(work)

    def run(
        self,
        number: int,
        integers: Sequence[int],
        parameters: Sequence[int],
        scalars: Mapping[str, Any],
        windows: Mapping[str, ArrayWindow],
    ) -> None:
        """Run a part of a region.

        Args:
            number: the region's.
            integers: the values of the loops around it, and the part's limits.
            parameters: the kernel's parameters.
            scalars: the arguments that are no arrays.
            windows: the parts of arrays that it accesses.
        """
        part, module = self._parts[number], self.module
        self.compile(number)
        values = [windows.get(name) or scalars.get(name, _NOTHING) for name in module.ARGUMENTS]
        scratch: Any = [windows.get(name, _NOTHING) for name in module.SCRATCH]
        tiles = [TILE] * (part.tiles - 1) + [INNER_TILE] if part.tiles > 1 else [INNER_TILE] * part.tiles
        context = self._contexts.filled(values, scratch, parameters, tiles, integers)
        self._functions.run(part.run, part.team, context, 1)


class _Nothing:
    """Stands for an array that a part does not access."""

    def __init__(self) -> None:
        self.__array_interface__ = {"data": (0, False)}
        self.strides = (0,) * 64


_NOTHING = _Nothing()

_runners: dict[str, ShardRunner] = {}
_loading = threading.Lock()
_cache: list[ModuleCache] = []


def _runner(code: ShardCode) -> ShardRunner:
    """The runner of the shards of a text, one in each process.

    Raises:
        PolytuneError: another version of polytune, or of Python, has compiled the kernel.
    """
    found = _runners.get(code.text)
    if found is not None:
        return found
    here = ShardCode("")
    if code.made_by != here.made_by:
        theirs, ours = (f"polytune {polytune}, Python {python}" for polytune, python in (code.made_by, here.made_by))
        raise PolytuneError(
            f"this worker has {ours}, and the kernel was compiled by {theirs}; install the same versions on the "
            "client and on all workers"
        )
    with _loading:
        if not _cache:
            _cache.append(ModuleCache())
        if code.text not in _runners:
            key = key_of("shard", code.text)
            module = _cache[0].load(key) or _cache[0].store(key, code.text)
            _runners[code.text] = ShardRunner(module)
        return _runners[code.text]


def module_of(code: ShardCode) -> ModuleType:
    """The module of a text, imported once in each process."""
    return _runner(code).module


def run_shard(
    code: ShardCode,
    runs: Quoted,
    parameters: Sequence[int],
    scalars: Mapping[str, Any],
    taken: Quoted,
    outputs: Quoted,
    timed: str,
    *blocks: np.ndarray,
) -> Any:
    """Run a shard on blocks, which are not changed.

    Args:
        code: the kernel's.
        runs: the regions of which it runs a part, in order, each with the values of the loops around it and the
            part's limits.
        parameters: the kernel's parameters.
        scalars: the arguments that are no arrays.
        taken: the arrays that it accesses, each `Taken`.
        outputs: what it gives, each an `Output`.
        timed: the call that is told when the shard began and ended; empty where none is.
        blocks: the pieces of arrays.

    Returns:
        An array for each output, in a tuple where there is not exactly one.

    Raises:
        ArgumentError: a block is not what the array's metadata has said.
    """
    begun = time.time()
    windows = {each.name: ArrayWindow(_memory(each, blocks), [start for start, _ in each.box]) for each in taken.value}
    runner = _runner(code)
    runner.run_all(runs.value, parameters, scalars, windows, {output.name for output in outputs.value})
    given = []
    for output in outputs.value:
        box = next(each.box for each in taken.value if each.name == output.name)
        block = windows[output.name].block
        if box != output.box:
            block = block[slices(output.box, [start for start, _ in box])]
            if size_of(box) > MOST_KEPT * size_of(output.box):
                block = block.copy()
        given.append(block)
    if timed:
        tell(timed, begun, time.time())
    return given[0] if len(given) == 1 else tuple(given)


def _memory(each: Taken, blocks: Sequence[np.ndarray]) -> np.ndarray:
    """The memory of a window: a block itself where that is all of it, and only read."""
    shape = tuple(stop - start for start, stop in each.box)
    for number, box in each.pieces:
        block = blocks[number]
        expected = tuple(stop - start for start, stop in box)
        if type(block) is not np.ndarray or block.dtype != each.dtype or block.shape != expected:
            raise ArgumentError(
                f"argument {each.name!r}: a chunk is {_described(block)}, though the dask array says that it is an "
                f"array of {each.dtype} with shape {expected}; give the array its true metadata, as with "
                "map_blocks(..., dtype=..., chunks=...)"
            )
    if len(each.pieces) == 1 and each.pieces[0][1] == each.box and not each.is_written:
        block = blocks[each.pieces[0][0]]
        return block if block.flags.c_contiguous and block.flags.aligned else np.ascontiguousarray(block)
    if each.operator is not None:
        return neutral_copy(np.empty(shape, each.dtype), each.operator)
    # Zeros take no time before they are touched; what no piece gives is touched only where it begins with that.
    memory = np.zeros(shape, each.dtype) if _is_zero(each.first) else np.full(shape, each.first, each.dtype)
    for number, box in each.pieces:
        memory[slices(box, [start for start, _ in each.box])] = blocks[number]
    return memory


def _is_zero(first: Any) -> bool:
    return isinstance(first, int) and first == 0


def _described(block: Any) -> str:
    if isinstance(block, np.ndarray):
        return f"an array of {block.dtype} with shape {block.shape}"
    return f"a value of type {type(block).__qualname__}"
