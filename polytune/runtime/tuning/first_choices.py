"""The configurations that calls of a kernel begin with, before any of them has been measured."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from polytune.errors import CompilationError
from polytune.runtime.devices.device import Device
from polytune.runtime.modules.compiled_functions import CompiledFunctions
from polytune.runtime.partitioned.description import Partitioned
from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.partitioned.space import VERSION as PARTITIONED
from polytune.runtime.teams.threads import current_threads
from polytune.runtime.tuning.machine_rates import corrections_here
from polytune.runtime.tuning.prediction import Prediction
from polytune.runtime.tuning.tuning_mode import current_mode
from polytune.runtime.version import Version
from polytune.tuner import Configuration, Space

__all__ = ["FirstChoices", "shared_starts"]

_LOGGER = logging.getLogger(__name__)

_GREATEST_RISK = 100.0
_FIRST_RATIOS = (0.5, 0.8, 0.2)
"""The processor's shares of what is split at first."""

# What is not tried at all.
_LONG_TRIAL = 1.0  # seconds of a call
_FAR = 4.0  # times the first choice

# When a first call runs another version than the first choice.
_QUICK = 0.6  # seconds of compiling for which nothing else is compiled first
_FRACTION = 0.5  # of the time that compiling the first choice takes
_SMALL = 1e8  # instances of statements, which no version takes much longer for than compiling takes
_TYPICAL_SIZE = 8  # of loops of which no parameter says how many iterations they have

_USUAL_SIZES = (16, 256, 4096)  # of calls, where nobody knows them
_MOST_SIZES = 256  # of which it is remembered what is promising for them


def shared_starts(space: Space, partitioned: Partitioned, devices: Sequence[Device]) -> list[Configuration]:
    """The configurations of the version that is shared to begin with: each device alone, and some ratios.

    Args:
        space: every choice there is.
        partitioned: the version.
        devices: those in the space.
    """
    found = [space.configuration(version=PARTITIONED, split=0, platform_0=device.identity) for device in devices]
    if partitioned.splits:
        found += [
            space.configuration(version=PARTITIONED, split=1, ratio_0=ratio, platform_0=CPU, platform_1=device.identity)
            for device in devices
            for ratio in _FIRST_RATIOS
        ]
    return found


class FirstChoices:
    """The configurations of a generated kernel that calls of each size begin with.

    Attributes:
        versions: the names of those that have been the first choice for some size so far.
    """

    def __init__(self, module: ModuleType, space: Space, functions: CompiledFunctions, devices: Sequence[Device]):
        """
        Args:
            module: the generated module.
            space: every choice there is, with what devices add to it.
            functions: the module's functions, which know how long compiling takes.
            devices: the devices in the space; none where no kernel of the module can run on one.
        """
        self.versions: set[str] = set()
        self._module, self._space, self._functions = module, space, functions
        self._devices = tuple(devices)
        self._versions: dict[str, Version] = {version.name: version for version in module.VERSIONS}
        self._predictions: dict[tuple[int, ...], tuple[tuple[Configuration, ...], Prediction]] = {}

    @property
    def starts(self) -> tuple[Configuration, ...]:
        """The configuration to begin with of each version: its own tile sizes, which suit its innermost loops.

        Of the version that is shared, each device alone, and beside the processor at a few ratios: from a device alone
        that is several times slower than the processor no search would come to what both can do together.
        """
        found = [self._space.configuration(version=name, **each.sizes) for name, each in self._versions.items()]
        if self._devices:
            found += shared_starts(self._space, self._module.PARTITIONED, self._devices)
        return tuple(found)

    def promising(self, parameters: Sequence[int]) -> tuple[Configuration, ...]:
        """Return the configurations to begin with in calls of some sizes, the first choice first: the same in each
        process in which the history of the machine corrects the model alike.

        Versions for the processor come in the order of the time that is predicted of them; of the version that is
        shared, what `starts` has, behind them.
        """
        ranked, _ = self._predicted(parameters)
        self.versions.add(str(ranked[0]["version"]))
        return ranked

    def opening(self, first: Configuration, parameters: Sequence[int]) -> Configuration | None:
        """Return what calls can run while the first choice is compiled beside them: a version that is compiled in a
        fraction of the time; None where the first choice is quick to compile or on disk already, or where calls with so
        much to do would take long with any other.

        Args:
            first: the first choice.
            parameters: the sizes of the call.
        """
        seconds = self._functions.compilation(first)
        loops: int | None = getattr(self._module, "LOOPS", None)
        if loops is None or first["version"] == PARTITIONED or seconds < _QUICK:
            return None
        sizes = sorted((max(1, size) for size in parameters), reverse=True)
        if math.prod(sizes[:loops]) * _TYPICAL_SIZE ** max(0, loops - len(sizes)) > _SMALL:
            return None
        found: list[tuple[bool, float, Configuration]] = []
        for version in self._versions.values():
            configuration = self._space.configuration(version=version.name, **version.sizes)
            found.append((not version.team, self._functions.compilation(configuration), configuration))
        _, shortest, opening = min(found, key=lambda each: each[:2])
        if shortest > _FRACTION * seconds or self._functions.preparation(first) is not None:
            return None
        return opening

    def fewer_threads(self, configuration: Configuration) -> Configuration | None:
        """Return a configuration with a thread less, for while something else keeps a core busy; None where it has one
        alone, or shares the work with devices."""
        threads = configuration.get("threads")
        if not isinstance(threads, int) or threads < 2 or configuration["version"] == PARTITIONED:
            return None
        return self._space.configuration(**{**configuration, "threads": threads - 1})

    def prediction(self, parameters: Sequence[int]) -> Prediction:
        """Return the model of the times of versions for the processor in calls of some sizes."""
        return self._predicted(parameters)[1]

    def risk(self, parameters: Sequence[int], configuration: Mapping[str, Any]) -> float:
        """Return how many times longer than the first choice a configuration may take, as far as that is known before
        it is run.

        Args:
            parameters: the sizes of the call.
            configuration: what may be tried.
        """
        seconds, first = self._beside_first(parameters, configuration)
        if seconds is None or not first:
            return 1.0
        return min(max(1.0, seconds / first), _GREATEST_RISK)

    def why_too_slow(self, parameters: Sequence[int], configuration: Mapping[str, Any]) -> str | None:
        """Return why a configuration is not worth a trial, for people: a call of it alone is expected to take long, and
        far longer than the first choice; None where it is, or nothing is known.

        Of short calls, where the model may be wrong by as much, the budget alone decides: what is tried of them costs
        little.

        Args:
            parameters: the sizes of the call.
            configuration: what may be tried.
        """
        seconds, first = self._beside_first(parameters, configuration)
        if seconds is None or not first or not math.isfinite(seconds):
            return None
        if seconds < _LONG_TRIAL or seconds < _FAR * first:
            return None
        return (
            f"Max-Time: a call is expected to take {seconds:.3g} s, {seconds / first:.0f} times as long as the first "
            "choice"
        )

    def _beside_first(
        self, parameters: Sequence[int], configuration: Mapping[str, Any]
    ) -> tuple[float | None, float | None]:
        """Return how many seconds a configuration is expected to take, and how many the first choice."""
        ranked, prediction = self._predicted(parameters)
        return prediction.seconds(configuration), prediction.seconds(ranked[0])

    def warm_up(self, *, every: bool = False) -> list[str]:
        """Have the versions compiled that first calls run: the first choices for small, middling and large sizes, and
        what is quick to compile; or every version that can be.  The names of those that are ready then.

        Raises:
            CompilationError: the first choice cannot be compiled.
        """
        first = str(self._space.default()["version"])
        quickest = min(
            self._versions,
            key=lambda name: (not self._versions[name].team, self._functions.compilation({"version": name})),
        )
        sizes = len(self._module.PARAMETERS)
        choices = [str(self.promising((size,) * sizes)[0]["version"]) for size in _USUAL_SIZES]
        wanted = [first, *(name for name in choices if name in self._versions)]
        wanted += self._versions if every else [quickest]
        ready = []
        for name in dict.fromkeys(wanted):
            try:
                self._functions.compile(name)
            except CompilationError:
                if name == first:
                    raise
                continue
            ready.append(name)
        return ready

    def _predicted(self, parameters: Sequence[int]) -> tuple[tuple[Configuration, ...], Prediction]:
        """Return what calls of some sizes begin with, and the model of their times."""
        threads = current_threads()
        reads_history = current_mode() != "off"
        key = (*parameters, threads, reads_history)
        found = self._predictions.get(key)
        if found is None:
            corrections = corrections_here(threads) if reads_history else {}
            prediction = Prediction(self._module, self._space, parameters, threads, corrections)
            try:
                ranked = prediction.ranked(self._functions.compilation_alone)
            except Exception:
                # A model only orders what is legal: where it fails, the order of the module stands.
                _LOGGER.warning("the times of versions could not be predicted", exc_info=True)
                ranked = []
            known = {configuration["version"] for configuration in ranked}
            others = (start for start in self.starts if start["version"] not in known)
            if len(self._predictions) >= _MOST_SIZES:
                self._predictions.clear()
            found = self._predictions[key] = (*ranked, *others), prediction
        return found
