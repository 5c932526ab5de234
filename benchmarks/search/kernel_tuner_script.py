"""Run in Kernel Tuner's environment: its strategies in simulation mode on a recorded space.

Standard input and output are described in `foreign`.  The space is made from the cache, and not from constraints, and
the cache is read once for all runs; everything else is what ``kernel_tuner.tune_kernel`` does.
"""

import functools
import json
import random
import sys
import tempfile
import zlib
from pathlib import Path

import kernel_tuner
import numpy
from kernel_tuner import interface, util
from kernel_tuner.searchspace import Searchspace

FAILED = "RuntimeFailedConfig"


def main():
    request = json.load(sys.stdin)
    names, levels = request["names"], request["levels"]
    configurations = [[values[i] for values, i in zip(levels, row, strict=True)] for row in request["rows"]]
    row_of = {key(configuration): row for row, configuration in enumerate(configurations)}
    tune_params = dict(zip(names, levels, strict=True))
    document = {
        "device_name": "recorded",
        "kernel_name": "recorded",
        "problem_size": [1],
        "tune_params_keys": names,
        "tune_params": tune_params,
        "objective": "time",
        "cache": {
            key(configuration): {
                **dict(zip(names, configuration, strict=True)),
                "time": FAILED if time is None else time,
                "compile_time": 0,
                "verification_time": 0,
                "benchmark_time": 0,
            }
            for configuration, time in zip(configurations, request["milliseconds"], strict=True)
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "recorded.json"
        cache.write_text(json.dumps(document))
        util.read_cache = functools.cache(util.read_cache)
        # A new one for each run: it remembers which neighbours were drawn.
        interface.Searchspace = lambda *arguments, **options: Searchspace(None, None, None, from_cache=document)
        for search, budget, repeat in request["tasks"]:
            answer = {"search": search, "budget": budget, "repeat": repeat}
            seed = zlib.crc32(f"{request['seed']} {search} {budget} {repeat}".encode())
            try:
                answer.update(rows=run(tune_params, str(cache), search, budget, seed, row_of), invalid=0)
            except Exception as error:
                answer.update(error=f"{type(error).__name__}: {error}")
            print(json.dumps(answer), file=sys.__stdout__, flush=True)


def run(tune_params, cache, search, budget, seed, row_of):
    """The rows that a strategy evaluates, each once, in their order."""
    random.seed(seed)
    numpy.random.seed(seed)
    results, _ = kernel_tuner.tune_kernel(
        "recorded",
        "__global__ void recorded() {}",
        [1],
        [],
        tune_params,
        strategy=search,
        strategy_options={"max_fevals": budget},
        cache=cache,
        simulation_mode=True,
        quiet=True,
        seed=seed,
    )
    visited = [row_of.get(key([result[name] for name in tune_params])) for result in results]
    # A configuration that is no member of the space is not evaluated.
    return [row for row in dict.fromkeys(visited) if row is not None][:budget]


def key(configuration):
    return ",".join(map(str, configuration))


if __name__ == "__main__":
    sys.stdout = sys.stderr  # what the tuner prints is no answer
    main()
