"""The rates of the model on this machine: those that polytune ships with, corrected by what was measured here.

What the fastest versions of a kernel took is kept in the history, beside the time that the model expects of each kind
of work in them.  All kernels that have been tuned on a machine tell together which kinds take longer there, against
the others, than where the rates were fitted: a third cache half as fast, slow divisions, cores that start late.  So
what one kernel has taught makes the first choice of the next.

Kinds are corrected in groups, as a few kernels do not tell two dozen of them apart.  What counts is what choices lose:
how long a kernel takes as a whole says nothing of that.  Corrections hold only if those that follow from some of the
kernels choose better for the others.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from polytune.history.machine import machine_key
from polytune.history.store import HistoryStore, default_store
from polytune.records import dataclass
from polytune.runtime.tuning.rates import RATES
from polytune.tuner import Configuration, Key

__all__ = ["GROUPS", "Corrections", "FastestVersions", "corrections_here", "fitted", "known_cases", "note_case"]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "vectors": ("vector_operations", "vector_accesses", "gathered", "registers"),
    "elements": ("operations", "accesses", "waits", "branches", "loops", "rows", "sums_in_memory", "tiles"),
    "functions": ("vector_divisions", "vector_calls", "divisions", "calls"),
    "second cache": ("lines_2", "apart_2"),
    "third cache": ("lines_3", "apart_3", "unforeseen_3"),
    "memory": ("lines_4", "apart_4"),
    "threads": ("regions", "starts", "tasks"),
}
"""The kinds of work that one factor corrects, by their names in `Prediction.times`."""

Corrections = Mapping[str, float]
"""The factors by which the work of groups takes longer than expected, by `GROUPS`; what is missing takes as long."""

_RECORD = "model of times"
_VERSION = 1
_MOST_CASES = 64  # that are remembered, the last ones
_MOST_OF_CASE = 8  # versions, the fastest
_FEWEST_CASES, _FEWEST_KERNELS = 12, 6  # from which anything is concluded
_CHANGED = 0.05  # of the time of any version, from which on a case is noted again

_SHARPNESS = 20.0  # with which a version that is expected to be faster is more likely to be the choice
_MOST_LOST = 1.5  # logarithm of the times longer, beyond which choices are as bad as one another
_PRIOR_WEIGHT = 0.01  # of how near factors are to 1
_MOST_FACTOR = math.log(4.0)
_FIRST_STEP, _STEPS = math.log(1.5), 4  # of the logarithms of factors, each two thirds of the one before
_PARTS = 6  # of the kernels, of which one is left out at a time
_LEAST_GAIN = 0.02  # of the logarithm of what choices lose for kernels that were left out


@dataclass(frozen=True)
class FastestVersions:
    """The fastest versions of a kernel for one class of calls.

    Attributes:
        kernel, shape: as in a `Key`.
        seconds: of each version, the shortest first.
        expected: of each, the nanoseconds that are expected without corrections, by `GROUPS`.
    """

    kernel: str
    shape: str
    seconds: tuple[float, ...]
    expected: tuple[tuple[float, ...], ...]


def corrections_here(threads: int) -> Corrections:
    """Return what corrects the rates on this machine: the same in a process from when it is first asked for.

    Args:
        threads: how many calls may have.
    """
    return _corrections_at(default_store(), machine_key(threads))


@cache
def _corrections_at(store: HistoryStore, machine: str) -> Corrections:
    factors = (_document(store, machine) or {}).get("factors")
    if not isinstance(factors, dict):
        return {}
    limit = math.exp(_MOST_FACTOR) * 1.001
    return {
        group: float(factor)
        for group, factor in factors.items()
        if group in GROUPS and isinstance(factor, float) and 1 / limit < factor < limit
    }


_noting = threading.Lock()


def note_case(
    store: HistoryStore,
    key: Key,
    expected: Callable[[Configuration], Sequence[float] | None],
    measured: Sequence[tuple[Configuration, float]],
) -> None:
    """Remember what versions have taken in a case, in place of what was remembered of it, and correct the rates by all
    that is remembered on its machine.

    Args:
        store: what remembers.
        key: the case.
        expected: gives the nanoseconds that are expected without corrections, by `GROUPS`; None where nothing is.
        measured: configurations with their seconds, the fastest first.
    """
    case = _fastest_versions(key, expected, measured)
    if len(case.seconds) < 2:
        return
    with _noting:
        known = known_cases(store, key.machine)
        before = [each for each in known if (each.kernel, each.shape) == (key.kernel, key.shape)]
        if any(_is_like(each, case) for each in before):
            return
        cases = [*(each for each in known if each not in before), case][-_MOST_CASES:]
        rows = [[each.kernel, each.shape, *_rows(each)] for each in cases]
        document = {"version": _VERSION, "rates": _rates_now(), "cases": rows, "factors": dict(fitted(cases))}
        store.save_search(_RECORD, "", key.machine, document)


def _fastest_versions(
    key: Key,
    expected: Callable[[Configuration], Sequence[float] | None],
    measured: Sequence[tuple[Configuration, float]],
) -> FastestVersions:
    """Return the fastest versions of a case, each in its fastest configuration; those alone that something is expected
    of.

    Args:
        key, expected, measured: as for `note_case`.
    """
    fastest: dict[Any, tuple[float, tuple[float, ...]]] = {}
    for configuration, seconds in measured:
        version = configuration["version"]
        if version not in fastest and seconds > 0 and len(fastest) < _MOST_OF_CASE:
            work = expected(configuration)
            if work is not None and math.isfinite(sum(work)) and sum(work) > 0:
                fastest[version] = seconds, tuple(work)
    found = fastest.values()
    return FastestVersions(key.kernel, key.shape, tuple(s for s, _ in found), tuple(work for _, work in found))


def _rows(case: FastestVersions) -> Iterator[list[float]]:
    """The seconds of each version, and what is expected of it, to four digits."""
    for seconds, expected in zip(case.seconds, case.expected, strict=True):
        yield [float(f"{number:.4g}") for number in (seconds, *expected)]


def known_cases(store: HistoryStore, machine: str) -> list[FastestVersions]:
    """Return what is remembered of all kernels on a machine; nothing where that cannot be read, or was expected by
    other rates.

    Args:
        store: what remembers.
        machine: as in a `Key`.
    """
    found = []
    try:
        for kernel, shape, *rows in (_document(store, machine) or {}).get("cases", ()):
            numbers = [[float(number) for number in row] for row in rows]
            if len(numbers) > 1 and all(len(row) == 1 + len(GROUPS) and _is_sound(row) for row in numbers):
                seconds, work = tuple(row[0] for row in numbers), tuple(tuple(row[1:]) for row in numbers)
                found.append(FastestVersions(str(kernel), str(shape), seconds, work))
    except (TypeError, ValueError):
        return []
    return found


def fitted(cases: Sequence[FastestVersions]) -> Corrections:
    """Return the factors by which choices among the versions of these cases lose least; nothing where those that follow
    from some of the kernels do not choose better for the others.

    Args:
        cases: what was measured on one machine.
    """
    kernels = sorted({each.kernel for each in cases})
    if len(cases) < _FEWEST_CASES or len(kernels) < _FEWEST_KERNELS:
        return {}
    gains: list[float] = []
    for part in range(_PARTS):
        left_out = set(kernels[part::_PARTS])
        logarithms = _logarithms([each for each in cases if each.kernel not in left_out])
        tested = _Choices([each for each in cases if each.kernel in left_out])
        gains += list(tested.losses(np.zeros(len(GROUPS))) - tested.losses(logarithms))
    mean, error = float(np.mean(gains)), float(np.std(gains) / math.sqrt(len(gains)))
    if mean < max(_LEAST_GAIN, error):
        return {}
    factors = np.exp(_logarithms(cases))
    return {group: float(factor) for group, factor in zip(GROUPS, factors, strict=True) if factor != 1.0}


class _Choices:
    """The choices among the versions of some cases, by the logarithms of factors.

    Args:
        cases: what was measured.
    """

    def __init__(self, cases: Sequence[FastestVersions]):
        counts = [len(each.seconds) for each in cases]
        self._starts = np.cumsum([0, *counts[:-1]])
        self._case = np.repeat(np.arange(len(cases)), counts)
        self._expected = np.array([row for each in cases for row in each.expected])
        slower = [math.log(seconds / min(each.seconds)) for each in cases for seconds in each.seconds]
        self._lost = np.minimum(slower, _MOST_LOST)

    def losses(self, logarithms: np.ndarray) -> np.ndarray:
        """Return for each case the logarithm of how many times longer than the fastest version the choice takes: the
        mean over versions, each by how likely it is to be chosen."""
        likely = -_SHARPNESS * np.log(np.maximum(self._expected @ np.exp(logarithms), 1e-3))
        likely = np.exp(likely - np.maximum.reduceat(likely, self._starts)[self._case])
        total = np.add.reduceat(likely, self._starts)
        losses: np.ndarray = np.add.reduceat(likely * self._lost, self._starts) / total
        return losses


def _logarithms(cases: Sequence[FastestVersions]) -> np.ndarray:
    """Return the logarithms of the factors by which choices lose least: one group after the other is moved by smaller
    and smaller steps."""
    choices = _Choices(cases)

    def badness(logarithms: np.ndarray) -> float:
        return float(choices.losses(logarithms).mean() + _PRIOR_WEIGHT * (logarithms**2).sum())

    best = np.zeros(len(GROUPS))
    least, step = badness(best), _FIRST_STEP
    for _ in range(_STEPS):
        for moved in _moved(step):
            other = best + moved
            if np.abs(other).max() <= _MOST_FACTOR and (found := badness(other)) < least:
                best, least = other, found
        step *= 2 / 3
    return best


def _moved(step: float) -> Iterator[np.ndarray]:
    for group in np.eye(len(GROUPS)):
        yield -step * group
        yield step * group


def _is_like(one: FastestVersions, other: FastestVersions) -> bool:
    """Return whether two cases say the same: as many versions, in nearly the same times."""
    if len(one.seconds) != len(other.seconds):
        return False
    return all(abs(a - b) <= _CHANGED * min(a, b) for a, b in zip(one.seconds, other.seconds, strict=True))


def _is_sound(row: Sequence[float]) -> bool:
    return all(math.isfinite(number) and number >= 0 for number in row) and row[0] > 0


def _rates_now() -> list[float]:
    return list(RATES.values())


def _document(store: HistoryStore, machine: str) -> dict[str, Any] | None:
    """The record of a machine; None where there is none, or it was made with other rates."""
    found = store.load_search(_RECORD, "", machine)
    return found if found and found.get("version") == _VERSION and found.get("rates") == _rates_now() else None
