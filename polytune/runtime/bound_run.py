"""A run that can be made again and again: its function, and its context as bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polytune.runtime.context_memory import ContextMemory, Contexts
from polytune.runtime.helpers import run_team
from polytune.runtime.local_arrays import result_array

__all__ = ["BoundRun"]

_ADDRESS = struct.Struct("=q")


class BoundRun:
    """A run whose context is known, in memory of its own: one at a time.

    What it returns is memory of the caller's, and is made anew for each time.

    Args:
        contexts: where contexts are from.
        content: what the context holds before the run.
        function: the version, for a team the address of its C entry.
        workers: how many may work; 0 for a version without a team.
        scratch: the memory for local arrays, for scalars, which begin as they are now, and for what is returned.
        returned: which of these are returned, by their places, and where in the context their addresses are, in bytes.
        zeroed: which of the arrays begin with zeros, by their places.
        check: raises what is wrong with the elements of arguments; None where nothing has to be tested each time.
        value: of the arguments and of the memory, what the kernel returns; None where it returns nothing.
    """

    __slots__ = (
        "_cleared",
        "_content",
        "_contexts",
        "_function",
        "_made",
        "_scalars",
        "_scratch",
        "_value",
        "_workers",
        "check",
    )

    def __init__(
        self,
        contexts: Contexts,
        content: bytes,
        function: Any,
        workers: int,
        scratch: Sequence[np.ndarray],
        *,
        returned: Sequence[tuple[int, int]],
        zeroed: frozenset[int],
        check: Callable[[Sequence[Any]], None] | None,
        value: Callable[[Sequence[Any], Sequence[np.ndarray]], Any] | None,
    ):
        self._contexts, self._content, self._function, self._workers = contexts, content, function, workers
        made = {place: (offset, scratch[place].shape, scratch[place].dtype) for place, offset in returned}
        self._made = [(place, *each, place in zeroed) for place, each in made.items()]
        # Of what is returned nothing is kept: it would be memory that the caller has given up.
        self._scratch: list[Any] = [None if place in made else array for place, array in enumerate(scratch)]
        kept = [(place, array) for place, array in enumerate(self._scratch) if array is not None]
        self._scalars = [(array.data.cast("B"), array.tobytes()) for _, array in kept if array.shape == (1,)]
        self._cleared = [array for place, array in kept if place in zeroed and array.shape != (1,)]
        self._value = value
        self.check = check

    @property
    def kept_bytes(self) -> int:
        """Return how much memory it has for local arrays."""
        return sum(array.nbytes for array in self._scratch if array is not None)

    def context(self) -> ContextMemory:
        """The context of this thread, filled."""
        for memory, first in self._scalars:
            memory[:] = first
        for array in self._cleared:
            array.fill(0)
        context = self._contexts.memory()
        context.memory[:] = self._content
        for place, offset, shape, dtype, is_zeroed in self._made:
            array = self._scratch[place] = result_array(shape, dtype, zeroed=is_zeroed)
            _ADDRESS.pack_into(context.memory, offset, array.__array_interface__["data"][0])
        return context

    def run(self, context: ContextMemory) -> None:
        """Run it once."""
        if self._workers:
            run_team(self._function, context, self._workers)
        else:
            self._function(context.address)

    def result(self, arguments: Sequence[Any]) -> Any:
        """Return what the kernel returns, after a run.

        Raises:
            SubscriptError: a subscript was out of range while it ran.
        """
        if self._value is None:
            return None
        try:
            return self._value(arguments, self._scratch)
        finally:
            for place, *_ in self._made:
                self._scratch[place] = None
