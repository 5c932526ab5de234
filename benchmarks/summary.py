"""Comparisons of many kernels as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Column, Table

from benchmarks.comparison import BASELINE, POLYTUNE, Comparison
from benchmarks.program import duration, geometric_mean, spread


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Everything about one kernel; times are in seconds."""
    baseline, tuning = comparison.baseline, comparison.tuning
    return {
        "kernel": comparison.kernel,
        "speedup": comparison.speedup,
        "speedup_over": {name: comparison.speedup_over(name) for name in baseline.extras},
        "seconds": {name: sample.to_json() for name, sample in comparison.samples.items()},
        "configuration": tuning.configuration,
        "tuning": {
            "calls": tuning.calls,
            "seconds": tuning.seconds,
            "remembered_calls": tuning.remembered_calls,
            "converged": tuning.converged,
        },
        "baseline": {"prange": list(baseline.loops), "notes": list(baseline.notes), "source": baseline.source},
        "compiler": {
            "seconds": comparison.compile_seconds,
            "stages": comparison.stages,
            "versions": comparison.versions,
        },
        "error": comparison.error,
        "agrees": comparison.agrees,
    }


def summary(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Over all kernels: the geometric mean and the least of the speedups, the kernels slower than the baseline, and the
    most that the compiler took for one."""
    speedups = {comparison.kernel: comparison.speedup for comparison in comparisons}
    extras = dict.fromkeys(name for comparison in comparisons for name in comparison.baseline.extras)
    return {
        "geometric_mean": geometric_mean(speedups.values()),
        "geometric_mean_over": {
            name: geometric_mean(c.speedup_over(name) for c in comparisons if name in c.baseline.extras)
            for name in extras
        },
        "minimum": min(speedups.values(), default=None),
        "slower": [kernel for kernel, speedup in speedups.items() if speedup < 1],
        "compiler_seconds_maximum": max((comparison.compile_seconds for comparison in comparisons), default=None),
    }


def table(comparisons: Sequence[Comparison]) -> Table:
    """A line for each kernel: medians, with the distances of the quartiles from them."""
    extras = list(dict.fromkeys(name for comparison in comparisons for name in comparison.baseline.extras))
    columns = ["polytune", "numba", "speedup", *(f"over {name}" for name in extras), "compiler", "versions", "calls"]
    right = [Column(name, justify="right", no_wrap=True) for name in columns]
    result = Table(Column("kernel", no_wrap=True), *right, "best configuration", "prange on")
    for comparison in comparisons:
        tuning = comparison.tuning
        result.add_row(
            comparison.kernel + ("" if comparison.agrees else " (WRONG)"),
            spread(comparison.samples[POLYTUNE]),
            spread(comparison.samples[BASELINE]),
            f"{comparison.speedup:.2f}",
            *(f"{comparison.speedup_over(name):.2f}" if name in comparison.samples else "" for name in extras),
            duration(comparison.compile_seconds),
            str(comparison.versions),
            f"{tuning.calls}{'' if tuning.converged else '+'}",
            _configuration(tuning.configuration),
            ", ".join(comparison.baseline.loops) or "no loop",
        )
    return result


def conclusion(comparisons: Sequence[Comparison]) -> str:
    """The summary and what is to be known about single kernels, in sentences."""
    found = summary(comparisons)
    lines = ["+ after calls: tuning had not converged when the time was up."]
    for comparison in comparisons:
        lines += [f"{comparison.kernel}: {note}" for note in comparison.baseline.notes]
        if not comparison.agrees:
            lines.append(f"{comparison.kernel}: polytune and Numba differ by {comparison.error:.2g}")
    if comparisons:
        least = min(comparisons, key=lambda comparison: comparison.speedup)
        over = "".join(f", {mean:.2f} over {name}" for name, mean in found["geometric_mean_over"].items())
        lines.append(
            f"speedup: geometric mean {found['geometric_mean']:.2f}{over}, least {least.speedup:.2f} ({least.kernel})"
        )
        lines.append(f"slower than Numba: {', '.join(found['slower']) or 'none'}")
    return "\n".join(lines)


def _configuration(configuration: Mapping[str, Any]) -> str:
    """The version, the threads and the tile sizes, as short as can be."""
    tiles = [str(value) for name, value in configuration.items() if name.startswith("tile_")]
    parts = [str(configuration["version"])]
    if tiles:
        parts.append("×".join(tiles))
    if "threads" in configuration:
        parts.append(f"on {configuration['threads']}")
    return " ".join(parts)
