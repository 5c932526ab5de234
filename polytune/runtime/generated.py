"""A generated module, ready to run: checks, one configuration, one call."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from polytune.errors import SpaceError
from polytune.runtime.arguments import check_overlap
from polytune.runtime.compilation import compile_for
from polytune.runtime.context import STATE_LENGTH, array_words, run_team
from polytune.runtime.threads import launch, maximum_threads
from polytune.runtime.version import Version
from polytune.signature import ArrayType, parse_type
from polytune.tuner import Configuration

__all__ = ["GeneratedKernel", "Invocation", "Outcome"]


class Invocation(NamedTuple):
    """A call whose arguments have been checked: the values in order, and the parameters computed from them."""

    values: tuple[Any, ...]
    parameters: tuple[int, ...]


class Outcome(NamedTuple):
    """What one run gave: the kernel's result, the seconds it ran, and the seconds that compiling took before it."""

    result: Any
    seconds: float
    compile_seconds: float


class _Context:
    """The memory of a call's context, in whole cache lines: the team's counters share theirs with nothing else."""

    def __init__(self, size: int):
        line = 128
        storage = np.zeros(size + 2 * line, np.uint8)
        start = -storage.ctypes.data % line
        memory = storage[start : start + size]
        self.address: int = memory.ctypes.data
        self.memory = memory.data


class GeneratedKernel:
    """A generated module, whose functions are compiled when they are first run.

    Attributes:
        module: the generated module.
        space: every choice there is.
    """

    def __init__(self, module: ModuleType):
        self.module = module
        self.space = module.space()
        self._versions: dict[str, Version] = {version.name: version for version in module.VERSIONS}
        self._array_positions = [module.ARGUMENTS.index(name) for name in module.ARRAYS]
        self._kinds = [kind for kind in map(parse_type, module.MEMORY) if isinstance(kind, ArrayType)]
        self._tile_names = tuple(f"tile_{k}" for k in range(max(len(v.tiles) for v in module.VERSIONS)))
        self._layout = struct.Struct(self._format())
        self._result = getattr(module, "result", None)
        self._extra = [k for k, name in enumerate(module.PARAMETERS) if name not in module.ARGUMENTS]
        self._addresses: dict[str, int] = {}
        self._local = threading.local()

    @property
    def starts(self) -> tuple[Configuration, ...]:
        """Per version the configuration to begin with: its own tile sizes, which suit its innermost loops."""
        return tuple(
            self.space.configuration(version=version.name, **dict(zip(self._tile_names, version.tiles, strict=False)))
            for version in self._versions.values()
        )

    def prepare(self, values: tuple[Any, ...]) -> Invocation:
        """Check a call's arguments; nothing is written.

        Raises:
            ArgumentError: an array is too small for the accesses, overlaps with a written one, or is read-only.
        """
        module = self.module
        parameters = module.parameters(*values)
        module.check(*values, *[parameters[k] for k in self._extra])
        if module.WRITTEN:
            arrays = [values[k] for k in self._array_positions]
            check_overlap(dict(zip(module.ARRAYS, arrays, strict=True)), module.WRITTEN)
        return Invocation(values, parameters)

    def compile(self, name: str) -> float:
        """Have a version ready to run; the seconds that took, 0 where it already was.

        Raises:
            CompilationError: it cannot be compiled.
            SpaceError: there is no such version.
        """
        if name in self._addresses:
            return 0.0
        version = self._versions.get(name)
        if version is None:
            raise SpaceError(f"{self.module.NAME} has no version {name!r}, but {', '.join(self._versions)}")
        start = time.perf_counter()
        signature = (types.int64,)
        compile_for(version.function, signature)
        compiled = version.function.overloads[signature]
        entry = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
        if version.team:
            compile_for(run_team, (types.int64, types.int64, types.int64))
        self._addresses[name] = entry
        return time.perf_counter() - start

    def run(self, configuration: Mapping[str, Any], invocation: Invocation) -> Outcome:
        """Run one configuration once.

        The configuration must be a member of the space; ``space.validate`` says what is wrong with one that is not.

        Raises:
            CompilationError: the version cannot be compiled; nothing has been written.
        """
        name = configuration["version"]
        compile_seconds = 0.0 if name in self._addresses else self.compile(name)
        version = self._versions[name]
        scratch = self._scratch(invocation)
        context = self._fill(
            invocation, scratch, [configuration[tile] for tile in self._tile_names[: len(version.tiles)]]
        )
        if version.team:
            workers = min(configuration["threads"], maximum_threads())
            start = time.perf_counter()
            launch(run_team, workers, self._addresses[name], context.address)
        else:
            start = time.perf_counter()
            version.function(context.address)
        seconds = time.perf_counter() - start
        result = None
        if self._result is not None:
            extra = [invocation.parameters[k] for k in self._extra]
            result = self._result(*invocation.values, *extra, *scratch)
        return Outcome(result, seconds, compile_seconds)

    def _scratch(self, invocation: Invocation) -> tuple[np.ndarray, ...]:
        if not self.module.SCRATCH:
            return ()
        return self.module.scratch(*invocation.values, *[invocation.parameters[k] for k in self._extra])

    def _fill(self, invocation: Invocation, scratch: tuple[np.ndarray, ...], tiles: list[int]) -> _Context:
        """The context of a call, in this thread's own memory: a thread runs one call of a kernel at a time."""
        context = getattr(self._local, "context", None)
        if context is None:
            context = self._local.context = _Context(self._layout.size)
        words = self.module.words(*invocation.values, *scratch)
        unused = [0] * (len(self._tile_names) - len(tiles))
        self._layout.pack_into(context.memory, 0, *words, *invocation.parameters, *tiles, *unused)
        return context

    def _format(self) -> str:
        """The context as ``struct`` describes it: the team's state, which starts from zeros, then all the rest."""
        module = self.module
        kinds = [module.SIGNATURE[name] for name in module.SCALARS]
        scalars = "".join("q" if kind.dtype.startswith("int") else "d" for kind in kinds)
        integers = len(module.PARAMETERS) + len(self._tile_names)
        return f"={8 * STATE_LENGTH}x{sum(map(array_words, self._kinds))}q{scalars}{integers}q"
