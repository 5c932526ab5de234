"""The rates of the model of the first choice, as ``python -m benchmarks.calibration --install`` has written them."""

from __future__ import annotations

from collections.abc import Mapping

from polytune.runtime.tuning.work import Kind

__all__ = ["RATES"]

RATES: Mapping[Kind, float] = {
    Kind.VECTOR_OPERATIONS: 0.27,
    Kind.VECTOR_ACCESSES: 0.314,
    Kind.GATHERED: 0.224,
    Kind.VECTOR_DIVISIONS: 0.985,
    Kind.VECTOR_CALLS: 4.94,
    Kind.OPERATIONS: 0.0802,
    Kind.ACCESSES: 0.166,
    Kind.DIVISIONS: 1.4,
    Kind.CALLS: 3.17,
    Kind.WAITS: 0.0216,
    Kind.BRANCHES: 0.169,
    Kind.LOOPS: 0.365,
    Kind.REGISTERS: 0.199,
    Kind.LINES_2: 0.0101,
    Kind.LINES_3: 0.504,
    Kind.LINES_4: 2.99,
    Kind.APART_2: 0.162,
    Kind.APART_3: 0.0143,
    Kind.APART_4: 9.94,
    Kind.TILES: 10.7,
    Kind.REGIONS: 63.7,
    Kind.ROWS: 0.763,
    Kind.SUMS_IN_MEMORY: 0.394,
    Kind.UNFORESEEN_3: 2.02,
}
"""Nanoseconds of one thread for each that is counted."""
