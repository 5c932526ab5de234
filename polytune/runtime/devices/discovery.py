"""The devices that this process can use.

``POLYTUNE_DEVICES`` names them: ``none``, or a list, separated by commas, of kinds (``cuda``, ``opencl``) and
identities (``cuda:0``, ``opencl:1``).  Without it they are all GPUs, each by one kind: a GPU that CUDA reaches is not
used through OpenCL as well.  Processors that offer themselves as OpenCL devices are used only where they are named.
"""

from __future__ import annotations

import threading
from dataclasses import field
from typing import NamedTuple

from polytune.environment import DEVICES
from polytune.errors import DeviceError, DeviceUnavailableError
from polytune.records import dataclass
from polytune.runtime.devices import backends
from polytune.runtime.devices.backends import Found
from polytune.runtime.devices.device import Device, warn_of_device

__all__ = ["Probe", "device", "devices", "probe"]


class Probe(NamedTuple):
    """The knowledge of a device or a kind of devices.

    Attributes:
        kind: that of the backend, such as ``cuda``.
        identity: the device's; None where a whole kind cannot be used.
        description: the device's own name, or the kind's.
        reason_if_unusable: why it cannot be used; empty if it can.
        remedy: what to do about that; empty where nothing is to be done.
    """

    kind: str
    identity: str | None
    description: str
    reason_if_unusable: str
    remedy: str


@dataclass
class _Open:
    """The devices opened in this process, and those that could not be."""

    devices: dict[str, Device] = field(default_factory=dict)
    failed: dict[str, DeviceError] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)


_opened = _Open()


def devices() -> tuple[Device, ...]:
    """The devices to use, opened when first asked for; those that were lost since are left out."""
    found = []
    for candidate in _chosen(DEVICES.text):
        try:
            opened = _open(candidate)
        except DeviceError as error:
            _warn(f"{candidate.identity} is not used: {error}")
            continue
        if not opened.lost:
            found.append(opened)
    return tuple(found)


def device(identity: str) -> Device:
    """One device, whether or not ``POLYTUNE_DEVICES`` names it.

    Raises:
        DeviceUnavailableError: there is no such device, or it cannot be opened, or it was lost.
    """
    kind = identity.partition(":")[0]
    listing = backends.listed(kind)
    for candidate in listing.found:
        if candidate.identity == identity and not candidate.reason:
            opened = _open(candidate)
            if opened.lost:
                raise DeviceUnavailableError(f"{identity} ({opened.description}) has stopped answering")
            return opened
        if candidate.identity == identity:
            raise DeviceUnavailableError(f"{identity} cannot be used: {candidate.reason}; {candidate.remedy}")
    raise DeviceUnavailableError(f"there is no device {identity!r}: {_missing(kind)}")


def probe() -> list[Probe]:
    """Every device that can be found, used or not, and every kind that cannot be looked for."""
    probes = []
    for kind in backends.KINDS:
        listing = backends.listed(kind)
        if not listing.found:
            probes.append(Probe(kind, None, listing.description, listing.reason, listing.remedy))
        for found in listing.found:
            probes.append(Probe(kind, found.identity, found.description, found.reason, found.remedy))
    return probes


def _open(candidate: Found) -> Device:
    with _opened.lock:
        if candidate.identity in _opened.failed:
            raise _opened.failed[candidate.identity]
        if candidate.identity not in _opened.devices:
            try:
                _opened.devices[candidate.identity] = candidate.open()
            except DeviceError as error:
                _opened.failed[candidate.identity] = error
                raise
        return _opened.devices[candidate.identity]


def _chosen(wanted: str) -> list[Found]:
    """The devices that are to be used, by the text of ``POLYTUNE_DEVICES``."""
    if not wanted.strip():
        return _gpus()
    chosen: dict[str, Found] = {}
    for name in (part.strip() for part in wanted.split(",")):
        if name in ("none", ""):
            continue
        kind = name.partition(":")[0]
        if kind not in backends.KINDS:
            examples = ", ".join((*backends.KINDS, *(f"{kind}:{number}" for number, kind in enumerate(backends.KINDS))))
            _warn(f"POLYTUNE_DEVICES={wanted!r} names {name!r}; say none, {examples} and so on")
            continue
        matching = [found for found in backends.listed(kind).found if name in (kind, found.identity)]
        usable = [found for found in matching if not found.reason]
        if not usable:
            reason = f"{matching[0].reason}; {matching[0].remedy}" if matching else _missing(kind)
            _warn(f"POLYTUNE_DEVICES={wanted!r} names {name!r}, which cannot be used: {reason}")
        chosen.update((found.identity, found) for found in usable)
    return list(chosen.values())


def _gpus() -> list[Found]:
    """All GPUs that can be used, each by the first language that reaches its model."""
    gpus: list[Found] = []
    for kind in backends.KINDS:
        reached = {found.model for found in gpus}
        usable = [found for found in backends.listed(kind).found if found.is_gpu and not found.reason]
        gpus += [found for found in usable if found.model not in reached]
    return gpus


def _missing(kind: str) -> str:
    """Return why a device of a kind that is asked for by its identity is not there: others are, or none."""
    listing = backends.listed(kind)
    known = ", ".join(candidate.identity for candidate in listing.found)
    return f"there are {known}" if known else listing.obstacle


def _warn(text: str) -> None:
    """Warn once for a text."""
    if text not in _opened.warned:
        _opened.warned.add(text)
        warn_of_device(text)
