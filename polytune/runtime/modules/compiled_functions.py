"""The functions of a generated module, each compiled when it is first wanted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from polytune.errors import CompilationError, SpaceError, WorkingFolderError
from polytune.runtime.background.compiler import background
from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.partitioned.space import VERSION as PARTITIONED
from polytune.runtime.teams.context_memory import ContextMemory
from polytune.runtime.teams.entries import caller, entry_of, is_kept, seconds_of
from polytune.runtime.teams.helpers import compile_team, run_team
from polytune.runtime.version import Version

__all__ = ["CompiledFunctions"]

_LOGGER = logging.getLogger(__name__)

_LOADING = 0.05  # seconds, of one function's machine code


class CompiledFunctions:
    """The functions of a generated module, those of versions and those of the parts that platforms share.

    Args:
        module: the generated module.
    """

    def __init__(self, module: ModuleType):
        self._name: str = module.NAME
        self._versions: dict[str, Version] = {version.name: version for version in module.VERSIONS}
        partitioned = getattr(module, "PARTITIONED", None)
        self._parts = () if partitioned is None else partitioned.parts
        self._addresses: dict[str, int] = {}
        self._serial: dict[str, Callable[[int], None]] = {}
        self._failures: dict[str, str] = {}

    def compile(self, name: str) -> float:
        """Have a version ready to run.  Return the seconds that took, 0 where it already was.

        Raises:
            CompilationError: it cannot be compiled.
            SpaceError: there is no such version.
        """
        version = self._versions.get(name)
        if version is None:
            raise SpaceError(f"{self._name} has no version {name!r}, but {', '.join(self._versions)}")
        return self.compile_function(version.function, version.team)

    def compile_function(self, function: Any, team: bool) -> float:
        """Have a function of a context ready to run.  Return the seconds that took, 0 where it already was.

        Raises:
            CompilationError: it cannot be compiled, or a compiler in the background could not.
        """
        name = function.__name__
        if name in self._addresses:
            return 0.0
        failure = self._failures.get(name) or background.failure_of(function, _words(team))
        if failure:
            _LOGGER.info("%s: gave up %s: %s", self._name, name, failure)
            self._failures[name] = failure
            raise CompilationError(f"{name} cannot be compiled: {failure}")
        start = time.perf_counter()
        try:
            entry = entry_of(function, _words(team))
            if team:
                compile_team()
            else:
                self._serial[name] = caller(entry, _words(team))
        except (MemoryError, WorkingFolderError):  # may be mended before the next call
            raise
        except CompilationError as error:
            self._failures[name] = str(error)
            raise
        except Exception as error:  # nothing has run yet: another version serves the call
            _LOGGER.warning("%s: %s cannot be compiled, by a defect of polytune", self._name, name, exc_info=True)
            self._failures[name] = f"{type(error).__name__}: {error}"
            raise CompilationError(f"{name} cannot be compiled: {self._failures[name]}") from error
        self._addresses[name] = entry
        seconds = time.perf_counter() - start
        _LOGGER.info("%s: %s is ready, after %.3f s", self._name, name, seconds)
        return seconds

    def run(self, function: Any, team: bool, context: ContextMemory, workers: int) -> None:
        """Run a function that `compile` or `compile_function` has made ready.

        Args:
            function: the function, as the generated module has it.
            team: whether a team of threads runs it.
            context: what it is a function of, filled in.
            workers: how many threads the team may have; of no meaning without a team.
        """
        if team:
            run_team(self._addresses[function.__name__], context, workers)
        else:
            self._serial[function.__name__](context.address)

    def callable_of(self, version: Version) -> Any:
        """Return what runs a compiled version: for a team the address of its C entry, else a function of a context's
        address."""
        name = version.function.__name__
        return self._addresses[name] if version.team else self._serial[name]

    def is_compiled(self, name: str) -> bool:
        """Return whether a version is ready to run in this process."""
        return name in self._versions and self._versions[name].function.__name__ in self._addresses

    def is_ready(self, configuration: Mapping[str, Any], *, urgent: bool) -> bool:
        """Return whether a configuration can be run without waiting for a compiler.

        Where it cannot, compiling it begins in the background.

        Args:
            configuration: a member of the space.
            urgent: whether it is compiled before what others wait for.
        """
        missing = [(function, _words(team)) for function, team in self._missing(configuration)]
        return background.provides(missing, urgent=urgent)

    def why_not(self, configuration: Mapping[str, Any]) -> str | None:
        """Return why a function that a configuration needs cannot be compiled; None where nothing is known of that."""
        found = (self._failures.get(function.__name__) for function, _ in self._missing(configuration))
        return next((reason for reason in found if reason), None)

    def preparation(self, configuration: Mapping[str, Any]) -> float | None:
        """Return how many seconds a call of a configuration would wait before it can run, without a compiler beside it:
        0 where its functions are loaded, a little where their machine code is on disk, None where they have to be
        compiled, or a device's kernels may have to be."""
        if configuration["version"] == PARTITIONED:
            return None
        missing = [function for function, _ in self._missing(configuration)]
        return len(missing) * _LOADING if all(map(is_kept, missing)) else None

    def compilation(self, configuration: Mapping[str, Any]) -> float:
        """Return how many seconds it may take to compile a configuration, by how long its functions are; 0 where all
        are loaded."""
        return sum(seconds_of(function) for function, _ in self._missing(configuration))

    def compilation_alone(self, configuration: Mapping[str, Any]) -> float:
        """Return how many seconds it takes to compile a configuration of which nothing is compiled: the same in each
        process, so that each has the same first choice."""
        return sum(seconds_of(function) for function, _ in self.needed_by(configuration))

    def needed_by(self, configuration: Mapping[str, Any]) -> list[tuple[Any, bool]]:
        """Return the functions that a configuration needs, each with whether teams run it."""
        name = configuration["version"]
        if name != PARTITIONED or not self._parts:
            return [(self._versions[name].function, self._versions[name].team)]
        on_processor = any(configuration.get(f"platform_{k}") == CPU for k in range(4))
        return [(part.run, part.team) for part in self._parts if part.device is None or on_processor]

    def _missing(self, configuration: Mapping[str, Any]) -> list[tuple[Any, bool]]:
        """Return those of the functions that a configuration needs that are not loaded."""
        return [each for each in self.needed_by(configuration) if each[0].__name__ not in self._addresses]


def _words(team: bool) -> int:
    """Return how many int64 a function takes: a context's address, and in a team a worker's number and how many there
    are."""
    return 3 if team else 1
