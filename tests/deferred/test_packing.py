"""Versions that take long to look for: what another process is sent, and the text that it writes."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune import pipeline
from polytune.deferred.packing import unpack
from polytune.runtime.background.process import WorkerProcess
from tests.deferred.kernels import (
    ARGUMENTS,
    check_smoothed,
    holds,
    packed_kernel,
    smoothed,
    versions,
)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__name__)
def test_another_process_writes_the_same_text(function, strict):
    stages, packed = packed_kernel(function, strict=strict)
    process = WorkerProcess("polytune.deferred.worker")
    try:
        process.wait_until_ready()
        texts = {process.versions_of(packed, 100.0) for _ in range(2)}
    finally:
        process.end()
    assert texts == {unpack(packed).source} == {stages.source}


def test_versions_made_beside_the_application_have_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "SECONDS", 0.0)
    stages, packed = packed_kernel(smoothed)
    assert [program.name for program in stages.programs] == ["source"] and stages.given_up
    beside = unpack(packed)
    assert len(beside.programs) > 2 and not beside.given_up


def test_what_cannot_be_sent_is_made_here(monkeypatch):
    monkeypatch.setattr("polytune.deferred.packing._Pickler.persistent_id", None)
    kernel = polytune.kernel(smoothed)
    check_smoothed(kernel)
    assert not holds(kernel) and len(versions(kernel)) > 2


def test_names_of_parameters_are_sent_as_they_are():
    def shifted(p1, min, p0):  # as isl's own words, and as what stands for names
        return p0[: len(min)] + min + p1

    kernel = polytune.kernel(shifted)
    arguments = np.arange(4.0), np.arange(4.0), np.arange(6.0)
    np.testing.assert_array_equal(kernel(*arguments), shifted(*arguments))
    kernel.explain()
    np.testing.assert_array_equal(kernel(*arguments), shifted(*arguments))
    assert not holds(kernel) and kernel._may_defer
