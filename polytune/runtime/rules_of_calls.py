"""What the rules reject for the calls of one size, evaluated once and then known to the tuner."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from polytune.history.store import Store
from polytune.runtime.devices.discovery import devices
from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.rules import Refused, Thresholds, counts_of, outer_refusals, refusals
from polytune.runtime.rules_calibration import thresholds_of
from polytune.tuner import Nominal, Space

__all__ = ["refused_values"]


def refused_values(
    module: ModuleType,
    space: Space,
    parameters: Sequence[int],
    store: Store,
    *,
    resident: bool = False,
    thresholds: Thresholds | None = None,
) -> Refused:
    """By parameter, the values that do not pay for a call, with the reasons.

    Args:
        module: the generated module, which knows the counts.
        space: every choice for the call.
        parameters: the values of the module's parameters.
        store: keeps the thresholds of this machine.
        resident: whether arrays are on devices already.
        thresholds: in place of those of this machine.
    """
    version = space["version"]
    nested = [each.name for each in module.VERSIONS if each.outer and version.accepts(each.name)]
    used = {
        value
        for parameter in space.parameters
        if isinstance(parameter, Nominal) and parameter.name.startswith("platform_")
        for value in parameter.values
    }
    found = [device for device in devices() if device.identity in used - {CPU}]
    if not found and not nested:
        return {}
    counts = counts_of(module, parameters)
    refused = outer_refusals(nested, counts)
    if found:
        limits = {device.identity: thresholds or thresholds_of(device, store) for device in found}
        for parameter, values in refusals(space, counts, limits, resident=resident).items():
            refused[parameter] = {**refused.get(parameter, {}), **values}
    return refused
