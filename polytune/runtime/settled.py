"""Calls of which it is known what they run, of arrays that were seen before: the way from the call to the compiled code
is short.  It is known while the tuner has settled, and while it tries nothing.

All checks of a call are functions of its arrays' types, addresses, shapes, strides and flags, and of the values of its
integers.  Where these are what they were when the checks were passed, they are passed again.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from typing import Any

import numpy as np

from polytune.runtime.background.compiler import background
from polytune.runtime.generated import GeneratedKernel
from polytune.runtime.invocation import Invocation
from polytune.runtime.partitioned.residency import are_arrays_resident
from polytune.runtime.same_arrays import ArrayRecord, can_compare
from polytune.runtime.threads import current_threads
from polytune.tuner import Configuration, OnlineTuner

__all__ = ["SettledCalls"]

_MOST = 64  # calls that are kept
_RECENT = 8  # of which the arrays are remembered, to see whether they come again
_NUMBER = struct.Struct("=d")

_Key = tuple[int, ...]


class _SettledCall:
    """One call that can be made again: its configuration, its context as bytes, and what has to be as it was."""

    def __init__(
        self,
        generated: GeneratedKernel,
        tuner: OnlineTuner,
        configuration: Configuration,
        invocation: Invocation,
        threads: int,
    ):
        self._tuner, self._configuration, self._threads = tuner, configuration, threads
        values = invocation.values
        self._record = ArrayRecord([values[k] for k in generated.array_positions])
        self._run = generated.bound(configuration, invocation)
        # Floats are written into the context; integers, and what the checks look at, have to be what they were.
        scalars = [k for k in range(len(values)) if k not in generated.array_positions]
        offsets, checked = generated.scalar_offsets, generated.checked_positions
        self._equal = [(k, type(values[k]), values[k]) for k in scalars if k not in offsets or k in checked]
        self._numbers = [(k, type(values[k]), offsets[k]) for k in scalars if k in offsets]

    def make(self, arguments: tuple[Any, ...]) -> bool:
        """Make the call, unless something is not as it was; whether it was made."""
        tuner, configuration, activity = self._tuner, self._configuration, background.activity
        if (
            tuner.steady is not configuration
            or activity % 2
            or are_arrays_resident()
            or current_threads() != self._threads
        ):
            return False
        for position, kind, value in self._equal:
            if type(arguments[position]) is not kind or arguments[position] != value:
                return False
        for position, kind, _ in self._numbers:
            if type(arguments[position]) is not kind:
                return False
        if not self._record.holds():
            return False
        context = self._run.context()
        for position, _, offset in self._numbers:
            _NUMBER.pack_into(context.memory, offset, arguments[position])
        start = time.perf_counter()
        self._run.run(context)
        seconds = time.perf_counter() - start
        if background.activity == activity and tuner.settled is configuration:
            tuner.report_settled(configuration, seconds)
        elif background.activity == activity:
            tuner.report(configuration, seconds)
        else:
            tuner.report(configuration, seconds, disturbed=True)
        return True


class SettledCalls:
    """The calls of a kernel that can be made again, by the identities of their arrays."""

    def __init__(self) -> None:
        self._calls: dict[_Key, _SettledCall] = {}
        self._places: tuple[int, ...] = ()  # of the arrays among the arguments
        self._count = 0  # of the arguments
        self._recent: deque[_Key] = deque(maxlen=_RECENT)

    def make(self, arguments: tuple[Any, ...]) -> bool:
        """Make a call again; False where it was not made before, or something is not as it was."""
        if not self._calls or len(arguments) != self._count:
            return False
        call = self._calls.get(tuple([id(arguments[place]) for place in self._places]))
        return call is not None and call.make(arguments)

    def note(
        self,
        generated: GeneratedKernel,
        tuner: OnlineTuner,
        configuration: Configuration,
        invocation: Invocation,
        threads: int,
    ) -> None:
        """Take in a call that has been made the long way; the second time it is kept."""
        if tuner.steady is not configuration or not generated.can_bind(configuration) or invocation.residences:
            return
        values, places = invocation.values, tuple(generated.array_positions)
        if not all(type(values[place]) in (np.ndarray, np.memmap) for place in places) or not can_compare():
            return
        key = tuple(id(values[place]) for place in places)
        if key not in self._recent:
            self._recent.append(key)
            return
        if (places, len(values)) != (self._places, self._count) or len(self._calls) >= _MOST:
            self._calls = {}
        self._places, self._count = places, len(values)
        self._calls[key] = _SettledCall(generated, tuner, configuration, invocation, threads)

    def clear(self) -> None:
        """Forget all calls."""
        self._calls = {}
        self._recent.clear()
