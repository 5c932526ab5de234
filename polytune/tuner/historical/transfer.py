"""The part of a space in which tuning begins, as measurements elsewhere say that what performs well is in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.tuner.historical.pruning import THRESHOLD, prune, steps_to_find
from polytune.tuner.historical.sources import TransferSource
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.finite import FiniteSpace
from polytune.tuner.spaces.parameters import Nominal
from polytune.tuner.spaces.space import Space

__all__ = ["PROBABILITY", "PrunedSpace", "pruned_space"]

PROBABILITY = 0.9
"""The probability with which something that performs well has been met when the pruned space is left."""

_FEWEST = 8
"""Measurements of which conclusions are drawn."""

_MOST_CANDIDATES = 16
_FEWEST_STEPS, _MOST_STEPS = 8, 24
_LEAST_PORTION = 0.05
_NEARLY_WELL = 2 / 3  # of the performance of the best: values with nothing better are left out
_UNKNOWN = math.log(1.15)  # by so much a configuration may be slower where it has not been measured
_STEPS_BETWEEN_PROBES = 4


@dataclass(frozen=True)
class PrunedSpace:
    """A part of a space, and what is expected of it.

    Attributes:
        candidates: the configurations to begin with: first the most promising one, then one after the other what is
            good where those before are not.
        left_out: by nominal parameter, the values that are not searched, with the reason.
        fixed: numeric parameters that are not searched either, by name; a search keeps the values that it starts with.
        portion: how much of the part is expected to perform well.
        steps: how many configurations there are measured at most (n_conf).
        gain: how many times as long as the best of the part the first choice is expected to take; None where that is
            not known.
        sources: where this comes from, for people.
    """

    candidates: tuple[Configuration, ...]
    left_out: Mapping[str, Mapping[Value, str]]
    fixed: tuple[str, ...]
    portion: float
    steps: int
    gain: float | None
    sources: str

    def contains(self, configuration: Mapping[str, Value]) -> bool:
        """Return whether a configuration of the space is in this part of it, whatever its fixed parameters are."""
        return not any(configuration.get(name) in values for name, values in self.left_out.items())

    def to_json(self) -> dict[str, Any]:
        """The part as JSON keeps it; `from_json` reads it back."""
        return {
            "candidates": [dict(each) for each in self.candidates],
            "left_out": [[name, value, why] for name, values in self.left_out.items() for value, why in values.items()],
            "fixed": list(self.fixed),
            "portion": self.portion,
            "steps": self.steps,
            "gain": self.gain,
            "sources": self.sources,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> PrunedSpace:
        """The part that `to_json` wrote.

        Raises:
            LookupError, TypeError, ValueError: it is not one.
        """
        left_out: dict[str, dict[Value, str]] = {}
        for name, value, why in document["left_out"]:
            left_out.setdefault(name, {})[value] = why
        return cls(
            tuple(map(Configuration, document["candidates"])),
            left_out,
            tuple(document["fixed"]),
            float(document["portion"]),
            int(document["steps"]),
            None if document["gain"] is None else float(document["gain"]),
            str(document["sources"]),
        )


def pruned_space(
    space: Space, sources: Sequence[TransferSource], refused: Mapping[str, Mapping[Value, str]] | None = None
) -> PrunedSpace | None:
    """Choose where to begin.

    Of what performs well elsewhere, the candidates are chosen one by one, each the one that gains the most on what
    those before reach, over all sources by their weights: a portfolio, so that something good is among the first ones
    whichever source this case is most like.  A value of a nominal parameter with which nothing came near the best in
    any source is left out.  The numeric parameters of which the times say the least are pruned by the conservative
    method, for each combination of nominal values that has been measured often enough, and where all of these agree.

    Args:
        space: every choice, with the first choice as its default.
        sources: what was measured elsewhere.
        refused: values that are never chosen.

    Returns:
        None where too little is known to leave anything out.
    """
    allowed = [_without_refused(source, refused or {}) for source in sources]
    usable = [source for source in allowed if len(source.seconds) >= _FEWEST and source.best_seconds > 0]
    if not usable:
        return None
    slowdowns = _slowdowns(usable)
    left_out = _left_out(space, usable)
    inside = [each for each in slowdowns if not any(each.get(name) in values for name, values in left_out.items())]
    candidates = _portfolio(inside, slowdowns, [source.weight for source in usable])
    share = _portion(usable)
    return PrunedSpace(
        candidates=candidates,
        left_out=left_out,
        fixed=_fixed(space, inside, slowdowns, [source.weight for source in usable]),
        portion=share,
        steps=min(max(steps_to_find(share, PROBABILITY), _FEWEST_STEPS), _MOST_STEPS),
        gain=_gain(space.default(), usable),
        sources=_text(usable),
    )


def _without_refused(source: TransferSource, refused: Mapping[str, Mapping[Value, str]]) -> TransferSource:
    seconds = {
        each: time
        for each, time in source.seconds.items()
        if not any(each.get(name) in values for name, values in refused.items())
    }
    return TransferSource(source.shape, source.machine, seconds, source.weight, source.distance) if seconds else source


def _slowdowns(sources: Sequence[TransferSource]) -> dict[Configuration, np.ndarray]:
    """The logarithm of the slowdown of each configuration in each source; where it was not measured, a little more than
    in those in which it was."""
    found: dict[Configuration, np.ndarray] = {}
    for configuration in dict.fromkeys(each for source in sources for each in source.seconds):
        known = [source.slowdown(configuration) for source in sources]
        logarithms = [math.log(slowdown) for slowdown in known if slowdown is not None]
        missing = fmean(logarithms) + _UNKNOWN
        found[configuration] = np.array([missing if slowdown is None else math.log(slowdown) for slowdown in known])
    return found


def _portfolio(
    inside: Sequence[Configuration], slowdowns: Mapping[Configuration, np.ndarray], weights: Sequence[float]
) -> tuple[Configuration, ...]:
    """The candidates: each adds the most to those before it; where nothing does, the best on average follow."""
    reached = np.full(len(weights), np.inf)
    left, chosen = list(inside), list[Configuration]()
    shares = np.array(weights)
    while left and len(chosen) < _MOST_CANDIDATES:

        def rank(each: Configuration, reached: np.ndarray = reached) -> tuple[float, float]:
            return (
                round(float(shares @ np.minimum(reached, slowdowns[each])), 12),
                float(shares @ slowdowns[each]),
            )

        best = min(left, key=rank)
        chosen.append(best)
        left.remove(best)
        reached = np.minimum(reached, slowdowns[best])
    return tuple(chosen)


def _left_out(space: Space, sources: Sequence[TransferSource]) -> dict[str, dict[Value, str]]:
    """The values of nominal parameters with which nothing performs nearly well in any source, and those that no source
    has measured; those of the first choice stay."""
    found: dict[str, dict[Value, str]] = {}
    default = space.default()
    for parameter in space.parameters:
        if not isinstance(parameter, Nominal) or len(parameter.values) < 2:
            continue
        least: dict[Value, float] = {}
        for source in sources:
            best = source.best_seconds
            for configuration, seconds in source.seconds.items():
                value = configuration.get(parameter.name)
                if value is not None:
                    least[value] = min(least.get(value, math.inf), seconds / best)
        if not least:
            continue
        out = {}
        for value in parameter.values:
            if value == default.get(parameter.name) or least.get(value, math.inf) <= 1 / _NEARLY_WELL:
                continue
            slower = "it has not been measured" if value not in least else f"at best {least[value]:.2f} x the best"
            out[value] = f"{slower} elsewhere"
        if out:
            found[parameter.name] = out
    return found


def _fixed(
    space: Space,
    inside: Sequence[Configuration],
    slowdowns: Mapping[Configuration, np.ndarray],
    weights: Sequence[float],
) -> tuple[str, ...]:
    """The numeric parameters that the conservative method prunes under each combination of nominal values that was
    measured often enough."""
    structural = [parameter.name for parameter in space.structural]
    shares = np.array(weights)
    alike: dict[tuple[Value | None, ...], list[Configuration]] = {}
    for each in inside:
        alike.setdefault(tuple(each.get(name) for name in structural), []).append(each)
    votes: dict[str, list[bool]] = {}
    for group in alike.values():
        numeric = [parameter.name for parameter in space.active_numeric(group[0]) if parameter.name in group[0]]
        if len(group) < _FEWEST or not numeric:
            continue
        # The table has an order of its own, so that times are found by what they are of.
        by_values = {
            tuple(each[name] for name in numeric): math.exp(float(shares @ slowdowns[each]) / float(shares.sum()))
            for each in group
        }
        rows = [dict(zip(numeric, values, strict=True)) for values in by_values]
        table = FiniteSpace.from_configurations(numeric, rows)
        seconds = [by_values[tuple(table.configuration(row)[name] for name in numeric)] for row in range(len(table))]
        pruned = prune(table, np.array(seconds), is_sample=True).fixed
        for name in numeric:
            votes.setdefault(name, []).append(name in pruned)
    return tuple(name for name, voted in votes.items() if all(voted))


def _portion(sources: Sequence[TransferSource]) -> float:
    """The share of what performs well in one source that does so in another; with one source alone, of all in it.

    A search measures more near the best than elsewhere, so that what is counted in one source is too large a portion of
    the space: it is taken for the pruned part, of which it is a sample.
    """
    good = [{c for c in source.seconds if (source.slowdown(c) or math.inf) * THRESHOLD <= 1} for source in sources]
    own = [len(each) / len(source.seconds) for each, source in zip(good, sources, strict=True)]
    shared = []
    for first, well in zip(sources, good, strict=True):
        for second, other in zip(sources, good, strict=True):
            both = well & second.seconds.keys()
            if first is not second and both:
                shared.append(len(both & other) / len(both))
    found = fmean(shared) if shared else min(own)
    return min(max(found, _LEAST_PORTION), 1.0)


def _gain(default: Configuration, sources: Sequence[TransferSource]) -> float | None:
    found = [slowdown for source in sources if (slowdown := source.slowdown(default)) is not None]
    return median(found) if found else None


def _text(sources: Sequence[TransferSource]) -> str:
    """The origin of conclusions, for people."""
    measured = sum(len(source.seconds) for source in sources)
    nearest = min(sources, key=lambda source: (bool(source.machine), source.distance))
    others = len(sources) - 1
    more = f" and {others} other{'s' if others > 1 else ''}" if others else ""
    return f"{measured} measurements for {nearest}{more}"
