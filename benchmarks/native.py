"""``python -m benchmarks.native``: packages around shared libraries beside the tuned kernels that they are built from.

Exit code 0: done; 1: a process that was measured failed, or results differ; 2: the command line makes no sense.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Column, Table

from benchmarks import program
from benchmarks.timing import Sample, Workload, in_turns
from polybench.datasets import Dataset

KERNELS = ("gemm", "jacobi-2d", "atax", "floyd-warshall")
REST = 0.05
"""Seconds before each call that is timed: the threads of the call before, of the other contender, sleep by then."""

app = program.application("native", "Measure packages that polytune build --native writes.")


@dataclass(frozen=True)
class Measured:
    """The measurements of a kernel's package.

    Attributes:
        kernel: the suite's name of it.
        build: seconds that building took.
        bytes: of the library.
        imports: seconds to import the package, with NumPy, in processes of their own.
        numpy: of these, to import NumPy.
        first_call: seconds of the first call there, of the suite's smallest size.
        tuned: seconds of calls of the kernel, frozen.
        native: of those of the package.
        agrees: whether their results are as near to one another as the suite wants.
    """

    kernel: str
    build: float
    bytes: int
    imports: Sample
    numpy: Sample
    first_call: Sample
    tuned: Sample
    native: Sample
    agrees: bool

    @property
    def ratio(self) -> float:
        """The time of the package's calls as a part of the kernel's."""
        return self.native.median / self.tuned.median

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, in seconds."""
        samples = {
            name: getattr(self, name).to_json() for name in ("imports", "numpy", "first_call", "tuned", "native")
        }
        plain = {"kernel": self.kernel, "build": self.build, "bytes": self.bytes, "agrees": self.agrees}
        return {**plain, **samples, "ratio": self.ratio}


@app.command()
def native(
    kernels: Annotated[list[str] | None, typer.Argument(metavar="KERNEL", help="Four if none is named.")] = None,
    dataset: Annotated[Dataset, typer.Option(case_sensitive=False, help="The suite's sizes.")] = Dataset.LARGE,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long each kernel is tuned, unless it converges.")] = 60.0,
    repeats: Annotated[int, typer.Option(min=1, help="How often each call and each start is timed.")] = 21,
    every_level: Annotated[
        bool, typer.Option("--every-level", help="Build for all levels of processors, not for this machine's alone.")
    ] = False,
    threads: program.Threads = None,
    output: program.Output = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Tune kernels, build packages of them, and time their imports, their first calls, and calls of both in turns."""
    wanted = program.known_kernels(kernels or KERNELS)
    program.check_output(output)
    program.limit_threads(threads)
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="polytune-") as folder:
        os.environ["POLYTUNE_CACHE_DIR"] = folder
        for name in wanted:
            found.append(measure(name, dataset, seconds, repeats, Path(folder), every_level=every_level))
            if output is not None:
                text = json.dumps(program.finite([each.to_json() for each in found]), indent=2)
                output.write_text(text + "\n", encoding="utf-8")
    surroundings = program.surroundings()
    if as_json:
        program.print_json({**surroundings, "dataset": dataset.value, "kernels": [each.to_json() for each in found]})
    else:
        program.results.print(program.describe_surroundings(surroundings), highlight=False)
        program.results.print(table(found))
    if not all(each.agrees for each in found):
        raise typer.Exit(1)


def measure(
    name: str, dataset: Dataset, seconds: float, repeats: int, folder: Path, *, every_level: bool = False
) -> Measured:
    """Tune a kernel, build a package of it and measure that.

    Args:
        name: the suite's name of the kernel.
        dataset: the suite's sizes.
        seconds: how long it is tuned.
        repeats: how often each call and each start is timed.
        folder: where the package goes.
        every_level: whether it has code for all levels of processors.
    """
    from polybench.registry import benchmark
    from polytune.shared_library.build import build_library
    from polytune.shared_library.levels import level_names

    suite = benchmark(name)
    initial = suite.initialise(**suite.sizes(dataset))
    kernel = suite.kernel
    kernel.tune(*initial, seconds=seconds, progress=False)
    kernel.freeze()
    package = folder / f"native_{name.replace('-', '_')}"
    if package.name[len("native_") :][0].isdigit():
        package = folder / f"native_k{package.name.removeprefix('native_')}"
    begin = time.perf_counter()
    built = build_library([kernel], package, tuned=True, level_names=() if every_level else level_names()[-1:])
    build_seconds = time.perf_counter() - begin
    own = getattr(_imported(package), kernel.__name__)
    workload = Workload(initial)
    agrees = _agree(suite, initial, workload.result(kernel), workload.result(own))
    workload.timed(kernel)
    functions = {"tuned": kernel, "native": own}
    samples = in_turns(functions, workload, repeats, before=lambda _: time.sleep(REST))
    starts = [_start(package, name, kernel.__name__) for _ in range(repeats + 1)][1:]  # the first one writes bytecode
    first = {key: Sample(tuple(start[key] for start in starts)) for key in ("imports", "numpy", "first_call")}
    return Measured(name, build_seconds, built.library.stat().st_size, **first, **samples, agrees=agrees)


def _agree(suite: Any, initial: Any, wanted: Any, found: Any) -> bool:
    names = list(suite.kernel.__signature__.parameters)
    for name, before, one, other in zip(names, initial, wanted, found, strict=True):
        if name in suite.outputs and isinstance(before, np.ndarray):
            scale = float(np.max(np.abs(one))) or 1.0
            if not float(np.max(np.abs(one - other))) <= max(suite.tolerance, 1e-300) * scale:
                return False
    return True


def _imported(package: Path) -> ModuleType:
    import importlib

    sys.path.insert(0, str(package.parent))
    try:
        return importlib.import_module(package.name)
    finally:
        sys.path.pop(0)


_START = """
import sys, time, pickle
folder, package, kernel, arguments = sys.argv[1:]
sys.path.insert(0, folder)
begin = time.perf_counter()
import numpy
middle = time.perf_counter()
function = getattr(__import__(package), kernel)
end = time.perf_counter()
values = pickle.load(open(arguments, "rb"))
call = time.perf_counter()
function(*values)
done = time.perf_counter()
print(end - begin, middle - begin, done - call)
"""


def _start(package: Path, name: str, kernel: str) -> dict[str, float]:
    """Import a package in a process of its own, and call its kernel once with arguments of the smallest size."""
    import pickle

    from polybench.registry import benchmark

    arguments = package.parent / f"{package.name}.pickle"
    if not arguments.exists():
        suite = benchmark(name)
        arguments.write_bytes(pickle.dumps(suite.initialise(**suite.sizes(Dataset.MINI))))
    command = [sys.executable, "-c", _START, str(package.parent), package.name, kernel, str(arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if ran.returncode != 0:
        raise RuntimeError(f"{package.name}: {ran.stderr.strip()[-1000:]}")
    imports, numpy, first = map(float, ran.stdout.split())
    return {"imports": imports, "numpy": numpy, "first_call": first}


def table(found: list[Measured]) -> Table:
    """A line for each kernel: medians, with the distances of the quartiles from them."""
    names = ("import", "of it NumPy", "first call", "tuned kernel", "package", "package / kernel", "build", "library")
    result = Table(Column("kernel", no_wrap=True), *(Column(name, justify="right") for name in names))
    for each in found:
        samples = each.imports, each.numpy, each.first_call, each.tuned, each.native
        cells = [*map(program.spread, samples), f"{each.ratio:.3f}", program.duration(each.build)]
        wrong = "" if each.agrees else " (WRONG)"
        result.add_row(each.kernel + wrong, *cells, f"{each.bytes / 1024:.0f} KiB")
    return result


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.native")
