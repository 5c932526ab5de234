"""Calls of which it is known what they run, of arrays that were seen before: the way from the call to the compiled code
is short.  It is known while the tuner has settled, while it tries nothing, and where calls are not tuned.

All checks of a call are functions of its arrays' types, addresses, shapes, strides and flags, and of the values of its
integers.  Where these are what they were when the checks were passed, they are passed again.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.runtime.background.compiler import background
from polytune.runtime.bound_run import BoundRun
from polytune.runtime.generated import GeneratedKernel
from polytune.runtime.invocation import Invocation
from polytune.runtime.partitioned.residency import are_arrays_resident
from polytune.runtime.same_arrays import ArrayRecord, can_compare
from polytune.runtime.threads import current_threads
from polytune.runtime.untuned import FixedChoice
from polytune.signature import Fixed, Leaf, Structure
from polytune.tuner import Configuration, OnlineTuner

__all__ = ["NOT_MADE", "SettledCalls"]

NOT_MADE = object()
"""In place of what a call returns: it was not made."""

_MOST = 64  # calls that are kept
_MOST_MEMORY = 1 << 25  # bytes of their local arrays
_RECENT = 8  # of which the arrays are remembered, to see whether they come again
_NUMBER = struct.Struct("=d")

_Key = tuple[int, ...]


@dataclass(frozen=True)
class _Layout:
    """The function's arguments that are numbers and arrays, by their places, and the constants among the others."""

    leaves: tuple[int, ...]
    fixed: tuple[tuple[int, Any], ...]

    def taken(self, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The numbers and arrays of a call; None where the constants are others."""
        for place, value in self.fixed:
            given = arguments[place]
            if given is not value and not (type(given) is str and given == value):
                return None
        return tuple([arguments[place] for place in self.leaves])


def _layout(structure: Sequence[tuple[str, Structure]]) -> _Layout | None:
    """Return where numbers and arrays stand among a function's arguments; None where they stand in tuples."""
    leaves = tuple(place for place, (_, each) in enumerate(structure) if isinstance(each, Leaf))
    fixed = tuple((place, each.value) for place, (_, each) in enumerate(structure) if isinstance(each, Fixed))
    return _Layout(leaves, fixed) if len(leaves) + len(fixed) == len(structure) else None


class _SettledCall:
    """One call that can be made again: its configuration, its context as bytes, and what has to be as it was."""

    def __init__(
        self,
        layout: _Layout | None,
        generated: GeneratedKernel,
        tuner: OnlineTuner | FixedChoice,
        configuration: Configuration,
        invocation: Invocation,
        run: BoundRun,
        threads: int,
    ):
        self._layout, self._tuner, self._configuration, self._threads = layout, tuner, configuration, threads
        values = invocation.values
        self._own = threading.Lock()
        self._is_left = False  # a helper that was interrupted may still write to what the call works in
        self._record = ArrayRecord([values[k] for k in generated.array_positions])
        self._run = run
        # Floats are written into the context; integers, and what the checks look at, have to be what they were.
        scalars = [k for k in range(len(values)) if k not in generated.array_positions]
        offsets, checked = generated.scalar_offsets, generated.checked_positions
        self._equal = [(k, type(values[k]), values[k]) for k in scalars if k not in offsets or k in checked]
        self._numbers = [(k, type(values[k]), offsets[k]) for k in scalars if k in offsets]

    def make(self, arguments: tuple[Any, ...]) -> Any:
        """Make the call, unless something is not as it was.  Return what it returns, or `NOT_MADE`."""
        if self._layout is not None:
            taken = self._layout.taken(arguments)
            if taken is None:
                return NOT_MADE
            arguments = taken
        if not self._own.acquire(blocking=False):
            return NOT_MADE  # another thread runs it, in the memory that it has
        try:
            return self._make(arguments)
        finally:
            self._own.release()

    def _make(self, arguments: tuple[Any, ...]) -> Any:
        tuner, configuration, activity = self._tuner, self._configuration, background.activity
        if (
            tuner.steady is not configuration
            or are_arrays_resident()
            or current_threads() != self._threads
            or self._is_left
        ):
            return NOT_MADE
        for position, kind, value in self._equal:
            if type(arguments[position]) is not kind or arguments[position] != value:
                return NOT_MADE
        for position, kind, _ in self._numbers:
            if type(arguments[position]) is not kind:
                return NOT_MADE
        if not self._record.holds():
            return NOT_MADE
        run = self._run
        if run.check is not None:
            run.check(arguments)
        context = run.context()
        for position, _, offset in self._numbers:
            _NUMBER.pack_into(context.memory, offset, arguments[position])
        start = time.perf_counter()
        run.run(context)
        seconds = time.perf_counter() - start
        self._is_left = context.is_left
        returned = run.result(arguments)
        if background.disturbs_since(activity):
            tuner.report(configuration, seconds, disturbed=True)
        else:
            tuner.report_steady(configuration, seconds)
        return returned


class SettledCalls:
    """The calls of a kernel that can be made again, by the identities of their arrays and constants."""

    def __init__(self) -> None:
        self._calls: dict[_Key, _SettledCall | None] = {}  # None for those that cannot be kept
        self._places: tuple[int, ...] = ()  # of the arrays and of constants among the arguments
        self._count = 0  # of the arguments
        self._memory = 0  # bytes that calls keep
        self._recent: deque[_Key] = deque(maxlen=_RECENT)

    def make(self, arguments: tuple[Any, ...]) -> Any:
        """Make a call again: what it returns; `NOT_MADE` where it was not made before, or something is not as it
        was."""
        if not self._calls or len(arguments) != self._count:
            return NOT_MADE
        call = self._calls.get(tuple([id(arguments[place]) for place in self._places]))
        return NOT_MADE if call is None else call.make(arguments)

    def note(
        self,
        generated: GeneratedKernel,
        tuner: OnlineTuner | FixedChoice,
        configuration: Configuration,
        invocation: Invocation,
        threads: int,
        structure: Sequence[tuple[str, Structure]] = (),
    ) -> None:
        """Take in a call that has been made the long way; the second time it is kept.

        Args:
            generated: what ran.
            tuner: of the class of the call, or what says what it runs where it is not tuned.
            configuration: what the call ran; nothing is kept where it is not the one that the tuner has settled on.
            invocation: the call, checked.
            threads: how many it could have.
            structure: what each argument of the function is, where one is neither number nor array.
        """
        if tuner.steady is not configuration or not generated.can_bind(configuration) or invocation.residences:
            return
        values, places = invocation.values, tuple(generated.array_positions)
        layout = _layout(structure) if structure else None
        if structure and layout is None:
            return
        if not all(type(values[place]) in (np.ndarray, np.memmap) for place in places) or not can_compare():
            return
        known = {place: values[place] for place in places}
        if layout is not None:
            known = {layout.leaves[place]: value for place, value in known.items()} | dict(layout.fixed)
        key = tuple(id(known[place]) for place in sorted(known))
        if self._calls.get(key, self) is None:
            return  # it cannot be kept
        if key not in self._recent:
            self._recent.append(key)
            return
        count = len(structure or values)
        places = tuple(sorted(known))
        run = generated.bound(configuration, invocation)
        memory = self._memory + (0 if run is None else run.kept_bytes)
        is_full = len(self._calls) >= _MOST or memory > _MOST_MEMORY
        if (places, count) != (self._places, self._count) or is_full:
            self._calls, memory = {}, memory - self._memory
        self._places, self._count, self._memory = places, count, memory
        self._calls[key] = (
            None if run is None else _SettledCall(layout, generated, tuner, configuration, invocation, run, threads)
        )

    def clear(self) -> None:
        """Forget all calls."""
        self._calls, self._memory = {}, 0
        self._recent.clear()
