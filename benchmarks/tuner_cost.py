"""The cost of the tuner itself to a call: ``python -m benchmarks.tuner_cost [--json] [--output FILE] [--repeat N]``.

Microseconds, the median and the 95th percentile over single calls, of which the clock takes about 0.1:

- ``exploring``: `OnlineTuner.choose` and `report` of a kernel's space while everything is tried;
- ``partitioned``: `ask` and `tell` where four partitions run on a processor or a device, 2400 nominal combinations;
- ``converged``: `choose` and `report` afterwards;
- ``two_million``: `ask` on two million configurations, nominal, conditional and constrained; and the first one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import program
from benchmarks.proposals import SPACE as TWO_MILLION
from polytune.tuner import (
    Budget,
    Configuration,
    Constraint,
    HierarchicalTuner,
    Integer,
    Is,
    Nominal,
    OnlineTuner,
    Ratio,
    Space,
)

WANTED = {"exploring": 30.0, "partitioned": 30.0, "converged": 3.0, "two_million": 1000.0}
"""Upper bounds of the medians, in microseconds."""

KERNEL = Space(
    [
        Nominal("version", ("source", "parallel", "tiled", "wavefront")),
        Integer("threads", 1, 16, default=16, when=Is("version", "parallel", "tiled", "wavefront")),
        *(Integer(f"tile_{k}", 1, 4096, logarithmic=True, default=32, when=Is("version", "tiled")) for k in range(3)),
    ]
)


def partitioned_space(splits: int = 2, device: str = "cuda:0") -> Space:
    """A kernel whose region may be split among the processor and a device, as generated for the paper's table 1."""
    parameters: list[Any] = [
        Nominal("version", ("source", "tiled", "partitioned")),
        Nominal("split", tuple(range(splits + 1)), when=Is("version", "partitioned")),
        *(Ratio(f"ratio_{d}", 0, 1, when=Is("split", *range(d + 1, splits + 1))) for d in range(splits)),
    ]
    for k in range(2**splits):
        exists = Is("split", *(split for split in range(splits + 1) if 2**split > k))
        on_device = Is(f"platform_{k}", device)
        parameters += [
            Nominal(f"platform_{k}", ("cpu", device), default="cpu" if k else device, when=exists),
            Integer(f"threads_{k}", 1, 16, default=16, when=Is(f"platform_{k}", "cpu")),
            Integer(f"block_{k}", 32, 256, step=32, default=256, when=on_device),
            Integer(f"height_{k}", 1, 32, powers_of_two=True, default=8, when=on_device),
            Nominal(f"shared_{k}", (True, False), when=on_device),
            Nominal(f"unroll_copy_{k}", (False, True), when=Is(f"shared_{k}", True)),
            Nominal(f"unroll_tile_{k}", (False, True), when=on_device),
        ]
    constraints = []
    for split in range(splits + 1):
        everywhere = " and ".join(f"platform_{k} == 'cpu'" for k in range(2**split))
        others = "" if split == splits else f"split != {split} or "
        constraints.append(Constraint(f"{others}not ({everywhere})", "some partition runs on a device"))
    return Space(parameters, constraints)


def cost_of(space: Space, seed: int) -> Callable[[Configuration], float]:
    """A cost with one valley and 2 % noise; the plainer versions are slower."""
    rng = np.random.default_rng(seed)
    best = {parameter.name: int(rng.integers(1, 64)) for parameter in space.parameters}

    def cost(configuration: Configuration) -> float:
        total = {"source": 4.0, "parallel": 3.0, "tiled": 2.0}.get(str(configuration["version"]), 1.5)
        for name, value in configuration.items():
            off = abs(value - best[name]) / 64 if isinstance(value, (int, float)) else (len(value) + best[name]) % 3
            total += off / len(configuration)
        return 1e-3 * total * (1 + 0.02 * rng.random())

    return cost


def of_calls(tuner: OnlineTuner, cost: Callable[[Configuration], float], calls: int) -> list[float]:
    """Microseconds of `choose` and `report`, call by call."""
    clock, found = time.perf_counter, []
    for _ in range(calls):
        start = clock()
        configuration = tuner.choose()
        middle = clock()
        seconds = cost(configuration)
        resumed = clock()
        tuner.report(configuration, seconds)
        found.append(1e6 * (middle - start + clock() - resumed))
    return found


def of_asking(
    search: HierarchicalTuner, cost: Callable[[Configuration], float], calls: int, *, telling: bool
) -> list[float]:
    """Microseconds of `ask`, and of `tell` as well where that is wanted."""
    clock, found = time.perf_counter, []
    for _ in range(calls):
        start = clock()
        configuration = search.ask()
        middle = clock()
        seconds = cost(configuration)
        resumed = clock()
        search.tell(configuration, seconds)
        found.append(1e6 * (middle - start + (clock() - resumed if telling else 0.0)))
    return found


def measure(repeat: int) -> dict[str, dict[str, float]]:
    """All figures, over `repeat` seeds."""
    times: dict[str, list[float]] = {
        "exploring": [],
        "partitioned": [],
        "converged": [],
        "two_million": [],
        "first": [],
    }
    partitioned = partitioned_space()
    for seed in range(repeat):
        cost = cost_of(KERNEL, seed)
        tuner = OnlineTuner(KERNEL, budget=Budget.unlimited(), seed=seed)
        while not tuner.converged:
            times["exploring"] += of_calls(tuner, cost, 1)
        times["converged"] += of_calls(tuner, cost, 2000)
        search = HierarchicalTuner(partitioned, rng=np.random.default_rng(seed))
        cost = cost_of(partitioned, seed)
        for _ in range(300):
            if not search.converged:
                times["partitioned"] += of_asking(search, cost, 1, telling=True)
        start = time.perf_counter()
        large = HierarchicalTuner(TWO_MILLION, rng=np.random.default_rng(seed))
        large.ask()
        times["first"].append(1e6 * (time.perf_counter() - start))
        times["two_million"] += of_asking(large, cost_of(TWO_MILLION, seed), 300, telling=False)
    return {
        name: {"median_us": float(np.median(found)), "p95_us": float(np.percentile(found, 95))}
        for name, found in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=10, help="how many seeds")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the figures to this file as JSON")
    options = parser.parse_args()
    program.check_output(options.output)
    found = measure(options.repeat)
    if options.output is not None:
        options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if options.json:
        program.print_json(found)
        return
    for name, figures in found.items():
        wanted = f"  (wanted: < {WANTED[name]:g})" if name in WANTED else ""
        print(f"{name:12s} median {figures['median_us']:8.2f} us   95 % {figures['p95_us']:8.2f} us{wanted}")


if __name__ == "__main__":
    main()
