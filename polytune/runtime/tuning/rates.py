"""The rates of the model of the first choice, as ``python -m benchmarks.calibration --install`` has written them."""

from __future__ import annotations

from collections.abc import Mapping

from polytune.runtime.tuning.work import Kind

__all__ = ["RATES"]

RATES: Mapping[Kind, float] = {
    Kind.VECTOR_OPERATIONS: 0.248,
    Kind.VECTOR_ACCESSES: 0.255,
    Kind.GATHERED: 0.323,
    Kind.VECTOR_DIVISIONS: 0.952,
    Kind.VECTOR_CALLS: 5.02,
    Kind.OPERATIONS: 0.0599,
    Kind.ACCESSES: 0.479,
    Kind.DIVISIONS: 1.6,
    Kind.CALLS: 2.82,
    Kind.WAITS: 0.247,
    Kind.BRANCHES: 0.166,
    Kind.LOOPS: 0.375,
    Kind.REGISTERS: 0.0794,
    Kind.LINES_2: 0.0102,
    Kind.LINES_3: 0.827,
    Kind.LINES_4: 2.96,
    Kind.APART_2: 0.194,
    Kind.APART_3: 0.0143,
    Kind.APART_4: 7.33,
    Kind.TILES: 15.6,
    Kind.REGIONS: 66,
    Kind.ROWS: 0.4,
    Kind.SUMS_IN_MEMORY: 0.321,
    Kind.UNFORESEEN_3: 2,
}
"""Nanoseconds of one thread for each that is counted."""
