"""The figures of conclusions from measurements elsewhere, drawn by Matplotlib."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from polytune.lab.figures import file_name, plain_text, save
from polytune.lab.historical.convergence import Convergence
from polytune.lab.historical.correlation import paired_slowdowns, rank_correlation
from polytune.lab.historical.families import Family

__all__ = ["draw_correlation", "draw_family"]


def draw_family(
    family: Family,
    information: Mapping[str, Mapping[str, float]],
    convergences: Mapping[tuple[str, str], Sequence[Convergence]],
    folder: Path,
) -> list[Path]:
    """Draw the figures of a kernel.

    Args:
        family: its recordings.
        information: by recording and parameter, the mutual information with the time.
        convergences: by the recordings that a pruning comes from and goes to, the steps of searches.
        folder: where to; made if it is not there.

    Returns:
        The files, PNG: how the times are distributed (the paper's figure 1), the mutual information of each parameter
        over the recordings (figures 3 and 4), and how fast searches converge on full and pruned spaces (figure 5).

    Raises:
        MissingLibraryError: Matplotlib is not installed.
        OSError: they cannot be written.
    """
    name = file_name(family.kernel)
    width = 3.0 + 0.5 * max(len(values) for values in information.values())
    files = [
        save(folder / f"distribution-{name}.png", partial(_violins, family=family), 2.0 + 1.5 * len(family.members)),
        save(folder / f"information-{name}.png", partial(_boxes, family=family, information=information), width),
    ]
    for (source, target), found in convergences.items():
        file = folder / f"convergence-{name}-{file_name(source)}-{file_name(target)}.png"
        files.append(save(file, partial(_curves, title=f"{family.kernel}: {source} to {target}", found=found)))
    return files


def draw_correlation(family: Family, folder: Path) -> Path:
    """Draw the times of a kernel on each two devices against each other, a point for each configuration (figure 2).

    Args:
        family: the kernel's recordings, at least two.
        folder: where to; made if it is not there.

    Returns:
        The file, PNG.

    Raises:
        MissingLibraryError: Matplotlib or SciPy is not installed.
        OSError: it cannot be written.
    """
    return save(folder / f"correlation-{file_name(family.kernel)}.png", partial(_scatter, family=family), 6.0)


def _scatter(axes: Any, family: Family) -> None:
    for (one, first), (other, second) in itertools.combinations(family.members.items(), 2):
        pairs = paired_slowdowns(first, second)
        label = f"{one} (x), {other} (y): rank correlation {rank_correlation(pairs):.2f}"
        axes.scatter(*pairs.T, s=4, alpha=0.3, linewidths=0, label=plain_text(label))
    axes.set(xscale="log", yscale="log", xlabel="slowdown on one", ylabel="slowdown on the other")
    axes.set_title(plain_text(family.kernel))
    for mark in axes.legend(fontsize="small").legend_handles:
        mark.set(alpha=1.0, sizes=[20])


def _violins(axes: Any, family: Family) -> None:
    samples = []
    for recorded in family.members.values():
        slowdowns = recorded.slowdowns[np.isfinite(recorded.slowdowns)]
        samples.append(np.log10(slowdowns))
    axes.violinplot(samples, showmedians=True)
    axes.set_xticks(range(1, len(samples) + 1), [plain_text(name) for name in family.members])
    top = math.ceil(max(float(sample.max()) for sample in samples)) or 1
    axes.set_yticks(range(top + 1), [f"{10**power:g}" for power in range(top + 1)])
    axes.set(ylabel="slowdown", title=plain_text(family.kernel))


def _boxes(axes: Any, family: Family, information: Mapping[str, Mapping[str, float]]) -> None:
    """Draw a box for each parameter: its mutual information, divided by the largest of each recording."""
    shares: dict[str, list[float]] = {}
    for values in information.values():
        largest = max(values.values(), default=0.0) or 1.0
        for parameter, value in values.items():
            shares.setdefault(parameter, []).append(value / largest)
    axes.boxplot(list(shares.values()))
    axes.set_xticks(range(1, len(shares) + 1), [plain_text(name) for name in shares], rotation=60, ha="right")
    axes.set(ylabel="mutual information (largest: 1)", title=plain_text(family.kernel))


def _curves(axes: Any, title: str, found: Sequence[Convergence]) -> None:
    """Draw how many of the runs have met a configuration that performs well, after so many steps."""
    for convergence in found:
        colour = None
        for steps, style, space in ((convergence.full, "-", "full"), (convergence.pruned, "--", "pruned")):
            finite = np.sort([step for step in steps if math.isfinite(step)])
            if finite.size:
                share = np.arange(1, finite.size + 1) / len(steps)
                label = f"{convergence.search}, {space} space"
                (line,) = axes.step(finite, share, style, where="post", color=colour, label=label)
                colour = line.get_color()
    axes.set(xlabel="steps", ylabel="runs that have met one that performs well", xscale="log", ylim=(0, 1.02))
    axes.set_title(plain_text(title))
    axes.legend()
