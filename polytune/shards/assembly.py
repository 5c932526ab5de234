"""The work on chunks beside running shards: cut boxes out of them, and put them together again."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytune.runtime.partitioned.work import combine, neutral_copy
from polytune.shards.boxes import slices
from polytune.shards.code import Quoted

__all__ = ["add_to", "add_up", "cut_out", "cut_out_all", "item_of", "put_together"]


def cut_out(block: np.ndarray, where: tuple[slice, ...]) -> np.ndarray:
    """A box of a chunk, as an array that does not keep the chunk alive."""
    return block[where].copy()


def cut_out_all(block: np.ndarray, places: Quoted) -> tuple[np.ndarray, ...]:
    """Several boxes of a chunk, as arrays that do not keep the chunk alive."""
    return tuple(block[where].copy() for where in places.value)


def put_together(
    shape: tuple[int, ...], dtype: str, first: Any, before: np.ndarray | None, pieces: Quoted, *blocks: np.ndarray
) -> np.ndarray:
    """A chunk, put together of blocks.

    Args:
        shape, dtype: of the chunk.
        first: what elements begin with where there was no chunk before.
        before: the chunk as it was; None where nothing of it stays, or there was none.
        pieces: per piece the block's number, where it goes, and which part of the block it is.
        blocks: the blocks.
    """
    chunk = np.full(shape, first, dtype) if before is None else before.copy()
    for number, there, here in pieces.value:
        chunk[there] = blocks[number][here]
    return chunk


def add_up(where: Quoted, *blocks: np.ndarray) -> np.ndarray:
    """Partial sums added up, in the order in which they are given."""
    operator, box, boxes = where.value
    shape = tuple(stop - start for start, stop in box)
    total = neutral_copy(np.empty(shape, blocks[0].dtype), operator)
    for block, each in zip(blocks, boxes, strict=True):
        there = [(s.start, s.stop, 1) for s in slices(each, [start for start, _ in box])]
        view = total[tuple(slice(*axis) for axis in there)]
        combine(view, block.copy(), operator, [tuple((0, extent, 1) for extent in block.shape)])
    return total


def add_to(
    shape: tuple[int, ...], dtype: str, first: Any, before: np.ndarray | None, where: Quoted, block: np.ndarray
) -> np.ndarray:
    """A chunk with sums added to a part of it.

    Args:
        shape, dtype: of the chunk.
        first: what elements begin with where there was no chunk before.
        before: the chunk as it was; None where there was none.
        where: the operator, and which part of the chunk the sums belong to.
        block: the sums.
    """
    operator, there = where.value
    chunk = np.full(shape, first, dtype) if before is None else before.copy()
    combine(chunk[there], block.copy(), operator, [tuple((0, extent, 1) for extent in block.shape)])
    return chunk


def item_of(given: tuple[np.ndarray, ...], position: int) -> np.ndarray:
    """One of the arrays that a shard gives."""
    return given[position]
