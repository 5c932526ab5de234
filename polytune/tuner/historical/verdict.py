"""The judgement on what history says of a space, by what is measured in the pruned part of it and outside."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from polytune.records import dataclass
from polytune.tuner.budget import seconds_text
from polytune.tuner.hierarchy.race import Samples
from polytune.tuner.historical.pruning import THRESHOLD
from polytune.tuner.historical.transfer import PROBABILITY, PrunedSpace
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space

__all__ = ["Verdict", "judge", "outside", "with_probes"]

_FEWEST = 3
"""Configurations of the pruned space that have to be known before it is found to be wrong."""

_CANDIDATES_BETWEEN_PROBES = 3
_MOST_PROBES = 4
_SHARE_OF_STEPS = 0.5  # after which the best so far is held against what was expected


@dataclass(frozen=True)
class Verdict:
    """An end of the search of a pruned space.

    Attributes:
        is_wrong: whether the space turned out not to have what performs well; else it has been searched enough.
        why: for people.
    """

    is_wrong: bool
    why: str


def with_probes(
    pruned: PrunedSpace, others: Sequence[Configuration], default: Configuration
) -> tuple[Configuration, ...]:
    """The configurations to begin with: candidates, the first choice after the first of them, and now and then one
    from outside, by which it is noticed that the pruned space is wrong.

    Args:
        pruned: the part of the space to begin in.
        others: configurations that are promising whatever history says, the most promising first.
        default: the first choice.
    """
    probes = [each for each in others if not pruned.contains(each) and each != default][:_MOST_PROBES]
    found: list[Configuration] = []
    for number, candidate in enumerate(pruned.candidates):
        if number == 1:
            found.append(default)
        if number and number % _CANDIDATES_BETWEEN_PROBES == 0 and probes:
            found.append(probes.pop(0))
        found.append(candidate)
    return tuple(dict.fromkeys([*found, default]))


def outside(pruned: PrunedSpace, space: Space) -> list[Configuration]:
    """Return a configuration with each of the values that are left out, all else at its default."""
    completed = [space.completion({name: value}) for name, values in pruned.left_out.items() for value in values]
    return [each for each in completed if each is not None and not pruned.contains(each)]


def judge(
    pruned: PrunedSpace,
    measurements: Mapping[Configuration, Samples],
    failures: Collection[Configuration],
    default: Configuration,
) -> Verdict | None:
    """Hold what was measured against what was expected.

    The pruned space is wrong where something outside is faster than all inside by more than what counts as performing
    well, or where the best inside, after half of the steps, gains less on the first choice than the least that history
    lets expect.  It has been searched enough after its steps.

    Args:
        pruned: the part of the space that is searched.
        measurements: what was measured there and outside.
        failures: what failed.
        default: the first choice.

    Returns:
        None where the search of the pruned space goes on.
    """
    inside = [each for each in measurements if pruned.contains(each)]
    failed = sum(pruned.contains(each) for each in failures)
    steps = len(inside) + failed
    best = min((measurements[each].estimate for each in inside), default=math.inf)
    outside = min((measurements[each].estimate for each in measurements if not pruned.contains(each)), default=math.inf)
    if steps >= _FEWEST and outside < THRESHOLD * best:
        return Verdict(True, f"{_what(outside)} outside of it, {_what(best)} inside")
    known = measurements.get(default)
    if steps >= max(_FEWEST, _SHARE_OF_STEPS * pruned.steps) and pruned.gain is not None and known is not None:
        expected = known.estimate / pruned.gain
        if best * THRESHOLD > expected:
            return Verdict(True, f"{_what(best)} is the best of it, where {_what(expected)} was to be expected")
    if steps >= pruned.steps:
        return Verdict(
            False,
            f"after {steps} configurations there, something within {1 / THRESHOLD - 1:.0%} of the best has been met "
            f"with a probability of {PROBABILITY:.0%}",
        )
    return None


def _what(seconds: float) -> str:
    return seconds_text(seconds) if seconds < math.inf else "nothing that runs"
