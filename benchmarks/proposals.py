"""The cost of a proposal of each search on a space of two million configurations.

``python -m benchmarks.proposals [--evaluations N] [SEARCH ...]`` prints it as JSON: the microseconds of `ask` and of
`tell`, and the seconds in which the table of the space is built.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from polytune.tuner import Constraint, Integer, Is, Nominal, Space
from polytune.tuner.searchers import make_search
from polytune.tuner.spaces.finite import FiniteSpace

CLASSICAL = (
    "full",
    "random",
    "latin_hypercube",
    "greedy",
    "greedy_restart",
    "epsilon_greedy",
    "nelder_mead",
    "annealing",
    "genetic",
    "particle_swarm",
)

SPACE = Space(
    [
        Nominal("version", ("source_order", "tiled", "wavefront")),
        *(Integer(f"tile_{axis}", 1, 11) for axis in range(5)),
        Integer("unroll", 1, 8, powers_of_two=True, when=Is("version", "tiled", "wavefront")),
        Nominal("packed", (True, False)),
    ],
    [Constraint("tile_0 * tile_1 * tile_2 <= 400"), Constraint("tile_3 % 2 == 0 or tile_4 <= 9")],
)
"""Names, sizes, a condition and constraints: 2.18 million configurations."""


def measure(name: str, space: FiniteSpace, evaluations: int) -> dict[str, Any]:
    """Run one search on a valley with a slope in every parameter."""
    target = np.random.default_rng(1).random(len(space.levels)) * [len(levels) for levels in space.levels]
    search = make_search(name, space, np.random.default_rng(0), budget=evaluations)
    asking, telling = np.empty(evaluations), np.empty(evaluations)
    for number in range(evaluations):
        begin = time.perf_counter()
        index = search.ask()
        asked = time.perf_counter()
        cost = 1.0 + float(np.abs(space.rows[index] - target).sum())
        begin_tell = time.perf_counter()
        search.tell(index, cost)
        asking[number], telling[number] = asked - begin, time.perf_counter() - begin_tell
    return {
        "ask_median_us": 1e6 * float(np.median(asking)),
        "ask_mean_us": 1e6 * float(asking.mean()),
        "ask_last_tenth_mean_us": 1e6 * float(asking[-max(evaluations // 10, 1) :].mean()),
        "tell_mean_us": 1e6 * float(telling.mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("searches", nargs="*", default=[*CLASSICAL, "portfolio"])
    parser.add_argument("--evaluations", type=int, default=400)
    arguments = parser.parse_args()
    begin = time.perf_counter()
    space = FiniteSpace.from_space(SPACE)
    seconds = time.perf_counter() - begin
    results = {name: measure(name, space, arguments.evaluations) for name in arguments.searches}
    print(json.dumps({"configurations": len(space), "build_seconds": seconds, "searches": results}, indent=1))


if __name__ == "__main__":
    main()
