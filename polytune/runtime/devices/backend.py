"""The interface of a backend for devices: a language, and what it lists when devices are looked for; nothing is opened
here."""

from __future__ import annotations

from collections.abc import Callable

from polytune.records import dataclass
from polytune.runtime.devices.device import Device

__all__ = ["Backend", "Found", "Listing"]


@dataclass(frozen=True)
class Found:
    """A device that a driver lists.

    Attributes:
        identity: such as ``opencl:0``; the number is that of the driver's own order, over all platforms.
        description: the device's own name, and how it is reached.
        model: the device's own name.
        is_gpu: whether it is a GPU, and not a processor.
        open: makes the ``Device``, or raises a ``DeviceError``.
        reason: why it must not be used; empty if it can be.
        remedy: what to do about that.
    """

    identity: str
    description: str
    model: str
    is_gpu: bool
    open: Callable[[], Device]
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Listing:
    """All devices of a kind, or why there are none.

    Attributes:
        description: the kind in words.
        found: the devices.
        reason: why none can be found, where that is so.
        remedy: what to do about that.
    """

    description: str
    found: tuple[Found, ...] = ()
    reason: str = ""
    remedy: str = ""

    @property
    def obstacle(self) -> str:
        """Return why no device of the kind can be used, and what to do about it; empty if one can be."""
        if not self.found:
            return f"{self.reason or 'there is none'}{'; ' if self.remedy else ''}{self.remedy}"
        if any(not found.reason for found in self.found):
            return ""
        return " | ".join(f"{found.identity} ({found.model}): {found.reason}; {found.remedy}" for found in self.found)


@dataclass(frozen=True)
class Backend:
    """A way to reach devices, which one file of `polytune.runtime.devices.backends` declares.

    Attributes:
        kind: its name, in identities such as ``cuda:0`` and in ``POLYTUNE_DEVICES``, and that of its dialect.
        package: the Python package that it goes through.
        precedence: of the backends that reach a GPU the one with the lowest number is used.
        prelude: what is put before the text of a kernel; ``polytune.runtime.devices.dialects`` says what it defines.
        look: lists its devices, or says why there are none; it raises nothing.
    """

    kind: str
    package: str
    precedence: int
    prelude: str
    look: Callable[[], Listing]
