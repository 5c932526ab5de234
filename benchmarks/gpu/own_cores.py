"""A device that is the processor itself, kept apart from the threads of the process that uses it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks import program


@contextmanager
def cores_of_device(count: int) -> Iterator[None]:
    """Within, this thread runs on the last so many of the cores that it may use, afterwards on the others.

    Threads stay where the thread that starts them was: a driver whose device is opened and used within has these cores,
    and tells of no more.  What is read of the machine afterwards tells of the others.  0 leaves everything as it is.

    Raises:
        SystemExit: no core would be left, or this system does not bind threads to cores.
    """
    if count == 0:
        yield
        return
    if not hasattr(os, "sched_setaffinity"):
        program.fail("--device-cores: this system does not bind threads to cores.", 2)
    cores = sorted(os.sched_getaffinity(0))
    if count >= len(cores):
        program.fail(f"--device-cores: of {len(cores)} cores at most {len(cores) - 1} can be a device's.", 2)
    os.sched_setaffinity(0, cores[-count:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores[:-count])
