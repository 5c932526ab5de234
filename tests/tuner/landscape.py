"""A synthetic kernel: a conditional space with a known cost, and the noise of a real machine."""

from __future__ import annotations

import math

import numpy as np

from polytune.tuner import Configuration, Constraint, Integer, Is, Nominal, Space

SPACE = Space(
    [
        Nominal("version", ("source_order", "tiled", "wavefront")),
        Integer("tile_0", 8, 512, powers_of_two=True, default=32, when=Is("version", "tiled", "wavefront")),
        Integer("tile_1", 8, 512, powers_of_two=True, default=32, when=Is("version", "tiled")),
        Nominal("unroll", (1, 2, 4), when=Is("version", "tiled")),
        Integer("threads", 1, 8, default=8),
    ],
    [Constraint("tile_0 * tile_1 <= 65536", "two tiles must fit the cache")],
)


def cost(configuration: Configuration) -> float:
    """Seconds: 1 ms at the best, tiled 128 by 16 with unrolling on 8 threads; 3 ms by default."""
    base = {"source_order": 3.0, "tiled": 1.0, "wavefront": 1.4}[configuration["version"]]
    if "tile_0" in configuration:
        base *= 1 + 0.1 * (math.log2(configuration["tile_0"]) - 7) ** 2
    if "tile_1" in configuration:
        base *= 1 + 0.05 * (math.log2(configuration["tile_1"]) - 4) ** 2
    if configuration.get("unroll") == 1:
        base *= 1.2
    return 1e-3 * base * (1 + 0.2 * (8 - configuration["threads"]))


class Machine:
    """Measures with noise: a few percent always, and sometimes an interruption that makes a call ten times longer."""

    def __init__(self, seed: int, *, noise: float = 0.03, outliers: float = 0.05):
        self._rng = np.random.default_rng(seed)
        self._noise, self._outliers = noise, outliers
        self.speed = 1.0

    def measure(self, configuration: Configuration) -> float:
        disturbed = 1 + abs(self._rng.normal(0, self._noise))
        interrupted = 10 if self._rng.random() < self._outliers else 1
        return cost(configuration) * disturbed * interrupted / self.speed
