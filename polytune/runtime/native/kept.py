"""Object code on disk, beside what Numba keeps there: a file says what its content is worth.

A file's name holds the digest of everything that the code follows from, and its first line the digest of the rest.  A
file that is damaged, or that somebody else may have written, is not used; it is written anew where that is possible.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from polytune.files import replace_private
from polytune.runtime.compilation import warn_damaged, warn_untrusted
from polytune.runtime.trust import UntrustedError, check_folder, read_trusted

__all__ = ["SUFFIX", "is_kept", "keep", "kept"]

SUFFIX = ".native"
_DIGEST = 64
"""Characters of a digest."""


def is_kept(folder: Path, name: str) -> bool:
    """Return whether there is a file; what it is worth is seen when it is read."""
    return (folder / f"{name}{SUFFIX}").exists()


def kept(folder: Path, name: str) -> bytes | None:
    """Return what was kept under a name; None where nothing was, or nothing that can be used, of which a
    ``CacheWarning`` tells.

    Args:
        folder: where Numba keeps the machine code of the module's functions.
        name: what tells this code from all other.
    """
    try:
        check_folder(folder, may_be_link=True)
        content = read_trusted(folder / f"{name}{SUFFIX}")
    except UntrustedError as error:
        warn_untrusted(folder, str(error))
        return None
    except OSError:
        return None
    digest, code = content[:_DIGEST], content[_DIGEST:]
    if digest == hashlib.sha256(code).hexdigest().encode():
        return code
    warn_damaged(folder, f"{name}{SUFFIX} is not as it was written")
    return None


def keep(folder: Path, name: str, code: bytes) -> bool:
    """Keep code under a name, in one step.  Return whether that was possible.

    Args:
        folder: where to; made if it is not there.
        name: the file's, without its suffix; it has to tell this code from any other.
        code: an object file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_folder(folder, may_be_link=True)
        replace_private(folder / f"{name}{SUFFIX}", hashlib.sha256(code).hexdigest().encode() + code)
    except (UntrustedError, OSError):
        return False
    return True
