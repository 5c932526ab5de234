"""Comparisons that are kept in a folder, so that a benchmark of hours can be stopped and gone on with."""

from __future__ import annotations

import contextlib
import os
import pickle
from pathlib import Path
from typing import Any

from benchmarks.cpu.comparison import Comparison, Plan


class KeptComparisons:
    """A file for each kernel, with what was compared and how.

    Args:
        folder: where the files are; made if it is not there.
        plan: how is compared.  What was compared otherwise is compared again.
        surroundings: the machine and the versions of packages, of which the same holds.
    """

    def __init__(self, folder: Path, plan: Plan, surroundings: Any):
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._made_of = (plan, surroundings)

    def get(self, kernel: str) -> Comparison | None:
        """The comparison of a kernel; None where there is none, or its file is damaged or of another plan."""
        with contextlib.suppress(OSError, EOFError, ValueError, AttributeError, ImportError, pickle.UnpicklingError):
            made_of, comparison = pickle.loads(self._file(kernel).read_bytes())
            if made_of == self._made_of and isinstance(comparison, Comparison):
                return comparison
        return None

    def put(self, comparison: Comparison) -> None:
        """Keep a comparison; the file is there whole or not at all."""
        file = self._file(comparison.kernel)
        beside = file.with_suffix(f".{os.getpid()}.tmp")
        beside.write_bytes(pickle.dumps((self._made_of, comparison)))
        os.replace(beside, file)

    def _file(self, kernel: str) -> Path:
        return self._folder / f"{kernel}.pickle"
