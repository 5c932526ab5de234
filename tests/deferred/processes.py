"""Processes that make versions, but not as soon as they are asked to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import polytune
from polytune.runtime.background.process import WorkerProcess
from polytune.runtime.background.versions import VersionMaker
from tests.deferred.kernels import check_smoothed, holds, smoothed, until, versions


class HeldProcess(WorkerProcess):
    """A process whose answers wait until the test lets them go."""

    may_answer = threading.Event()

    def versions_of(self, packed: bytes, seconds: float) -> str:
        text = super().versions_of(packed, seconds)
        self.may_answer.wait()
        return text


class KilledProcess(WorkerProcess):
    """A process that is killed when something is wanted of it."""

    started = 0

    def __init__(self, module: str):
        super().__init__(module)
        type(self).started += 1

    def versions_of(self, packed: bytes, seconds: float) -> str:
        self._process.kill()
        return super().versions_of(packed, seconds)


def changed_over(makers: Callable[[type[Any]], VersionMaker]) -> Any:
    """A kernel that has left versions for later, was right before they were there, and has them now."""
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(smoothed)
    try:
        check_smoothed(kernel)
        assert holds(kernel) and set(versions(kernel)) <= {"parallel", "source"}
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    return kernel
