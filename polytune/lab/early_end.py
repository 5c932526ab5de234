"""Telling that a recording ends before it should."""

from __future__ import annotations

import warnings

from polytune.errors import RecordingWarning
from polytune.lab.csv_table import CsvTable
from polytune.lab.files import TextFile
from polytune.lab.json_document import Document


def warn_of_early_end(file: TextFile, document: Document, complete: int) -> None:
    """Warn if an entry of a JSON document is cut off; a document that only lacks its closing braces is whole.

    Args:
        file: the document's.
        document: what was read of it.
        complete: how many entries could be used.
    """
    if document.cut_line is not None:
        warn_of_cut(file, document.cut_line, complete)


def warn_of_cut_table(file: TextFile, table: CsvTable, complete: int) -> None:
    """Warn if the last line of a table is cut off, or may be.

    Args:
        file: the table's.
        table: what was read of it.
        complete: how many lines could be used, the last one not counted.
    """
    if table.cut_line is None:
        return
    if not table.lacks_newline:
        warn_of_cut(file, table.cut_line, complete)
        return
    _warn(
        f"{file.name}:{table.cut_line}: no newline follows, so that this line may have been cut off; the {complete} "
        "before it are used. If it is whole, end it with a newline"
    )


def warn_of_cut(file: TextFile, line: int, complete: int) -> None:
    """Warn that a file ends in the middle of a line.

    Args:
        file: the file.
        line: the number of its last line, from 1.
        complete: how many entries before that could be used.
    """
    _warn(f"{file.name}:{line}: the file ends within this entry; the {complete} before it are used")


def _warn(sentence: str) -> None:
    warnings.warn(RecordingWarning(sentence), stacklevel=3)
