"""The places of a generated module's arguments: in a call, and in the context of one."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import ModuleType

from polytune.runtime.modules.variables_read import variables_read
from polytune.runtime.teams.context_memory import Contexts, scalar_format

__all__ = ["ArgumentPlaces"]


class ArgumentPlaces:
    """Says of each argument what the checks of a call and its memory have to do with it.

    Args:
        module: the generated module.
        contexts: the contexts of its calls.
    """

    def __init__(self, module: ModuleType, contexts: Contexts):
        self.module = module
        self._contexts = contexts
        self._array_positions = [module.ARGUMENTS.index(name) for name in module.ARRAYS]
        self._extra = [k for k, name in enumerate(module.PARAMETERS) if name not in module.ARGUMENTS]

    @property
    def array_positions(self) -> Sequence[int]:
        """Return which of the arguments are arrays."""
        return self._array_positions

    @functools.cached_property
    def array_offsets(self) -> Mapping[int, int]:
        """Return where the addresses of arguments are in a context, in bytes, by their positions."""
        return dict(zip(self._array_positions, self._contexts.addresses, strict=False))

    @functools.cached_property
    def written_positions(self) -> frozenset[int]:
        """The arguments that are written."""
        return frozenset(map(self.module.ARGUMENTS.index, self.module.WRITTEN))

    @functools.cached_property
    def checked_positions(self) -> frozenset[int]:
        """The arguments, but for arrays, whose values the checks of a call look at, or from which sizes follow and what
        memory begins with."""
        module = self.module
        loaded = variables_read(module.parameters) | variables_read(module.check) | variables_read(module.scratch)
        names = self.module.ARGUMENTS
        return frozenset(k for k, name in enumerate(names) if name in loaded and k not in self._array_positions)

    @functools.cached_property
    def positions_in_memory(self) -> frozenset[int]:
        """The arguments from which the sizes of local arrays follow, and what these begin with."""
        loaded = variables_read(self.module.scratch)
        return frozenset(k for k, name in enumerate(self.module.ARGUMENTS) if name in loaded)

    def sizes_of_memory(self, parameters: Sequence[int]) -> tuple[int, ...]:
        """Return those of the integers computed from arguments from which the sizes of local arrays follow."""
        return tuple([parameters[k] for k in self._parameters_in_memory])

    @functools.cached_property
    def _parameters_in_memory(self) -> Sequence[int]:
        loaded = variables_read(self.module.scratch)
        return [k for k in self._extra if self.module.PARAMETERS[k] in loaded]

    @functools.cached_property
    def scalar_offsets(self) -> Mapping[int, tuple[int, str]]:
        """Return where the values of arguments that are numbers are in a context, in bytes, and how ``struct`` writes
        them there, by their positions."""
        module = self.module
        return {
            module.ARGUMENTS.index(name): (self._contexts.first_scalar + 8 * number, scalar_format(kind))
            for number, (name, kind) in enumerate((name, module.SIGNATURE[name]) for name in module.SCALARS)
        }
