"""A generated module, ready to run: checks, one configuration, one call."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numba
import numpy as np

from polytune.errors import SpaceError
from polytune.runtime.arguments import check_overlap
from polytune.runtime.compilation import compile_for
from polytune.runtime.team import new_state
from polytune.runtime.threads import launch, maximum_threads
from polytune.runtime.version import Version

__all__ = ["GeneratedKernel", "Invocation", "Outcome"]

@dataclass(frozen=True)
class Invocation:
    """A call whose arguments have been checked: the values in order, and the parameters computed from them."""

    values: tuple[Any, ...]
    parameters: tuple[int, ...]


@dataclass(frozen=True)
class Outcome:
    """What one run gave: the kernel's result, the seconds it ran, and the seconds that compiling took before it."""

    result: Any
    seconds: float
    compile_seconds: float


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
        self._scalar_positions = [module.ARGUMENTS.index(name) for name in module.SCALARS]
        self._has_scratch = bool(module.SCRATCH)
        self._result = getattr(module, "result", None)
        self._extra = [k for k, name in enumerate(module.PARAMETERS) if name not in module.ARGUMENTS]
        self._compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._tile_names = tuple(f"tile_{k}" for k in range(max(len(v.tiles) for v in module.VERSIONS)))
        self._local = threading.local()

    def prepare(self, values: tuple[Any, ...]) -> Invocation:
        """Check a call's arguments; nothing is written.

        Raises:
            ArgumentError: an array is too small for the accesses, overlaps with a written one, or is read-only.
        """
        module = self.module
        parameters = module.parameters(*values)
        module.check(*values, *[parameters[k] for k in self._extra])
        if module.WRITTEN:
            names = module.ARRAYS
            arrays = {name: values[k] for name, k in zip(names, self._array_positions, strict=True)}
            check_overlap(arrays, module.WRITTEN)
        return Invocation(values, parameters)

    def run(self, configuration: Mapping[str, Any], invocation: Invocation) -> Outcome:
        """Run one configuration once.

        The configuration must be a member of the space; ``space.validate`` says what is wrong with one that is not.

        Raises:
            CompilationError: the version cannot be compiled; nothing has been written.
        """
        version = self._versions.get(configuration["version"])
        if version is None:
            raise SpaceError(f"{self.module.NAME} has no version {configuration['version']!r}: {list(self._versions)}")
        tiles = [configuration[name] for name in self._tile_names[: len(version.tiles)]]
        workers = min(configuration["threads"], maximum_threads()) if version.team else 1
        values, parameters = invocation.values, invocation.parameters
        scratch = self._scratch(invocation)
        arrays = [values[k] for k in self._array_positions]
        arguments = (self._state(), *arrays, *scratch, *[values[k] for k in self._scalar_positions], *parameters, *tiles)
        # Numba tells writable from read-only and aligned from unaligned arrays: each is a compilation of its own.
        key = (version.name, *[array.flags.num for array in arrays])
        function = self._compiled.get(key)
        compile_seconds = 0.0
        if function is None:
            start = time.perf_counter()
            types = [numba.typeof(value) for value in (workers, *arguments)]
            compile_for(version.function, types)
            function = self._compiled[key] = version.function
            compile_seconds = time.perf_counter() - start
        if version.team:
            start = time.perf_counter()
            launch(function, workers, *arguments)
        else:
            start = time.perf_counter()
            function(workers, *arguments)
        seconds = time.perf_counter() - start
        result = None
        if self._result is not None:
            result = self._result(*values, *[parameters[k] for k in self._extra], *scratch)
        return Outcome(result, seconds, compile_seconds)

    def _scratch(self, invocation: Invocation) -> tuple[np.ndarray, ...]:
        if not self._has_scratch:
            return ()
        extra = [invocation.parameters[k] for k in self._extra]
        return self.module.scratch(*invocation.values, *extra)

    def _state(self) -> np.ndarray:
        """The team state of this thread: a thread runs one kernel at a time."""
        state = getattr(self._local, "state", None)
        if state is None:
            state = self._local.state = new_state()
        return state
