"""Warnings of devices, which point to the program and not into polytune."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from polytune.errors import DeviceWarning

__all__ = ["warn_of_device"]


def warn_of_device(text: str) -> None:
    """Warn, at the line of the program that has called polytune; in a thread of polytune's own, at its last line."""
    frame: FrameType | None = sys._getframe()
    level = 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "polytune":
        frame, level = frame.f_back, level + 1
    warnings.warn(DeviceWarning(text), stacklevel=level + 1 if frame is not None else level)
