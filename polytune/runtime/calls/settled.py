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
from typing import Any, NamedTuple

import numpy as np
from numba.np.ufunc import parallel

from polytune.errors import ArgumentError
from polytune.records import dataclass
from polytune.runtime.background.compiler import background
from polytune.runtime.calls.argument_layout import DIFFERS, FITS, ArgumentLayout, can_compare, fingerprint
from polytune.runtime.calls.bound_run import BoundRun
from polytune.runtime.calls.invocation import Invocation
from polytune.runtime.calls.untuned import BorrowedChoice, FixedChoice
from polytune.runtime.draws.states import address_of, generator_at
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.partitioned.residency import resident_arrays
from polytune.runtime.teams.threads import current_threads, maximum_threads
from polytune.signature import Drawing, Fixed, Leaf, Structure
from polytune.tuner import Configuration, OnlineTuner

__all__ = ["NOT_MADE", "SettledCalls"]

NOT_MADE = object()
"""The object in place of a call's result that says that the call was not made."""

_MOST = 256  # kinds of calls that are kept
_MOST_ALIKE = 8  # of arguments with the same headers
_MOST_CLASSES = 4096  # of calls of a kind that differ in integers
_MOST_RUNS = 8  # of one kind, which as many threads may make at once
_MOST_MEMORY = 1 << 25  # bytes of their local arrays
_RECENT = 256  # of which is remembered what they were like, to see whether such come again

_Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Leaves:
    """The function's arguments that are numbers and arrays, by their places, and the constants among the others.

    Attributes:
        count: how many arguments there are.
        places: of numbers and arrays, and of generators of random numbers, of which the numbers are addresses.
        fixed: the constants, with their places.
        generators: the places of generators.
    """

    count: int
    places: tuple[int, ...]
    fixed: tuple[tuple[int, Any], ...]
    generators: tuple[int, ...] = ()

    def taken(self, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The numbers and arrays of a call; None where the constants are others."""
        if len(arguments) != self.count:
            return None
        for place, value in self.fixed:
            given = arguments[place]
            if given is not value and not (type(given) is str and given == value):
                return None
        if self.generators:
            given = list(arguments)
            for place in self.generators:
                if not isinstance(given[place], np.random.Generator):
                    return None
                given[place] = address_of(given[place])
            arguments = tuple(given)
        return tuple([arguments[place] for place in self.places])

    def put_back(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The function's arguments of a call, from its numbers and arrays."""
        arguments: list[Any] = [None] * self.count
        for place, value in (*zip(self.places, values, strict=True), *self.fixed):
            arguments[place] = generator_at(value) if place in self.generators else value
        return tuple(arguments)


def _leaves(structure: Sequence[tuple[str, Structure]]) -> _Leaves | None:
    """Return where numbers and arrays stand among a function's arguments; None where they stand in tuples."""
    places = tuple(place for place, (_, each) in enumerate(structure) if isinstance(each, Leaf | Drawing))
    generators = tuple(place for place, (_, each) in enumerate(structure) if isinstance(each, Drawing))
    fixed = tuple((place, each.value) for place, (_, each) in enumerate(structure) if isinstance(each, Fixed))
    is_flat = len(places) + len(fixed) == len(structure)
    return _Leaves(len(structure), places, fixed, generators) if is_flat else None


class _Class(NamedTuple):
    """The calls of one kind that are tuned together: what says what they run, that configuration, the same object as
    long as it is the same, and the integers that are computed from their arguments."""

    tuner: OnlineTuner | FixedChoice | BorrowedChoice
    configuration: Configuration
    parameters: tuple[int, ...]


class _SettledCall:
    """One kind of calls: what they run, and what they have in common; integers may differ.

    Args:
        leaves: where the arguments stand; None where they are the function's.
        generated: what runs.
        configuration: what they run.
        invocation: one of them.
        threads: how many they can have.
    """

    def __init__(
        self,
        leaves: _Leaves | None,
        generated: GeneratedKernel,
        configuration: Configuration,
        invocation: Invocation,
        threads: int,
    ):
        values = invocation.values
        self._leaves, self._generated = leaves, generated
        self._configuration, self._threads = configuration, threads
        fixed, self._varying = _numbers(generated, values)
        self._fixed = [(k, values[k], repr(values[k])) for k in fixed]
        self._sizes = generated.sizes_of_memory(invocation.parameters)
        # All other numbers are written into the context, floats by compiled code.
        free = {k: each for k, each in generated.scalar_offsets.items() if k not in fixed}
        self._numbers = [
            (k, offset, struct.Struct(f"={form}").pack_into)
            for k, (offset, form) in free.items()
            if not (type(values[k]) is float and form == "d")
        ]
        floats = {k: offset for k, (offset, form) in free.items() if form == "d"}
        self._layout = ArgumentLayout(values, {**generated.array_offsets, **floats}, generated.written_positions)
        self._fit, self._layout_address = self._layout.compared_by
        self._has_more = bool(self._fixed or self._numbers)  # to look at than headers and types
        self._has_all_threads = threads == maximum_threads()
        self._classes: dict[_Key, _Class] = {}  # by the integers that differ
        self._free: list[BoundRun] = []
        self._runs = 0

    def serves(self, leaves: _Leaves | None, generated: GeneratedKernel, invocation: Invocation, threads: int) -> bool:
        """Return whether a call is of this kind, but perhaps for what it runs.

        Args:
            leaves, generated, invocation, threads: as for this.
        """
        values = invocation.values
        return (
            self._generated is generated
            and self._threads == threads
            and self._leaves == leaves
            and self._sizes == generated.sizes_of_memory(invocation.parameters)
            and self._layout.fit(values) != DIFFERS
            and self._has_fixed(values)
        )

    def runs(self, configuration: Configuration) -> bool:
        """Return whether such calls run a configuration."""
        return self._configuration == configuration

    @property
    def may_have_another_run(self) -> bool:
        """Return whether all runs are under way, and there may be more."""
        return not self._free and self._runs < _MOST_RUNS

    def add_run(self, run: BoundRun) -> None:
        """Have one more call at a time."""
        self._runs += 1
        self._free.append(run)

    def add_class(
        self, invocation: Invocation, tuner: OnlineTuner | FixedChoice | BorrowedChoice, configuration: Configuration
    ) -> None:
        """Take calls with such integers as one has, which run what a tuner says, and that is this configuration."""
        if len(self._classes) >= _MOST_CLASSES:
            self._classes.clear()
        self._classes[self._integers(invocation.values)] = _Class(tuner, configuration, invocation.parameters)

    def remove_class(self, invocation: Invocation) -> bool:
        """Take no more calls with such integers.  Return whether none are left."""
        self._classes.pop(self._integers(invocation.values), None)
        return not self._classes

    def make(self, arguments: tuple[Any, ...]) -> Any:
        """Make a call, unless it is not of this kind, or cannot be made so.  Return what it returns, or `NOT_MADE`.

        Where a program's data leave none of Python's in the caches, each function that is entered, and each object
        that is touched, takes as long as hundreds of operations: so it is one function, and does without what this
        kind of calls does not need.
        """
        if self._leaves is not None:
            taken = self._leaves.taken(arguments)
            if taken is None:
                return NOT_MADE
            arguments = taken
        if resident_arrays or (
            (parallel._is_initialized or not self._has_all_threads) and current_threads() != self._threads
        ):
            return NOT_MADE
        try:
            run = self._free.pop()
        except IndexError:  # as many threads make such calls as there are runs for
            return NOT_MADE
        is_free = True
        try:
            fit = self._fit(self._layout_address, id(arguments), run.address)
            if fit == DIFFERS:
                return NOT_MADE
            found = self._classes.get(self._integers(arguments) if self._varying else ())
            if found is None:
                return NOT_MADE
            tuner, configuration, parameters = found
            if tuner.steady is not configuration:
                return NOT_MADE
            if (self._has_more or fit != FITS) and not self._fill(run, arguments, fit):
                return NOT_MADE
            if run.has_checks or parameters is not run.parameters:
                run.check(arguments, parameters)
            is_free = False  # where it is interrupted, nobody knows what is still at work in it
            activity = background.activity
            if run.has_arrays:
                run.begin()
            start = time.perf_counter()
            run.run()
            seconds = time.perf_counter() - start
            is_free = not run.context.is_left
            returned = run.result(arguments) if run.has_result else None
        finally:
            if is_free:
                self._free.append(run)
            else:
                self._runs -= 1
        try:
            if background.disturbs_since(activity):
                tuner.report(configuration, seconds, disturbed=True)
            else:
                tuner.report_steady(configuration, seconds)
        except Exception:  # the kernel has run; where calls go the long way, it is told what their tuner fails of
            self._classes.clear()
        return returned

    def _fill(self, run: BoundRun, arguments: tuple[Any, ...], fit: int) -> bool:
        """Check what is left of a call's arguments, and write numbers into the context of a run.  Return whether it is
        of this kind.

        Args:
            run: what is to run.
            arguments: the call's.
            fit: how they fit the layout.
        """
        if not self._has_fixed(arguments):
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
        return True

    def _integers(self, arguments: tuple[Any, ...]) -> _Key:
        return tuple([arguments[position] for position in self._varying])

    def _has_fixed(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether the numbers that have to be what they were are; 0.0 and -0.0 are two."""
        for position, value, text in self._fixed:
            given = arguments[position]
            if given != value if type(value) is int else repr(given) != text:
                return False
        return True


def _numbers(generated: GeneratedKernel, values: tuple[Any, ...]) -> tuple[list[int], list[int]]:
    """Return the arguments that are numbers which have to be what they were, and the integers which checks look at that
    may be others, where such calls have been checked too."""
    offsets, checked, arrays = generated.scalar_offsets, generated.checked_positions, generated.array_offsets
    numbers = [k for k in range(len(values)) if k not in arrays and (k not in offsets or k in checked)]
    varying = [k for k in numbers if type(values[k]) is int and k not in generated.positions_in_memory]
    return [k for k in numbers if k not in varying], varying


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
        tuner: OnlineTuner | FixedChoice | BorrowedChoice,
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
        found = fingerprint(values if leaves is None else leaves.put_back(values))
        alike = [each for each in self._calls.get(found, ()) if each.serves(leaves, generated, invocation, threads)]
        call = next((each for each in alike if each.runs(configuration)), None)
        if call is not None and not call.may_have_another_run:
            self._take(found, call, alike, invocation, tuner, configuration)
            return
        constants = () if leaves is None else leaves.fixed
        numbers = [(k, type(values[k]), repr(values[k])) for k in _numbers(generated, values)[0]]
        key = found, *((k, value if type(value) is str else id(value)) for k, value in constants), *numbers
        if key in self._refused:
            return
        if key not in self._recent:
            self._recent[key] = None
            if len(self._recent) > _RECENT:
                self._recent.pop(next(iter(self._recent)), None)
            return
        run = generated.bound(configuration, invocation)
        if run is None:
            self._refused.add(key)
            return
        if self._memory + run.kept_bytes > _MOST_MEMORY or self._count >= _MOST:
            self.clear()
            call, alike = None, []
        if call is None:
            call = _SettledCall(leaves, generated, configuration, invocation, threads)
        self._memory += run.kept_bytes
        call.add_run(run)
        self._take(found, call, alike, invocation, tuner, configuration)

    def _take(
        self,
        found: int,
        call: _SettledCall,
        alike: Sequence[_SettledCall],
        invocation: Invocation,
        tuner: OnlineTuner | FixedChoice | BorrowedChoice,
        configuration: Configuration,
    ) -> None:
        """Have calls like one be of a kind.

        Args:
            found: the fingerprint of its arguments.
            call: the kind.
            alike: kinds that differ in what they run.
            invocation: the call.
            tuner: what says what it runs.
            configuration: that.
        """
        call.add_class(invocation, tuner, configuration)
        empty = [each for each in alike if each is not call and each.remove_class(invocation)]
        others = [each for each in self._calls.get(found, ()) if each is not call and each not in empty]
        self._calls[found] = [*others[-_MOST_ALIKE + 1 :], call]
        self._count = sum(map(len, self._calls.values()))
        self._last = call

    def clear(self) -> None:
        """Forget all calls."""
        self._calls, self._last, self._count, self._memory = {}, None, 0, 0
        self._recent.clear()
        self._refused.clear()
