"""Files that are written in one step: who reads them finds all of the old content or all of the new."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["replace_private", "replace_text"]


def replace_text(path: Path, text: str) -> None:
    """Write a text, in UTF-8 and with the ends of lines that it has, with the permissions of any new file.

    Raises:
        OSError: it cannot be written; what was there before is as it was.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        os.replace(beside, path)
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
