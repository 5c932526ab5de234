"""One process of ``benchmarks.payoff``: the first calls of a kernel, each beside one of its default configuration.

``python -m benchmarks.payoff_calls KERNEL DATASET CALLS COMPILED [VERSION]`` prints them as one line of JSON; COMPILED
is 1 where all versions are to be compiled beforehand, and VERSION, with its parameters at their start values, takes the
place of the default.  Its parent gives it a cache directory of its own, so that nothing has been compiled or learned
before.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.timing import Workload
from polybench.benchmark import Benchmark
from polybench.datasets import Dataset
from polybench.registry import benchmark
from polytune.runtime.partitioned.space import VERSION as PARTITIONED


def measure(
    entry: Benchmark, dataset: Dataset, calls: int, compiled: bool, against: str | None = None
) -> dict[str, Any]:
    """Tuned calls and calls of the default in turns; which of the two is first changes from call to call.

    Args:
        entry: whose kernel.
        dataset: the suite's sizes.
        calls: of each kind.
        compiled: whether every version is compiled beforehand.
        against: the version that stands for the default; None for the default itself.

    Returns:
        For each call the seconds that the tuned one took as its caller sees it, of these the seconds that compiling
        others than the default took, how many configurations had been tried by then, and the seconds of the default,
        which the first tuned call has compiled.  Besides, what the tuner has come to.
    """
    initial = entry.initialise(**entry.sizes(dataset))
    workload, kernel = Workload(initial), entry.kernel
    generated = kernel.generated(*initial)  # the analysis, which is the same whether a kernel is tuned or not
    tuner = kernel.tuner(*initial)
    default = tuner.space.default() if against is None else generated.space.configuration(version=against)
    for version in generated.space["version"].values if compiled else ():
        if version != PARTITIONED:
            generated.functions.compile(version)
    if against is not None:
        generated.functions.compile(against)
    tuned, compiling, always, explored = [], [], [], []

    def tuned_call() -> None:
        before = tuner.statistics().compile_seconds
        tuned.append(workload.timed(kernel))
        now = tuner.statistics()
        compiling.append(now.compile_seconds - before)
        explored.append(now.explored)

    def default_call() -> None:
        # Nothing but the checks and the run: what a program without a tuner would do.
        always.append(workload.timed(lambda *arguments: generated.run(default, generated.prepare(arguments))))

    for call in range(calls):
        for one in (tuned_call, default_call)[:: -1 if call % 2 else 1]:
            one()
    statistics = tuner.statistics()
    return {
        "tuned": tuned,
        "compiling": compiling,
        "default": always,
        "default_configuration": dict(default),
        "best_configuration": dict(tuner.best[0]),
        "explored": explored,
        "on_devices": sum(configuration["version"] == PARTITIONED for configuration, _ in tuner.ranking()),
        "trials": statistics.trials,
        "converged": statistics.converged,
    }


def main() -> None:
    name, dataset, calls, compiled, *against = sys.argv[1:]
    found = measure(benchmark(name), Dataset(dataset), int(calls), compiled == "1", *against)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
