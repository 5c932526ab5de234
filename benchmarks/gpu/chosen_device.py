"""The device that a program is to use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks import program

if TYPE_CHECKING:
    from polytune.runtime.devices.device import Device


def chosen_device(identity: str) -> Device:
    """The device that is asked for, the only one that kernels are offered.

    Raises:
        SystemExit: there is none.
    """
    if identity:
        os.environ["POLYTUNE_DEVICES"] = identity
    from polytune.runtime.devices.discovery import devices, probe

    found = devices()
    if not found:
        known = [entry.identity for entry in probe() if entry.identity and not entry.reason_if_unusable]
        there_are = f"--device takes {', '.join(known)}" if known else "polytune doctor says what is missing"
        what = f"device {identity}" if identity else "GPU"
        program.fail(f"there is no {what}; {there_are}.", 2)
    os.environ["POLYTUNE_DEVICES"] = found[0].identity
    return found[0]
