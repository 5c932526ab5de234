"""The time that the platforms of a call worked on its partitions, and what was moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from polytune.records import dataclass
from polytune.runtime.devices.device import Event
from polytune.runtime.partitioned.call import Share
from polytune.runtime.partitioned.holdings import Holdings
from polytune.runtime.partitioned.pieces import CPU

__all__ = ["DeviceClock", "shares_of"]

_TIMED = 64
"""The number of spans of a device's work that are timed in a call with many regions; the others are taken to be like
these."""


@dataclass
class DeviceClock:
    """Spans of work on a device's stream, each for a partition, read when all is done.

    Attributes:
        holdings: the device's arrays, on whose stream the work is.
        first: the partition that stands for transfers.
    """

    holdings: Holdings
    first: int | None = None
    _spans: list[tuple[int, bool, Event, Event]] = field(default_factory=list)
    _left_out: int = 0

    def start(self, partition: int) -> Event | None:
        """The beginning of work for a partition; None where it is not timed."""
        if self.first is None:
            self.first = partition
        if len(self._spans) >= _TIMED:
            return None
        return self.holdings.device.record(self.holdings.stream)

    def stop(self, partition: int, since: Event | None, *, moved: bool) -> Event | None:
        """Mark the end of transfers or of a kernel.  Return this moment, with which what comes next begins; None where
        it is not timed.

        Args:
            partition: the number of the partition that it was for.
            since: when it began, as `start` or this method told it; None where it is not timed.
            moved: whether it was transfers.
        """
        if since is None:
            self._left_out += 1
            return None
        now = self.holdings.device.record(self.holdings.stream)
        self._spans.append((partition, moved, since, now))
        return now

    def read(self) -> dict[int, tuple[float, float]]:
        """The seconds of each partition in all, and those of its kernels.

        Raises:
            DeviceError: the device does not tell.
        """
        device = self.holdings.device
        found: dict[int, tuple[float, float]] = {}
        scale = 1 + self._left_out / max(1, len(self._spans))
        for partition, moved, first, last in self._spans:
            seconds = device.seconds(first, last) * scale
            total, kernels = found.get(partition, (0.0, 0.0))
            found[partition] = total + seconds, kernels + (0.0 if moved else seconds)
        return found


def shares_of(processor: Mapping[int, float], clocks: Mapping[str, DeviceClock]) -> tuple[Share, ...]:
    """The shares of all partitions, by number.

    Args:
        processor: the seconds of the partitions that the processor worked on.
        clocks: by identity, the clocks of the devices.

    Raises:
        DeviceError: a device does not tell.
    """
    shares = [Share(partition, CPU, seconds, seconds) for partition, seconds in processor.items()]
    for identity, clock in clocks.items():
        for partition, (seconds, kernels) in clock.read().items():
            moved = (clock.holdings.uploaded, clock.holdings.downloaded) if partition == clock.first else (0, 0)
            shares.append(Share(partition, identity, seconds, kernels, *moved))
    return tuple(sorted(shares, key=lambda share: share.partition))
