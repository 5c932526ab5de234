"""A run that can be made again and again: its function, its context and its local arrays."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from polytune.runtime.calls.argument_layout import address_writers
from polytune.runtime.teams.context_memory import ContextMemory
from polytune.runtime.teams.helpers import run_team
from polytune.runtime.teams.local_arrays import LINE, PAGE, SMALLEST, result_array

__all__ = ["BoundRun", "scalars_together"]


class _Made(NamedTuple):
    """An array that is made for each run: its place in the memory, the address of the word of the context that has its
    own, and what makes it, or the block that it lies in, which then has its shape and its type beside it."""

    place: int
    word: int
    make: Callable[[], np.ndarray]
    shape: tuple[int, ...] | None
    dtype: np.dtype | None

    @classmethod
    def like(cls, array: np.ndarray, place: int, word: int, *, is_zeroed: bool) -> _Made:
        """Return how arrays like one are made, where and as `result_array` does it.

        Args:
            array: one of them.
            place, word: as those of what is returned.
            is_zeroed: whether they begin with zeros.
        """
        shape, dtype = array.shape, array.dtype
        empty = np.zeros if is_zeroed else np.empty
        if array.nbytes >= SMALLEST:
            return cls(place, word, partial(result_array, shape, dtype, zeroed=is_zeroed), None, None)
        if array.nbytes < PAGE:
            return cls(place, word, partial(empty, shape, dtype), None, None)
        return cls(place, word, partial(empty, array.nbytes + LINE, np.uint8), shape, dtype)


_APART = 16  # bytes from one scalar to the next, as many as the largest has


def scalars_together(scratch: Sequence[np.ndarray], results: Collection[int]) -> list[np.ndarray]:
    """Return memory in which all scalars lie in one block, so that they begin as they are now in one step.

    Args:
        scratch: the memory for local arrays, for scalars, which are arrays of one element, and for what is returned.
        results: the places in it of what is returned.
    """
    found = list(scratch)
    places = [k for k, array in enumerate(found) if array.shape == (1,) and k not in results]
    block = np.zeros(_APART * len(places), np.uint8)
    for number, place in enumerate(places):
        scalar = block[_APART * number :][: found[place].itemsize].view(found[place].dtype)
        scalar[0] = found[place][0]
        found[place] = scalar
    return found


class BoundRun:
    """A run whose context is known, in memory of its own: one at a time.

    What it returns is memory of the caller's, and is made anew for each time.

    Args:
        context: its own, filled.
        function: the version, for a team the address of its C entry.
        workers: how many may work; 0 for a version without a team.
        scratch: the memory for local arrays, for scalars, which begin as they are now, and for what is returned, as of
            `scalars_together`.
        returned: which of these are returned, by their places, and where in the context their addresses are, in bytes.
        zeroed: which of the arrays begin with zeros, by their places.
        check: raises what is wrong with the elements of arguments, of which the integers that are computed are given,
            too; None where nothing has to be tested each time.
        verify: raises what is wrong with what is in the memory after a run; None where nothing has to be looked at.
        report: the place of the number that is not 0 where `verify` raises something; None where it has to be called.
        value: of the arguments, the memory and these integers, what the kernel returns; None where it returns nothing.
        returns: the place of the array that the kernel returns, the complement of the place of the number, or those in
            the tuple that it returns; None where `value` has to tell.
        parameters: the integers that are in the context.
        parameter_offset: where they begin there, in bytes.

    Attributes:
        address: of the context.
        context: its own; marked as left while a helper may still be at work in it, so that it must not be run again.
        parameters: the integers that are in the context.
        has_checks: whether something has to be tested each time.
        has_arrays: whether local arrays have to be made ready before a run.
        has_result: whether the kernel returns something.
        run: runs it once.
    """

    __slots__ = (
        "_check",
        "_cleared",
        "_made",
        "_pack_parameters",
        "_parameter_offset",
        "_report",
        "_returns",
        "_scalars",
        "_scratch",
        "_value",
        "_verify",
        "_write_address",
        "_write_line",
        "address",
        "context",
        "has_arrays",
        "has_checks",
        "has_result",
        "parameters",
        "run",
    )

    def __init__(
        self,
        context: ContextMemory,
        function: Any,
        workers: int,
        scratch: Sequence[np.ndarray],
        *,
        returned: Sequence[tuple[int, int]],
        zeroed: frozenset[int],
        check: Callable[[Sequence[Any], Sequence[int]], None] | None,
        verify: Callable[[Sequence[np.ndarray]], None] | None,
        report: int | None,
        value: Callable[[Sequence[Any], Sequence[np.ndarray], Sequence[int]], Any] | None,
        returns: int | tuple[int, ...] | None,
        parameters: Sequence[int],
        parameter_offset: int,
    ):
        self.context = context
        self.run = partial(run_team, function, context, workers) if workers else partial(function, context.address)
        made = {
            place: _Made.like(scratch[place], place, context.address + offset, is_zeroed=place in zeroed)
            for place, offset in returned
        }
        self._write_address, self._write_line = address_writers()
        self._made = list(made.values())
        # Of what is returned nothing is kept: it would be memory that the caller has given up.
        self._scratch: list[Any] = [None if place in made else array for place, array in enumerate(scratch)]
        kept = [(place, array) for place, array in enumerate(self._scratch) if array is not None]
        blocks = [array.base for _, array in kept if array.shape == (1,)]
        self._scalars = [(block.data, block.tobytes()) for block in blocks[:1]]
        self._cleared = [array for place, array in kept if place in zeroed and array.shape != (1,)]
        self._report = None if report is None else scratch[report]
        self._verify, self._value, self._returns, self._check = verify, value, returns, check
        self.has_checks = check is not None
        self.has_result = verify is not None or value is not None
        self.has_arrays = bool(self._scalars or self._cleared or self._made)
        self.parameters, self._parameter_offset = parameters, parameter_offset
        self._pack_parameters = struct.Struct(f"={len(parameters)}q").pack_into
        self.address = context.address
        # A helper that is left behind may still be at work in what nobody else has then.
        context.owner = context.owner, self._scratch

    @property
    def kept_bytes(self) -> int:
        """Return how much memory it has for local arrays."""
        return sum(array.nbytes for array in self._scratch if array is not None)

    @property
    def memory(self) -> memoryview:
        """Return the bytes of its context."""
        return self.context.memory

    def check(self, arguments: Sequence[Any], parameters: Sequence[int]) -> None:
        """Have some integers in the context, and test what has to be tested each time.

        Args:
            arguments: those of the call.
            parameters: the integers that are computed from them.

        Raises:
            Exception: what the kernel itself raises for such arguments.
            SubscriptError: a number in an index array is out of range.
        """
        if parameters is not self.parameters:
            self._pack_parameters(self.context.memory, self._parameter_offset, *parameters)
            self.parameters = parameters
        if self._check is not None:
            self._check(arguments, parameters)

    def begin(self) -> None:
        """Have the local arrays as they are before a run."""
        for memory, first in self._scalars:
            memory[:] = first
        for array in self._cleared:
            array.fill(0)
        for place, word, make, shape, dtype in self._made:
            array = make()
            if shape is None:
                self._write_address(id(array), word)
            else:  # in a block, of which it begins where a cache line does
                array = np.ndarray(shape, dtype, array, self._write_line(id(array), word))
            self._scratch[place] = array

    def result(self, arguments: Sequence[Any]) -> Any:
        """Return what the kernel returns, after a run.

        Raises:
            SubscriptError: a subscript was out of range while it ran.
        """
        places, scratch, report = self._returns, self._scratch, self._report
        try:
            if self._verify is not None and (report is None or report[0]):
                self._verify(scratch)
            if isinstance(places, int):
                return scratch[places] if places >= 0 else scratch[~places][0]
            if places is not None:
                return tuple([scratch[place] if place >= 0 else scratch[~place][0] for place in places])
            return None if self._value is None else self._value(arguments, scratch, self.parameters)
        finally:
            for made in self._made:
                scratch[made.place] = None
