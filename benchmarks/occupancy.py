"""``python -m benchmarks.occupancy``: what device kernels need, read from their machine code; no device is needed.

Exit code 0: done; 1: a kernel could not be compiled; 2: the command line makes no sense.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Column, Table

from benchmarks import program
from polybench.benchmark import Benchmark
from polybench.datasets import Dataset
from polybench.registry import benchmark

app = program.application("occupancy", "Say what PolyBench's device kernels need on a GPU that need not be there.")

KERNELS = ("gemm", "atax", "mvt", "gesummv", "bicg")

SHAPES: dict[str, dict[str, Any]] = {
    "default": {},
    "PPCG's default": {"block": 32, "height": 1, "shared": False},
    "2 x 4 points": {"points_x": 4, "points_y": 2},
    "4 x 4 points": {"points_x": 4, "points_y": 4},
    "8 x 8 points": {"points_x": 8, "points_y": 8, "depth": 8},
    "4 x 4 points, unrolled": {"points_x": 4, "points_y": 4, "unroll_tile": True, "unroll_copy": True},
}
"""The shapes that are looked at, by name, as ``polytune inspect --set`` takes them."""


@dataclass(frozen=True)
class Needs:
    """The resources that one region needs in one shape.

    Attributes:
        kernel, dtype, region, shape: which.
        threads: of a block.
        registers: 32-bit registers of a thread; None where a block does not fit, and is not compiled.
        shared_memory: bytes of a block.
        local_memory: bytes of a thread in device memory, for what does not fit into its registers; or None.
        occupancy: the share of a multiprocessor's warps that can be resident; 0 if a block does not fit.
    """

    kernel: str
    dtype: str
    region: int
    shape: str
    threads: int
    registers: int | None
    shared_memory: int
    local_memory: int | None
    occupancy: float


@app.command()
def occupancy(
    kernels: Annotated[
        list[str] | None, typer.Argument(metavar="KERNEL", help=f"By default {', '.join(KERNELS)}.")
    ] = None,
    single: Annotated[bool, typer.Option("--float32", help="Arrays of float32 instead of float64.")] = False,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Compile kernels for compute capability 9.0 in several shapes, and read what they need."""
    wanted = program.known_kernels(kernels or KERNELS)
    dtype = np.dtype(np.float32 if single else np.float64)
    found = [needs for name in wanted for needs in needs_of(benchmark(name), dtype, SHAPES)]
    if as_json:
        from polytune.runtime.devices import nvrtc

        program.print_json({"compiler": nvrtc.compiler(), "kernels": [asdict(needs) for needs in found]})
    else:
        program.results.print(table(found))


def needs_of(benchmark: Benchmark, dtype: np.dtype, shapes: Mapping[str, Mapping[str, Any]]) -> Iterator[Needs]:
    """The resources that the regions of a kernel need on a Hopper GPU.

    Raises:
        DeviceCompilationError: there is no compiler for CUDA, or a region cannot be compiled.
    """
    from benchmarks.gpu.speed import converted
    from polytune.runtime.calls.arguments import signature_of
    from polytune.runtime.devices import cubin, nvrtc
    from polytune.runtime.partitioned.launches import shape_of, shared_memory_of, source_of
    from polytune.show_devices import device_code

    initial = converted(benchmark.initialise(**benchmark.sizes(Dataset.MINI)), dtype)
    stages = benchmark.kernel.stages(signature_of(benchmark.argument_names, initial))
    parts = () if stages.partitioned is None else stages.partitioned.parts
    for number, part in enumerate(parts):
        code = device_code(number, part, stages.scop)
        if code is None:
            continue
        texts = set()
        for name, choices in shapes.items():
            shape = shape_of(code, {f"{choice}_0": value for choice, value in choices.items()}, 0)
            text = source_of(code, shape, "cuda")
            if text in texts:
                continue
            texts.add(text)
            threads = int(np.prod(shape.block))
            shared_memory = shared_memory_of(code, shape)
            if shared_memory > cubin.HOPPER.shared_memory_per_block:
                yield Needs(benchmark.name, dtype.name, number, name, threads, None, shared_memory, None, 0.0)
                continue
            needs = cubin.kernel_needs(nvrtc.compile(text, "sm_90", nvrtc.options(contract=True)), code.name)
            resident = cubin.occupancy(threads, needs.registers, needs.shared_memory)
            yield Needs(
                benchmark.name,
                dtype.name,
                number,
                name,
                threads,
                needs.registers,
                needs.shared_memory,
                needs.local_memory,
                resident,
            )


def table(found: list[Needs]) -> Table:
    """A line for each region and shape."""
    columns = ["threads", "registers", "shared memory", "local memory", "occupancy"]
    result = Table("kernel", "region", "shape", *[Column(name, justify="right", no_wrap=True) for name in columns])
    for needs in found:
        result.add_row(
            needs.kernel,
            str(needs.region),
            needs.shape,
            str(needs.threads),
            "" if needs.registers is None else str(needs.registers),
            f"{needs.shared_memory} B",
            "" if needs.local_memory is None else f"{needs.local_memory} B",
            f"{needs.occupancy:.0%}" if needs.occupancy else "does not fit",
        )
    return result


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.occupancy")
