"""A bar chart of speedups and a roofline plot, in one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cpu.comparison import Comparison
from benchmarks.cpu.limits import PRODUCTS, STREAMS, TRIAD
from benchmarks.cpu.summary import summary

SUFFIXES = (".pdf", ".png", ".svg")
"""The endings of files that a figure may be written to."""


def draw(comparisons: Sequence[Comparison], file: Path, best: Mapping[str, float] | None = None) -> None:
    """Write the figure; its format is that of the file's suffix.

    Raises:
        ImportError: Matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (upper, lower) = pyplot.subplots(
        2, 1, figsize=(max(8.0, 1.5 + 0.7 * len(comparisons)), 11.0), layout="constrained"
    )
    _bars(upper, comparisons, best or {})
    _roofline(lower, comparisons)
    figure.savefig(file)
    pyplot.close(figure)


def _bars(axes: Any, comparisons: Sequence[Comparison], best: Mapping[str, float]) -> None:
    """A figure with a bar for each peer of each kernel: how many times as fast polytune is."""
    heights: dict[str, list[float]] = {}
    for name in dict.fromkeys(name for comparison in comparisons for name in comparison.peers):
        heights[name] = [c.speedup_over(name) if name in c.samples else np.nan for c in comparisons]
    ahead = [comparison.speedup_over_best(best.get(comparison.kernel)) for comparison in comparisons]
    if any(value is not None for value in ahead):
        heights["the best compiler"] = [np.nan if value is None else value for value in ahead]
    width = 0.8 / max(1, len(heights))
    places = np.arange(len(comparisons))
    for number, (name, values) in enumerate(heights.items()):
        # Bars grow from 1, where polytune and the peer are equally fast.
        axes.bar(places - 0.4 + (number + 0.5) * width, np.array(values) - 1, width, bottom=1.0, label=f"over {name}")
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylabel("speedup of polytune")
    axes.set_xticks(places, [comparison.kernel for comparison in comparisons], rotation=60, ha="right")
    if heights:
        axes.legend(ncols=4, fontsize="small")


def _roofline(axes: Any, comparisons: Sequence[Comparison]) -> None:
    """Operations a second over operations per byte: the kernels, and the limits as lines."""
    limits = summary(comparisons)["limits"]
    intensities = [comparison.work.intensity for comparison in comparisons]
    reach = np.geomspace(min(intensities, default=0.1) / 2, max(intensities, default=10.0) * 2, 200)
    for memory in (name for name in (STREAMS, TRIAD) if name in limits):
        for dtype, product in PRODUCTS.items():
            if product in limits and (dtype == "float64" or any(c.work.dtype == dtype for c in comparisons)):
                least = np.minimum(limits[product], reach * limits[memory])
                axes.plot(reach, least / 1e9, label=f"{product} and {memory}", linewidth=1)
    for comparison in comparisons:
        place = (comparison.work.intensity, comparison.operations_per_second / 1e9)
        axes.plot(*place, "o", color="black", markersize=4)
        axes.annotate(comparison.kernel, place, xytext=(4, 3), textcoords="offset points", fontsize="x-small")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("useful operations per compulsory byte")
    axes.set_ylabel("GFLOP/s")
    axes.legend(fontsize="small")
