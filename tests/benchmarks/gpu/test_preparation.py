"""Kernels are prepared in processes of their own, and nobody waits for them longer than was said."""

import os
import time
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.gpu import preparation
from benchmarks.gpu.phases import Deadline
from tests.benchmarks.gpu import recording

KERNELS = [(name, np.dtype(np.float64)) for name in ("gemm", "atax", "mvt")]


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(preparation, "machine", lambda: SimpleNamespace(cores=4))


def test_every_kernel_is_prepared_for_the_device(four_cores, monkeypatch, tmp_path):
    monkeypatch.setattr(preparation, "generate", recording.record)
    monkeypatch.setenv("RECORDING", str(tmp_path))
    monkeypatch.setenv("POLYTUNE_DEVICES", "none")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    preparation.prepare(KERNELS, "opencl:7", Deadline(60.0))
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        name: "float64 opencl:7 1" for name, _ in KERNELS
    }
    assert os.environ["POLYTUNE_DEVICES"] == "none"
    assert "NUMBA_NUM_THREADS" not in os.environ


def test_what_is_not_ready_in_time_is_given_up(four_cores, monkeypatch):
    monkeypatch.setattr(preparation, "generate", recording.never_end)
    begin = time.monotonic()
    preparation.prepare(KERNELS, "opencl:7", Deadline(1.0))
    assert time.monotonic() - begin < 300  # they would go on for 600
