"""A generated module, ready to run: checks, one configuration, one call."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
from numba.core import types

from polytune.errors import ArgumentError, CompilationError, DeviceError, SpaceError
from polytune.runtime.arguments import check_overlap
from polytune.runtime.background.compiler import background
from polytune.runtime.compilation import compile_for, is_on_disk
from polytune.runtime.context_memory import Contexts
from polytune.runtime.crew import compile_team, run_team
from polytune.runtime.devices.device import Device
from polytune.runtime.devices.discovery import devices
from polytune.runtime.invocation import Invocation, Outcome
from polytune.runtime.local_arrays import local_arrays
from polytune.runtime.machine import machine
from polytune.runtime.partitioned.call import Call
from polytune.runtime.partitioned.description import Part
from polytune.runtime.partitioned.device_arrays import check_device_arrays
from polytune.runtime.partitioned.execution import Execution
from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.partitioned.residency import Residence, in_use, residences_of
from polytune.runtime.partitioned.space import VERSION as PARTITIONED
from polytune.runtime.partitioned.space import on_device, with_devices
from polytune.runtime.threads import current_threads
from polytune.runtime.version import Version
from polytune.tuner import Configuration, Space

FIRST_TILE = 32
"""The extent of a tile of which the configuration says nothing."""

_NEAR_VERSIONS = 2  # after the first
_FIRST_RATIOS = (0.5, 0.8, 0.2)
"""The processor's shares of what is split at first."""

_WIDEST_ELEMENT = 8  # bytes
_LOADING = 0.05  # seconds, of one function's machine code

__all__ = ["GeneratedKernel", "Invocation", "Outcome"]


class GeneratedKernel:
    """A generated module, whose functions are compiled when they are first run.

    Attributes:
        module: the generated module.
        space: every choice there is.
    """

    def __init__(self, module: ModuleType):
        self.module = module
        self._partitioned = getattr(module, "PARTITIONED", None)
        self._execution: Execution | None = None
        self._devices: tuple[Device, ...] = ()
        self.space = self._space()
        self._versions: dict[str, Version] = {version.name: version for version in module.VERSIONS}
        self._ranks = {name: rank for rank, name in enumerate(self._versions)}
        self._array_positions = [module.ARGUMENTS.index(name) for name in module.ARRAYS]
        parts = () if self._partitioned is None else self._partitioned.parts
        self._sizes = {version.name: version.sizes for version in module.VERSIONS}
        self._part_tiles = tuple(f"tile_{k}" for k in range(max((part.tiles for part in parts), default=0)))
        most_sizes = max(*map(len, self._sizes.values()), len(self._part_tiles), 0)
        part_words = 0 if self._partitioned is None else self._partitioned.part_words
        self._contexts = Contexts(module, part_words, most_sizes)
        self._result = getattr(module, "result", None)
        self._require = getattr(module, "require", None)
        self._verify = getattr(module, "verify", None)
        self._extra = [k for k, name in enumerate(module.PARAMETERS) if name not in module.ARGUMENTS]
        self._addresses: dict[str, int] = {}
        self._reused = [k for k, name in enumerate(module.SCRATCH) if name not in module.KEPT]

    def _space(self) -> Space:
        """The module's space, and with devices at hand what they add to it."""
        space = self.module.space()
        if self._partitioned is None or not any(part.device for part in self._partitioned.parts):
            return space
        self._devices = devices()
        if not self._devices:
            return space
        contract = not self.module.STRICT
        self._execution = Execution(self.module.NAME, self._partitioned, self._devices, contract)
        return with_devices(space, self._partitioned, {device.identity: device.limits for device in self._devices})

    @property
    def has_lost_devices(self) -> bool:
        """Whether the space names a device that no longer answers."""
        return any(device.lost for device in self._devices)

    def space_for(self, invocation: Invocation) -> Space:
        """Every choice there is for a call: where an array is at home on a device, only that device.

        Raises:
            ArgumentError: the kernel cannot run where its arrays are.
        """
        name, residence = next(
            ((name, each) for name, each in invocation.residences.items() if each.at_home), (None, None)
        )
        if residence is None:
            return self.space
        identity = residence.device.identity
        if self._partitioned is None or self._execution is None or residence.device not in self._devices:
            raise ArgumentError(
                f"argument {name!r} of {self.module.NAME} lies on {identity}, where "
                + (
                    "this kernel cannot run: nothing of it is parallel"
                    if self._partitioned is None
                    else "kernels are not run: it was lost, or POLYTUNE_DEVICES leaves it out"
                )
                + "; pass a NumPy array"
            )
        return on_device(self._partitioned, identity, residence.device.limits)

    @property
    def starts(self) -> tuple[Configuration, ...]:
        """Per version the configuration to begin with: its own tile sizes, which suit its innermost loops.

        Of the version that is shared, each device alone, and beside the processor at a few ratios: from a device alone
        that is several times slower than the processor no search would come to what both can do together.
        """
        found = [self.space.configuration(version=name, **sizes) for name, sizes in self._sizes.items()]
        if self._execution is not None:
            found += [
                self.space.configuration(version=PARTITIONED, split=0, platform_0=device.identity)
                for device in self._devices
            ]
            if self._partitioned is not None and self._partitioned.splits:
                found += [
                    self.space.configuration(
                        version=PARTITIONED, split=1, ratio_0=ratio, platform_0=CPU, platform_1=device.identity
                    )
                    for device in self._devices
                    for ratio in _FIRST_RATIOS
                ]
        return tuple(found)

    def prepare(self, values: tuple[Any, ...], at_home: Mapping[str, Residence] | None = None) -> Invocation:
        """Check a call's arguments; nothing is written.

        Args:
            values: the arguments.
            at_home: by name, those that stand for arrays at home on a device.

        Raises:
            ArgumentError: an array is too small for the accesses, overlaps with a written one, or is read-only, or
                sizes cannot be computed.
            Exception: what the kernel itself raises for such arguments.
        """
        module = self.module
        if self._require is not None:
            self._require(*values)
        try:
            parameters = module.parameters(*values)
        except (ArithmeticError, ValueError) as error:
            raise ArgumentError(
                f"{module.NAME}: the integers that are computed from the arguments before all loops cannot be: {error}"
            ) from error
        module.check(*values, *[parameters[k] for k in self._extra])
        arrays = dict(zip(module.ARRAYS, [values[k] for k in self._array_positions], strict=True))
        if module.WRITTEN:
            check_overlap(arrays, module.WRITTEN)
        residences, beside = residences_of(arrays)
        if at_home:
            check_device_arrays(at_home, module.WRITTEN)
            residences |= at_home
        if module.INDEXES:
            self._check_indexes(values, parameters, residences)
        return Invocation(values, parameters, residences, beside)

    def _check_indexes(
        self, values: tuple[Any, ...], parameters: tuple[int, ...], residences: Mapping[str, Residence]
    ) -> None:
        """Test the numbers in index arrays, the newest of which a device may have."""
        kept = {name: residences[name] for name in self.module.INDEXES if name in residences}
        with in_use(list(kept.values())):
            for name, residence in kept.items():
                residence.bring_home(name)
            self.module.check_indexes(*values, *[parameters[k] for k in self._extra])

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
        seconds = self._compile_function(version.function, version.team)
        self._addresses[name] = self._addresses[version.function.__name__]
        return seconds

    def is_ready(self, configuration: Mapping[str, Any]) -> bool:
        """Whether a configuration can be run without waiting for a compiler, and be measured undisturbed.

        Where it cannot, compiling it begins in the background.
        """
        return background.provides(
            (function, _words(team))
            for function, team in self._functions(configuration)
            if function.__name__ not in self._addresses
        )

    def preparation(self, configuration: Mapping[str, Any]) -> float | None:
        """How many seconds a call of a configuration would wait before it can run, without a compiler beside it: 0
        where its functions are loaded, a little where their machine code is on disk, None where they have to be
        compiled, or a device's kernels may have to be."""
        if configuration["version"] == PARTITIONED:
            return None
        missing = [f for f, _ in self._functions(configuration) if f.__name__ not in self._addresses]
        return len(missing) * _LOADING if all(is_on_disk(function) for function in missing) else None

    def risk(self, configuration: Mapping[str, Any]) -> float:
        """How many times longer than the best a configuration may take, as far as that is known before it is run.

        Versions come in the order of what they promise: the first ones are near each other, and each after them may be
        slower by as much as the default takes.  One that keeps to the order of the source has one core at work beside
        versions that have all, and perhaps one element of a vector.
        """
        rank = self._ranks.get(configuration["version"], 0)
        risk = 1.0 + max(0, rank - _NEAR_VERSIONS)
        if rank and not self._versions[configuration["version"]].team:
            risk = max(risk, current_threads() * machine().vector_bytes / _WIDEST_ELEMENT)
        return risk

    def _functions(self, configuration: Mapping[str, Any]) -> list[tuple[Any, bool]]:
        """The functions that a configuration needs, each with whether teams run it."""
        name = configuration["version"]
        if name != PARTITIONED or self._partitioned is None:
            return [(self._versions[name].function, self._versions[name].team)]
        on_processor = any(configuration.get(f"platform_{k}") == CPU for k in range(4))
        parts = [part for part in self._partitioned.parts if part.device is None or on_processor]
        return [(part.run, part.team) for part in parts]

    def _compile_function(self, function: Any, team: bool) -> float:
        """Have a function of a context ready to run; the seconds that took, 0 where it already was."""
        name = function.__name__
        if name in self._addresses:
            return 0.0
        failure = background.failure_of(function, _words(team))
        if failure:
            raise CompilationError(f"{name} cannot be compiled: {failure}")
        start = time.perf_counter()
        signature = (types.int64,) * _words(team)
        compile_for(function, signature)
        compiled = function.overloads[signature]
        entry = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
        if team:
            compile_team()
        self._addresses[name] = entry
        return time.perf_counter() - start

    def run(self, configuration: Mapping[str, Any], invocation: Invocation) -> Outcome:
        """Run one configuration once.

        The configuration must be a member of the space; ``space.validate`` says what is wrong with one that is not.

        Raises:
            CompilationError: the version cannot be compiled; nothing has been written.
            DeviceLostError: a device no longer answers, and elements that it alone had are lost.
        """
        if invocation.residences or invocation.beside:
            return self._run_beside_devices(configuration, invocation)
        if configuration["version"] == PARTITIONED:
            return self._run_partitioned(configuration, invocation)
        return self._run_here(configuration, invocation)

    def warn(self, error: DeviceError, configuration: Mapping[str, Any]) -> None:
        """Say, once, that a configuration has failed on a device."""
        if self._execution is not None:
            self._execution.warn(error, configuration)

    def _run_beside_devices(self, configuration: Mapping[str, Any], invocation: Invocation) -> Outcome:
        """Run one configuration on arrays of which a device may have the newest elements."""
        written = self.module.WRITTEN
        beside = [residence for others in invocation.beside.values() for residence in others]
        with in_use([*invocation.residences.values(), *beside]):
            for name, others in invocation.beside.items():
                for residence in others:
                    residence.bring_home(name)
                    if name in written:
                        residence.holding.forget()
            # A block that kept an array on a device may have ended since the call was prepared.
            residences = {name: each for name, each in invocation.residences.items() if each.is_in_use}
            if configuration["version"] == PARTITIONED:
                return self._run_partitioned(configuration, invocation._replace(residences=residences))
            for name, residence in residences.items():
                residence.bring_home(name)
            try:
                return self._run_here(configuration, invocation)
            finally:
                for name, residence in residences.items():
                    if name in written:
                        residence.holding.forget()
                        if residence.at_home:
                            residence.send_back(name)

    def _run_here(self, configuration: Mapping[str, Any], invocation: Invocation) -> Outcome:
        """Run a version that is for the processor alone."""
        name = configuration["version"]
        compile_seconds = 0.0 if name in self._addresses else self.compile(name)
        version = self._versions[name]
        scratch = self._scratch(invocation)
        tiles = [configuration[size] for size in self._sizes[name]]
        context = self._contexts.filled(invocation.values, scratch, invocation.parameters, tiles)
        start = time.perf_counter()
        if version.team:
            run_team(self._addresses[name], context, min(configuration["threads"], current_threads()))
        else:
            version.function(context.address)
        seconds = time.perf_counter() - start
        value = self._value(invocation, scratch)
        local_arrays.give_back(scratch[k] for k in self._reused)
        return Outcome(value, seconds, compile_seconds)

    def _run_partitioned(self, configuration: Mapping[str, Any], invocation: Invocation) -> Outcome:
        """Run the version that is shared among platforms."""
        execution = self._execution
        if execution is None:
            raise SpaceError(f"{self.module.NAME} has no version {PARTITIONED!r}, as there are no devices")
        try:
            plan = execution.prepare(configuration)
        except DeviceError as error:
            raise CompilationError(str(error)) from error
        compile_seconds = plan.seconds
        tiles = [configuration.get(name, FIRST_TILE) for name in self._part_tiles]
        for function, team in self._functions(configuration):
            compile_seconds += self._compile_function(function, team)
        scratch = self._scratch(invocation)
        module = self.module
        arrays = {name: invocation.values[k] for name, k in zip(module.ARRAYS, self._array_positions, strict=True)}
        arrays |= dict(zip(module.SCRATCH, scratch, strict=True))
        named = dict(zip(module.ARGUMENTS, invocation.values, strict=True))
        scalars = {name: named[name] for name in module.SCALARS}

        def run_part(part: Part, integers: tuple[int, ...], threads: int, replaced: Mapping[str, np.ndarray]) -> None:
            self._compile_function(part.run, part.team)
            values = tuple(replaced.get(name, named[name]) for name in module.ARGUMENTS)
            own = tuple(replaced.get(name, arrays[name]) for name in module.SCRATCH)
            context = self._contexts.filled(values, own, invocation.parameters, tiles, integers)
            if part.team:
                workers = min(threads or current_threads(), current_threads())
                run_team(self._addresses[part.run.__name__], context, workers)
            else:
                part.run(context.address)

        start = time.perf_counter()
        call = Call(
            arrays,
            scalars,
            invocation.parameters,
            plan,
            run_part,
            frozenset(module.SCRATCH if self._result is None else ()),
            invocation.residences,
        )
        report = execution.run(call)
        seconds = time.perf_counter() - start
        value = self._value(invocation, scratch)
        if report.failure is None:  # A device that has failed might still be writing.
            local_arrays.give_back(scratch[k] for k in self._reused)
            return Outcome(value, seconds, compile_seconds, None, report.shares)
        return Outcome(value, seconds, compile_seconds, str(report.failure), report.shares)

    def _value(self, invocation: Invocation, scratch: tuple[np.ndarray, ...]) -> Any:
        """What the kernel returns.

        Raises:
            SubscriptError: a subscript was out of range while it ran.
        """
        if self._verify is not None:
            self._verify(*scratch)
        if self._result is None:
            return None
        extra = [invocation.parameters[k] for k in self._extra]
        return self._result(*invocation.values, *extra, *scratch)

    def _scratch(self, invocation: Invocation) -> tuple[np.ndarray, ...]:
        if not self.module.SCRATCH:
            return ()
        return self.module.scratch(*invocation.values, *[invocation.parameters[k] for k in self._extra])


def _words(team: bool) -> int:
    """How many int64 a function takes: a context's address, and in a team a worker's number and how many there are."""
    return 3 if team else 1
