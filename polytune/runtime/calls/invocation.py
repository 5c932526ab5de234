"""A call that has been checked, and what one run of it gave."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from polytune.runtime.partitioned.call import Share
from polytune.runtime.partitioned.residency import Residence

__all__ = ["Invocation", "Outcome"]


class Invocation(NamedTuple):
    """A call whose arguments have been checked.

    Attributes:
        values: the arguments in order.
        parameters: the integers computed from them.
        residences: by name, the arrays that are kept on a device, or are at home there.
        beside: by name of an array, the residences of others with which it may share memory.
    """

    values: tuple[Any, ...]
    parameters: tuple[int, ...]
    residences: Mapping[str, Residence] = MappingProxyType({})
    beside: Mapping[str, list[Residence]] = MappingProxyType({})

    @property
    def has_residents(self) -> bool:
        """Return whether an array is kept on a device that is not at home there."""
        return bool(self.residences) and not all(residence.at_home for residence in self.residences.values())

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """The arrays that are on devices, and on which."""
        if not self.residences:
            return ()
        return tuple((name, residence.device.identity) for name, residence in self.residences.items())


class Outcome(NamedTuple):
    """The result of one run.

    Attributes:
        result: the kernel's result.
        seconds: how long it ran.
        compile_seconds: how long compiling took before it.
        failure: why the configuration could not be run as it is, so that another one gave the result; None where it
            could.
        shares: of a run shared among platforms, what was done of each partition.
    """

    result: Any
    seconds: float
    compile_seconds: float
    failure: str | None = None
    shares: tuple[Share, ...] = ()
