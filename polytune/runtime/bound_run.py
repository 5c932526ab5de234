"""A run that can be made again and again: its function, and its context as bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polytune.runtime.context_memory import ContextMemory, Contexts
from polytune.runtime.helpers import run_team

__all__ = ["BoundRun"]


class BoundRun:
    """A run whose context is known, in memory of its own: one at a time.

    Args:
        contexts: where contexts are from.
        content: what the context holds before the run.
        function: the version, for a team the address of its C entry.
        workers: how many may work; 0 for a version without a team.
        scratch: the memory for local arrays, and for scalars, which begin as they are now.
        value: of the arguments, what the kernel returns; None where it returns nothing.
    """

    __slots__ = ("_content", "_contexts", "_function", "_scalars", "_scratch", "_workers", "value")

    def __init__(
        self,
        contexts: Contexts,
        content: bytes,
        function: Any,
        workers: int,
        scratch: Sequence[np.ndarray],
        value: Callable[[Sequence[Any]], Any] | None,
    ):
        self._contexts, self._content, self._function, self._workers = contexts, content, function, workers
        self._scratch = tuple(scratch)
        self._scalars = [(array.data.cast("B"), array.tobytes()) for array in scratch if array.shape == (1,)]
        self.value = value

    def context(self) -> ContextMemory:
        """The context of this thread, filled."""
        for memory, first in self._scalars:
            memory[:] = first
        context = self._contexts.memory()
        context.memory[:] = self._content
        return context

    def run(self, context: ContextMemory) -> None:
        """Run it once."""
        if self._workers:
            run_team(self._function, context, self._workers)
        else:
            self._function(context.address)
