"""The lead of the best of other compilers over GCC, measured elsewhere and given as a table."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from benchmarks.timing import Sample
from polybench.registry import UnknownKernelError, check_name

GCC = "gcc-plain"
"""The peer that the ratios are related to: C that does not say that arrays do not overlap, as PolyBench/C is by
default."""


class BestKnownError(Exception):
    """The table cannot be read; the message says why."""


def read_best_known(path: Path) -> dict[str, float]:
    """The table: CSV with the columns ``kernel`` and ``ratio``, how many times as fast as GCC the best is.

    GCC stands for ``gcc -O3 -march=native -ffast-math`` on one thread, the peer ``gcc-plain`` of the benchmark.

    Raises:
        BestKnownError: there is no such file, or a line is not such a pair.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is None or not {"kernel", "ratio"} <= set(reader.fieldnames):
                raise BestKnownError(f"{path} has no columns 'kernel' and 'ratio'")
            return dict(_pair(row, f"{path}, line {reader.line_num}") for row in reader)
    except (OSError, UnicodeDecodeError) as problem:
        raise BestKnownError(f"{path} cannot be read ({problem})") from None


def _pair(row: Mapping[str, str | None], place: str) -> tuple[str, float]:
    name = (row["kernel"] or "").strip()
    try:
        check_name(name)
        ratio = float(row["ratio"] or "")
    except UnknownKernelError as problem:
        raise BestKnownError(f"{place}: {problem}") from None
    except ValueError:
        raise BestKnownError(f"{place}: {row['ratio']!r} is no number") from None
    if not 0 < ratio < float("inf"):
        raise BestKnownError(f"{place}: a ratio is positive, not {ratio:g}")
    return name, ratio


def speedup_over_best(samples: Mapping[str, Sample], own: str, ratio: float | None) -> float | None:
    """The speed of the contender ``own`` over the best; None where GCC or the ratio is missing."""
    if ratio is None or GCC not in samples:
        return None
    return samples[GCC].median / ratio / samples[own].median
