"""Calls of which it is known what they run: the way from the call to the compiled code is short.  It is known while the
tuner has settled, while it tries nothing, and where calls are not tuned.

All checks of a call are functions of its arrays' types, shapes, strides and flags, of the values of its integers, of
where its arrays lie, and of elements.  Where the first are what they were when the checks were passed, they are passed
again, whichever arrays these are; the last two are looked at in each call.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from polytune.errors import ArgumentError
from polytune.records import dataclass
from polytune.runtime.argument_layout import DIFFERS, FITS, ArgumentLayout, can_compare, fingerprint
from polytune.runtime.background.compiler import background
from polytune.runtime.bound_run import BoundRun
from polytune.runtime.generated import GeneratedKernel
from polytune.runtime.invocation import Invocation
from polytune.runtime.partitioned.residency import are_arrays_resident
from polytune.runtime.threads import current_threads
from polytune.runtime.untuned import FixedChoice
from polytune.signature import Fixed, Leaf, Structure
from polytune.tuner import Configuration, OnlineTuner

__all__ = ["NOT_MADE", "SettledCalls"]

NOT_MADE = object()
"""In place of what a call returns: it was not made."""

_MOST = 256  # kinds of calls that are kept
_MOST_ALIKE = 8  # of which so many differ in numbers alone
_MOST_RUNS = 8  # of one kind, which as many threads may make at once
_MOST_MEMORY = 1 << 25  # bytes of their local arrays
_RECENT = 256  # of which is remembered what they were like, to see whether such come again

_Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Leaves:
    """The function's arguments that are numbers and arrays, by their places, and the constants among the others."""

    count: int
    places: tuple[int, ...]
    fixed: tuple[tuple[int, Any], ...]

    def taken(self, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The numbers and arrays of a call; None where the constants are others."""
        if len(arguments) != self.count:
            return None
        for place, value in self.fixed:
            given = arguments[place]
            if given is not value and not (type(given) is str and given == value):
                return None
        return tuple([arguments[place] for place in self.places])

    def put_back(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The function's arguments of a call, from its numbers and arrays."""
        arguments: list[Any] = [None] * self.count
        for place, value in (*zip(self.places, values, strict=True), *self.fixed):
            arguments[place] = value
        return tuple(arguments)


def _leaves(structure: Sequence[tuple[str, Structure]]) -> _Leaves | None:
    """Return where numbers and arrays stand among a function's arguments; None where they stand in tuples."""
    places = tuple(place for place, (_, each) in enumerate(structure) if isinstance(each, Leaf))
    fixed = tuple((place, each.value) for place, (_, each) in enumerate(structure) if isinstance(each, Fixed))
    return _Leaves(len(structure), places, fixed) if len(places) + len(fixed) == len(structure) else None


class _SettledCall:
    """One kind of calls: what they run, and what they have in common.

    Args:
        leaves: where the arguments stand; None where they are the function's.
        generated: what runs.
        tuner: of the class of the calls, or what says what they run where they are not tuned.
        configuration: what they run.
        values: the arguments of one.
        threads: how many they can have.
    """

    def __init__(
        self,
        leaves: _Leaves | None,
        generated: GeneratedKernel,
        tuner: OnlineTuner | FixedChoice,
        configuration: Configuration,
        values: tuple[Any, ...],
        threads: int,
    ):
        self._leaves, self._generated, self._tuner = leaves, generated, tuner
        self._configuration, self._threads = configuration, threads
        self._equal = [(k, value, repr(value)) for k, value in _equal_numbers(generated, values)]
        # All other numbers are written into the context, floats by compiled code.
        offsets, fixed = generated.scalar_offsets, {position for position, *_ in self._equal}
        free = {k: offsets[k] for k in offsets if k not in fixed}
        self._numbers = [
            (k, offset, struct.Struct(f"={form}").pack_into)
            for k, (offset, form) in free.items()
            if not (type(values[k]) is float and form == "d")
        ]
        floats = {k: offset for k, (offset, form) in free.items() if form == "d"}
        self._layout = ArgumentLayout(values, {**generated.array_offsets, **floats}, generated.written_positions)
        self._free: list[BoundRun] = []
        self._runs = 0

    def is_like(self, other: _SettledCall) -> bool:
        """Return whether another one is of the same calls."""
        return self._leaves == other._leaves and self._equal == other._equal and self._layout == other._layout

    def is_made_like(self, other: _SettledCall) -> bool:
        """Return whether another one of the same calls makes them the same way."""
        is_same_choice = isinstance(other._tuner, FixedChoice) or other._tuner is self._tuner
        made = self._generated, self._configuration, self._threads
        return (
            is_same_choice
            and self._tuner.steady is self._configuration
            and made == (other._generated, other._configuration, other._threads)
        )

    @property
    def may_have_another_run(self) -> bool:
        """Return whether all runs are under way, and there may be more."""
        return not self._free and self._runs < _MOST_RUNS

    def add(self, run: BoundRun) -> None:
        """Have one more call at a time."""
        self._runs += 1
        self._free.append(run)

    def make(self, arguments: tuple[Any, ...]) -> Any:
        """Make a call, unless it is not of this kind, or cannot be made so.  Return what it returns, or `NOT_MADE`."""
        if self._leaves is not None:
            taken = self._leaves.taken(arguments)
            if taken is None:
                return NOT_MADE
            arguments = taken
        if self._tuner.steady is not self._configuration or are_arrays_resident() or current_threads() != self._threads:
            return NOT_MADE
        try:
            run = self._free.pop()
        except IndexError:  # as many threads make such calls as there are runs for
            return NOT_MADE
        is_free = True
        try:
            if not self._fill(run, arguments):
                return NOT_MADE
            is_free = False  # where it is interrupted, nobody knows what is still at work in it
            activity = background.activity
            run.begin()
            start = time.perf_counter()
            run.run()
            seconds = time.perf_counter() - start
            is_free = not run.is_left
            returned = run.result(arguments)
        finally:
            if is_free:
                self._free.append(run)
            else:
                self._runs -= 1
        if background.disturbs_since(activity):
            self._tuner.report(self._configuration, seconds, disturbed=True)
        else:
            self._tuner.report_steady(self._configuration, seconds)
        return returned

    def _fill(self, run: BoundRun, arguments: tuple[Any, ...]) -> bool:
        """Check a call's arguments and write them into the context of a run.  Return whether they are of this kind.

        Raises:
            Exception: what the kernel itself raises for such arguments.
            SubscriptError: a number in an index array is out of range.
        """
        fit = self._layout.fit(arguments, run.address)
        if fit == DIFFERS:
            return False
        for position, value, text in self._equal:
            given = arguments[position]  # 0.0 and -0.0 are two numbers
            if given != value if type(value) is int else repr(given) != text:
                return False
        if fit != FITS:
            try:
                self._generated.check_addresses(arguments)
            except ArgumentError:
                return False  # which is raised where the checks are made in their order
        try:
            for position, offset, pack_into in self._numbers:
                pack_into(run.memory, offset, arguments[position])
        except struct.error:
            return False
        if run.check is not None:
            run.check(arguments)
        return True


def _equal_numbers(generated: GeneratedKernel, values: tuple[Any, ...]) -> list[tuple[int, Any]]:
    """Return the arguments that are numbers which checks look at, or whose values are not in the context alone."""
    offsets, checked = generated.scalar_offsets, generated.checked_positions
    arrays = generated.array_offsets
    return [(k, value) for k, value in enumerate(values) if k not in arrays and (k not in offsets or k in checked)]


class SettledCalls:
    """The kinds of calls of a kernel that go the short way."""

    def __init__(self) -> None:
        self._calls: dict[int, list[_SettledCall]] = {}  # by the fingerprints of their arguments
        self._last: _SettledCall | None = None
        self._refused: set[_Key] = set()
        self._recent: dict[_Key, None] = {}  # the oldest first
        self._count = 0
        self._memory = 0  # bytes that they keep

    def make(self, arguments: tuple[Any, ...]) -> Any:
        """Make a call: what it returns; `NOT_MADE` where such were not made before, or something is not as it was."""
        last = self._last
        if last is None:
            return NOT_MADE
        returned = last.make(arguments)
        if returned is NOT_MADE and self._count > 1:
            for call in self._calls.get(fingerprint(arguments), ()):
                if call is not last and (returned := call.make(arguments)) is not NOT_MADE:
                    self._last = call
                    break
        return returned

    def note(
        self,
        generated: GeneratedKernel,
        tuner: OnlineTuner | FixedChoice,
        configuration: Configuration,
        invocation: Invocation,
        threads: int,
        structure: Sequence[tuple[str, Structure]] = (),
    ) -> None:
        """Take in a call that has been made the long way; the second of its kind has the others go the short way.

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
        values = invocation.values
        leaves = _leaves(structure) if structure else None
        if structure and leaves is None:
            return
        if not all(type(values[k]) in (np.ndarray, np.memmap) for k in generated.array_positions):
            return
        if not can_compare():
            return
        arguments = values if leaves is None else leaves.put_back(values)
        found = fingerprint(arguments)
        constants = () if leaves is None else leaves.fixed
        numbers = [(k, type(value), repr(value)) for k, value in _equal_numbers(generated, values)]
        key = found, *((k, value if type(value) is str else id(value)) for k, value in constants), *numbers
        if key in self._refused:
            return
        if key not in self._recent:
            self._recent[key] = None
            if len(self._recent) > _RECENT:
                self._recent.pop(next(iter(self._recent)), None)
            return
        call = _SettledCall(leaves, generated, tuner, configuration, values, threads)
        known = next((each for each in self._calls.get(found, ()) if each.is_like(call)), None)
        if known is not None and known.is_made_like(call):
            if not known.may_have_another_run:
                return
            call = known
        run = generated.bound(configuration, invocation)
        if run is None:
            self._refused.add(key)
            return
        if self._memory + run.kept_bytes > _MOST_MEMORY or self._count >= _MOST:
            self.clear()
            known = None
        if call is not known:
            alike = [each for each in self._calls.get(found, ()) if each is not known][-_MOST_ALIKE + 1 :]
            self._calls[found] = [*alike, call]
            self._count = sum(map(len, self._calls.values()))
            self._last = call
        call.add(run)
        self._memory += run.kept_bytes

    def clear(self) -> None:
        """Forget all calls."""
        self._calls, self._last, self._count, self._memory = {}, None, 0, 0
        self._recent.clear()
        self._refused.clear()
