"""J. Oľha et al., "Exploiting historical data", CCPE 32(21), 2020."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polytune.lab.historical import (
    CUTOFF,
    Family,
    Pruning,
    Retention,
    convergence,
    families,
    mutual_information,
    paired_slowdowns,
    portion,
    prune,
    rank_correlation,
    retention,
    steps_to_find,
)
from polytune.lab.historical.figures import draw_correlation, draw_family
from polytune.lab.papers.item import Effort, Item, Recordings, Reproduction, Table

__all__ = ["ITEMS"]

_PAPER = "Oľha et al., Exploiting historical data, CCPE 2020"
_PAPERS_CUTOFF = 0.2
_GOOD = 0.95
_FAST = 0.1  # the portion of configurations among which the fast ones are compared
_SETTINGS: dict[str, dict[str, Any]] = {
    "polytune's settings": {},
    "the paper's cutoff": {"cutoff": _PAPERS_CUTOFF},
    "the paper's settings": {"cutoff": _PAPERS_CUTOFF, "level": "median"},
}

_PORTIONS = {
    "bicg": 0.00962,
    "convolution": 0.00274,
    "coulomb": 0.0468,
    "gemm": 0.00302,
    "gemm_batched": 0.365,
    "hotspot": 0.00983,
    "transpose": 0.0492,
    "nbody": 0.0388,
    "reduction": 0.390,
}
"""The paper's portions on GPUs, mean of the devices (table 4), by kernel."""

_REDUCTIONS = {
    "aggressive": {"bicg": 511.7, "convolution": 2.75, "coulomb": 12.0, "gemm": 12_080.0, "hotspot": 6.97},
    "conservative": {"bicg": 16.34, "convolution": 2.75, "coulomb": 10.0, "gemm": 47.19, "hotspot": 6.97},
}
"""The paper's reductions of the spaces on GPUs (tables 7 and 8), by method and kernel."""


def _recordings(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    every = [*recordings.spaces, *recordings.profiled, *recordings.examples, *recordings.counted]
    every += [] if recordings.laplacian is None else [recordings.laplacian]
    rows = [
        [
            each.name,
            each.device,
            str(len(each)),
            str(each.failed),
            str(sum(len(levels) > 1 for levels in each.space.levels)),
            str(len(each.counters)),
        ]
        for each in every
    ]
    columns = ["recording", "device", "configurations", "failed", "parameters", "counters"]
    sizes = [len(each) for each in every]
    ours = f"{len(every)} recordings of {min(sizes):,} to {max(sizes):,} configurations"
    return Reproduction(ours, [Table("What all else on this page is made of", columns, rows)])


def _families(recordings: Recordings) -> list[Family]:
    return [family for family in families(recordings.spaces) if len(family.members) > 1]


def _portions(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    found = _families(recordings)
    if not found:
        return None
    rows, ratios = [], []
    for family in found:
        shares = {name: portion(recorded) for name, recorded in family.members.items()}
        ratios.append(max(shares.values()) / min(shares.values()))
        mean, deviation = statistics.fmean(shares.values()), statistics.stdev(shares.values())
        rows += [
            [family.kernel, name, str(len(family.members[name])), f"{share:.5f}", str(steps_to_find(share))]
            for name, share in shares.items()
        ]
        theirs = _PORTIONS.get(family.kernel)
        papers = f"; the paper's: {theirs:.5f}" if theirs is not None else ""
        rows.append([family.kernel, "average", "", f"{mean:.5f} ± {deviation:.5f}{papers}", ""])
    columns = ["kernel", "device", "configurations", "portion", "steps for 90 %"]
    ours = f"between devices the portions of a kernel differ by factors of {min(ratios):.1f} to {max(ratios):.1f}"
    return Reproduction(ours, [Table("Configurations that reach 90 % of the best performance", columns, rows)])


def _information(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    found = _families(recordings)
    if not found:
        return None
    figures, tables = {}, []
    for family in found:
        information = {name: mutual_information(each) for name, each in family.members.items()}
        files = draw_family(family, information, {}, folder)
        figures[f"{family.kernel}: times (figure 1)"] = files[0]
        figures[f"{family.kernel}: mutual information (figures 3, 4)"] = files[1]
        rows = [
            [parameter, *(f"{values[parameter]:.4f}" for values in information.values())]
            for parameter in next(iter(information.values()))
        ]
        tables.append(Table(f"{family.kernel}: mutual information in bits", ["parameter", *information], rows))
    return Reproduction(f"box plots of {len(found)} kernels over their devices", tables, figures)


def _correlations(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    rows, figures = [], {}
    coefficients: list[float] = []
    for family in _families(recordings):
        for (one, first), (other, second) in itertools.combinations(family.members.items(), 2):
            pairs = paired_slowdowns(first, second)
            if not len(pairs):
                continue
            fast = pairs[pairs[:, 0] <= np.quantile(pairs[:, 0], _FAST)]
            coefficients.append(rank_correlation(pairs))
            among = [f"{coefficients[-1]:.2f}", f"{rank_correlation(fast):.2f}"]
            rows.append([family.kernel, one, other, str(len(pairs)), *among])
        figures[f"{family.kernel}: each configuration on two devices"] = draw_correlation(family, folder)
    if not rows:
        return None
    columns = ["kernel", "device", "other device", "configurations", "all", f"the fastest {_FAST:.0%} of the first"]
    ours = f"rank correlations of {min(coefficients):.2f} to {max(coefficients):.2f} between two devices"
    return Reproduction(ours, [Table("Rank correlation of the times on two devices", columns, rows)], figures)


def _prunings(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    found = _families(recordings)
    if not found:
        return None
    tables = [
        _pruning_table(found, method, label)
        for label in _SETTINGS
        for method in ("conservative", "aggressive", "naive")
    ]
    conservative = [
        (kept.performance, kept.reduction, f"{family.kernel} from {source} to {target}")
        for family in found
        for source, recorded in family.members.items()
        for target, kept in _kept(family, source, prune(recorded)).items()
    ]
    good = [each for each in conservative if each[0] >= _GOOD]
    ours = (
        f"conservative pruning keeps {_GOOD:.0%} of the best performance in {len(good)} of {len(conservative)} pairs "
        "of devices"
    )
    if good:
        _, reduction, pair = max(good, key=lambda each: each[1])
        ours += f"; the largest reduction of these is {reduction:.1f}, of {pair}"
    return Reproduction(ours, tables)


def _pruning_table(found: Sequence[Family], method: str, label: str) -> Table:
    """Make a table as the paper's 7 to 10: a row for each kernel and device that prunes."""
    rows = []
    for family in found:
        for source, recorded in family.members.items():
            kept = _kept(family, source, prune(recorded, method, **_SETTINGS[label]))
            first = next(iter(kept.values()))
            theirs = _REDUCTIONS.get(method, {}).get(family.kernel)
            rows.append(
                [
                    family.kernel,
                    source,
                    f"{first.reduction:.1f}",
                    "" if theirs is None else f"{theirs:,.1f}",
                    f"{first.pruned}/{first.parameters}",
                    ", ".join(f"{each.performance:.2f} ({target})" for target, each in kept.items()),
                ]
            )
    columns = ["kernel", "pruned by", "SSR", "the paper's", "PP", "PR on other devices"]
    return Table(f"{method.capitalize()} pruning with {label}", columns, rows)


def _kept(family: Family, source: str, pruning: Pruning) -> dict[str, Retention]:
    """Hold a pruning against each of the other devices."""
    return {name: retention(other, pruning) for name, other in family.members.items() if name != source}


def _convergence(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    rows, figures = [], {}
    gains: dict[tuple[float, str], list[float]] = {}
    for family in _families(recordings):
        information = {name: mutual_information(each) for name, each in family.members.items()}
        for source, target in itertools.permutations(family.members, 2):
            for cutoff in (CUTOFF, _PAPERS_CUTOFF):
                pruning = prune(family.members[source], cutoff=cutoff)
                if not pruning.fixed:
                    continue
                runs = [
                    convergence(family.members[target], pruning, search, effort.repeats, seed=effort.seed)
                    for search in ("random", "annealing")
                ]
                for run in runs:
                    gains.setdefault((cutoff, run.search), []).append(run.gain)
                    pruned = "never" if math.isinf(run.pruned_mean) else f"{run.pruned_mean:.1f}"
                    pair = [family.kernel, source, target, f"{cutoff:.0%}", run.search]
                    rows.append([*pair, f"{run.full_mean:.1f}", pruned, f"{run.gain:.2f}"])
                if cutoff == CUTOFF:
                    *_, file = draw_family(family, information, {(source, target): runs}, folder)
                    figures[f"{family.kernel}: {source} to {target} (figure 5)"] = file
    if not rows:
        return None
    helped = [
        f"{search} in {sum(gain > 1 for gain in each) / len(each):.0%} of {len(each)} pairs of devices "
        f"with a cutoff of {cutoff:.0%} (largest gain {max(each):.1f})"
        for (cutoff, search), each in gains.items()
    ]
    ours = "pruning helps " + ", ".join(helped)
    columns = ["kernel", "from", "to", "cutoff", "search", "full space", "pruned space", "gain"]
    return Reproduction(ours, [Table(f"Mean steps of {effort.repeats} runs to 90 %", columns, rows)], figures)


ITEMS = (
    Item(
        "historical-recordings",
        _PAPER,
        "tables 1 to 3",
        "The benchmarks, the sizes of their spaces, and the devices; those of the other papers, too.",
        "ten benchmarks of 175 (reduction) to 241,600 configurations (GEMM) and 5 to 14 parameters, on five GPUs and "
        "four CPUs",
        "polytune simulate SPACE (its first lines)",
        _recordings,
    ),
    Item(
        "historical-portions",
        _PAPER,
        "tables 4, 5",
        "The portion of each space that performs well, by kernel and device, and the steps that follow from it.",
        "GEMM 0.0008 to 0.0079 on five GPUs (average 0.0030 ± 0.0033), convolution 0.0012 to 0.0032",
        "polytune transfer SPACE...",
        _portions,
    ),
    Item(
        "historical-information",
        _PAPER,
        "figures 1, 3, 4",
        "How times are distributed, and the mutual information of each parameter with them, over devices.",
        "the distributions are narrow: what matters on one device matters on others",
        "polytune transfer SPACE... --plot FOLDER",
        _information,
    ),
    Item(
        "historical-correlation",
        _PAPER,
        "figure 2",
        "Whether what is fast on one device is fast on another.",
        "high for matrix transposition, low for Fourier (128), between a GTX 750 and an RTX 2080 Ti",
        "polytune transfer SPACE... --plot FOLDER",
        _correlations,
    ),
    Item(
        "historical-pruning",
        _PAPER,
        "tables 7 to 10",
        "Spaces pruned by what one device says: how small they are, and what is kept on another.",
        "conservative: GEMM 47 times as small, 0.90 to 1.00 of the performance; median of all kernels 4 times",
        "polytune transfer SPACE...",
        _prunings,
    ),
    Item(
        "historical-convergence",
        _PAPER,
        "figure 5, table 11",
        "The steps that random search and annealing need on full and pruned spaces.",
        "pruning helps random search in 71 % of the cases on GPUs, annealing in 38 %",
        "polytune transfer SPACE... --search random annealing --plot FOLDER",
        _convergence,
    ),
)
