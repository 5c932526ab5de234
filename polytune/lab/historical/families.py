"""Recordings of one kernel on several devices, or of several inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polytune.errors import SearchError
from polytune.lab.recording import RecordedSpace
from polytune.records import dataclass

__all__ = ["Family", "families"]


@dataclass(frozen=True)
class Family:
    """The recordings of a kernel.

    Attributes:
        kernel: what it is called.
        members: by what they differ in, the device or the input, the recordings.
    """

    kernel: str
    members: Mapping[str, RecordedSpace]


def families(recordings: Sequence[RecordedSpace]) -> list[Family]:
    """Sort recordings by kernel: those with the same parameters are of one.

    A kernel is called by what the names of its recordings begin with, and each recording by its device, or else by the
    rest of its name, as ``gemm`` and ``RTX_3090`` of a file ``gemm__RTX_3090.csv``.

    Raises:
        SearchError: two recordings of a kernel have the same name and device.
    """
    alike: dict[frozenset[str], list[RecordedSpace]] = {}
    for recorded in recordings:
        alike.setdefault(frozenset(recorded.space.names), []).append(recorded)
    return [_family(members) for members in alike.values()]


def _family(members: Sequence[RecordedSpace]) -> Family:
    if len(members) == 1:
        kernel, _, rest = members[0].name.partition("__")
        return Family(kernel, {members[0].device or rest or kernel: members[0]})
    names = [member.name for member in members]
    common = sum(all(text.startswith(names[0][: end + 1]) for text in names) for end in range(len(names[0])))
    kernel = names[0][:common].partition("__")[0].rstrip("_-. ") or _most_frequent(names)
    devices = [member.device for member in members]
    if all(devices) and len(set(devices)) == len(devices):
        labels = devices
    else:
        labels = [name.removeprefix(kernel).lstrip("_-. ") or name for name in names]
    if len(set(labels)) < len(labels):
        raise SearchError(f"several recordings are called {max(labels, key=labels.count)!r}: give each one once")
    return Family(kernel, dict(zip(labels, members, strict=True)))


def _most_frequent(names: Sequence[str]) -> str:
    """The kernel that most of some names begin with."""
    kernels = [name.partition("__")[0] for name in names]
    return max(kernels, key=kernels.count)
