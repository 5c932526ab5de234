"""The rates of the model of the first choice, as ``python -m benchmarks.calibration --install`` has written them."""

from __future__ import annotations

from collections.abc import Mapping

from polytune.runtime.tuning.work import Kind

__all__ = ["RATES"]

RATES: Mapping[Kind, float] = {
    Kind.VECTOR_OPERATIONS: 0.23,
    Kind.VECTOR_ACCESSES: 0.276,
    Kind.GATHERED: 0.228,
    Kind.VECTOR_DIVISIONS: 0.967,
    Kind.VECTOR_CALLS: 4.95,
    Kind.OPERATIONS: 0.0691,
    Kind.ACCESSES: 0.243,
    Kind.DIVISIONS: 1.46,
    Kind.CALLS: 3.15,
    Kind.WAITS: 0.246,
    Kind.BRANCHES: 0.167,
    Kind.LOOPS: 0.373,
    Kind.REGISTERS: 0.14,
    Kind.LINES_2: 0.0101,
    Kind.LINES_3: 0.509,
    Kind.LINES_4: 2.97,
    Kind.APART_2: 0.172,
    Kind.APART_3: 0.0143,
    Kind.APART_4: 9.82,
    Kind.TILES: 13.6,
    Kind.REGIONS: 64.9,
    Kind.ROWS: 0.685,
    Kind.SUMS_IN_MEMORY: 0.348,
    Kind.UNFORESEEN_3: 1.97,
}
"""Nanoseconds of one thread for each that is counted."""
