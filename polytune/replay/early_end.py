"""Telling that a recording ends before it should."""

from __future__ import annotations

import warnings

from polytune.errors import RecordingWarning
from polytune.replay.files import TextFile
from polytune.replay.json_document import Document


def warn_of_early_end(file: TextFile, document: Document, complete: int) -> None:
    """Warn if an entry of a JSON document is cut off; a document that only lacks its closing braces is whole."""
    if document.cut_line is not None:
        warn_of_cut(file, document.cut_line, complete)


def warn_of_cut(file: TextFile, line: int, complete: int) -> None:
    """Warn that a file ends in the middle of a line."""
    warnings.warn(
        RecordingWarning(f"{file.name}:{line}: the file ends within this entry; the {complete} before it are used"),
        stacklevel=2,
    )
