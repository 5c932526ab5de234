"""Seals: how files that Numba wrote into its disk cache are checked before Numba reads them again.

Numba unpickles its cache files unchecked, and machine code damaged on disk would run.  So an empty *seal* is put beside
each file that was written in good order, its name holding a hash of the file's content.  A file whose content has no
seal is damaged, unless it is so young that another process may be about to seal it.

A seal tells of accidents, not of intent: whoever can write a file can seal it.  So files that others may write, or in
folders where they may, are refused (`polytune.runtime.trust`).

Seals of different contents of one file can lie side by side, so processes that write at the same time need no lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path

from polytune.runtime.trust import UntrustedError, check_folder, keep_private, read_trusted

__all__ = ["put_seals", "remove_all", "remove_damaged"]

_CACHED = (".nbi", ".nbc")
_SEAL = ".seal"
_YOUNG_SECONDS = 10.0
"""Longer than it takes from writing a file to sealing it."""


def put_seals(folder: Path) -> None:
    """Seal Numba's cache files in ``folder``; call it right after a compilation.

    Raises:
        OSError: a seal cannot be written.
    """
    for file in _cached_files(folder):
        with contextlib.suppress(FileNotFoundError):
            keep_private(file)
            _seal_of(file).touch(0o600)


def remove_damaged(folder: Path) -> list[Path]:
    """Delete Numba's cache files in ``folder`` if any of them is damaged.

    All go together, as the index (``.nbi``) and the code (``.nbc``) belong to each other.

    Returns:
        The files found damaged; empty where all was in order.

    Raises:
        UntrustedError: somebody else may have written one; nothing is deleted.
    """
    with contextlib.suppress(FileNotFoundError):
        check_folder(folder, may_be_link=True)
    damaged = [file for file in _cached_files(folder) if _is_damaged(file)]
    if damaged:
        remove_all(folder)
    return damaged


def remove_all(folder: Path) -> None:
    """Delete all of Numba's cache files in ``folder``, and their seals, as far as they can be deleted."""
    for file in folder.glob("*"):
        if file.suffix in (*_CACHED, _SEAL):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


def _cached_files(folder: Path) -> list[Path]:
    return [file for file in folder.glob("*") if file.suffix in _CACHED]


def _seal_of(file: Path) -> Path:
    digest = hashlib.sha256(read_trusted(file)).hexdigest()[:32]
    return file.with_name(f"{file.name}.{digest}{_SEAL}")


def _is_damaged(file: Path) -> bool:
    try:
        return not _seal_of(file).exists() and time.time() - file.stat().st_mtime > _YOUNG_SECONDS
    except FileNotFoundError:  # another process has just removed it
        return False
    except UntrustedError:
        raise
    except OSError:
        return True
