"""The least work of a kernel, and how near to the machine's limits it comes.

The roofline model (Williams, Waterman and Patterson, "Roofline", CACM 2009): a kernel takes at least as long as its
operations take at the machine's best rate, and at least as long as the memory traffic that no cache can save.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cpu.limits import PRODUCTS, READ, STREAMS, TRIAD, Rate
from polybench.benchmark import Arguments, Benchmark
from polybench.datasets import Dataset
from polytune.codegen.python_expressions import expression_text
from polytune.frontend.generated_names import without_marks
from polytune.frontend.scop import ArrayRole, Scop
from polytune.pipeline import Stages
from polytune.schedule.counting.traffic import passes


@dataclass(frozen=True)
class Work:
    """The work of one call.

    Attributes:
        operations: arithmetic operations, as the source writes them.
        bytes: elements of the arguments that are accessed, times their size; twice where their old values are read
            and new ones written.
        dtype: of the arrays that are written.
    """

    operations: int
    bytes: int
    dtype: str

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.bytes


@dataclass(frozen=True)
class Roof:
    """The limits for one kernel.

    Attributes:
        flops: operations a second of BLAS in the kernel's dtype; None for integers, for which there is no BLAS.
        bandwidth: bytes a second that reading the kernel's arrays reaches at best; the triad's where they are too
            small to be read.
        plain_bandwidth: the same in a plain loop.
    """

    flops: float | None
    bandwidth: float
    plain_bandwidth: float

    def least_seconds(self, work: Work) -> float:
        """The least time of the work."""
        compute = 0.0 if self.flops is None else work.operations / self.flops
        return max(compute, work.bytes / self.bandwidth)


def roof_of(work: Work, limits: Mapping[str, Rate]) -> Roof:
    """The limits that hold for a kernel."""
    product = PRODUCTS.get(work.dtype)
    reads = [limits[name].median for name in (READ, STREAMS) if name in limits] or [limits[TRIAD].median]
    return Roof(None if product is None else limits[product].median, max(reads), reads[0])


def work_of(benchmark: Benchmark, stages: Stages, dataset: Dataset, arguments: Arguments) -> Work:
    """The work of a call at a size, from the benchmark's operations and the compiler's counts."""
    scop = stages.scop
    given = dict(zip(benchmark.argument_names, arguments, strict=True))
    parameters = parameter_values(scop, given)
    total = 0
    for counts in stages.counts.arrays:
        array = scop.array(counts.array)
        if array.role is not ArrayRole.ARGUMENT:
            continue
        value = given[array.name]
        elements = value.size if counts.footprint is None else int(counts.footprint.evaluate(**parameters))
        total += elements * value.itemsize * passes(scop, array.name)
    written = np.result_type(*(given[name] for name in benchmark.outputs))
    return Work(benchmark.operations(**benchmark.sizes(dataset)), total, written.name)


def parameter_values(scop: Scop, arguments: Mapping[str, Any]) -> dict[str, int]:
    """The values of a kernel's parameters in a call."""
    values: dict[str, int] = {}
    for parameter in scop.parameters:
        text = without_marks(expression_text(parameter.source, compiled=False))
        values[parameter.name] = int(eval(text, {}, {**arguments, **values}))
    return values
