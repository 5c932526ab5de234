"""The counters of one call of a kernel: what its source does, what its version does, and what the processor counts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from polytune.runtime.calls.calls import CallableKernel
from polytune.runtime.calls.invocation import Outcome
from polytune.runtime.calls.prepared_run import PreparedRun
from polytune.runtime.tuning.counters import work_counters
from polytune.runtime.tuning.hardware_counters import HardwareCounters
from polytune.runtime.tuning.tunable import Case
from polytune.signature import Signature

if TYPE_CHECKING:
    from polytune.pipeline import Stages

__all__ = ["SourceCounts", "hardware", "read_counters"]


class SourceCounts:
    """The exact counts of what a kernel's source does, by Barvinok's algorithm; the same in all its versions.

    Args:
        stages: of the compiler, for the types of the arguments.
        parameters: the sizes of the call.
    """

    def __init__(self, stages: Stages, parameters: tuple[int, ...]):
        from polytune.schedule.counting.traffic import least_bytes, operations_by_kind

        scop, counts = stages.scop, stages.counts
        values = {parameter.name: value for parameter, value in zip(scop.parameters, parameters, strict=True)}
        kinds = operations_by_kind(scop, values)
        moved = least_bytes(scop, counts, values)
        instances = None if counts.compute is None else int(counts.compute.evaluate(**values))
        self.counters: dict[str, float] = {f"source__{kind}.sum": float(count) for kind, count in (kinds or {}).items()}
        """The counters by name; those that depend on data, or that isl does not find out, are left out."""
        if instances is not None:
            self.counters["source__instances.sum"] = float(instances)
        if moved is not None:
            self.counters["source__least_traffic.bytes"] = float(moved)


_SOURCE_COUNTS: WeakKeyDictionary[CallableKernel, dict[Case, SourceCounts]] = WeakKeyDictionary()


def read_counters(
    kernel: CallableKernel, prepared: PreparedRun, stages: Callable[[Signature], Stages]
) -> dict[str, float]:
    """Make a run, and return what is counted of it, as ``Kernel.profile`` says.

    Args:
        kernel: what runs.
        prepared: the run.
        stages: the compiler's stages for types of arguments.
    """
    prepared.compile()
    counts = _SOURCE_COUNTS.setdefault(kernel, {})
    if prepared.case not in counts:
        counts[prepared.case] = SourceCounts(stages(prepared.case.signature), prepared.case.parameters)
    outcomes: list[Outcome] = []
    counted = hardware().around(lambda: outcomes.append(prepared.run()))
    (outcome,) = outcomes
    return {
        **work_counters(prepared.prediction, prepared.configuration),
        "transfers__to_devices.bytes": float(sum(share.uploaded for share in outcome.shares)),
        "transfers__from_devices.bytes": float(sum(share.downloaded for share in outcome.shares)),
        **counts[prepared.case].counters,
        **counted,
    }


@functools.cache
def hardware() -> HardwareCounters:
    """The counters of the processor that this process may read."""
    return HardwareCounters()
