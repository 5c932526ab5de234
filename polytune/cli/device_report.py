"""A list of the devices that there are, as JSON, for ``polytune doctor``.

It is a program of its own, ``python -m polytune.cli.device_report``: some drivers end the process that asks them.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

from polytune.errors import DeviceError, DeviceWarning
from polytune.runtime.devices.discovery import Probe, device, devices, probe


def report() -> list[dict[str, Any]]:
    """One entry for each device, and for each kind that has none.

    The keys are those of ``Probe``, ``used`` (whether it is among the devices that this environment chooses), and
    ``limits`` (see ``polytune.runtime.devices.device.DeviceLimits``; None if it cannot be opened).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)  # the report says the same of each device
        used = {found.identity for found in devices()}
    return [_entry(found, used) for found in probe()]


def _entry(found: Probe, used: set[str]) -> dict[str, Any]:
    entry = {**found._asdict(), "used": found.identity in used, "limits": None}
    if found.identity and not found.reason_if_unusable:
        try:
            entry["limits"] = vars(device(found.identity).limits)
        except DeviceError as error:
            entry["reason_if_unusable"] = str(error)
    return entry


if __name__ == "__main__":
    print(json.dumps(report()))
