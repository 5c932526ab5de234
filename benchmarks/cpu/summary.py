"""Comparisons of many kernels as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Column, Table

from benchmarks.cpu.comparison import POLYTUNE, Comparison
from benchmarks.cpu.limits import PRODUCTS
from benchmarks.program import geometric_mean, spread


def to_json(comparison: Comparison, best_ratio: float | None = None) -> dict[str, Any]:
    """Everything about one kernel; times are in seconds."""
    tuning, work = comparison.tuning, comparison.work
    return {
        "kernel": comparison.kernel,
        "speedup_over": {name: comparison.speedup_over(name) for name in comparison.peers},
        "speedup_over_best": comparison.speedup_over_best(best_ratio),
        "seconds": {name: sample.to_json() for name, sample in comparison.samples.items()},
        "work": {"operations": work.operations, "bytes": work.bytes, "dtype": work.dtype},
        "limits": {name: {"rate": rate.median, **rate.seconds.to_json()} for name, rate in comparison.limits.items()},
        "share_of_product": comparison.share_of_product,
        "share_of_bandwidth": comparison.share_of_bandwidth,
        "share_of_roofline": comparison.share_of_roofline,
        "configuration": tuning.configuration,
        "tuning": {
            "calls": tuning.calls,
            "seconds": tuning.seconds,
            "remembered_calls": tuning.remembered_calls,
            "converged": tuning.converged,
        },
        "numba": None
        if comparison.numba is None
        else {"prange": list(comparison.numba.loops), "source": comparison.numba.source},
        "notes": list(comparison.notes),
        "compiler": {
            "seconds": comparison.compile_seconds,
            "stages": dict(comparison.stages),
            "versions": comparison.versions,
        },
        "error": comparison.error,
        "agrees": comparison.agrees,
    }


def summary(comparisons: Sequence[Comparison], best: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Over all kernels: for each peer the geometric mean and the least of the speedups over it, and the kernels slower
    than it; the same for the best of other compilers; the machine's limits; and the most that the compiler took."""
    best = best or {}
    over: dict[str, dict[str, float]] = {}
    for comparison in comparisons:
        for name in comparison.peers:
            over.setdefault(name, {})[comparison.kernel] = comparison.speedup_over(name)
        ahead = comparison.speedup_over_best(best.get(comparison.kernel))
        if ahead is not None:
            over.setdefault("the best compiler", {})[comparison.kernel] = ahead
    names = dict.fromkeys(name for comparison in comparisons for name in comparison.limits)
    return {
        "over": {
            name: {
                "geometric_mean": geometric_mean(speedups.values()),
                "minimum": min(speedups.values()),
                "slower": [kernel for kernel, speedup in speedups.items() if speedup < 1],
                "kernels": len(speedups),
            }
            for name, speedups in over.items()
        },
        "limits": {
            name: float(np.median([c.limits[name].median for c in comparisons if name in c.limits])) for name in names
        },
        "compiler_seconds_maximum": max((comparison.compile_seconds for comparison in comparisons), default=None),
    }


def table(comparisons: Sequence[Comparison], best: Mapping[str, float] | None = None) -> Table:
    """A line for each kernel: medians, with the distances of the quartiles from them, and shares of the limits."""
    peers = list(dict.fromkeys(name for comparison in comparisons for name in comparison.peers))
    columns = ["polytune", "GFLOP/s", "of BLAS", "of reading", "of roofline", *(f"over {name}" for name in peers)]
    if best is not None:
        columns.append("against the best compiler")
    right = [Column(name, justify="right", no_wrap=len(name) < 12) for name in (*columns, "calls")]
    result = Table(Column("kernel", no_wrap=True), *right, "best configuration")
    for comparison in comparisons:
        product = comparison.share_of_product
        cells = [
            spread(comparison.samples[POLYTUNE]),
            f"{comparison.operations_per_second / 1e9:.3g}",
            "" if product is None else f"{product:.0%}",
            f"{comparison.share_of_bandwidth:.0%}",
            f"{comparison.share_of_roofline:.0%}",
            *(f"{comparison.speedup_over(name):.2f}" if name in comparison.samples else "" for name in peers),
        ]
        if best is not None:
            ahead = comparison.speedup_over_best(best.get(comparison.kernel))
            cells.append("" if ahead is None else f"{ahead:.2f}")
        result.add_row(
            comparison.kernel + ("" if comparison.agrees else " (WRONG)"),
            *cells,
            f"{comparison.tuning.calls}{'' if comparison.tuning.converged else '+'}",
            _configuration(comparison.tuning.configuration),
        )
    return result


def seconds_table(comparisons: Sequence[Comparison]) -> Table:
    """A line for each kernel: how long each contender takes."""
    names = list(dict.fromkeys(name for comparison in comparisons for name in comparison.samples))
    result = Table(Column("kernel", no_wrap=True), *(Column(name, justify="right") for name in names))
    for comparison in comparisons:
        samples = comparison.samples
        result.add_row(comparison.kernel, *(spread(samples[name]) if name in samples else "" for name in names))
    return result


C_COMPILERS = ("gcc", "clang", "polly", "pluto", "ppcg")
"""The peers that are given the loops in C."""


def markdown(comparisons: Sequence[Comparison], dataset: str, surroundings: Mapping[str, Any], date: str) -> str:
    """A table for a page: the milliseconds of a call under polytune, NumPy, Numba and the best C compiler.

    Args:
        comparisons: a line each; a contender that is missing has an empty cell.
        dataset: the size.
        surroundings: as `benchmarks.program.surroundings` has them.
        date: when it was measured.
    """
    lines = ["| Kernel | polytune | NumPy | Numba | best C compiler |", "|---|---:|---:|---:|---:|"]
    for comparison in comparisons:
        medians = {name: sample.median for name, sample in comparison.samples.items()}
        compiled = {name: medians[name] for name in C_COMPILERS if name in medians}
        cells = [_milliseconds(medians.get(name)) for name in (POLYTUNE, "numpy", "numba")]
        best = min(compiled, key=lambda name: compiled[name], default=None)
        cells.append("" if best is None else f"{_milliseconds(compiled[best])} ({best})")
        lines.append(f"| {comparison.kernel} | {' | '.join(cells)} |")
    versions = ", ".join(f"{name} {number}" for name, number in surroundings["packages"].items())
    lines += [
        "",
        f"Milliseconds of a call, medians, PolyBench at {dataset}, after tuning; "
        f"{date}, {surroundings['machine']}, {surroundings['threads']} threads; {versions}.",
    ]
    return "\n".join([*lines, ""])


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e3:.3g}" if seconds < 0.1 else f"{seconds * 1e3:.0f}"


def conclusion(
    comparisons: Sequence[Comparison],
    absent: Mapping[str, str] | None = None,
    best: Mapping[str, float] | None = None,
) -> str:
    """The summary and what is to be known about single kernels, in sentences."""
    found = summary(comparisons, best)
    lines = ["+ after calls: tuning had not converged when the time was up."]
    lines += [f"no {name}: {reason}" for name, reason in (absent or {}).items()]
    for comparison in comparisons:
        lines += [f"{comparison.kernel}: {note}" for note in comparison.notes]
        if not comparison.agrees:
            lines.append(f"{comparison.kernel}: polytune differs from every other result by {comparison.error:.2g}")
    limits = found["limits"]
    if limits:
        products = [f"{name} {limits[name] / 1e9:.4g} GFLOP/s" for name in PRODUCTS.values() if name in limits]
        others = [f"{name} {rate / 1e9:.4g} GB/s" for name, rate in limits.items() if name not in PRODUCTS.values()]
        lines.append(f"the machine, medians: {', '.join([*products, *others])}")
    for name, entry in found["over"].items():
        mean, least = entry["geometric_mean"], entry["minimum"]
        slower = ", ".join(entry["slower"]) or "none"
        lines.append(
            f"speedup over {name}: geometric mean {mean:.2f} of {entry['kernels']}, least {least:.2f}; slower: {slower}"
        )
    return "\n".join(lines)


def _configuration(configuration: Mapping[str, Any]) -> str:
    """The version, the threads, the tile sizes and how many tiles outer tiles have, as short as can be."""
    tiles = [str(value) for name, value in configuration.items() if name.startswith("tile_")]
    outer = [str(value) for name, value in configuration.items() if name.startswith("outer_")]
    parts = [str(configuration["version"])]
    if tiles:
        parts.append("×".join(tiles))
    if outer:
        parts.append(f"in {'×'.join(outer)}")
    if "threads" in configuration:
        parts.append(f"on {configuration['threads']}")
    return " ".join(parts)
