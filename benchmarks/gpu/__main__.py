"""``python -m benchmarks.gpu``: everything that needs a device, within a given time.

Exit code 0: done; 1: a result was wrong or something failed; 2: the command line makes no sense, or there is no device.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmarks import program
from benchmarks.gpu.chosen_device import chosen_device
from benchmarks.gpu.phases import Deadline, Results, deadlines
from polybench.datasets import Dataset
from polybench.registry import benchmark, names

if TYPE_CHECKING:
    from polytune.runtime.devices.device import Device

app = program.application("gpu", "Check and measure PolyBench on a device.")

SHARES = {"preparation": 8.0, "correctness": 16.0, "versions": 10.0, "transfers": 4.0, "limits": 4.0, "speed": 58.0}
"""The phases in their order, and what part of the time each gets."""


@app.command()
def gpu(
    kernels: Annotated[list[str] | None, typer.Argument(metavar="KERNEL", help="All 30 if none is named.")] = None,
    output: program.Output = None,
    as_json: program.Json = False,
    identity: Annotated[
        str, typer.Option("--device", metavar="DEVICE", help="Such as cuda:0 or opencl:1; by default the first GPU.")
    ] = "",
    dataset: Annotated[Dataset, typer.Option(case_sensitive=False, help="The sizes to time.")] = Dataset.EXTRALARGE,
    checked: Annotated[
        Dataset, typer.Option("--check-dataset", case_sensitive=False, help="The sizes to check results at.")
    ] = Dataset.MEDIUM,
    seconds: Annotated[float, typer.Option(min=1, help="About how long all of it may take.")] = 440.0,
    debug: program.Debug = False,
) -> None:
    """Check the results of all kernels, then transfers, then measure the device's limits and the speed of kernels."""
    wanted = program.known_kernels(kernels or names())
    program.check_output(output)
    ends = deadlines(seconds, SHARES)
    device = chosen_device(identity)

    results = Results(output, **program.surroundings(), device=_description(device), dataset=dataset.value)
    run = _Run(wanted, device, results, debug)
    run.phase("preparation", lambda end: run.preparation(end), ends)
    run.phase("correctness", lambda end: run.correctness(checked, end), ends)
    run.phase("versions", lambda end: run.versions(checked, end), ends)
    run.phase("transfers", lambda end: run.transfers(dataset), ends)
    run.phase("limits", lambda end: run.limits(dataset), ends)
    run.phase("speed", lambda end: run.speed(dataset, end), ends)

    from benchmarks.gpu.summary import conclusion, is_right, table

    if as_json:
        program.print_json(results.found)
    else:
        program.results.print(f"{device} within {results.found['seconds']:.0f} s", highlight=False)
        program.results.print(table(results.found))
        program.results.print(conclusion(results.found), highlight=False, markup=False)
    if not is_right(results.found):
        raise typer.Exit(1)


def _description(device: Device) -> dict[str, Any]:
    return {
        "identity": device.identity,
        "description": device.description,
        "key": device.key,
        "limits": asdict(device.limits),
    }


class _Run:
    """The phases of one run."""

    def __init__(self, kernels: list[str], device: Device, results: Results, debug: bool):
        self.kernels, self.device, self.results, self.debug = kernels, device, results, debug

    def phase(self, name: str, work: Any, ends: dict[str, Deadline]) -> None:
        """Do one phase; what goes wrong in it is kept, and the next one is done all the same."""
        print(f"{name}, {ends[name].left:.0f} s at most", file=sys.stderr, flush=True)
        try:
            work(ends[name])
        except Exception as problem:
            if self.debug:
                raise
            self.results.put("failures", name, value=f"{type(problem).__name__}: {problem}")
            print(f"{name}: {problem}", file=sys.stderr, flush=True)

    def preparation(self, end: Deadline) -> None:
        """Caches that hold what the others would wait for."""
        from benchmarks.gpu.preparation import prepare
        from benchmarks.gpu.problems import DOUBLE, SINGLE

        wanted = [(name, DOUBLE) for name in self.kernels] + [
            ("gemm", SINGLE) for name in self.kernels if name == "gemm"
        ]
        prepare(wanted, self.device.identity, end)

    def correctness(self, dataset: Dataset, end: Deadline) -> None:
        """All kernels, in several configurations each."""
        from benchmarks.gpu.correctness import Checked, check_kernels

        def report(name: str, checked: Checked) -> None:
            self.results.put("correctness", name, value=asdict(checked))

        found = check_kernels([benchmark(name) for name in self.kernels], dataset, self.device, end, report)
        self.results.leave_out(*(f"correctness of {name}" for name in self.kernels if name not in found))

    def versions(self, dataset: Dataset, end: Deadline) -> None:
        """Every version of gemm."""
        from benchmarks.gpu.correctness import Checked, check_all_versions

        if "gemm" not in self.kernels:
            return

        def report(checked: Checked, there_are: int) -> None:
            self.results.put("versions", value={**asdict(checked), "there_are": there_are})

        check_all_versions(benchmark("gemm"), dataset, self.device, end, report)

    def transfers(self, dataset: Dataset) -> None:
        """Boxes of arrays of every kind."""
        from benchmarks.gpu.transfers import check_transfers

        rows, columns = (203, 301) if dataset.is_small else (2003, 2001)
        self.results.put("transfers", value=check_transfers(self.device, rows, columns))

    def limits(self, dataset: Dataset) -> None:
        """The limits of the device."""
        from benchmarks.gpu.limits import measure_limits

        copied, rounds = (1 << 20, 16) if dataset.is_small else (self.matrix_bytes(dataset), 4096)
        self.results.put("limits", value=asdict(measure_limits(self.device, copied=copied, rounds=rounds)))

    def matrix_bytes(self, dataset: Dataset) -> int:
        """The size of an array that no cache holds, and that fits several times into the device's memory."""
        return 0 if dataset.is_small else min(1 << 30, self.device.limits.memory // 8) // 4096 * 4096

    def speed(self, dataset: Dataset, end: Deadline) -> None:
        """The kernels of two groups, one by one."""
        from benchmarks.gpu.problems import problems, timed_kernels
        from benchmarks.gpu.products import library_product
        from benchmarks.gpu.speed import measure
        from benchmarks.gpu.summary import relations

        kernels = [name for name in timed_kernels() if name in self.kernels]
        chosen = problems(kernels, dataset, self.matrix_bytes(dataset))
        for number, problem in enumerate(chosen):
            label = problem.label
            if end.is_over:
                self.results.leave_out(f"speed of {label}")
                continue
            print(f"{label}, {end.left:.0f} s left", file=sys.stderr, flush=True)

            def put(name: str, value: Any, label: str = label) -> None:
                self.results.put("speed", label, name, value=value)

            share = problem.weight / sum(other.weight for other in chosen[number:])
            try:
                measure(
                    benchmark(problem.kernel),
                    problem.sizes,
                    problem.dtype,
                    self.device,
                    end.part(share),
                    put,
                    thorough=problem.thorough,
                    from_host=problem.from_host,
                )
            except Exception as failure:
                if self.debug:
                    raise
                self.results.put("failures", label, value=f"{type(failure).__name__}: {failure}")
            if problem.kernel == "gemm" and self.device.dialect == "cuda":
                sizes = problem.sizes
                put("library", library_product((sizes["ni"], sizes["nk"], sizes["nj"]), problem.dtype))
            entry = self.results.found.get("speed", {}).get(label, {})
            if "device_seconds" not in entry and label not in self.results.found.get("failures", {}):
                self.results.leave_out(f"speed of {label}")
            put("relations", relations(entry, self.results.found.get("limits", {}), problem.dtype.name))


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.gpu")
