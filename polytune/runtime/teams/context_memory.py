"""The memory of calls' contexts, and what is written into it; ``polytune.runtime.teams.context`` has the layout."""

from __future__ import annotations

import functools
import struct
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from polytune.errors import ArgumentError
from polytune.runtime.teams.context import STATE_LENGTH, array_words
from polytune.signature import ArrayType, ScalarType, parse_type

__all__ = ["ContextMemory", "Contexts", "scalar_format"]


class ContextMemory:
    """The memory of a call's context, in whole cache lines: the team's counters share theirs with nothing else.

    Attributes:
        address: of its first byte.
        memory: its bytes.
        owner: what is kept alive with it, as the code that reads it is.
        is_left: whether a helper may still read it, so that it must not be written to any more.
    """

    def __init__(self, size: int, owner: object):
        self.owner = owner
        self.is_left = False
        line = 128
        storage = np.zeros(size + 2 * line, np.uint8)
        start = -storage.ctypes.data % line
        memory = storage[start : start + size]
        self.address: int = memory.ctypes.data
        self.memory = memory.data


class Contexts:
    """The contexts of a generated module's calls, one in each thread: a thread runs one call of a kernel at a time.

    Args:
        module: the generated module.
        part_words: how many words contexts have for the part of a region.
        tiles: for how many sizes of tiles and of outer tiles they have room.
    """

    def __init__(self, module: ModuleType, part_words: int, tiles: int):
        self._words_of = module.words
        self._kinds = module.MEMORY
        self._name, self._parameters = module.NAME, module.PARAMETERS
        self._part_words, self._tiles = part_words, tiles
        self._layout = struct.Struct(_format(module, part_words + tiles))
        self._local = threading.local()

    def filled(
        self,
        values: Sequence[Any],
        scratch: Sequence[np.ndarray],
        parameters: Sequence[int],
        tiles: Sequence[int],
        part: Sequence[int] = (),
    ) -> ContextMemory:
        """The context of a call, ready for one run.

        Args:
            values: the arguments.
            scratch: the memory for local arrays.
            parameters: the integers computed from the arguments.
            tiles: the sizes of tiles and of outer tiles, as many as the version takes; all others are zero.
            part: what tells the part of a region; nothing where the version runs all of it.

        Raises:
            ArgumentError: a parameter is no integer of 64 bits.
        """
        context = self.memory()
        words = self._words_of(*values, *scratch)
        unused = [0] * (self._tiles - len(tiles))
        nothing = [0] * (self._part_words - len(part))
        try:
            self._layout.pack_into(context.memory, 0, *words, *parameters, *part, *nothing, *tiles, *unused)
        except struct.error:
            for name, value in zip(self._parameters, parameters, strict=True):
                if not isinstance(value, int | np.integer) or not -(2**63) <= value < 2**63:
                    raise ArgumentError(
                        f"{self._name}: {name} is {value}, no integer of 64 bits, as what counts iterations and "
                        "elements must be"
                    ) from None
            raise
        return context

    def copied(self, context: ContextMemory) -> ContextMemory:
        """A context like one of these, that is no thread's."""
        own = ContextMemory(self._layout.size, self._words_of)
        own.memory[:] = context.memory
        return own

    def memory(self) -> ContextMemory:
        """The context of this thread, with what the last call has left in it."""
        context = getattr(self._local, "context", None)
        if context is None or context.is_left:
            context = self._local.context = ContextMemory(self._layout.size, self._words_of)
        return context

    @functools.cached_property
    def addresses(self) -> tuple[int, ...]:
        """Return where in a context the addresses of arrays are, in bytes: of those among the arguments, then of local
        ones."""
        found, position = [], STATE_LENGTH
        for kind in map(parse_type, self._kinds):
            assert isinstance(kind, ArrayType)
            found.append(8 * position)
            position += array_words(kind)
        return tuple(found)

    @property
    def first_scalar(self) -> int:
        """Return where the scalars begin in a context, in bytes; each takes eight."""
        arrays = [kind for kind in map(parse_type, self._kinds) if isinstance(kind, ArrayType)]
        return 8 * (STATE_LENGTH + sum(map(array_words, arrays)))


def _format(module: ModuleType, more: int) -> str:
    """A context as ``struct`` describes it: the team's state, which starts from zeros, then all the rest, with so many
    integers more than the parameters."""
    arrays = [kind for kind in map(parse_type, module.MEMORY) if isinstance(kind, ArrayType)]
    kinds = [module.SIGNATURE[name] for name in module.SCALARS]
    scalars = "".join(map(scalar_format, kinds))
    return f"={8 * STATE_LENGTH}x{sum(map(array_words, arrays))}q{scalars}{len(module.PARAMETERS) + more}q"


def scalar_format(kind: ScalarType) -> str:
    """Return how ``struct`` writes a number of a type into a context."""
    return {"b": "q", "i": "q", "u": "Q", "f": "d"}[np.dtype(kind.dtype).kind]
