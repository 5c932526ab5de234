"""The choices for the kernels of a partition, there where it runs on a device: the one table of it."""

from __future__ import annotations

from collections.abc import Set
from enum import Enum, auto

from polytune.records import dataclass
from polytune.tuner import Integer, Nominal
from polytune.tuner.spaces.condition import Condition

__all__ = ["BLOCK", "CHOICES", "DEPTH", "HEIGHT", "POINTS_X", "POINTS_Y", "DeviceChoice", "Trait", "traits_of"]


class Trait(Enum):
    """A trait that some kernel of a version has, so that there is something to choose."""

    TILED = auto()
    """Threads along more than one axis."""
    SHARES = auto()
    """Tiles of what it reads, which it can keep in shared memory."""
    SEQUENTIAL = auto()
    """Tiles along a sequential member."""


def traits_of(*, tiled: bool, shares: bool, sequential: bool) -> frozenset[Trait]:
    """The traits of a version, of each of which it is said whether some kernel has it.

    Args:
        tiled: whether one has threads along more than one axis.
        shares: whether one can keep tiles of what it reads in shared memory.
        sequential: whether one has tiles along a sequential member.
    """
    has = {Trait.TILED: tiled, Trait.SHARES: shares, Trait.SEQUENTIAL: sequential}
    return frozenset(trait for trait, is_there in has.items() if is_there)


@dataclass(frozen=True)
class DeviceChoice:
    """A parameter of a partition on a device.

    Attributes:
        name: the parameter's, without the number of the partition.
        values: what it may be, as the tuner tries them: numbers, or flags with the default first.
        default: where the search begins, unless the device has no room for it.
        needs: what kernels must have for the choice to exist; None where all have it.
        within: the choice that must be true for this one to matter; None for others.
    """

    name: str
    values: range | tuple[int, ...] | tuple[bool, ...]
    default: int | bool
    needs: Trait | None = None
    within: str | None = None

    @property
    def is_flag(self) -> bool:
        """Return whether it is true or false."""
        return isinstance(self.values[0], bool)

    def exists(self, traits: Set[Trait]) -> bool:
        """Return whether kernels with these traits have it."""
        return self.needs is None or self.needs in traits

    def parameter(self, number: int, default: int | bool, when: Condition) -> Nominal | Integer:
        """The parameter of a partition.

        Args:
            number: the partition's.
            default: where the search begins.
            when: when it is chosen.
        """
        name, values = f"{self.name}_{number}", self.values
        if self.is_flag:
            return Nominal(name, tuple(values), default=default, when=when)
        if isinstance(values, range):
            return Integer(name, values[0], values[-1], step=values.step, default=default, when=when)
        return Integer(name, values[0], values[-1], powers_of_two=True, default=default, when=when)

    def __str__(self) -> str:
        values = self.values
        if isinstance(values, range):
            text = f"from {values[0]} to {values[-1]} by {values.step}"
        else:
            text = ("one of " if self.is_flag else "") + ", ".join(map(str, values))
        return f"{self.name}: {text}" + (f", when {self.within} is True" if self.within else "")


BLOCK = DeviceChoice("block", range(32, 257, 32), 256)
HEIGHT = DeviceChoice("height", (1, 2, 4, 8, 16, 32), 8, Trait.TILED)
POINTS_X = DeviceChoice("points_x", (1, 2, 4, 8), 1)
POINTS_Y = DeviceChoice("points_y", (1, 2, 4, 8), 1, Trait.TILED)
DEPTH = DeviceChoice("depth", (4, 8, 16, 32, 64), 16, Trait.SEQUENTIAL)

CHOICES = (
    BLOCK,
    HEIGHT,
    DeviceChoice("shared", (True, False), True, Trait.SHARES),
    DeviceChoice("unroll_copy", (False, True), False, Trait.SHARES, within="shared"),
    DeviceChoice("unroll_tile", (False, True), False),
    POINTS_X,
    POINTS_Y,
    DEPTH,
)
"""All of them, in the order of the space."""
