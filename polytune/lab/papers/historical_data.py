"""J. Oľha et al., "Exploiting historical data", CCPE 32(21), 2020."""

from __future__ import annotations

import itertools
import math
import statistics
from pathlib import Path

from polytune.lab.historical import (
    CUTOFF,
    METHODS,
    Family,
    convergence,
    families,
    mutual_information,
    portion,
    prune,
    retention,
    steps_to_find,
)
from polytune.lab.historical.figures import draw_family
from polytune.lab.papers.item import Effort, Item, Recordings, Reproduction, Table

__all__ = ["ITEMS"]

_PAPER = "Oľha et al., Exploiting historical data, CCPE 2020"
_PAPERS_CUTOFF = 0.2


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
        rows.append([family.kernel, "average", "", f"{mean:.5f} ± {deviation:.5f}", ""])
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


def _prunings(recordings: Recordings, effort: Effort, folder: Path) -> Reproduction | None:
    rows, conservative = [], []
    for family in _families(recordings):
        for source, recorded in family.members.items():
            for settings, label in (
                ({}, "polytune's"),
                ({"cutoff": _PAPERS_CUTOFF}, "the paper's cutoff"),
                ({"cutoff": _PAPERS_CUTOFF, "level": "median"}, "the paper's"),
            ):
                for method in METHODS:
                    pruning = prune(recorded, method, **settings)
                    for target, other in family.members.items():
                        if target == source:
                            continue
                        kept = retention(other, pruning)
                        rows.append(
                            [
                                family.kernel,
                                source,
                                target,
                                method,
                                label,
                                f"{kept.reduction:.1f}",
                                f"{kept.pruned}/{kept.parameters}",
                                f"{kept.performance:.2f}",
                            ]
                        )
                        if method == "conservative" and not settings:
                            conservative.append((kept.performance, kept.reduction, family.kernel, source, target))
    if not rows:
        return None
    good = sum(performance >= 0.95 for performance, *_ in conservative)
    largest = max((each for each in conservative if each[0] >= 0.95), key=lambda each: each[1], default=None)
    ours = f"conservative pruning keeps 95 % of the best performance in {good} of {len(conservative)} pairs of devices"
    if largest is not None:
        ours += (
            f"; the largest reduction of these is {largest[1]:.1f}, of {largest[2]} from {largest[3]} to {largest[4]}"
        )
    columns = ["kernel", "from", "to", "method", "settings", "SSR", "PP", "PR"]
    return Reproduction(ours, [Table("Pruned by what one device says, held against another", columns, rows)])


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
