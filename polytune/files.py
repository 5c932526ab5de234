"""Files that are written in one step: who reads them finds all of the old content or all of the new."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path

from polytune.errors import OutputError

__all__ = ["check_output", "check_output_folder", "failure_of", "is_no_file", "replace_private", "replace_text"]

_REMEDIES = {
    errno.ENOENT: "see whether the path is written right, and make the folder where something is to be written",
    errno.EEXIST: "something is there already: name another path, or remove it",
    errno.ENOTDIR: "a part of the path is a file, not a folder: name another path",
    errno.EISDIR: "this is a folder: name a file",
    errno.EACCES: "name a path that this user may use, or have its permissions changed",
    errno.EPERM: "name a path that this user may use, or have its permissions changed",
    errno.EROFS: "nothing can be written there: name a path elsewhere",
    errno.ENOSPC: "make room on the disk, or name a path on another one",
    errno.ENAMETOOLONG: "name a shorter path",
}


def failure_of(error: OSError) -> str:
    """Say what the operating system did not do, with which file, and what to do about it."""
    if not error.strerror:
        return str(error)
    said = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    remedy = _REMEDIES.get(error.errno or 0)
    return f"{said}; {remedy}" if remedy else said


def check_output(path: Path | None) -> None:
    """See to it that a file can be written, before what is to be written is computed.

    Args:
        path: the file; None where none is asked for.

    Raises:
        OutputError: it cannot.
    """
    if path is None:
        return
    if path.is_dir():
        raise OutputError(f"{path} cannot be written: it is a folder; name a file in it")
    folder = path.parent
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{path} cannot be written: {folder} is a file; name a file in a folder")
    if not folder.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {folder}; make it, or name another file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{path} cannot be written: this user may not write to {folder}; name a file in another one")


def check_output_folder(path: Path | None) -> None:
    """See to it that files can be written to a folder, which is made if it is not there.

    Args:
        path: the folder; None where none is asked for.

    Raises:
        OutputError: they cannot.
    """
    if path is None:
        return
    there = next((each for each in (path, *path.parents) if each.exists()), Path())
    if not there.is_dir():
        raise OutputError(f"{path} cannot be a folder: {there} is a file; name another folder, or remove the file")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OutputError(f"nothing can be written to {path}: this user may not write to {there}; name another folder")


def is_no_file(path: Path) -> bool:
    """Return whether there is a pipe, a terminal or another device."""
    return path.exists() and not path.is_file() and not path.is_dir()


def replace_text(path: Path, text: str) -> None:
    """Write a text, in UTF-8 and with the ends of lines that it has, with the permissions of any new file.

    A pipe or a terminal, as ``/dev/stdout``, is written to; a link goes on to lead where it does.

    Raises:
        OSError: it cannot be written, with the path as its file name; what was there before is as it was.
    """
    if is_no_file(path):
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    file = Path(os.path.realpath(path)) if path.is_symlink() else path
    beside = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        os.replace(beside, file)
    except OSError as error:
        if error.errno is None or not error.filename:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):  # a folder that is a file
            beside.unlink()


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
