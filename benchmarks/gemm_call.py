"""One process of ``benchmarks.latency``: gemm at MEDIUM from the import of its module to the first result.

Prints one line of JSON when the result is there, the seconds that the imports and the first call took; its parent reads
the clock at that line.  Ends with exit code 1 if the result is wrong.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    begin = time.perf_counter()
    from polybench.kernels.gemm import BENCHMARK

    imported = time.perf_counter()
    from polybench.benchmark import copy_arguments
    from polybench.datasets import Dataset

    initial = BENCHMARK.initialise(**BENCHMARK.sizes(Dataset.MEDIUM))
    arguments = copy_arguments(initial)
    called = time.perf_counter()
    BENCHMARK.kernel(*arguments)
    done = time.perf_counter()
    print(json.dumps({"imports": imported - begin, "first_call": done - called}), flush=True)
    expected = copy_arguments(initial)
    BENCHMARK.reference(*expected)
    error = BENCHMARK.error_of(initial, expected, arguments)
    if error > BENCHMARK.tolerance:
        sys.exit(f"gemm's result is wrong: error {error:.2g}")


if __name__ == "__main__":
    main()
