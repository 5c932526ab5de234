"""What the host's arrays held before a call changed them, for the call that has to be begun again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from polytune.runtime.devices.device import Box
from polytune.runtime.partitioned.boxes import contains, is_empty

__all__ = ["UndoLog"]


class UndoLog:
    """Copies of boxes from before they were first written."""

    def __init__(self) -> None:
        self._saved: list[tuple[np.ndarray, Box, np.ndarray]] = []

    def save(self, host: np.ndarray, boxes: Iterable[Box]) -> None:
        """Keep what boxes of an array hold, unless that has been kept before."""
        for box in boxes:
            if is_empty(box) or any(array is host and contains(kept, box) for array, kept, _ in self._saved):
                continue
            self._saved.append((host, box, host[tuple(slice(*axis) for axis in box)].copy()))

    def restore(self) -> None:
        """Put everything back, what was kept last first."""
        while self._saved:
            host, box, values = self._saved.pop()
            host[tuple(slice(*axis) for axis in box)] = values
