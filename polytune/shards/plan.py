"""The cut of a call for people: text for a terminal, a picture for a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import groupby

from polytune.records import dataclass
from polytune.shards.boxes import borders_of
from polytune.shards.cutting import Cut
from polytune.shards.held import Held
from polytune.shards.tasks import Layer, TaskBuilder

__all__ = ["ShardPlan", "planned"]

_SIDE = 120
"""The longer side of an array in a picture, in pixels."""


@dataclass(frozen=True)
class ShardPlan:
    """The way in which a call is cut.

    Attributes:
        kernel: the kernel's name.
        layers: the regions in the order in which they run, each with the loops around it and its cut.
        arrays: per array its name, its shape, its type and its chunks before the call, None where it is made in it.
        tasks: how many tasks there are in all.
    """

    kernel: str
    layers: tuple[Layer, ...]
    arrays: tuple[tuple[str, tuple[int, ...], str, tuple[tuple[int, ...], ...] | None], ...]
    tasks: int

    @property
    def shards(self) -> int:
        """Return how many shards there are in all."""
        return sum(layer.cut.count for layer in self.layers)

    def __str__(self) -> str:
        lines = [f"{self.kernel}: {self.shards} shards, {self.tasks} tasks"]
        for name, shape, dtype, chunks in self.arrays:
            if chunks is not None:
                lines.append(f"  {name}: {dtype} {shape}, in chunks {' x '.join(_extents(each) for each in chunks)}")
        for (numbers, cut), same in groupby(self.layers, key=lambda layer: (layer.numbers, layer.cut)):
            times = len(list(same))
            again = f", {times} times" if times > 1 else ""
            lines.append(f"  {_regions_text(numbers)}{again}: {_cut_text(cut)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        pictures = [
            f"<figure style='display:inline-block;margin:8px'>{_picture(shape, chunks)}"
            f"<figcaption>{escape(name)}</figcaption></figure>"
            for name, shape, _, chunks in self.arrays
            if chunks is not None
        ]
        return f"<pre>{escape(str(self))}</pre>{''.join(pictures)}"


def planned(kernel: str, builder: TaskBuilder, arrays: Mapping[str, Held]) -> ShardPlan:
    """The cut of a call whose tasks have been made.

    Args:
        kernel: the kernel's name.
        builder: what has made them.
        arrays: the arrays before the call.
    """
    described = tuple((each.name, each.shape, each.dtype, each.chunks) for each in arrays.values())
    return ShardPlan(kernel, tuple(builder.layers), described, len(builder.tasks))


def _extents(extents: tuple[int, ...]) -> str:
    if len(set(extents)) == 1:
        return f"{len(extents)} of {extents[0]}" if len(extents) > 1 else f"{extents[0]}"
    if len(extents) > 6:
        return f"({', '.join(map(str, extents[:3]))}, ..., {extents[-1]})"
    return f"({', '.join(map(str, extents))})"


def _regions_text(numbers: tuple[int, ...]) -> str:
    different = tuple(dict.fromkeys(numbers))
    if len(numbers) == 1:
        return f"region {numbers[0]}"
    steps = len(numbers) // len(different)
    which = f"region {different[0]}" if len(different) == 1 else f"regions {', '.join(map(str, different))}"
    return f"{which}, {steps} step{'s' if steps > 1 else ''} at once"


def _cut_text(cut: Cut) -> str:
    cuts = []
    for borders, follows in zip(cut.borders, cut.follows, strict=True):
        if follows is not None:
            array, axis = follows
            cuts.append(f"{len(borders) - 1} along axis {axis} of {array}")
    sums = "".join(f"; sums of {array} ({operator}) as trees" for array, operator in cut.reductions)
    if not cuts:
        return "1 shard" + sums
    return f"{cut.count} shards, {' x '.join(cuts)}{sums}"


def _picture(shape: tuple[int, ...], chunks: tuple[tuple[int, ...], ...]) -> str:
    """An array's last two axes with the borders of its chunks, as SVG."""
    rows, columns = ((1, *shape)[-2], shape[-1])
    row_borders = borders_of(((1,), *chunks)[-2])
    scale = _SIDE / max(rows, columns, 1)
    height, width = max(rows * scale, 6), max(columns * scale, 6)
    lines = [
        f"<line x1='0' x2='{width:.1f}' y1='{y:.1f}' y2='{y:.1f}'/>"
        for y in (border / max(rows, 1) * height for border in row_borders)
    ]
    lines += [
        f"<line y1='0' y2='{height:.1f}' x1='{x:.1f}' x2='{x:.1f}'/>"
        for x in (border / max(columns, 1) * width for border in borders_of(chunks[-1]))
    ]
    return (
        f"<svg width='{width + 2:.0f}' height='{height + 2:.0f}' viewBox='-1 -1 {width + 2:.1f} {height + 2:.1f}' "
        f"stroke='currentColor' fill='none'>{''.join(lines)}</svg>"
    )
