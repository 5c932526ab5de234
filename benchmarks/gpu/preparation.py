"""Analysing and compiling side by side, in processes whose results the caches keep, before anything is measured."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

from benchmarks.gpu.phases import Deadline
from polybench.datasets import Dataset
from polybench.registry import benchmark
from polytune.runtime.machine import machine

FEWEST = 3
"""The number of kernels below which a process each is not worth its start."""


def prepare(kernels: Sequence[tuple[str, np.dtype]], identity: str, deadline: Deadline) -> None:
    """Fill the caches with generated modules, and with device code in its first shape.

    What does not succeed or is not ready in time is done again, and reported, where it is needed.

    Args:
        kernels: names and dtypes.
        identity: the device.
        deadline: by when.
    """
    workers = min(machine().cores // 2, len(kernels))
    if workers < 2 or len(kernels) < FEWEST:
        return
    environment = {"POLYTUNE_DEVICES": identity, "NUMBA_NUM_THREADS": "1"}
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        tasks = [pool.submit(generate, name, dtype.name) for name, dtype in kernels]
        for _ in as_completed(tasks, timeout=deadline.left):
            pass
    except TimeoutError:
        for process in multiprocessing.active_children():
            process.terminate()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def generate(name: str, dtype: str) -> None:
    """Have one kernel in the caches."""
    from benchmarks.gpu.configurations import compile_ahead, has_device_version, on_device
    from benchmarks.gpu.speed import converted
    from polytune.runtime.devices.discovery import devices

    chosen = benchmark(name)
    initial = converted(chosen.initialise(**chosen.sizes(Dataset.MINI)), np.dtype(dtype))
    generated = chosen.kernel.generated(*initial)
    if has_device_version(generated):
        device = devices()[0]
        compile_ahead(generated, device, [on_device(generated, device)], Deadline(60.0))
