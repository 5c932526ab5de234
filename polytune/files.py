"""Files that are written in one step: who reads them finds all of the old content or all of the new."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path

__all__ = ["replace_private", "replace_text", "require_folder", "require_writable", "what_the_system_says"]

_REMEDIES = {
    errno.ENOENT: "check how its name is written, or make it",
    errno.EEXIST: "name another one, or move it away",
    errno.ENOTDIR: "name a folder, or another place",
    errno.EISDIR: "name a file in it",
    errno.EACCES: "name another place, or change who may use it",
    errno.EPERM: "name another place, or change who may use it",
    errno.EROFS: "name another place",
    errno.ENOSPC: "make room, or name another place",
}
"""The things that a person can do about what the system says of a file, by the number of the error."""


def what_the_system_says(error: OSError) -> str:
    """The sentence for people about a file: its name, what is wrong with it, and what to do."""
    text = error.strerror or str(error)
    if error.filename:
        text = f"{error.filename}: {text}"
    remedy = _REMEDIES.get(error.errno or 0)
    return f"{text}; {remedy}" if remedy and error.filename else text


def require_writable(path: Path) -> None:
    """See to it that a file can be written, before anything is computed for it.

    Raises:
        OSError: it cannot, by its name or by its folder.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not path.parent.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    if not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent))
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path.parent))


def require_folder(path: Path) -> None:
    """Make a folder, and those that it is in, where it is not there.

    Raises:
        OSError: it cannot be made, or its name is that of a file.
    """
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    path.mkdir(parents=True, exist_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a text, in UTF-8 and with the ends of lines that it has, with the permissions of any new file.

    Raises:
        OSError: it cannot be written; what was there before is as it was.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        os.replace(beside, path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # people know nothing of the file beside it
        raise
    finally:
        beside.unlink(missing_ok=True)


def replace_private(path: Path, content: bytes) -> None:
    """Write bytes to a file that nobody but this user can read or write.

    Raises:
        OSError: it cannot be written; what was there before is as it was.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
