"""Calls for which NumPy's library for products of matrices is no choice."""

from __future__ import annotations

import pytest

from polytune.runtime.machine import machine
from polytune.runtime.tuning import prediction
from polytune.runtime.tuning.prediction import LEAST_ARITHMETIC, reason_against_library

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_little_arithmetic() -> None:
    cores = machine().cores
    assert reason_against_library(LEAST_ARITHMETIC, cores) is None
    found = reason_against_library(LEAST_ARITHMETIC / 2, cores)
    assert found is not None and found.startswith("Min-Arithmetic: 5e+05 operations are too few")


def test_threads_of_the_library() -> None:
    cores = machine().cores
    assert reason_against_library(1e9, cores) is None
    found = reason_against_library(1e9, cores - 1)
    assert found is not None and found.startswith("Max-Threads: NumPy's library may run products on more threads")


@pytest.mark.parametrize("name", VARIABLES)
def test_what_is_told_is_to_be_done_works(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    assert reason_against_library(1e9, 1) is None


def test_largest_of_several_variables_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "machine", lambda: type("Machine", (), {"cores": 8}))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert reason_against_library(1e9, 4) is None
    assert reason_against_library(1e9, 3) is not None
