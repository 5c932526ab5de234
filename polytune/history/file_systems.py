"""The kind of file system that a folder lies on: several machines have those of networks in common."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["is_on_network"]

_NETWORK = (
    *("9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "fhgfs", "glusterfs", "gpfs", "lustre", "mmfs", "ncpfs"),
    *("nfs", "nfs4", "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "wekafs"),
)
"""Linux's names of file systems of which the files are on another machine, or are another machine's, too."""

_NETWORK_IN_USER_SPACE = ("ceph", "cvmfs", "gcsfuse", "gluster", "juicefs", "moose", "rclone", "s3fs", "sshfs")
"""Beginnings of what follows ``fuse.`` in the names of such."""

_MOUNTS = Path("/proc/self/mountinfo")


def is_on_network(folder: Path) -> bool:
    """Return whether a folder is on a file system of a network, as far as the operating system tells.

    Only Linux does: elsewhere the answer is no.
    """
    kind = file_system(folder)
    if kind.startswith("fuse."):
        return kind.removeprefix("fuse.").startswith(_NETWORK_IN_USER_SPACE)
    return kind in _NETWORK


def file_system(folder: Path) -> str:
    """The name of the kind of file system of a folder, as ``"ext4"``; empty where that is not known."""
    try:
        text = _MOUNTS.read_text(encoding="utf-8", errors="replace")
        device = os.stat(folder).st_dev
    except OSError:
        return ""
    return kind_in_mounts(text, f"{os.major(device)}:{os.minor(device)}", os.path.realpath(folder))


def kind_in_mounts(text: str, device: str, folder: str) -> str:
    """The kind of the file system of a folder; empty where the text does not have it.

    Args:
        text: what ``/proc/self/mountinfo`` has.
        device: major and minor number of the folder's device, as ``"0:51"``.
        folder: its path, without links.
    """
    longest, found = -1, ""
    for line in text.splitlines():
        # 36 35 0:51 / /home rw,relatime shared:1 - nfs4 server:/home rw,vers=4.2
        fields, _, rest = line.partition(" - ")
        before, after = fields.split(), rest.split()
        if len(before) < 5 or not after:
            continue
        # A file system may have another number than its files, as btrfs has: then the path tells.
        place = before[4].replace("\\040", " ")
        above = place == "/" or folder == place or folder.startswith(f"{place}/")
        rank = (len(place) if above else -1) + (1 << 20 if before[2] == device else 0)
        if rank > longest:
            longest, found = rank, after[0]
    return found
