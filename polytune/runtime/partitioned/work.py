"""The work that the platforms have to do for one region of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.runtime.devices.device import Box
from polytune.runtime.partitioned.call import SharedCall
from polytune.runtime.partitioned.description import Part
from polytune.runtime.partitioned.pieces import CPU, Boxes, Limits, Piece, Transfers, integers, pieces

__all__ = ["Partial", "Work", "combine", "neutral_copy", "works_of"]


@dataclass(frozen=True)
class Partial:
    """The sums that a piece adds up in a copy of an array.

    Attributes:
        name: under which devices hold the copy.
        array: the array.
        operator: by which the copy is combined with it.
        copy: on the host, at first neutral elements.
        boxes: where it is updated.
    """

    name: str
    array: str
    operator: str
    copy: np.ndarray
    boxes: list[Box]


@dataclass(frozen=True, eq=False)
class Work:
    """A piece of a region.

    Attributes:
        number: the region's.
        around: the values of the loops around it.
        ranges: of all members of its band.
        piece: which part, and where it runs.
        reads, writes: what it accesses in place.
        partials: what it adds up on its own.
    """

    number: int
    around: tuple[int, ...]
    ranges: Limits
    piece: Piece
    reads: Boxes
    writes: Boxes
    partials: tuple[Partial, ...] = ()


_KEPT_WORKS = 4096


def works_of(call: SharedCall, transfers: Transfers, part: Part, number: int, around: tuple[int, ...]) -> list[Work]:
    """The pieces of a region, those of a device beside one another and the processor's last.

    They are the same in every call of a plan with the same parameters, unless pieces add up on their own.

    Args:
        call: the call, which knows its plan.
        transfers: finds what pieces read and write.
        part: the region.
        number: the region's.
        around: the values of the loops around it.
    """
    kept, key = call.plan.works, (number, call.parameters, around)
    works = kept.get(key)
    if works is None:
        works = _works(call, transfers, part, number, around)
        if not any(work.partials for work in works):
            if len(kept) >= _KEPT_WORKS:
                kept.clear()
            kept[key] = works
    return works


def _works(call: SharedCall, transfers: Transfers, part: Part, number: int, around: tuple[int, ...]) -> list[Work]:
    ranges = part.ranges(*call.parameters, *around)
    works = []
    for piece in pieces(part, ranges, call.plan.configuration, number):
        reads, writes = transfers.of(number, (*call.parameters, *integers(around, piece.limits)))
        partials = _partials(call, piece, writes) if piece.reductions else ()
        if partials:
            added = {partial.array for partial in partials}
            reads = {array: boxes for array, boxes in reads.items() if array not in added}
            writes = {array: boxes for array, boxes in writes.items() if array not in added}
        works.append(Work(number, around, ranges, piece, reads, writes, partials))
    return sorted(works, key=lambda work: (work.piece.platform == CPU, work.piece.platform))


def _partials(call: SharedCall, piece: Piece, writes: Boxes) -> tuple[Partial, ...]:
    return tuple(
        Partial(
            f"{array} of partition {piece.partition}",
            array,
            operator,
            neutral_copy(call.arrays[array], operator),
            writes[array],
        )
        for array, operator in dict(piece.reductions).items()
        if array in writes  # of an empty piece there is nothing to add
    )


_COMBINED: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "*": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "minimum": np.minimum,
    "maximum": np.maximum,
}


def neutral_copy(array: np.ndarray, operator: str) -> np.ndarray:
    """An array like another, each of its elements the neutral element of a reduction's operator."""
    return np.full_like(array, _neutral(operator, array.dtype))


def combine(array: np.ndarray, partial: np.ndarray, operator: str, boxes: Iterable[Box]) -> None:
    """Update boxes of an array, which may overlap, by the partial results in a copy, each element once; what has been
    taken from the copy is neutral afterwards.

    Args:
        array: what is updated.
        partial: the copy, of the array's shape and dtype.
        operator: that of a reduction.
        boxes: per axis (start, stop, step).
    """
    neutral = _neutral(operator, array.dtype)
    for box in boxes:
        where = tuple(slice(*axis) for axis in box)
        _COMBINED[operator](array[where], partial[where], out=array[where])
        partial[where] = neutral


def _neutral(operator: str, dtype: np.dtype) -> Any:
    if operator in ("+", "*"):
        return dtype.type(operator == "*")
    is_least = operator.startswith("min")
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return limits.max if is_least else limits.min
    return dtype.type(np.inf if is_least else -np.inf)
