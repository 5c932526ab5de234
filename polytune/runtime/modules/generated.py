"""A generated module, ready to run: checks, one configuration, one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from polytune.errors import (
    ArgumentError,
    CompilationError,
    DataError,
    DeviceError,
    SourceLocation,
    SpaceError,
    SubscriptError,
)
from polytune.runtime.background.versions import DeferredVersions
from polytune.runtime.calls.arguments import check_overlap
from polytune.runtime.calls.bound_run import BoundRun, scalars_together
from polytune.runtime.calls.index_headers import prepare_header_tests
from polytune.runtime.calls.invocation import Invocation, Outcome
from polytune.runtime.devices.device import Device
from polytune.runtime.devices.discovery import devices
from polytune.runtime.modules.argument_places import ArgumentPlaces
from polytune.runtime.modules.compiled_functions import CompiledFunctions
from polytune.runtime.partitioned.call import SharedCall
from polytune.runtime.partitioned.description import Part
from polytune.runtime.partitioned.device_arrays import check_device_arrays
from polytune.runtime.partitioned.execution import Execution
from polytune.runtime.partitioned.residency import Residence, in_use, residences_of
from polytune.runtime.partitioned.space import VERSION as PARTITIONED
from polytune.runtime.partitioned.space import on_device, with_devices
from polytune.runtime.teams.context_memory import Contexts
from polytune.runtime.teams.local_arrays import local_arrays
from polytune.runtime.teams.threads import current_threads
from polytune.runtime.tuning.first_choices import FirstChoices
from polytune.runtime.version import Version
from polytune.tuner import Space

FIRST_TILE = 32
"""The extent of a tile of which the configuration says nothing."""

_MOST_KEPT = 1 << 23  # bytes of local arrays of a call that is to be made again

__all__ = ["GeneratedKernel", "Invocation", "Outcome"]


class GeneratedKernel(ArgumentPlaces):
    """A generated module, whose functions are compiled when they are first run.

    Attributes:
        module: the generated module.
        space: every choice there is.
        functions: the module's functions, each compiled when it is first wanted.
        first_choices: the configurations that calls begin with.
        places: where in the user's source is what messages speak of.
        code: what tells the generated code from that of other versions of the compiler.
        deferred: all versions of the kernel, where the module has few of them, as the others take long to make.
    """

    def __init__(
        self,
        module: ModuleType,
        places: Callable[[SourceLocation], SourceLocation] | None = None,
        code: str = "",
        deferred: DeferredVersions[GeneratedKernel] | None = None,
    ):
        """
        Args:
            module: the generated module.
            places: where in the user's source now is what the module knows under other places; None where it knows
                them.
            code: what tells the generated code from that of other versions of the compiler.
            deferred: the attribute.
        """
        self._partitioned = getattr(module, "PARTITIONED", None)
        parts = () if self._partitioned is None else self._partitioned.parts
        self._sizes = {version.name: version.sizes for version in module.VERSIONS}
        self._part_tiles = tuple(f"tile_{k}" for k in range(max((part.tiles for part in parts), default=0)))
        most_sizes = max(*map(len, self._sizes.values()), len(self._part_tiles), 0)
        part_words = 0 if self._partitioned is None else self._partitioned.part_words
        super().__init__(module, Contexts(module, part_words, most_sizes))
        self.places = places
        self.code = code
        self.deferred = deferred
        self._execution: Execution | None = None
        self._devices: tuple[Device, ...] = ()
        self.space = self._space()
        self.functions = CompiledFunctions(module)
        self.first_choices = FirstChoices(module, self.space, self.functions, self._devices)
        self._versions: dict[str, Version] = {version.name: version for version in module.VERSIONS}
        self._result = getattr(module, "result", None)
        self._require = getattr(module, "require", None)
        self._verify = getattr(module, "verify", None)
        self._reused = [k for k, name in enumerate(module.SCRATCH) if name not in module.KEPT]

    def _space(self) -> Space:
        """The module's space, and with devices at hand what they add to it."""
        space: Space = self.module.space()
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
        """Return whether the space names a device that no longer answers."""
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

    def again(self) -> GeneratedKernel:
        """The same kernel, for other threads or other devices."""
        return GeneratedKernel(self.module, self.places, self.code, self.deferred)

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
        extra = [parameters[k] for k in self._extra]
        try:
            module.check(*values, *extra)
        except ArgumentError as error:
            raise self._placed(error, values, extra) from None
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
            self._require_indexes(values, parameters)

    def _require_indexes(self, values: Sequence[Any], parameters: Sequence[int]) -> None:
        """Test the numbers in index arrays."""
        try:
            self.module.check_indexes(*values, *[parameters[k] for k in self._extra])
        except SubscriptError as error:
            raise self._moved(error) from None

    def _moved(self, error: SubscriptError | DataError) -> SubscriptError | DataError:
        """The error at the place in the user's source as it is now."""
        return error if self.places is None else error.at(self.places(error.location))

    def _placed(self, error: ArgumentError, values: tuple[Any, ...], extra: list[int]) -> ArgumentError:
        """A refusal of arguments that speaks of places in the user's source as it is now."""
        if self.places is not None:
            try:
                self.module.check(*values, *extra, places=[*map(self.places, self.module.PLACES)])
            except ArgumentError as placed:
                return placed
        return error

    def is_ready(self, configuration: Mapping[str, Any]) -> bool:
        """Return whether a configuration can be run without waiting for a compiler.

        Where it cannot, compiling it begins in the background, first choices before all others.
        """
        urgent = configuration["version"] in self.first_choices.versions
        return self.functions.is_ready(configuration, urgent=urgent)

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
        compile_seconds = self.functions.compile(name)
        version = self._versions[name]
        scratch = self._scratch(invocation)
        tiles = [configuration[size] for size in self._sizes[name]]
        workers = min(configuration["threads"], current_threads()) if version.team else 1
        context = self._contexts.filled(invocation.values, scratch, invocation.parameters, tiles)
        start = time.perf_counter()
        self.functions.run(version.function, version.team, context, workers)
        seconds = time.perf_counter() - start
        value = self._value(invocation.values, invocation.parameters, scratch)
        if context.is_left:
            # A helper that is left behind may still ask whether a loop has ended, by a flag that is in this memory.
            context.owner = context.owner, scratch
        else:
            local_arrays.give_back(scratch[k] for k in self._reused)
        return Outcome(value, seconds, compile_seconds)

    def can_bind(self, configuration: Mapping[str, Any]) -> bool:
        """Return whether a configuration can be run again and again in memory of its own: it runs on the processor, and
        the module says how its memory begins, as older ones did not."""
        return self.functions.is_compiled(str(configuration["version"])) and hasattr(self.module, "ZEROED")

    def bound(self, configuration: Mapping[str, Any], invocation: Invocation) -> BoundRun | None:
        """A configuration and a checked call, to be run again and again; see `can_bind`.  None where its local arrays
        are too much memory to be kept."""
        name, module = configuration["version"], self.module
        tiles = [configuration[size] for size in self._sizes[name]]
        scratch = self._scratch(invocation)
        addresses = self._contexts.addresses[len(module.ARRAYS) :]
        returned = [(place, addresses[place]) for place, each in enumerate(module.SCRATCH) if each in module.RETURNED]
        results = {place for place, _ in returned}
        if sum(array.nbytes for place, array in enumerate(scratch) if place not in results) > _MOST_KEPT:
            return None
        if module.INDEXES:
            prepare_header_tests()
        memory = scalars_together(scratch, results)
        filled = self._contexts.filled(invocation.values, memory, invocation.parameters, tiles)
        version = self._versions[name]
        workers = min(configuration["threads"], current_threads()) if version.team else 0
        return BoundRun(
            self._contexts.copied(filled),
            self.functions.callable_of(version),
            workers,
            memory,
            returned=returned,
            zeroed=frozenset(place for place, each in enumerate(module.SCRATCH) if each in module.ZEROED),
            check=self._check_again if module.INDEXES or self._require else None,
            verify=None if self._verify is None else self._verify_run,
            report=self._report_place(),
            value=None if self._result is None else self._value_again(),
            returns=self._returned_places(),
            parameters=invocation.parameters,
            parameter_offset=self._contexts.first_scalar + 8 * len(module.SCALARS),
        )

    def _check_again(self, values: Sequence[Any], parameters: Sequence[int]) -> None:
        """Test what may have changed since a call with the same arrays was checked: what the kernel asserts of its
        arguments, and the numbers in index arrays.

        Raises:
            Exception: what the kernel itself raises for such arguments.
            SubscriptError: a number in an index array is out of range.
        """
        if self._require is not None:
            self._require(*values)
        if self.module.INDEXES:
            self._require_indexes(values, parameters)

    def _value_again(self) -> Callable[[Sequence[Any], Sequence[np.ndarray], Sequence[int]], Any]:
        """Return what makes of a call's arguments, its memory and its integers what the kernel returns."""
        result, extra = self._result, self._extra
        assert result is not None
        return lambda values, scratch, parameters: result(*values, *[parameters[k] for k in extra], *scratch)

    def _returned_places(self) -> int | tuple[int, ...] | None:
        """Return where in the memory what the kernel returns lies: an array, a number, of which the place is the
        complement, or those in a tuple; None where it returns something else, or the module does not say so, as older
        ones did not."""
        places = {name: place for place, name in enumerate(self.module.SCRATCH)}
        places |= {f"{name}[0]": ~place for name, place in places.items()}
        names = getattr(self.module, "RETURNS", None)
        return places[names] if isinstance(names, str) else names and tuple(places[name] for name in names)

    def _report_place(self) -> int | None:
        """Return where in the memory the number is that says what a run has found wrong; None where there is none, or
        the module does not say so, as older ones did not."""
        name = getattr(self.module, "REPORT", None)
        return None if name is None else self.module.SCRATCH.index(name)

    def check_addresses(self, values: Sequence[Any]) -> None:
        """Check of arguments, whose types, shapes and strides have been checked, where they lie.

        Raises:
            ArgumentError: an array overlaps with a written one.
        """
        arrays = dict(zip(self.module.ARRAYS, [values[k] for k in self._array_positions], strict=True))
        check_overlap(arrays, self.module.WRITTEN)

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
        for function, team in self.functions.needed_by(configuration):
            compile_seconds += self.functions.compile_function(function, team)
        scratch = self._scratch(invocation)
        module = self.module
        arrays = {name: invocation.values[k] for name, k in zip(module.ARRAYS, self._array_positions, strict=True)}
        arrays |= dict(zip(module.SCRATCH, scratch, strict=True))
        named = dict(zip(module.ARGUMENTS, invocation.values, strict=True))
        scalars = {name: named[name] for name in module.SCALARS}

        def run_part(part: Part, integers: tuple[int, ...], threads: int, replaced: Mapping[str, np.ndarray]) -> None:
            self.functions.compile_function(part.run, part.team)
            values = tuple(replaced.get(name, named[name]) for name in module.ARGUMENTS)
            own = tuple(replaced.get(name, arrays[name]) for name in module.SCRATCH)
            context = self._contexts.filled(values, own, invocation.parameters, tiles, integers)
            self.functions.run(part.run, part.team, context, min(threads or current_threads(), current_threads()))

        start = time.perf_counter()
        call = SharedCall(
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
        value = self._value(invocation.values, invocation.parameters, scratch)
        if report.failure is None:  # A device that has failed might still be writing.
            local_arrays.give_back(scratch[k] for k in self._reused)
            return Outcome(value, seconds, compile_seconds, None, report.shares)
        return Outcome(value, seconds, compile_seconds, str(report.failure), report.shares)

    def _value(self, values: Sequence[Any], parameters: Sequence[int], scratch: Sequence[np.ndarray]) -> Any:
        """Return what the kernel returns, after `_verify_run`."""
        if self._verify is not None:
            self._verify_run(scratch)
        if self._result is None:
            return None
        return self._result(*values, *[parameters[k] for k in self._extra], *scratch)

    def _verify_run(self, scratch: Sequence[np.ndarray]) -> None:
        """Raise what a run has found wrong.

        Raises:
            SubscriptError: a subscript was out of range while it ran.
            DataError: what data decide did not fit.
        """
        assert self._verify is not None
        try:
            self._verify(*scratch)
        except (DataError, SubscriptError) as error:
            raise self._moved(error) from None

    def _scratch(self, invocation: Invocation) -> tuple[np.ndarray, ...]:
        if not self.module.SCRATCH:
            return ()
        scratch: tuple[np.ndarray, ...] = self.module.scratch(
            *invocation.values, *[invocation.parameters[k] for k in self._extra]
        )
        return scratch
