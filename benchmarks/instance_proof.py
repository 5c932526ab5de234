"""The cost of proving that generated code executes each statement instance once, as a share of the analysis.

``python -m benchmarks.instance_proof`` prints the share of each kernel of PolyBench, the median and the largest;
names of kernels after it have it measure these alone.  Both are processor time of one run, so that other programs
change them little.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.compile_time import stage_seconds
from polybench.datasets import CATALOGUE, Dataset
from polybench.registry import benchmark
from polytune.codegen import programs
from polytune.codegen.tiles import windows
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.analysis import instances

__all__ = ["PROOFS", "main", "proof_and_analysis"]

PROOFS = (
    *(("polytune.pipeline", "is_of_source"), (programs.__name__, "has_all_in_regions")),
    *((windows.__name__, name) for name in ("executes_each_once", "lies_between", "may_be_shifted")),
)
"""The places where each function of ``polytune.schedule.analysis.instances`` is called: a module, and its name
there."""


class _Stopwatch:
    """The processor seconds of calls, those inside of one another counted once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._is_running = False

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, whose calls are counted."""

        def call(*arguments: Any) -> Any:
            if self._is_running:
                return function(*arguments)
            self._is_running, begin = True, time.process_time()
            try:
                return function(*arguments)
            finally:
                self.seconds += time.process_time() - begin
                self._is_running = False

        return call


@contextmanager
def _proofs_timed() -> Iterator[_Stopwatch]:
    """Have every call of a proof counted."""
    stopwatch = _Stopwatch()
    patches = [patch(f"{module}.{name}", stopwatch.timed(getattr(instances, name))) for module, name in PROOFS]
    for each in patches:
        each.start()
    try:
        yield stopwatch
    finally:
        for each in patches:
            each.stop()


def proof_and_analysis(name: str) -> tuple[float, float]:
    """Return the processor seconds of a kernel's proofs, and of its whole analysis, from the source to the module's
    text, the proofs among it."""
    suite = benchmark(name)
    arguments = suite.initialise(**suite.sizes(Dataset.MINI))
    stages = Stages(suite.kernel.__wrapped__, signature_of(suite.argument_names, arguments))
    with _proofs_timed() as stopwatch:
        analysis = sum(stage_seconds(stages).values())
    return stopwatch.seconds, analysis


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.instance_proof", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="kernels of PolyBench; by default all")
    shares = {}
    print(f"{'kernel':16}{'proof s':>10}{'analysis s':>12}{'share':>9}")
    for name in parser.parse_args().kernels or CATALOGUE:
        proof, analysis = proof_and_analysis(name)
        shares[name] = proof / analysis
        print(f"{name:16}{proof:10.3f}{analysis:12.3f}{shares[name]:9.1%}", flush=True)
    worst = max(shares, key=lambda name: shares[name])
    print(f"median {statistics.median(shares.values()):.1%}, largest {shares[worst]:.1%} ({worst})")


if __name__ == "__main__":
    main()
