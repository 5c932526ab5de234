"""Calls of many sizes: what is best for one serves those near it, until they are worth a tuner of their own.

A tuner takes some milliseconds to make, of which most go into what the history and the model know of its sizes.  Where
an argument is another integer in each call, or arrays are of another length, that would be far more than the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polytune.runtime.calls.untuned import BorrowedChoice
from polytune.runtime.tuning.tunable import Case
from polytune.tuner import OnlineTuner

__all__ = ["BorrowedChoices"]

_FEW = 8
"""Classes of calls of the same types that have tuners of their own whatever they take."""

_NEAR = 2
"""The most times larger that a number may be than that of calls that are near."""

_SMALLEST = 8
"""The number that smaller ones are taken for: where next to nothing is to be done, it does not matter what does it."""

_MOST = 4096  # classes whose calls are counted


class BorrowedChoices:
    """The classes of calls of a kernel that have no tuner of their own yet."""

    def __init__(self) -> None:
        self._choices: dict[Case, BorrowedChoice] = {}  # the oldest first

    def choice(self, case: Case, tuners: Callable[[], Mapping[Case, OnlineTuner]]) -> BorrowedChoice | None:
        """Return what stands in for the tuner of a class; None where there is to be one.

        Args:
            case: the class.
            tuners: gives the tuners that there are.
        """
        found = self._choices.get(case)
        if found is None:
            lender = _nearest(case, tuners())
            if lender is None:
                return None
            found = BorrowedChoice(lender)
            if len(self._choices) >= _MOST:
                self.end(next(iter(self._choices)))
            self._choices[case] = found
        if found.steady is None:
            self.end(case)
            return None
        return found

    def end(self, case: Case) -> None:
        """Have a class run what its own tuner says from now on."""
        found = self._choices.pop(case, None)
        if found is not None:
            found.end()

    def clear(self) -> None:
        """Forget all classes."""
        self._choices.clear()


def _nearest(case: Case, tuners: Mapping[Case, OnlineTuner]) -> OnlineTuner | None:
    """Return the tuner of the class that is nearest to one by its sizes; None where that is to have its own."""
    if case.places:
        return None
    others = [
        (other.parameters, tuner)
        for other, tuner in tuners.items()
        if other.signature == case.signature and other.threads == case.threads and not other.places
    ]
    if len(others) < _FEW:
        return None
    near = [(_distance(case.parameters, sizes), k) for k, (sizes, tuner) in enumerate(others) if tuner.best is not None]
    distance, k = min(near, default=(2.0 * _NEAR, 0))
    return others[k][1] if distance <= _NEAR else None


def _distance(sizes: tuple[int, ...], others: tuple[int, ...]) -> float:
    """Return how many times larger a number of one is at most than that of the other."""
    distance = 1.0
    for size, other in zip(sizes, others, strict=True):
        larger, smaller = max(abs(size), abs(other), _SMALLEST), max(min(abs(size), abs(other)), _SMALLEST)
        distance = max(distance, larger / smaller)
    return distance
