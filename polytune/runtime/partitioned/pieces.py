"""The division of a region among platforms by a configuration, and what each piece reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from polytune.records import dataclass
from polytune.runtime.devices.device import Box
from polytune.runtime.partitioned.description import Part, Transfer

__all__ = [
    "ALIKE",
    "APART",
    "CPU",
    "OWN",
    "SHARED",
    "Boxes",
    "Limits",
    "Piece",
    "Transfers",
    "integers",
    "pieces",
    "platforms",
]

CPU = "cpu"
"""The platform that is the processor."""

ALIKE, APART = "alike", "apart"
"""The two ways to divide regions: all of them in the same way, or each in one of these:"""

SHARED, OWN = "shared", "own"
"""Among the partitions, at the ratios of all regions or at its own; or all of it is the processor's (`CPU`)."""

Limits = tuple[tuple[int, int], ...]
"""The range of a part, for each shared member of a band."""

Boxes = Mapping[str, list[Box]]
"""The boxes of each array."""

_KEPT_TRANSFERS = 4096


@dataclass(frozen=True)
class Piece:
    """A part of a region for one platform.

    Attributes:
        partition: the number of the partition.
        platform: where it runs.
        limits: which part.
        reductions: the arrays, with their operators, that it updates in copies of its own.
    """

    partition: int
    platform: str
    limits: Limits
    reductions: tuple[tuple[str, str], ...] = ()


def platforms(configuration: Mapping[str, Any]) -> dict[int, str]:
    """The platform of each partition of a configuration."""
    return {number: configuration[f"platform_{number}"] for number in range(2 ** configuration["split"])}


def pieces(part: Part, ranges: Limits, configuration: Mapping[str, Any], region: int = 0) -> list[Piece]:
    """The parts of a region, those without any points left out.

    The partition whose number has the binary digits b0 b1 ... is on side b_d of the split of member d, the lower one if
    b_d is 0.  A region with fewer members to split than the configuration splits takes the partitions whose further
    digits are 0; one that no device can run is the processor's, and so is one of which the configuration says that.

    Args:
        part: the region.
        ranges: (start, stop) of every member of its band.
        configuration: a member of the space, of the version that is shared.
        region: the region's number.
    """
    chosen, split = platforms(configuration), configuration["split"]
    how = configuration.get(f"region_{region}", SHARED)
    is_shared = part.device is not None and how != CPU
    depth = min(split, part.splits) if is_shared else 0
    shared = ranges[: part.shared]
    cuts = []
    for member in range(depth):
        start, stop = shared[member]
        ratio = configuration[f"ratio_{member}_{region}" if how == OWN else f"ratio_{member}"]
        middle = start + round(ratio * (stop - start))
        cuts.append(((start, middle), (middle, stop)))
    found = []
    for sides in product((0, 1), repeat=depth):
        limits = tuple(cuts[member][side] for member, side in enumerate(sides)) + shared[depth:]
        if all(start < stop for start, stop in limits):
            partition = sum(side << (split - 1 - member) for member, side in enumerate(sides))
            platform = chosen[partition] if is_shared else CPU
            reductions = tuple(
                reduction
                for member, side in enumerate(sides)
                if side and part.reductions
                for reduction in part.reductions[member]
            )
            found.append(Piece(partition, platform, limits, reductions))
    return found


def integers(around: tuple[int, ...], limits: Limits) -> tuple[int, ...]:
    """The integers that say which part of a region is meant: the loops around it, and its limits."""
    return (*around, *(limit for pair in limits for limit in pair))


class Transfers:
    """The data that pieces read and write, kept from call to call: an application calls with few sizes."""

    def __init__(self, parts: tuple[Part, ...]):
        self._parts = parts
        self._found: dict[tuple[int, tuple[int, ...]], tuple[Boxes, Boxes]] = {}

    def of(self, number: int, arguments: tuple[int, ...]) -> tuple[Boxes, Boxes]:
        """Return what a piece reads and what it writes.

        Args:
            number: the region's.
            arguments: the kernel's parameters, and the integers that say which part of the region is meant.
        """
        found = self._found.get((number, arguments))
        if found is None:
            part = self._parts[number]
            found = _by_array(part.reads(*arguments)), _by_array(part.writes(*arguments))
            if len(self._found) >= _KEPT_TRANSFERS:
                self._found = {}
            self._found[number, arguments] = found
        return found


def _by_array(transfers: list[Transfer]) -> Boxes:
    found: dict[str, list[Box]] = {}
    for array, box in transfers:
        found.setdefault(array, []).append(box)
    return found
