"""Programs that hang or crash are failures of their own, and the next program runs."""

from __future__ import annotations

import os
import signal

from tests.fuzz.checking import Verdict
from tests.fuzz.workers import Worker, judge


def work(job: str) -> Verdict:
    if job == "spin":
        while True:
            pass
    if job == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if job == "raise":
        raise ValueError("of the fuzzer")
    return Verdict(executions=int(job))


def test_worker_goes_on_after_every_kind_of_end() -> None:
    worker = Worker(work, seconds=0.5)
    try:
        check_worker(worker)
    finally:
        worker.close()


def test_worker_crashes_though_its_parent_handles_crashes() -> None:
    """Drivers of devices do, and a handler that only returns makes nothing of a signal that was sent."""
    before = signal.signal(signal.SIGSEGV, lambda number, frame: None)
    worker = Worker(work, seconds=0.5)
    try:
        verdict = judge(worker, "crash")
        assert verdict.failure is not None
        assert verdict.failure.kind == "ended by SIGSEGV"
    finally:
        worker.close()
        signal.signal(signal.SIGSEGV, before)


def check_worker(worker: Worker) -> None:
    assert judge(worker, "1").executions == 1
    for job, kind in (
        ("spin", "more than 0.5 s"),
        ("crash", "ended by SIGSEGV"),
        ("raise", "ValueError in the fuzzer"),
    ):
        verdict = judge(worker, job)
        assert verdict.outcome == "failed" and verdict.failure is not None
        assert verdict.failure.kind.startswith(kind)
        assert judge(worker, "2").executions == 2
