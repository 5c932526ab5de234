"""Kernels on arrays of Dask: ``python -m benchmarks.dask``, on a cluster of processes of this machine.

Heat in a plane beside ``map_overlap`` with a depth written by hand and Numba; what shards of a given length cost beside
their work; and heat on an array on disk that is several times what the workers may have of memory.

Exit code 0: done; 1: a result was wrong, or a worker has died; 2: the command line makes no sense.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Column, Table

import polytune
from benchmarks import program
from benchmarks.dask_overlap import overlapped

app = program.application("dask", "Measure kernels on arrays of Dask.")


@polytune.kernel
def heat(steps, A, B):
    """Two steps of heat in each iteration: from A to B, and back."""
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = A[i, j] + 0.1 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1] - 4.0 * A[i, j])
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j] + 0.1 * (B[i - 1, j] + B[i + 1, j] + B[i, j - 1] + B[i, j + 1] - 4.0 * B[i, j])


@polytune.kernel
def iterated(times, x, y):
    """Work on each element that takes as long as it is told to."""
    for i in range(len(x)):
        value = x[i]
        for _ in range(times):
            value = 0.5 * value + 1.0 / (1.0 + value)
        y[i] = value


UNCOUNTED = 14
"""Runs of polytune that are not counted: in these it tunes how many steps there are for each exchange."""


def seconds_of(work: Callable[[], Any], repeats: int, uncounted: int = 1) -> list[float]:
    """The wall-clock seconds of some runs after others that are not counted.

    Args:
        work: what is run.
        repeats: how many runs count.
        uncounted: how many do not.
    """
    for _ in range(uncounted):
        work()
    found = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return found


def beside_overlap(extent: int, chunk: int, steps: int, repeats: int) -> dict[str, float]:
    """Heat on an array in memory: the median seconds of each way.

    Args:
        extent: of the array along both axes.
        chunk: of its chunks.
        steps: how many iterations of the kernel, two steps of heat each.
        repeats: how many runs are timed.

    Raises:
        AssertionError: the ways differ.
    """
    import dask.array
    from distributed import get_client

    client = get_client()
    A = client.persist(dask.array.random.default_rng(0).random((extent, extent), chunks=chunk))
    ways: dict[str, Callable[[], Any]] = {
        "polytune": lambda: heat(steps, A, A)[0],
        "map_overlap, depth 1": lambda: overlapped(A, 2 * steps, 1),
        f"map_overlap, depth {2 * steps}": lambda: overlapped(A, 2 * steps, 2 * steps),
    }
    sums = [float(way().sum().compute()) for way in ways.values()]
    np.testing.assert_allclose(sums, sums[0], rtol=1e-12)
    timed = {
        name: seconds_of(partial(_computed, way), repeats, UNCOUNTED if name == "polytune" else 1)
        for name, way in ways.items()
    }
    return {name: statistics.median(each) for name, each in timed.items()}


def _computed(way: Callable[[], Any]) -> float:
    return float(way().sum().compute())


def overhead(shards: int, seconds: float, workers: int, repeats: int) -> dict[str, float]:
    """The seconds of so many shards on a cluster, and those of their work alone divided by the workers.

    Args:
        shards: how many there are.
        seconds: how long each of them is to take.
        workers: how many there are.
        repeats: how many runs are timed.
    """
    import dask.array
    from distributed import get_client, wait

    elements = 1000
    x = np.random.default_rng(0).random(elements)
    begin, times = time.perf_counter(), 1000
    iterated(times, x, np.empty_like(x))
    while (took := min(seconds_of(partial(iterated, times, x, np.empty_like(x)), 3))) < seconds:
        times = int(times * min(10.0, 1.05 * seconds / took)) + 1
        if time.perf_counter() - begin > 60:
            break
    chunks = dask.array.from_array(np.tile(x, shards), chunks=elements).persist()
    alone = min(seconds_of(lambda: get_client().submit(_alone, times, x, pure=False).result(), 3))
    found = seconds_of(lambda: wait(iterated(times, chunks, chunks).persist()), repeats)
    return {"work": shards * alone / workers, "cluster": statistics.median(found)}


def _alone(times: int, x: np.ndarray) -> float:
    iterated(times, x, np.empty_like(x))
    return 0.0


def on_disk(extent: int, chunk: int, steps: int, folder: Path) -> float:
    """Heat from one array of Zarr to another; the seconds.

    Args:
        extent: of the array along both axes.
        chunk: of its chunks.
        steps: how many iterations of the kernel.
        folder: where the arrays are.

    Raises:
        AssertionError: a part of the result is not what NumPy computes.
    """
    import dask.array
    import zarr

    dask.array.random.default_rng(0).random((extent, extent), chunks=chunk).to_zarr(str(folder / "before"))
    begin = time.perf_counter()
    A = dask.array.from_zarr(str(folder / "before"))
    heat(steps, A, A)[0].to_zarr(str(folder / "after"))
    seconds = time.perf_counter() - begin
    halo, first = 2 * steps, chunk - 8
    before = np.asarray(zarr.open(str(folder / "before"))[first - halo : chunk + 8 + halo, : 64 + halo])
    after = np.asarray(zarr.open(str(folder / "after"))[first : chunk + 8, 1:64])
    for _ in range(2 * steps):
        now = before[1:-1, 1:-1]
        around = before[:-2, 1:-1] + before[2:, 1:-1] + before[1:-1, :-2] + before[1:-1, 2:]
        before = np.block([before[1:-1, :1], now + 0.1 * (around - 4.0 * now)])
    np.testing.assert_allclose(before[:, 1:64], after, rtol=1e-12)
    return seconds


@app.command()
def dask(
    workers: Annotated[int, typer.Option(min=1, help="How many processes of one thread each.")] = 2,
    extent: Annotated[int, typer.Option(min=100, help="Of the array in memory, along both axes.")] = 4000,
    chunk: Annotated[int, typer.Option(min=50, help="Of its chunks.")] = 1000,
    steps: Annotated[int, typer.Option(min=1, help="Iterations, of two steps of heat each.")] = 5,
    shards: Annotated[int, typer.Option(min=1, help="How many shards the overhead is measured with.")] = 200,
    milliseconds: Annotated[float, typer.Option(min=1, help="How long each of these takes.")] = 20.0,
    memory: Annotated[int, typer.Option(min=0, help="Megabytes a worker may have; 0 leaves out arrays on disk.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="How many runs are timed.")] = 5,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Measure heat beside map_overlap, the overhead of shards, and heat on an array of four times the memory."""
    from distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0", "processes": True}
    found: dict[str, Any] = {}
    with LocalCluster(**options, memory_limit=0) as cluster, Client(cluster):
        found["heat"] = beside_overlap(extent, chunk, steps, repeats)
        found["overhead"] = overhead(shards, milliseconds / 1000.0, workers, repeats)
    if memory:
        limits = {**options, "memory_limit": f"{memory}MB"}
        large = int((4 * workers * memory * 1e6 / 8) ** 0.5) // chunk * chunk + chunk
        folders = tempfile.TemporaryDirectory(prefix="polytune-benchmark-")
        with folders as folder, LocalCluster(**limits) as cluster, Client(cluster):
            found["on disk"] = {"extent": large, "seconds": on_disk(large, chunk, steps, Path(folder))}
    if as_json:
        program.print_json({**program.surroundings(), "workers": workers, **found})
        return
    table = Table(Column(f"{workers} workers"), Column("time", justify="right"))
    for name, seconds in found["heat"].items():
        table.add_row(f"heat, {name}", program.duration(seconds))
    table.add_row(f"{shards} shards, their work", program.duration(found["overhead"]["work"]))
    table.add_row(f"{shards} shards, on the cluster", program.duration(found["overhead"]["cluster"]))
    if memory:
        table.add_row(f"heat on {large} x {large} on disk", program.duration(found["on disk"]["seconds"]))
    program.results.print(table)


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.dask")
