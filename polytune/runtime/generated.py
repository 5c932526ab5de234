"""A generated module, ready to run: checks, one configuration, one call."""

from __future__ import annotations

import dis
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from polytune.errors import ArgumentError, CompilationError, DeviceError, SourceLocation, SpaceError, SubscriptError
from polytune.runtime.arguments import check_overlap
from polytune.runtime.background.compiler import background
from polytune.runtime.bound_run import BoundRun
from polytune.runtime.context_memory import Contexts
from polytune.runtime.devices.device import Device
from polytune.runtime.devices.discovery import devices
from polytune.runtime.entries import caller, entry_of, is_kept, seconds_of
from polytune.runtime.helpers import compile_team, run_team
from polytune.runtime.invocation import Invocation, Outcome
from polytune.runtime.local_arrays import local_arrays
from polytune.runtime.partitioned.call import SharedCall
from polytune.runtime.partitioned.description import Part
from polytune.runtime.partitioned.device_arrays import check_device_arrays
from polytune.runtime.partitioned.execution import Execution
from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.partitioned.residency import Residence, in_use, residences_of
from polytune.runtime.partitioned.space import VERSION as PARTITIONED
from polytune.runtime.partitioned.space import on_device, with_devices
from polytune.runtime.prediction import Prediction
from polytune.runtime.threads import current_threads
from polytune.runtime.version import Version
from polytune.tuner import Configuration, Space

FIRST_TILE = 32
"""The extent of a tile of which the configuration says nothing."""

_GREATEST_RISK = 100.0
_FIRST_RATIOS = (0.5, 0.8, 0.2)
"""The processor's shares of what is split at first."""

_LOADING = 0.05  # seconds, of one function's machine code

# When a first call runs another version than the first choice.
_QUICK = 0.6  # seconds of compiling for which nothing else is compiled first
_FRACTION = 0.5  # of the time that compiling the first choice takes
_SMALL = 1e8  # instances of statements, which no version takes much longer for than compiling takes
_TYPICAL_SIZE = 8  # of loops of which no parameter says how many iterations they have

_USUAL_SIZES = (16, 256, 4096)  # of calls, where nobody knows them
_MOST_KEPT = 1 << 20  # bytes of local arrays of a call that is to be made again
_MOST_SIZES = 256  # of which it is remembered what is promising for them

__all__ = ["GeneratedKernel", "Invocation", "Outcome"]


class GeneratedKernel:
    """A generated module, whose functions are compiled when they are first run.

    Attributes:
        module: the generated module.
        space: every choice there is.
        places: where in the user's source is what messages speak of.
        code: what tells the generated code from that of other versions of the compiler.
    """

    def __init__(
        self, module: ModuleType, places: Callable[[SourceLocation], SourceLocation] | None = None, code: str = ""
    ):
        """
        Args:
            module: the generated module.
            places: where in the user's source now is what the module knows under other places; None where it knows
                them.
            code: what tells the generated code from that of other versions of the compiler.
        """
        self.module = module
        self.places = places
        self.code = code
        self._partitioned = getattr(module, "PARTITIONED", None)
        self._execution: Execution | None = None
        self._devices: tuple[Device, ...] = ()
        self.space = self._space()
        self._versions: dict[str, Version] = {version.name: version for version in module.VERSIONS}
        self._predictions: dict[tuple[int, ...], tuple[tuple[Configuration, ...], Prediction]] = {}
        self._first_versions: set[str] = set()
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
        self._serial: dict[str, Callable[..., None]] = {}
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

    def again(self) -> GeneratedKernel:
        """The same kernel, for other threads or other devices."""
        return GeneratedKernel(self.module, self.places, self.code)

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
            try:
                self.module.check_indexes(*values, *[parameters[k] for k in self._extra])
            except SubscriptError as error:
                raise self._moved(error) from None

    def _moved(self, error: SubscriptError) -> SubscriptError:
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

    def warm_up(self, *, every: bool = False) -> list[str]:
        """Have the versions compiled that first calls run: the first choices for small, middling and large sizes, and
        what is quick to compile; or every version that can be.  The names of those that are ready then.

        Raises:
            CompilationError: the first choice cannot be compiled.
        """
        first = str(self.space.default()["version"])
        quickest = min(
            self._versions, key=lambda name: (not self._versions[name].team, self.compilation({"version": name}))
        )
        sizes = len(self.module.PARAMETERS)
        choices = [str(self.promising((size,) * sizes)[0]["version"]) for size in _USUAL_SIZES]
        wanted = [first, *(name for name in choices if name in self._versions)]
        wanted += self._versions if every else [quickest]
        ready = []
        for name in dict.fromkeys(wanted):
            try:
                self.compile(name)
            except CompilationError:
                if name == first:
                    raise
                continue
            ready.append(name)
        return ready

    def is_ready(self, configuration: Mapping[str, Any]) -> bool:
        """Return whether a configuration can be run without waiting for a compiler.

        Where it cannot, compiling it begins in the background.
        """
        missing = [
            (function, _words(team))
            for function, team in self._functions(configuration)
            if function.__name__ not in self._addresses
        ]
        return background.provides(missing, urgent=configuration["version"] in self._first_versions)

    def preparation(self, configuration: Mapping[str, Any]) -> float | None:
        """Return how many seconds a call of a configuration would wait before it can run, without a compiler beside it:
        0 where its functions are loaded, a little where their machine code is on disk, None where they have to be
        compiled, or a device's kernels may have to be."""
        if configuration["version"] == PARTITIONED:
            return None
        missing = [f for f, _ in self._functions(configuration) if f.__name__ not in self._addresses]
        return len(missing) * _LOADING if all(map(is_kept, missing)) else None

    def compilation(self, configuration: Mapping[str, Any]) -> float:
        """Return how many seconds it may take to compile a configuration, by how long its functions are; 0 where all
        are loaded."""
        missing = [f for f, _ in self._functions(configuration) if f.__name__ not in self._addresses]
        return sum(map(seconds_of, missing))

    def _compilation_alone(self, configuration: Mapping[str, Any]) -> float:
        """Return how many seconds it takes to compile a configuration of which nothing is compiled: the same in each
        process, so that each has the same first choice."""
        return sum(seconds_of(function) for function, _ in self._functions(configuration))

    def opening(self, first: Configuration, parameters: Sequence[int]) -> Configuration | None:
        """Return what calls can run while the first choice is compiled beside them: a version that is compiled in a
        fraction of the time; None where the first choice is quick to compile or on disk already, or where calls with so
        much to do would take long with any other.

        Args:
            first: the first choice.
            parameters: the sizes of the call.
        """
        seconds = self.compilation(first)
        loops: int | None = getattr(self.module, "LOOPS", None)
        if loops is None or first["version"] == PARTITIONED or seconds < _QUICK:
            return None
        sizes = sorted((max(1, size) for size in parameters), reverse=True)
        if math.prod(sizes[:loops]) * _TYPICAL_SIZE ** max(0, loops - len(sizes)) > _SMALL:
            return None
        found: list[tuple[bool, float, Configuration]] = []
        for version in self._versions.values():
            configuration = self.space.configuration(version=version.name, **self._sizes[version.name])
            found.append((not version.team, self.compilation(configuration), configuration))
        _, shortest, opening = min(found, key=lambda each: each[:2])
        if shortest > _FRACTION * seconds or self.preparation(first) is not None:
            return None
        return opening

    def promising(self, parameters: Sequence[int]) -> tuple[Configuration, ...]:
        """Return the configurations to begin with in calls of some sizes, the first choice first: the same in each
        process.

        Versions for the processor come in the order of the time that is predicted of them; of the version that is
        shared, what `starts` has, behind them.
        """
        ranked, _ = self._predicted(parameters)
        self._first_versions.add(str(ranked[0]["version"]))
        return ranked

    def prediction(self, parameters: Sequence[int]) -> Prediction:
        """Return the model of the times of versions for the processor in calls of some sizes."""
        return self._predicted(parameters)[1]

    def _predicted(self, parameters: Sequence[int]) -> tuple[tuple[Configuration, ...], Prediction]:
        """Return what calls of some sizes begin with, and the model of their times."""
        threads = current_threads()
        key = (*parameters, threads)
        found = self._predictions.get(key)
        if found is None:
            prediction = Prediction(self.module, self.space, parameters, threads)
            ranked = prediction.ranked(self._compilation_alone)
            known = {configuration["version"] for configuration in ranked}
            others = (start for start in self.starts if start["version"] not in known)
            if len(self._predictions) >= _MOST_SIZES:
                self._predictions.clear()
            found = self._predictions[key] = (*ranked, *others), prediction
        return found

    def risk(self, parameters: Sequence[int], configuration: Mapping[str, Any]) -> float:
        """Return how many times longer than the first choice a configuration may take, as far as that is known before
        it is run.

        Args:
            parameters: the sizes of the call.
            configuration: what may be tried.
        """
        ranked, prediction = self._predicted(parameters)
        seconds, first = prediction.seconds(configuration), prediction.seconds(ranked[0])
        if seconds is None or not first:
            return 1.0
        return min(max(1.0, seconds / first), _GREATEST_RISK)

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
        entry = entry_of(function, _words(team))
        if team:
            compile_team()
        else:
            self._serial[name] = caller(entry, _words(team))
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
            self._serial[version.function.__name__](context.address)
        seconds = time.perf_counter() - start
        value = self._value(invocation.values, invocation.parameters, scratch)
        local_arrays.give_back(scratch[k] for k in self._reused)
        return Outcome(value, seconds, compile_seconds)

    def can_bind(self, configuration: Mapping[str, Any]) -> bool:
        """Return whether a configuration can be run again and again in memory of its own: it runs on the processor, and
        the module says how its memory begins, as older ones did not."""
        name = configuration["version"]
        return name != PARTITIONED and name in self._addresses and hasattr(self.module, "ZEROED")

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
        filled = self._contexts.filled(invocation.values, scratch, invocation.parameters, tiles)
        workers = min(configuration["threads"], current_threads()) if self._versions[name].team else 0
        version = self._versions[name].function.__name__
        function = self._addresses[name] if workers else self._serial[version]
        returns = self._result is not None or self._verify is not None
        is_tested = bool(module.INDEXES) or self._require is not None
        return BoundRun(
            self._contexts,
            bytes(filled.memory),
            function,
            workers,
            scratch,
            returned=returned,
            zeroed=frozenset(place for place, each in enumerate(module.SCRATCH) if each in module.ZEROED),
            check=functools.partial(self._check_again, parameters=invocation.parameters) if is_tested else None,
            value=functools.partial(self._value_of, parameters=invocation.parameters) if returns else None,
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
            self._check_indexes(tuple(values), tuple(parameters), {})

    def _value_of(self, values: Sequence[Any], scratch: Sequence[np.ndarray], parameters: Sequence[int]) -> Any:
        return self._value(values, parameters, scratch)

    @property
    def array_positions(self) -> Sequence[int]:
        """Return which of the arguments are arrays."""
        return self._array_positions

    @functools.cached_property
    def checked_positions(self) -> frozenset[int]:
        """The arguments, but for arrays, whose values the checks of a call look at, or from which sizes follow and what
        memory begins with."""
        loaded = {
            instruction.argval
            for function in (self.module.parameters, self.module.check, self.module.scratch)
            for instruction in dis.get_instructions(function)
            if instruction.opname.startswith("LOAD_FAST")
        }
        names = self.module.ARGUMENTS
        return frozenset(k for k, name in enumerate(names) if name in loaded and k not in self._array_positions)

    @functools.cached_property
    def scalar_offsets(self) -> Mapping[int, int]:
        """Return where the arguments that are no integers, nor arrays, are in a context, in bytes, by their
        positions."""
        module = self.module
        return {
            module.ARGUMENTS.index(name): self._contexts.first_scalar + 8 * number
            for number, name in enumerate(module.SCALARS)
            if module.SIGNATURE[name].dtype.startswith("float")
        }

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
                self._serial[part.run.__name__](context.address)

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
        """Return what the kernel returns.

        Raises:
            SubscriptError: a subscript was out of range while it ran.
        """
        if self._verify is not None:
            try:
                self._verify(*scratch)
            except SubscriptError as error:
                raise self._moved(error) from None
        if self._result is None:
            return None
        return self._result(*values, *[parameters[k] for k in self._extra], *scratch)

    def _scratch(self, invocation: Invocation) -> tuple[np.ndarray, ...]:
        if not self.module.SCRATCH:
            return ()
        scratch: tuple[np.ndarray, ...] = self.module.scratch(
            *invocation.values, *[invocation.parameters[k] for k in self._extra]
        )
        return scratch


def _words(team: bool) -> int:
    """Return how many int64 a function takes: a context's address, and in a team a worker's number and how many there
    are."""
    return 3 if team else 1
