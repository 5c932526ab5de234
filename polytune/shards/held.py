"""Arrays between the regions of a call: their chunks, and the tasks that have them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.shards.boxes import Chunks, Ranges, size_of, slices, spans

__all__ = ["Held", "Key", "chunks_of", "first_in", "keys_of"]

Key = tuple[Any, ...]
"""The key of a task."""


@dataclass
class Held:
    """An array between two regions.

    Attributes:
        name: its name.
        dtype: the type of its elements.
        shape: its extents; (1,) for a number.
        first: what elements begin with that nothing has written; the array itself where it is constant.
        chunks: how it is divided; None where nothing has been written to it yet.
        keys: per chunk the key of the task that has it; those are missing that nothing has been written to.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    first: Any
    chunks: Chunks | None
    keys: dict[tuple[int, ...], Key]

    @property
    def nbytes(self) -> int:
        """The bytes of all of it."""
        return size_of(tuple((0, extent) for extent in self.shape)) * np.dtype(self.dtype).itemsize


def chunks_of(boxes: Sequence[Ranges], shape: Sequence[int]) -> Chunks:
    """Chunks of an array that has none yet: they begin where boxes do."""
    chunks = []
    for axis, extent in enumerate(shape):
        starts = sorted({box[axis][0] for box in boxes})[1:]
        borders = [0, *starts, extent]
        chunks.append(tuple(after - before for before, after in pairwise(borders)))
    return tuple(chunks)


def first_in(held: Held, box: Ranges) -> Any:
    """The first values of the elements of a box."""
    if isinstance(held.first, np.ndarray):
        return held.first[slices(box, [0] * len(box))]
    return held.first


def keys_of(held: Held) -> dict[tuple[int, ...], Key | None]:
    """The key of what has each chunk of an array; None where nothing has been written to it."""
    assert held.chunks is not None
    return {index: held.keys.get(index) for index, _ in spans(held.chunks)}
