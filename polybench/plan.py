"""The configurations of a kernel that are verified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from polybench.datasets import Dataset

_SAMPLES = 2


def configurations(space: Any, dataset: Dataset, generator: np.random.Generator) -> Iterator[Mapping[str, Any]]:
    """Every version of a kernel, each with several tile sizes and thread counts, and a few random configurations.

    Every version comes with its default sizes, and twice with tile sizes that do not divide a problem, on one thread
    and on two.  Nothing comes twice.

    Args:
        space: the kernel's ``polytune.tuner.Space``.
        dataset: how small a tile may be; one of a few points takes too long on a large problem.
        generator: draws the random configurations.
    """
    sizes = (1, 3, 7, 5) if dataset.is_small else (13, 37, 7, 29)
    seen = set()
    for candidate in _candidates(space, sizes, generator):
        key = tuple(sorted(candidate.items()))
        if key not in seen:
            seen.add(key)
            yield candidate


def _candidates(space: Any, sizes: tuple[int, ...], generator: np.random.Generator) -> Iterator[Mapping[str, Any]]:
    for version in space.enumerate_nominal():
        yield version
        yield _with_sizes(space, version, sizes, threads=1)
        yield _with_sizes(space, version, sizes[1:] + sizes[:1], threads=2)
    for _ in range(_SAMPLES):
        yield space.sample(generator)


def _with_sizes(space: Any, version: Mapping[str, Any], sizes: tuple[int, ...], threads: int) -> Mapping[str, Any]:
    """The version with its tile sizes taken in turn from ``sizes``, or the nearest that the space has."""
    tiles = [name for name in version if name.startswith(("tile_", "outer_"))]
    wanted = {name: sizes[index % len(sizes)] for index, name in enumerate(tiles)}
    if "threads" in version:
        wanted["threads"] = threads
    nearest = {name: _nearest(space[name], value) for name, value in wanted.items()}
    found: Mapping[str, Any] = space.configuration(**{**version, **nearest})
    return found


def _nearest(parameter: Any, value: int) -> int:
    return value if parameter.accepts(value) else min(parameter.levels, key=lambda level: abs(level - value))
