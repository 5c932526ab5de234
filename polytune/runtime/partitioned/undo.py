"""What the host's arrays held before a call changed them, for the call that has to be begun again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polytune.runtime.devices.device import Box

__all__ = ["UndoLog"]


@dataclass(frozen=True)
class _Saved:
    """An array, its values from before where ``changed`` says so, and anything elsewhere."""

    host: np.ndarray
    values: np.ndarray
    changed: np.ndarray


class UndoLog:
    """Values from before they were first written, element by element."""

    def __init__(self) -> None:
        self._saved: dict[int, _Saved] = {}

    def save(self, host: np.ndarray, boxes: Iterable[Box]) -> None:
        """Keep what boxes of an array hold, where that has not been kept before."""
        saved = self._saved.get(id(host))
        if saved is None:
            saved = self._saved[id(host)] = _Saved(host, np.empty(host.shape, host.dtype), np.zeros(host.shape, bool))
        for box in boxes:
            where = tuple(slice(*axis) for axis in box)
            np.copyto(saved.values[where], host[where], where=~saved.changed[where])
            saved.changed[where] = True

    def restore(self) -> None:
        """Put everything back."""
        for saved in self._saved.values():
            np.copyto(saved.host, saved.values, where=saved.changed)
        self._saved = {}
